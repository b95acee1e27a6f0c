"""The server of `aqb web`: its URLs, and the security headers of all responses."""

import logging
import time
from uuid import uuid4

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, request_response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tasks.config.log_lines import lines_with
from tasks.context import Context
from tasks.web.access import Access
from tasks.web.accesses_page import accesses_page
from tasks.web.agreement_page import agreement_page
from tasks.web.alerts_page import alerts_page, snooze, unsnooze
from tasks.web.asked import POLICY, STATIC, page
from tasks.web.comparison_page import comparison_page
from tasks.web.correction_page import correct, correction_page
from tasks.web.door import Door, explained
from tasks.web.review_page import label, question_page, review_page, take_back
from tasks.web.row_exports import export_csv, export_workbook
from tasks.web.row_page import row_page
from tasks.web.rows_page import rows_page
from tasks.web.testruns_page import FIRST, first_page, testrun_file, testrun_page, testruns_page
from tasks.web.upload_page import keep_upload, publish, remove, score, stop, upload_page

_log = logging.getLogger(__name__)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def web_app(context: Context, access: Access) -> ASGIApp:
    """The ASGI application of the pages for the people of `access`."""
    door = Door(context, access)
    routes = [
        Route("/", door.to(first_page, "reader")),
        Route("/static/{name}", _static),
        Route("/health", explained(door.health)),
        Route("/login", explained(door.login_page)),
        Route("/login", explained(door.login), methods=["POST"]),
        Route("/logout", explained(door.logout), methods=["POST"]),
        Route("/rows", door.to(rows_page, "reader")),
        Route("/rows.csv", door.to(export_csv, "reader")),
        Route("/rows.xlsx", door.to(export_workbook, "reader")),
        Route("/rows/{day}/{row_id}", door.to(row_page, "reader")),
        Route("/review", door.to(review_page, "reader")),
        Route("/review/agreement", door.to(agreement_page, "reader")),
        *(
            route
            for path in ("/review/rows/{day}", "/review/runs/{run}")
            for route in (
                Route(path, door.to(question_page, "reviewer")),
                Route(path, door.to(label, "reviewer"), methods=["POST"]),
                Route(f"{path}/undo", door.to(take_back, "reviewer"), methods=["POST"]),
            )
        ),
        Route(FIRST, door.to(testruns_page, "reader")),
        Route("/test-runs/comparison", door.to(comparison_page, "reader")),
        Route("/test-runs/uploads", door.takes_file(keep_upload, "reviewer"), methods=["POST"]),
        Route("/test-runs/uploads/{upload}", door.to(upload_page, "reader")),
        Route("/test-runs/uploads/{upload}/score", door.to(score, "reviewer"), methods=["POST"]),
        Route("/test-runs/uploads/{upload}/stop", door.to(stop, "reviewer"), methods=["POST"]),
        Route("/test-runs/uploads/{upload}/remove", door.to(remove, "reviewer"), methods=["POST"]),
        Route("/test-runs/uploads/{upload}/inbox", door.to(publish, "operator"), methods=["POST"]),
        Route("/test-runs/uploads/{upload}/expectations", door.to(correction_page, "reviewer")),
        Route("/test-runs/uploads/{upload}/expectations", door.to(correct, "reviewer"), methods=["POST"]),
        Route("/test-runs/{page}", door.to(testrun_page, "reader")),
        Route("/test-runs/{folder}/{name}", door.to(testrun_file, "reader")),
        Route("/alerts", door.to(alerts_page, "reader")),
        Route("/alerts/snooze", door.to(snooze, "operator"), methods=["POST"]),
        Route("/alerts/unsnooze", door.to(unsnooze, "operator"), methods=["POST"]),
        Route("/accesses", door.to(accesses_page, "operator")),
    ]
    return _Guarded(door, Starlette(routes=routes, exception_handlers={404: _not_there, 405: _not_there}))


class _Guarded:
    """Answers under the server's names alone, adds security headers, and logs each request with an id."""

    def __init__(self, door: Door, app: ASGIApp) -> None:
        self._door, self._app = door, app
        self._refusing = request_response(explained(door.refuse_host))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, request_id = time.monotonic(), uuid4().hex

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**_HEADERS, "X-Request-ID": request_id}.items():
                    headers.setdefault(name, value)
                # Conditions may quote what people wrote: no line has them.
                seconds = time.monotonic() - began
                _log.info("%s %s: %d in %.3f s", scope["method"], scope["path"], message["status"], seconds)
            await send(message)

        with lines_with(request_id=request_id):
            await (self._refusing if self._door.is_closed(scope) else self._app)(scope, receive, sending)


async def _static(request: Request) -> Response:
    """One of a fixed set of files by its name: no path of a client reaches the disk."""
    path = STATIC.get(request.path_params["name"])
    if path is None:
        return await _not_there(request, None)
    kind = "text/javascript" if path.suffix == ".js" else "text/css"
    return Response(path.read_bytes(), media_type=kind, headers={"Cache-Control": "public, max-age=31536000"})


async def _not_there(_: Request, __: Exception | None) -> Response:
    fix = "주소를 확인하거나, 위의 AQB를 눌러 첫 페이지에서 고르세요."
    return page("message.html", status=404, title="그런 페이지는 없습니다", kind="없음", fix=fix, cause="")
