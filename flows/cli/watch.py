"""`aqb watch`: a cron job that notifies people when no nightly run was completed in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flows.cli.terminal import Json, finish, open_context, show

if TYPE_CHECKING:
    from flows.steps.watch import WatchReport

_RAN = {
    "absent": "it had no run",
    "running": "its last run still goes on",
    "died": "its last run died",
    "failed": "its last run failed",
}


def watch(as_json: Json = False) -> None:
    """Tell the routes, once, that no nightly run was completed by `alerts.watch.due`, and once when it has been.

    Also tells, once, of a run whose process is gone, and sends what waits in the outbox. Needs neither Prefect nor its
    server. Exit code 0: the night is done; 1: it is late, a run has died, something could not be sent, or the state
    database is away.

    Example: aqb watch
    """
    from flows.steps.watch import watch_services

    with open_context() as context:
        reports = watch_services(context)
        due = f"{context.settings.alerts.watch.due} in {context.settings.time_zone}"
    values = [_value(one) for one in reports]
    is_late = any(one.late for one in reports)
    lines = [
        *(f"sent: {text}" for one in reports for text in one.delivery.sent),
        "late" if is_late else "the last night is done",
    ]
    of_services = {"services": {one.service: value for one, value in zip(reports, values, strict=True)}}
    show(values[0] if len(values) == 1 else of_services, "\n".join(lines), as_json=as_json)
    finish([problem for one in reports for problem in _problems(one, due)])


def _value(report: WatchReport) -> dict[str, Any]:
    dead = [asdict(one) for one in report.dead]
    return {"late": report.late and asdict(report.late), "dead": dead, "delivery": vars(report.delivery)}


def _problems(report: WatchReport, due: str) -> Iterator[str]:
    of_service = f"{report.service}: " if report.service else ""
    if late := report.late:
        what = f"{of_service}no nightly run of {late.day} was completed by {due}"
        yield f"{what}: {_RAN[late.state]}; `{late.command}` does it"
    yield from (f"{of_service}{one.title}: its process is gone; `{one.command}` does it" for one in report.dead)
    yield from report.delivery.problems
