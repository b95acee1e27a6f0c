"""Builds the site from a warehouse: a page a day, a page a test run, and the first page that leads to them.

The pages are a function of the tables: the same tables give the same bytes, and a page that has not changed is left
as it is; the time of the first page says when the site was built. Pages of days that have left the span stay, so that
links sent long ago still lead somewhere.

Source: SPEC 9 `aqb report`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from zoneinfo import ZoneInfo

from scoring.alerting.decision import decide
from scoring.alerting.judge_messages import ModelEnd
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import DECISION_DAYS, AlertPolicy
from scoring.chat.periods import Period, month_of, week_of
from scoring.chat.rubric import RowRubric
from tasks.chat.tables import KPIS, read_kpis
from tasks.files.atomic import writable, write_text
from tasks.files.report_paths import (
    ALERTS_PAGE,
    FIRST_PAGE,
    JUDGE_PAGE,
    TESTRUNS,
    ReportPaths,
    period_page_name,
    rows_page_name,
)
from tasks.reports.site.alert_pages import alerts_page
from tasks.reports.site.day_inputs import day_inputs
from tasks.reports.site.day_pages import alert_examples, day_page, overview
from tasks.reports.site.day_summaries import DaySummary, KeptSummaries, summarised
from tasks.reports.site.judge_page import has_judged, judge_page
from tasks.reports.site.listed_rows import list_rows
from tasks.reports.site.pages import Link
from tasks.reports.site.period_pages import period_page
from tasks.reports.site.row_pages import rows_page
from tasks.reports.site.scored_days import ScoredSpan, scored_days
from tasks.reports.site.testrun_charts import metric_intervals
from tasks.reports.site.testrun_history import page_of_set, runs_by_set
from tasks.reports.site.testrun_pages import testrun_page, testruns_index
from tasks.reports.site.testrun_tables import PublishedTestRun, executions_of, queries_of, read_testruns
from tasks.reports.site.worst_rows import ShownRow, shown_rows
from tasks.warehouse import Warehouse

SPAN_DAYS = 60
_USUAL_POLICY = AlertPolicy()
_FILES = {"report.md": "보고서(Markdown)", "scores.xlsx": "점수 워크북(Excel)"}


@dataclass(frozen=True)
class BuiltSite:
    """Where the first page and that of the last scored day are, how many pages there are, and how many had changed."""

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
) -> BuiltSite:
    """Writes the pages into `folder`, each atomically, the first page last: it leads to pages that are there.

    `span` counts the calendar days up to the last scored one, and the days that have test runs. What is decided about
    rates of alerts follows `policy`; `snoozes` are all that there are, those that are over too; `judge_end` is the end
    of the model that judges, where it is near. The pages of a day that has not changed since the last build are neither
    made nor read again. A `chosen` period gets a page, and the span reaches back to its first day.

        Raises:
            StorageError: the folder cannot be written.
    """
    days = warehouse.days(KPIS)
    if chosen and days:
        span = max(span, (days[-1] - chosen.first).days + 1)
    kpis = read_kpis(warehouse, rubric, days[-span - DECISION_DAYS :])
    decided = decide(rubric, kpis, policy)
    scored = scored_days(warehouse, rubric, span, kpis, decided, snoozes, ZoneInfo(time_zone))
    pages = 1
    written = int(_write_changed(folder / ALERTS_PAGE, alerts_page(rubric, scored, policy, snoozes, time_zone)))
    if has_judged(warehouse):
        pages += 1
        written += _write_changed(folder / JUDGE_PAGE, judge_page(warehouse, span, judge_end))
    for name, text in _pages(warehouse, rubric, scored, folder, time_zone, span, chosen):
        pages += 1
        written += text is not None and _write_changed(folder / name, text)
    with writable(folder):
        (folder / FIRST_PAGE).touch()
    last = folder / scored.days[-1].page if scored.days else None
    return BuiltSite(folder / FIRST_PAGE, last, pages, written)


def _pages(
    warehouse: Warehouse,
    rubric: RowRubric,
    scored: ScoredSpan,
    folder: Path,
    time_zone: str,
    span: int,
    chosen: Period | None,
) -> Iterator[tuple[str, str | None]]:
    """Every page with its name, None for one that is as it should be; only one day's rows are in memory."""
    kept = KeptSummaries.read(ReportPaths(folder).site_state)
    inputs = day_inputs(warehouse, rubric, scored, time_zone)
    summaries: list[DaySummary] = []
    last_rows: Sequence[ShownRow] = ()
    for position, day in enumerate(scored.days):
        names = (day.page, rows_page_name(day.day))
        there = all((folder / name).is_file() for name in names)
        summary = kept.summary(day.day, inputs[day.day]) if there else None
        if summary is not None and day is not scored.days[-1]:
            summaries.append(summary)
            yield from ((name, None) for name in names)
            continue
        listed = list_rows(warehouse, rubric, day.day, day.total["rows"], time_zone)
        last_rows = shown_rows(warehouse, rubric, day.day, listed, alert_examples(day))
        summaries.append(summary or summarised(warehouse, day, listed))
        yield names[1], rows_page(listed, day)
        yield names[0], day_page(rubric, scored, position, summaries[-1], last_rows)
    by_day = {day.day: summary for day, summary in zip(scored.days, summaries, strict=True)}
    periods = _periods(scored, folder, chosen)
    for period in periods:
        if _is_made(scored, folder, period):
            yield period_page_name(period), period_page(rubric, scored, period, by_day, periods)
    runs = read_testruns(warehouse, span)
    yield from _testrun_pages(warehouse, runs, folder)
    yield f"{TESTRUNS}/{FIRST_PAGE}", testruns_index(runs)
    yield FIRST_PAGE, overview(rubric, scored, summaries, last_rows, runs, periods)
    kept.keep({day: (inputs[day], summary) for day, summary in by_day.items()})


def _periods(scored: ScoredSpan, folder: Path, chosen: Period | None) -> list[Period]:
    """The weeks and months of the span, and the other periods that have a page or get one."""
    of_days = {of(day.day) for day in scored.days for of in (week_of, month_of)}
    written = ReportPaths(folder).period_pages().items()
    kept = {period for path, period in written if path.suffix == ".html" and period.kind != "week"}
    return sorted({*of_days, *kept, *([chosen] if chosen else [])})


def _is_made(scored: ScoredSpan, folder: Path, period: Period) -> bool:
    """Whether the page of a period is made anew: one of which days have left the span stays as it was."""
    in_span = {day.day for day in scored.days if day.day in period}
    whole = in_span == {day for day in scored.kpis if day in period}
    return bool(in_span) and (whole or not (folder / period_page_name(period)).exists())


def _testrun_pages(warehouse: Warehouse, runs: Sequence[PublishedTestRun], folder: Path) -> Iterator[tuple[str, str]]:
    """The pages of the runs, then those of their test sets; only one run's rows are in memory."""
    intervals = {}
    pages = {(run.sha256, run.rubric_id): run.page for run in runs}
    for run in runs:
        executions, queries = executions_of(warehouse, run), queries_of(warehouse, run)
        intervals[run.sha256, run.rubric_id] = metric_intervals(run, executions, queries)
        before = (run.summary.get("change") or {}).get("sha256", "")
        yield (
            f"{TESTRUNS}/{run.page}",
            testrun_page(
                run,
                executions,
                queries,
                intervals[run.sha256, run.rubric_id],
                _files(folder, run),
                pages.get((before, run.rubric_id), ""),
            ),
        )
    for of_set in runs_by_set(runs):
        yield f"{TESTRUNS}/{of_set[-1].set_page}", page_of_set(of_set, intervals)


def _files(folder: Path, run: PublishedTestRun) -> list[Link]:
    """The files of the run's report folder, where that lies beside its page."""
    place = ReportPaths(folder).testrun_folder(run.name, run.sha256)
    return [Link(title, quote(f"{place.name}/{name}")) for name, title in _FILES.items() if (place / name).is_file()]


def _write_changed(path: Path, text: str) -> bool:
    """Replaces a page unless it is already as it should be."""
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    write_text(path, text)
    return True
