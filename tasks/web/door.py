"""The entry of every request: authentication, protection against other sites, and limits of size and rate.

Pages are plain functions, of which at most two run at a time: twenty requests need the memory of two.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial, wraps
from urllib.parse import parse_qsl, quote, urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from scoring.errors import AqbError, UsageError, line_of_ours
from tasks.config.web import Role
from tasks.context import Context
from tasks.state.audit_log import AuditLog
from tasks.testruns.uploads import ArrivingFile
from tasks.web.access import LOOPBACK, Access, Viewer
from tasks.web.asked import EXPIRED_FORM, STATIC, Asked, NotFoundError, RefusedError, page
from tasks.web.receiving import receive_file
from tasks.web.scorings import Scorings

_COOKIE = "aqb_session"
_MOST_FORM_BYTES, _MOST_FIELDS, _FORM_WITHIN_S = 64 * 1024, 200, 10.0
_LONGEST_ADDRESS = 8_000
_AT_ONCE, _UPLOADS_AT_ONCE = 2, 4
_UNDER_ANY_NAME = frozenset({"/health", *(f"/static/{name}" for name in STATIC)})
"""What watches the server knows no name of it, and a page that refuses is styled."""

_TOO_MANY_REQUESTS = "요청이 너무 많습니다. 1분 뒤에 다시 시도하세요"
_WRITTEN = ("note", "text", "why")
"""The fields of forms into which people write; in the others they choose."""

_log = logging.getLogger(__name__)

Page = Callable[[Asked], Response]
Keep = Callable[[Asked, ArrivingFile, str], Response]
"""Keeps a file of this name that has arrived."""
Endpoint = Callable[[Request], Awaitable[Response]]


class Door:
    """Authenticates requests and passes them to the pages."""

    def __init__(self, context: Context, access: Access) -> None:
        self._context, self._access = context, access
        self._at_once, self._scorings = CapacityLimiter(_AT_ONCE), Scorings()
        self._uploads_now = 0

    def is_closed(self, scope: Scope) -> bool:
        """Whether a request is for another host name than this server's: redirects would answer others."""
        return scope["path"] not in _UNDER_ANY_NAME and not self._access.knows_host(
            Headers(scope=scope).get("host", "")
        )

    async def refuse_host(self, _: Request) -> Response:
        """Raises RefusedError: the name of the host is another one."""
        raise RefusedError(421, "이 이름으로는 열 수 없습니다. 안내받은 주소로 여세요")

    def to(self, view: Page, role: Role) -> Endpoint:
        """A page for people with the permissions of this role; unknown people are redirected to the login."""

        async def answer(request: Request) -> Response:
            viewer = self._known(request, role)
            if viewer is None:
                form = await _form(request) if request.method == "POST" else {}
                return self._stranger(request, _written(form))
            asked = await self._asked(request, viewer)
            return await to_thread.run_sync(view, asked, limiter=self._at_once)

        return explained(answer)

    def takes_file(self, keep: Keep, role: Role) -> Endpoint:
        """An upload for people with the permissions of this role: the file is on the disk when `keep` is called."""

        async def answer(request: Request) -> Response:
            viewer = self._known(request, role)
            if viewer is None:
                return self._stranger(request)
            if self._uploads_now >= _UPLOADS_AT_ONCE:
                raise RefusedError(429, "다른 파일들을 받고 있습니다. 잠시 뒤에 다시 올리세요")
            asked, web = self._request_of(request, viewer, {}), self._access.settings
            self._uploads_now += 1
            try:
                with asked.uploads.arriving() as arriving:
                    is_form_token = partial(self._access.is_form_of, viewer)
                    name = await receive_file(request, arriving, web, is_form_token)
                    return await to_thread.run_sync(keep, asked, arriving, name, limiter=self._at_once)
            finally:
                self._uploads_now -= 1

        return explained(answer)

    async def health(self, request: Request) -> Response:
        """The health check, under any host name: `ok` if the state database responds, else a 503."""
        if not self._access.requests.allows(f"health of {self._address(request)}"):
            raise RefusedError(429, _TOO_MANY_REQUESTS)
        await to_thread.run_sync(lambda: AuditLog(self._context.state).latest(1))
        return Response("ok\n", media_type="text/plain", headers={"Cache-Control": "no-store"})

    async def login_page(self, request: Request) -> Response:
        """The login form."""
        self._checked(request)
        return _login_page(request.query_params.get("next", ""))

    async def login(self, request: Request) -> Response:
        """Checks a token and begins a new session, whatever session the browser had."""
        self._checked(request)
        address = self._address(request)
        if not self._access.logins.allows(address):
            raise RefusedError(429, "로그인을 너무 여러 번 시도했습니다. 1분 뒤에 다시 시도하세요")
        form = await _form(request)
        found = self._access.owner(form.get("token", ""))
        if found is None:
            await self._record(Viewer("(모름)", "reader"), address, "로그인 실패")
            return _login_page(form.get("next", ""), "토큰이 맞지 않습니다")
        self._access.logins.forgive(address)  # wrong tokens alone lock their sender out
        self._access.sessions.close(request.cookies.get(_COOKIE, ""))
        await self._record(found, address, "로그인")
        answered = RedirectResponse(_own_path(form.get("next", "")), 303)
        answered.set_cookie(
            _COOKIE,
            self._access.sessions.open(found).session,
            max_age=int(self._access.settings.session_hours * 3600),
            httponly=True,
            samesite="lax",  # a link in a message opens its page; what changes something needs the form's token
            # Over plain HTTP from another machine nobody stays logged in: the cookie does not come back.
            secure=request.url.hostname not in LOOPBACK,
        )
        return answered

    async def logout(self, request: Request) -> Response:
        """Ends the session."""
        viewer = self._checked(request)
        if viewer is not None:
            await self._asked(request, viewer)
            self._access.sessions.close(viewer.session)
        answered = RedirectResponse("/login", 303)
        answered.delete_cookie(_COOKIE, httponly=True, samesite="lax")
        return answered

    def _checked(self, request: Request) -> Viewer | None:
        """The person of a request, after the checks of host and rate."""
        if len(request.url.path) + len(request.url.query) > _LONGEST_ADDRESS:
            raise RefusedError(414, "주소가 너무 깁니다. 조건을 줄이세요")
        viewer = self._access.viewer(_peer(request), _headers(request), request.cookies.get(_COOKIE, ""))
        if viewer:
            # Also a page that refuses has the menu: it would be a dead end.
            request.state.known = {"viewer": viewer, "form_token": self._access.form_token(viewer)}
        if not self._access.requests.allows(viewer.name if viewer else self._address(request)):
            raise RefusedError(429, _TOO_MANY_REQUESTS)
        if request.method == "POST" and not _is_same_origin(request):
            raise RefusedError(
                403, "다른 사이트에서 보낸 요청은 받지 않습니다. 이 사이트의 페이지를 열어 다시 시도하세요"
            )
        return viewer

    def _known(self, request: Request, role: Role) -> Viewer | None:
        """The person of a request, after all checks, if they have the permissions of this role."""
        viewer = self._checked(request)
        if viewer and not viewer.may(role):
            raise RefusedError(403, "이 일을 할 권한이 없습니다. 필요하면 운영 담당자에게 요청하세요")
        return viewer

    def _stranger(self, request: Request, written: str = "") -> Response:
        """The redirect to the login; a submitted note is shown there, since it is stored nowhere."""
        if self._access.settings.auth != "token":
            raise RefusedError(403, "누구인지 알 수 없거나 볼 권한이 없습니다. 운영 담당자에게 요청하세요")
        if request.method == "POST":
            wrong = "로그인이 만료되어 저장하지 못했습니다. 다시 로그인하면 앞 페이지로 돌아갑니다"
            return _login_page(_page_before(request), wrong, written)
        asked = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
        return RedirectResponse(f"/login?next={quote(asked, safe='')}", 303)

    async def _asked(self, request: Request, viewer: Viewer) -> Asked:
        form = await _form(request) if request.method == "POST" else {}
        request.state.known["written"] = _written(form)  # a page that refuses gives it back
        if request.method == "POST" and not self._access.is_form_of(viewer, form.get("form_token", "")):
            raise RefusedError(403, EXPIRED_FORM)
        return self._request_of(request, viewer, form)

    def _request_of(self, request: Request, viewer: Viewer, form: dict[str, str]) -> Asked:
        pairs = _parsed(request.url.query)
        place = {name: str(value) for name, value in request.path_params.items()}
        return Asked(self._context, self._access, viewer, self._address(request), place, pairs, form, self._scorings)

    def _address(self, request: Request) -> str:
        return self._access.address_of(_peer(request), _headers(request))

    async def _record(self, viewer: Viewer, address: str, action: str) -> None:
        asked = Asked(self._context, self._access, viewer, address, {}, [], {}, self._scorings)
        await to_thread.run_sync(asked.record, action, "")


def explained(answer: Endpoint) -> Endpoint:
    """Converts errors to pages that explain them without internal details."""

    @wraps(answer)
    async def explaining(request: Request) -> Response:
        def said(status: int, title: str, kind: str, fix: str = "", cause: str = "") -> Response:
            known = getattr(request.state, "known", {})
            values = {"section": "", "title": title, "kind": kind, "fix": fix, "cause": cause, **known}
            return page("message.html", status=status, **values)

        try:
            return await answer(request)
        except RefusedError as refused:
            return said(refused.status, refused.reason, "거절")
        except NotFoundError as error:
            return said(404, error.what, "없음", error.fix)
        except UsageError as error:
            return said(400, error.what, "잘못된 조건", error.fix)
        except AqbError as error:
            _log.warning("%s", error)
            fix = "잠시 뒤에 다시 여세요. 그래도 같으면 아래 글을 운영 담당자에게 보내세요."
            return said(503, error.ko or "지금은 보여 줄 수 없습니다", "오류", fix, error.what)
        except (ClientDisconnect, TimeoutError):
            return said(408, "요청이 끝까지 도착하지 않았습니다. 다시 시도하세요", "거절")
        except Exception as error:  # noqa: BLE001  (people get a page, and its text may quote a row)
            _log.error("%s in %s", type(error).__name__, line_of_ours(error))
            fix = "다시 시도하고, 그래도 같으면 무엇을 했는지 운영 담당자에게 알리세요. 까닭은 서버의 기록에 있습니다."
            return said(500, "서버의 오류입니다", "오류", fix)

    return explaining


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, of which a limited number of bytes is read."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise RefusedError(415, "양식이 아닙니다. 페이지를 다시 열어 시도하세요")
    body = bytearray()
    async with asyncio.timeout(_FORM_WITHIN_S):
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_FORM_BYTES:
                raise RefusedError(413, "양식이 너무 큽니다. 글을 줄이세요")
    found = dict(_parsed(body.decode(errors="replace")))
    if any("\0" in text for text in found.values()):  # PostgreSQL cannot store it; addresses of templates have some
        raise RefusedError(400, "글에 보이지 않는 문자(NUL)가 있습니다. 지우고 다시 보내세요")
    return found


def _written(form: Mapping[str, str]) -> str:
    """What a person has written into a form; browsers do not keep it."""
    return "\n\n".join(form[name] for name in _WRITTEN if form.get(name))


def _parsed(fields: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(fields, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise RefusedError(400, "조건이 너무 많습니다. 조건을 줄이세요") from None


def _is_same_origin(request: Request) -> bool:
    """Whether a page of this server sent the request, as far as the browser's headers tell; if they do not, the form
    token decides.
    """
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    of_ours = origin is None or origin.partition("://")[2] == request.headers.get("host", "")
    return of_ours and site in ("same-origin", "none")


def _page_before(request: Request) -> str:
    """The page with the submitted form, according to the Referer header."""
    try:
        place = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return ""
    return f"{place.path}?{place.query}" if place.query else place.path


def _own_path(path: str) -> str:
    """The path if it is one of this server, else that of the first page (no open redirects)."""
    leads_elsewhere = not path.startswith("/") or path[1:2] in ("/", "\\") or any(sign < " " for sign in path)
    return "/" if leads_elsewhere else path


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def _headers(request: Request) -> dict[str, str]:
    """The headers that occur once."""
    return {name: value for name, value in request.headers.items() if len(request.headers.getlist(name)) == 1}


def _login_page(leading_to: str, wrong: str = "", written: str = "") -> Response:
    status = 401 if wrong else 200
    return page("login.html", status=status, title="로그인", next=leading_to, wrong=wrong, written=written)
