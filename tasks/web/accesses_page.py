"""The page of the audit log: who saw and changed what, latest first."""

from starlette.responses import Response

from tasks.state.audit_log import AuditLog
from tasks.web.asked import Asked

_SHOWN = 500


def accesses_page(asked: Asked) -> Response:
    """The last accesses in the time zone of the settings."""
    zone = asked.context.settings.zone
    latest = AuditLog(asked.context.state).latest(_SHOWN)
    shown = [{**vars(one), "at": f"{one.at.astimezone(zone):%Y-%m-%d %H:%M:%S}"} for one in latest]
    return asked.page("accesses.html", section="accesses", title="열람 기록", accesses=shown)
