"""A request of an authenticated person, and helpers for its response."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.responses import HTMLResponse

from scoring.errors import AqbError
from tasks.chat.tables import KPIS
from tasks.context import Context
from tasks.reports.templates import html_environment
from tasks.state.audit_log import AccessRecord, AuditLog
from tasks.testruns.uploads import Uploads
from tasks.web.access import Access, Viewer
from tasks.web.scorings import Scorings

_HERE = Path(__file__).parent
_SITE = _HERE.parent / "reports" / "site"
STATIC = {
    "site.css": _SITE / "site.css",
    **{name: _HERE / "static" / name for name in ("web.css", "keys.js")},
}
"""The files that pages load, by their names in addresses."""

POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a browser may do with a page; none but those that say so run a script."""

EXPIRED_FORM = "양식이 만료되었습니다. 앞 페이지를 다시 열어 시도하세요"
"""Why a form is refused whose token is not that of the session, such as one from before a new login."""

Pairs = Sequence[tuple[str, str]]


class NotFoundError(AqbError):
    """The requested thing does not exist (404)."""


class RefusedError(Exception):
    """A refused request: the status of the response, and the reason (Korean)."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


@dataclass(frozen=True)
class Asked:
    """A request: `place` are the parts of its path, `pairs` those of its query string, `form` the fields of a form.
    `scorings` are the scorings of uploaded files in this server.
    """

    context: Context
    access: Access
    viewer: Viewer
    address: str
    place: Mapping[str, str]
    pairs: Pairs
    form: Mapping[str, str]
    scorings: Scorings

    @property
    def uploads(self) -> Uploads:
        """The uploaded test runs."""
        return Uploads(Path(self.access.settings.uploads))

    @property
    def scored_days(self) -> list[date]:
        """The days that have been scored, earliest first.

        Raises:
            NotFoundError: nothing has been scored yet.
        """
        if days := self.context.warehouse.days(KPIS):
            return days
        raise NotFoundError("아직 채점한 날이 없습니다", fix="aqb nightly가 첫날을 채점하면 여기에 보입니다.")

    @property
    def sees_personal_data(self) -> bool:
        """Whether texts are shown unmasked."""
        lowest = self.access.settings.personal_data
        return lowest != "nobody" and self.viewer.may(lowest)

    @property
    def day(self) -> date:
        """The day in the path.

        Raises:
            NotFoundError: it is not a date.
        """
        try:
            return date.fromisoformat(self.place["day"])
        except ValueError:
            raise NotFoundError("그런 날은 없습니다", fix="목록에서 다시 고르세요.") from None

    def record(self, action: str, target: str) -> None:
        """Records the access in the audit log.

        Raises:
            StorageError: the state database cannot be used; then nothing is shown.
        """
        log = AuditLog(self.context.state)
        log.add(AccessRecord(datetime.now(UTC), self.viewer.name, self.address, action, target))

    def page(self, template: str, **values: Any) -> HTMLResponse:
        """The page of a template with `values` for this person."""
        return page(template, viewer=self.viewer, form_token=self.access.form_token(self.viewer), **values)


def page(template: str, viewer: Viewer | None = None, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of a template with `values`, also for unknown people; `script` is one of `STATIC`."""
    script = values.setdefault("script", "")
    text = _environment().get_template(template).render(values, viewer=viewer)
    policy = POLICY + ("; script-src 'self'" if script else "")
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store", "Content-Security-Policy": policy})


def href(path: str, pairs: Iterable[tuple[str, str]]) -> str:
    """A URL on this server."""
    query = urlencode(list(pairs))
    return f"{path}?{query}" if query else path


@cache
def _environment() -> Environment:
    environment = html_environment(_HERE / "templates").overlay()
    versions = {name: sha256(path.read_bytes()).hexdigest()[:16] for name, path in STATIC.items()}
    environment.globals = {**environment.globals, "versions": versions, "scripted": False}
    return environment
