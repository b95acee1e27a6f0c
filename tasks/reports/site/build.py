"""Builds the site from a warehouse: a page for each day and test run, and the first page, which links to them.

The pages are a function of the tables: the same tables give the same bytes, and an unchanged page is not written; the
modification time of the first page is the time of the build. Pages of days that have left the span stay, so that old
links stay valid.

Source: SPEC 9 `aqb report`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from scoring.alerting.decision import WatchedDays
from scoring.alerting.judge_messages import ModelEnd
from scoring.alerting.preview import paged_lines, preview_days
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.periods import Period, month_of, week_of
from scoring.chat.rubric import RowRubric
from scoring.stats.intervals import Interval
from scoring.testruns.history import compared_with
from tasks.chat.tables import KPIS, read_kpis_of_verdicts
from tasks.files.atomic import writable
from tasks.files.report_paths import (
    ALERTS_PAGE,
    FIRST_PAGE,
    JUDGE_PAGE,
    TESTRUNS,
    ReportPaths,
    page_name,
    rows_page_name,
)
from tasks.reports.site.alert_pages import alerts_page
from tasks.reports.site.day_pages import alert_examples, day_page, day_steps, overview
from tasks.reports.site.day_summaries import DaySummary, counted_columns, kept_summary, summarised
from tasks.reports.site.failure_types import earlier_failures, failures_by_day
from tasks.reports.site.kept_pages import KeptPages, write_changed
from tasks.reports.site.listed_rows import list_period_rows, list_rows
from tasks.reports.site.newcomers import newcomers
from tasks.reports.site.page_inputs import PageInputs
from tasks.reports.site.pages import page
from tasks.reports.site.period_pages import period_page
from tasks.reports.site.row_pages import rows_page
from tasks.reports.site.scored_days import ScoredSpan, SpanTables, read_span, scored_days
from tasks.reports.site.services_page import ServiceStanding, page_over_all, services_page
from tasks.reports.site.testrun_charts import kept_intervals, metric_intervals
from tasks.reports.site.testrun_history import runs_by_set, values_of_set
from tasks.reports.site.testrun_pages import file_links, testrun_values, testruns_index
from tasks.reports.site.testrun_tables import (
    PublishedTestRun,
    ShownTestRun,
    executions_of,
    queries_of,
    read_testruns,
    report_files,
)
from tasks.reports.site.worst_rows import ShownRow, shown_rows
from tasks.testruns.warehouse import JUDGEMENTS
from tasks.warehouse import Warehouse
from tasks.warehouse.day_queries import CountsOfDays
from tasks.warehouse.tables import ANCHORS, AUDITS, SWITCHES

SPAN_DAYS = 60
_JUDGE_TABLES = (JUDGEMENTS, ANCHORS, AUDITS, SWITCHES)
_USUAL_POLICY = AlertPolicy()


@dataclass(frozen=True)
class BuiltSite:
    """The paths of the first page and that of the last scored day, the number of pages, and of changed ones."""

    path: Path
    last_day_page: Path | None
    pages: int
    written: int


def build_pages(
    warehouse: Warehouse,
    rubric: RowRubric,
    folder: Path,
    time_zone: str,
    span: int = SPAN_DAYS,
    policy: AlertPolicy = _USUAL_POLICY,
    snoozes: Sequence[Snooze] = (),
    chosen: Period | None = None,
    judge_end: ModelEnd | None = None,
    over_all: str | None = None,
) -> BuiltSite:
    """Writes the pages into `folder`, each atomically, the first page last: it leads to pages that are there.

    `span` counts the calendar days up to the last scored one, and the days that have test runs. What is decided about
    rates of alerts follows `policy`; `snoozes` are all that there are, those that are over too; `judge_end` is the end
    of the model that judges, where it is near. The site of one of several services leads to the one `over_all` of them
    (the way there, '' without a link) for test runs and the judge, which belong to no service; None: it has these
    pages itself. A page that has not changed since the last build is not made again, nor
    are its rows read. A `chosen` period gets a page, and the span reaches back to its first day.

    Raises:
        StorageError: the folder cannot be written.
    """
    days = warehouse.days(KPIS)
    if chosen and days:
        span = max(span, (days[-1] - chosen.first).days + 1)
    tables = read_span(warehouse, rubric, days, span)
    runs = read_testruns(warehouse, span) if over_all is None else []
    shown_runs, periods = _shown_runs(folder, runs), _periods(tables, folder, chosen)
    inputs, pages = PageInputs(warehouse, rubric, tables, shown_runs, time_zone, over_all), KeptPages(folder)
    if over_all is None:
        written = _write_judge_page(warehouse, folder, span, judge_end)
    else:
        written = write_changed(folder / JUDGE_PAGE, page_over_all(JUDGE_PAGE, "", over_all))
    first_page = inputs.first_page(policy, snoozes, periods)
    if not pages.is_as_made_from(FIRST_PAGE, first_page) or not pages.are_all_there():
        watched = WatchedDays(rubric, tables.kpis, policy)
        scored = scored_days(tables, watched.decided, policy.days_off, snoozes, ZoneInfo(time_zone))
        made = [period for period in periods if _is_made(tables, folder, period)]
        others = inputs.others(scored, policy, snoozes, made, periods)
        pages.begin(others | {FIRST_PAGE: first_page})
        summaries, last_rows = _day_pages(pages, warehouse, rubric, scored, time_zone)
        told_from = min(tables.days, default=date.max)
        of_verdicts = read_kpis_of_verdicts(warehouse, rubric, days, tables.kpis, told_from, (ALL_TENANTS,))
        reported = preview_days(watched, tables.days, of_verdicts=of_verdicts)
        kinds = {day: dict(summary.kinds) for day, summary in summaries.items()}
        for period in made:
            if pages.lacks(page_name(period)) or pages.lacks(rows_page_name(period)):
                shown = [day for day in scored.days if day.day in period]
                listed = list_period_rows(warehouse, rubric, period, [day.total for day in shown], time_zone)
                pages.write(rows_page_name(period), rows_page(listed, shown[-1]))
                news = newcomers(rubric, period, scored.rows_around(period), kinds)
                news = [*paged_lines(one for one in reported if one.day in period), *news]
                pages.write(page_name(period), period_page(scored, period, summaries, listed, periods, news))
        if over_all is None:
            _testrun_pages(pages, warehouse, folder, shown_runs)
        elif pages.lacks(of_runs := f"{TESTRUNS}/{FIRST_PAGE}"):
            pages.write(of_runs, page_over_all(of_runs, "../", over_all))
        if pages.lacks(ALERTS_PAGE):
            pages.write(ALERTS_PAGE, alerts_page(watched, reported, scored, summaries, snoozes, time_zone))
        if pages.lacks(FIRST_PAGE):
            first = overview(rubric, scored, list(summaries.values()), last_rows, runs, periods, over_all)
            pages.write(FIRST_PAGE, first)
        pages.keep()
    with writable(folder):
        (folder / FIRST_PAGE).touch()
    last = folder / page_name(tables.days[-1]) if tables.days else None
    return BuiltSite(folder / FIRST_PAGE, last, len(pages) + 1, pages.written + written)


def build_services_pages(
    warehouse: Warehouse,
    services: list[ServiceStanding],
    folder: Path,
    time_zone: str,
    judge_end: ModelEnd | None,
) -> BuiltSite:
    """Writes the page over several services, whose own pages are written by `build_pages`, and those of no service:
    of test runs and of the judge.

    Raises:
        StorageError: the folder cannot be written.
    """
    shown_runs, pages = _shown_runs(folder, read_testruns(warehouse, SPAN_DAYS)), KeptPages(folder)
    inputs = PageInputs(warehouse, None, SpanTables([], {}, {}, {}, []), shown_runs, time_zone)
    written = _write_judge_page(warehouse, folder, SPAN_DAYS, judge_end)
    over_all = {FIRST_PAGE: ("overview", FIRST_PAGE), ALERTS_PAGE: ("alerts", ALERTS_PAGE)}
    pages.begin(inputs.of_testruns() | dict.fromkeys(over_all))
    _testrun_pages(pages, warehouse, folder, shown_runs)
    for name, (section, leads_to) in reversed(over_all.items()):
        pages.write(name, services_page(services, section=section, leads_to=leads_to))
    pages.keep()
    with writable(folder):
        (folder / FIRST_PAGE).touch()
    return BuiltSite(folder / FIRST_PAGE, None, len(pages) + 1, pages.written + written)


def _write_judge_page(warehouse: Warehouse, folder: Path, span: int, end: ModelEnd | None) -> bool:
    """Writes the page of the judge; returns whether it has changed."""
    if not any(map(warehouse.days, _JUDGE_TABLES)):
        return write_changed(folder / JUDGE_PAGE, page("no_judge.html", root="", section="judge", title="판정 모델"))
    from tasks.reports.site.judge_page import judge_page  # with the judge's client, whose import takes long

    return write_changed(folder / JUDGE_PAGE, judge_page(warehouse, span, end))


def _day_pages(
    pages: KeptPages, warehouse: Warehouse, rubric: RowRubric, scored: ScoredSpan, time_zone: str
) -> tuple[dict[date, DaySummary], Sequence[ShownRow]]:
    """Writes the pages of days and of their rows; returns the summaries of all days, and rows of the last one for the
    first page. Only one day's rows are in memory.
    """
    steps = {day.day: day_steps(scored.days, position) for position, day in enumerate(scored.days)}
    kept = {day.day: _relinked(pages, day.page, steps[day.day]) for day in scored.days}
    counted = _counted(warehouse, rubric, scored, kept)
    failures = {day: one.failures for day, one in kept.items() if one and one.listed} | failures_by_day(counted, rubric)
    summaries: dict[date, DaySummary] = {}
    rows: Sequence[ShownRow] = ()
    for day in scored.days:
        summary, rows_name = kept[day.day], rows_page_name(day.day)
        is_shown_first = day is scored.days[-1] and pages.lacks(FIRST_PAGE)
        if summary is None or is_shown_first or pages.lacks(rows_name):
            listed = list_rows(warehouse, rubric, day.day, day.total["rows"], time_zone)
            if pages.lacks(rows_name):
                pages.write(rows_name, rows_page(listed, day))
            if summary is None or is_shown_first:
                rows = shown_rows(warehouse, rubric, day.day, listed, alert_examples(day))
            if summary is None:
                earlier = earlier_failures(scored.earlier_rows(day), failures)
                repeated = warehouse.day_queries(day.day, rubric).repeated_rows()
                summary = summarised(listed, counted.get(day.day, {}), repeated, steps[day.day], earlier)
                pages.write(day.page, day_page(rubric, scored, day, summary, rows), asdict(summary))
        summaries[day.day] = summary
    return summaries, rows


def _counted(
    warehouse: Warehouse, rubric: RowRubric, scored: ScoredSpan, kept: Mapping[date, DaySummary | None]
) -> CountsOfDays:
    """The counts of the days without a stored summary, and of the days before them whose failures no summary has."""
    lacking = [day for day in scored.days if kept[day.day] is None]
    earlier = {row["score_date"] for day in lacking for row in scored.earlier_rows(day)}
    known = {day for day, one in kept.items() if one and one.listed}
    days = sorted({*(day.day for day in lacking), *(earlier - known)})
    return warehouse.value_counts(days, counted_columns(rubric), rubric) if days else {}


def _relinked(pages: KeptPages, name: str, steps: str) -> DaySummary | None:
    """The stored summary of a day whose page now has these links to other days; None if the page must be written."""
    kept = kept_summary(pages.summary(name))
    if kept is None or kept.steps == steps:
        return kept
    summary = replace(kept, steps=steps)
    return summary if pages.replace(name, kept.steps, steps, asdict(summary)) else None


def _periods(tables: SpanTables, folder: Path, chosen: Period | None) -> list[Period]:
    """The weeks and months of the span, and the other periods that have or get a page."""
    of_days = {of(day) for day in tables.days for of in (week_of, month_of)}
    written = ReportPaths(folder).period_pages().items()
    kept = {period for path, period in written if path.suffix == ".html" and period.kind != "week"}
    return sorted({*of_days, *kept, *([chosen] if chosen else [])})


def _is_made(tables: SpanTables, folder: Path, period: Period) -> bool:
    """Whether the page of a period is written again: one with days that have left the span stays unchanged."""
    in_span = {day for day in tables.days if day in period}
    whole = in_span == {day for day in tables.kpis if day in period}
    return bool(in_span) and (whole or not (folder / page_name(period)).exists())


def _testrun_pages(pages: KeptPages, warehouse: Warehouse, folder: Path, runs: Sequence[ShownTestRun]) -> None:
    """Writes the pages of the runs, then those of their test sets and of all; only one run's rows are in memory."""
    intervals: dict[tuple[str, str], Mapping[str, Interval | None]] = {}
    for shown in runs:
        run, known = shown.run, kept_intervals(pages.summary(shown.name))
        if known is None:
            executions, queries = executions_of(warehouse, run), queries_of(warehouse, run)
            known = metric_intervals(run, executions, queries)
            place = ReportPaths(folder).testrun_folder(run.name, run.sha256)
            files = file_links(place.name, shown.files)
            values = testrun_values(run, executions, queries, known, files, shown.before)
            text = page("run.html", root="../", section="runs", **values)
            pages.write(shown.name, text, {name: one and asdict(one) for name, one in known.items()})
        intervals[run.sha256, run.rubric_id] = known
    for of_set in runs_by_set([shown.run for shown in runs]):
        if pages.lacks(name := f"{TESTRUNS}/{of_set[-1].set_page}"):
            values = values_of_set(of_set, intervals)
            pages.write(name, page("test_set.html", root="../", section="runs", **values))
    if pages.lacks(name := f"{TESTRUNS}/{FIRST_PAGE}"):
        pages.write(name, testruns_index([shown.run for shown in runs]))


def _shown_runs(folder: Path, runs: Sequence[PublishedTestRun]) -> list[ShownTestRun]:
    """The runs with the files of their report folders, if these are beside their pages."""
    pages = {(run.sha256, run.rubric_id): run.page for run in runs}
    found = []
    for run in runs:
        place = ReportPaths(folder).testrun_folder(run.name, run.sha256)
        found.append(ShownTestRun(run, report_files(place), pages.get((compared_with(run.summary), run.rubric_id), "")))
    return found
