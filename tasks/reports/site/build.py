"""Builds the site from a warehouse: a page a day, a page a test run, and the first page that leads to them.

The pages are a function of the tables: the same tables give the same bytes, and a page that has not changed is left
as it is; the time of the first page says when the site was built. Pages of days that have left the span stay, so that
links sent long ago still lead somewhere.

Source: SPEC 9 `aqb report`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from scoring.alerting.decision import DECISION_DAYS, AlertPolicy, decide
from scoring.chat.rubric import RowRubric
from scoring.stats.intervals import Interval
from tasks.chat.tables import KPIS, read_kpis
from tasks.files.atomic import writable, write_text
from tasks.files.report_paths import FIRST_PAGE, TESTRUNS, ReportPaths
from tasks.reports.site.day_pages import alert_examples, day_page, overview
from tasks.reports.site.pages import Link
from tasks.reports.site.scored_days import SiteDay, scored_days
from tasks.reports.site.testrun_pages import testrun_page, testruns_index
from tasks.reports.site.testrun_tables import PublishedTestRun, executions_of, queries_of, read_testruns
from tasks.reports.site.worst_rows import day_rows
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
) -> BuiltSite:
    """Writes the pages into `folder`, each atomically, the first page last: it leads to pages that are there.

    `span` counts the calendar days up to the last scored one, and the days that have test runs. What is decided about
    rates of alerts follows `policy`.

    Raises:
        StorageError: the folder cannot be written.
    """
    scored = warehouse.days(KPIS)
    kpis = read_kpis(warehouse, rubric, scored[-1], span + DECISION_DAYS) if scored else {}
    days = scored_days(warehouse, rubric, span, kpis, decide(rubric, kpis, policy))
    pages = written = 0
    for name, text in _pages(warehouse, rubric, days, folder, time_zone, span):
        pages += 1
        written += _write_changed(folder / name, text)
    with writable(folder):
        (folder / FIRST_PAGE).touch()
    return BuiltSite(folder / FIRST_PAGE, folder / days[-1].page if days else None, pages, written)


def _pages(
    warehouse: Warehouse, rubric: RowRubric, days: Sequence[SiteDay], folder: Path, time_zone: str, span: int
) -> Iterator[tuple[str, str]]:
    """Every page with its name, a day at a time: only one day's rows are in memory."""
    intervals: list[Mapping[str, Interval | None]] = []
    rows = None
    for position, day in enumerate(days):
        rows = day_rows(warehouse, rubric, day.day, alert_examples(day), time_zone)
        intervals.append(rows.mean_intervals)
        yield day.page, day_page(rubric, days, position, rows)
    runs = read_testruns(warehouse, span)
    for run in runs:
        files = _files(folder, run)
        yield (
            f"{TESTRUNS}/{run.page}",
            testrun_page(run, executions_of(warehouse, run), queries_of(warehouse, run), files),
        )
    yield f"{TESTRUNS}/{FIRST_PAGE}", testruns_index(runs)
    yield FIRST_PAGE, overview(rubric, days, intervals, rows, runs)


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
