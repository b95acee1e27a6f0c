"""`aqb report`: builds the report site."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import Json, day_option, day_range, open_context, show
from flows.runtime.clock import today
from scoring.chat.periods import Period, week_of
from scoring.errors import UsageError, counted
from tasks.files.report_paths import LONGEST_BUILD_S, OVER_SERVICES, SITE_LOCK, ReportPaths, page_name


def report(
    out: Annotated[Path | None, typer.Option(help="The folder of the site. Default: the setting `reports`.")] = None,
    days: Annotated[int, typer.Option(min=1, help="Calendar days up to the last scored one.")] = 60,
    week: Annotated[date | None, day_option("--week", "Write the report of the week that holds this day too.")] = None,
    first: Annotated[
        date | None, day_option("--from", "Write report and page of the days from this one to --to too.")
    ] = None,
    last: Annotated[date | None, day_option("--to", "The last of these days.")] = None,
    as_json: Json = False,
) -> None:
    """Build the dashboard: pages that open from disk, one a day and one a test run, and a first page over all.

    Example: aqb report --from 2026-02-01 --to 2026-02-28
    """
    from tasks.files.atomic import write_text
    from tasks.judge_quality.model_end import near_end
    from tasks.reports.markdown.period import period_report
    from tasks.reports.site.build import build_pages
    from tasks.state.alert_choices import AlertChoices

    period = _period(week, first, last)
    with open_context() as context, ExitStack() as alone:
        settings, rubric = context.settings, context.rubric
        if out is None:  # a night or another build may be writing there
            alone.enter_context(context.warehouse.lock(SITE_LOCK, LONGEST_BUILD_S))
        choices, folder = AlertChoices(context.state), out or Path(settings.reports)
        policy, snoozes = choices.policy(settings.alerts), choices.every_snooze()
        if period:
            text = period_report(context.warehouse, rubric, period, settings.time_zone, policy)
            write_text(ReportPaths(folder).report(period), text)
        end = near_end(context.state, settings.judge, today(settings.time_zone))
        built = build_pages(
            context.warehouse,
            rubric,
            folder,
            settings.time_zone,
            days,
            policy,
            snoozes,
            period,
            judge_end=end,
            over_all=("" if out else OVER_SERVICES) if settings.service else None,
        )
    text = f"{counted(built.pages, 'page')}, {built.written} of them changed\ndashboard: {built.path}"
    found = {"path": built.path, "pages": built.pages, "written": built.written}
    if period:
        path, page = ReportPaths(folder).report(period), folder / page_name(period)
        found, text = found | {"report": path, "page": page}, f"{text}\nreport: {path}\npage: {page}"
    show(found, text, as_json=as_json)


def _period(week: date | None, first: date | None, last: date | None) -> Period | None:
    """The period that the options name; None if they name none.

    Raises:
        UsageError: the options contradict each other, or one of `--from` and `--to` is missing.
    """
    if week is not None and (first or last):
        raise UsageError("--week says the days already", fix="leave out --from and --to")
    if week is not None:
        return week_of(week)
    if first is None or last is None:
        if first or last:
            raise UsageError("--from and --to go together", fix="give both")
        return None
    return Period(*day_range(first, last))
