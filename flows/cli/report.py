"""`aqb report`: the site that people look at."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.terminal import Json, day_option, open_context, show

if TYPE_CHECKING:
    from tasks.context import Context


def report(
    out: Annotated[Path | None, typer.Option(help="The folder of the site. Default: the setting `reports`.")] = None,
    days: Annotated[int, typer.Option(min=1, help="Calendar days up to the last scored one.")] = 60,
    week: Annotated[
        datetime | None,
        day_option("--week", "Write the report of the week that holds this day for the weekly meeting, no pages."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build the report site: pages that open from disk, one a day and one a test run, and a first page over all.

    Example: aqb report --out site --days 60
    """
    from tasks.reports.site.build import build_pages
    from tasks.state.alert_choices import AlertChoices

    context = open_context()
    settings = context.settings
    choices, folder = AlertChoices(context.state), out or Path(settings.reports)
    if week is not None:
        _write_week(context, folder, week.date(), as_json=as_json)
        return
    policy, snoozes = choices.policy(settings.alerts), choices.every_snooze()
    built = build_pages(context.warehouse, context.rubric, folder, settings.time_zone, days, policy, snoozes)
    text = f"{built.pages} pages, {built.written} of them changed\nsite: {built.path}"
    show({"path": built.path, "pages": built.pages, "written": built.written}, text, as_json=as_json)


def _write_week(context: Context, folder: Path, day: date, *, as_json: bool) -> None:
    from tasks.files.atomic import write_text
    from tasks.files.report_paths import ReportPaths
    from tasks.reports.markdown.weekly import weekly_report

    monday, text = weekly_report(context.warehouse, context.rubric, day, context.settings.time_zone)
    path = ReportPaths(folder).week_report(monday)
    write_text(path, text)
    show({"path": path}, f"report: {path}", as_json=as_json)
