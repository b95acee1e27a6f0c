"""The output of `aqb nightly` for a night that is already finished, without starting Prefect."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from flows.cli.score import counts_text
from flows.cli.terminal import finish, show
from flows.runtime.clock import now, today

if TYPE_CHECKING:
    from tasks.config.settings import Settings


def show_finished_night(settings: Settings, *, as_json: bool) -> bool:
    """Prints the result of yesterday's run if nothing is left to do; returns whether that is so.

    The heartbeat gets its pings, because the night is done. A problem of the day is printed again, as a run would.

    Raises:
        typer.Exit: the day has a problem.
    """
    from flows.steps.nothing_to_do import done_by
    from tasks.alerts.heartbeat import Heartbeat
    from tasks.context import Context

    day = today(settings.time_zone) - timedelta(days=1)
    with Context(settings) as context:
        run = done_by(context, day, now())
        report, site = context.reports.report(day), context.reports.first_page
    if run is None:
        return False
    with Heartbeat(settings.alerts.heartbeat.url.get_secret_value()).of("야간 실행"):
        counts = {name: getattr(run, name) for name in ("rows_in", "scored", "excluded", "rejected")}
        problems = [run.message] if run.message else []
    found = {
        "run_id": run.run_id,
        "day": str(day),
        "up_to_date": True,
        "kept": None,
        "counts": counts,
        "kpis": None,
        "figures": None,
        "alerts": [],
        "report": str(report),
        "site": str(site),
        "earlier": [],
        "problems": problems,
        "test_runs": None,
    }
    lines = [
        f"{day}: up to date, nothing to do",
        f"  {counts_text(counts)}",
        f"tables: {settings.warehouse}",
        f"report: {report}",
        f"dashboard: {site}",
    ]
    show(found, "\n".join(lines), as_json=as_json)
    finish(problems)
    return True
