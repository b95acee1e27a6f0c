"""What is taken away: old texts, judgements and leftovers (`prune`), and everything of one session (`erase`).

Both work day by day, each day atomically and locked against the runs that write it, and the part that tells where to
look is changed last: killed at any moment, the same command finishes the work.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import polars as pl

from scoring.alerting.growth import TEMPLATE
from scoring.alerting.growth_wording import template_name
from scoring.chat.erasure import PERSONAL_COLUMNS
from scoring.chat.row_ids import TEXTS
from scoring.chat.templates import WORD
from scoring.judging.masking import masked
from scoring.markdown import cell
from scoring.text_search import TextSearch
from tasks.alerts.outbox import Outbox
from tasks.chat.tables import ALERTS_SCHEMA, EXCLUDED
from tasks.config.services import settings_of_former
from tasks.context import Context
from tasks.files.atomic import remove_unfinished, write_text
from tasks.files.report_paths import SITE_LOCK, ReportPaths
from tasks.judge.verdict_store import VerdictStore
from tasks.review.label_store import LabelStore
from tasks.state.audit_log import AuditLog
from tasks.state.erased_sessions import remember_erased, remember_rows
from tasks.state.run_ledger import RunLedger
from tasks.testruns.uploads import Uploads
from tasks.testruns.warehouse import DAY_JUDGEMENTS_SCHEMA, JUDGEMENTS
from tasks.warehouse import Warehouse
from tasks.warehouse.rewriting import written_schema
from tasks.warehouse.tables import ALERTS, SCORES

ERASED_CELL = "(삭제됨)"
_LEFTOVER_AFTER = timedelta(days=1)
_DAYS_AT_ONCE = 100
_EVER = datetime.min.replace(tzinfo=UTC)
_LINK = re.compile(r'<a href="(?:[^"?#]*/)?(?P<page>[^"/?#]+)[^"]*"[^>]*>(?P<text>.*?)</a>', re.DOTALL)
_LINK_OF_CHART = re.compile(r'"href":"(?:[^"?#]*/)?(?P<page>[^"/?#]+)[^"]*"')  # in texts of people quotes are escaped


def prune(context: Context, before: date, now: datetime, *, dry_run: bool) -> dict[str, int]:
    """Takes away what is older than `before`, and leftovers of killed runs; returns how much of what.

    Of a chosen service that is its texts alone.

    Score rows lose their texts, judgements and verdicts go, with what alerts, reports and messages quote, and files
    that people have sent to `aqb web`. Scores, KPIs, alert facts and the ledger of runs stay.

    Raises:
        StorageError: something cannot be written, or a run is working on one of these days; run it again.
    """
    warehouse, reports = context.warehouse, context.reports
    places = (
        "reports that quote",
        f"{SCORES}: texts",
        f"{JUDGEMENTS}: rows",
        "verdicts",
        "alert messages",
        "web accesses",
        "web uploads",
    )
    found = Counter(dict.fromkeys(places, 0))
    for one in context.services:
        found.update(_prune_texts(one, before, dry_run=dry_run))
    if context.settings.service:
        return dict(found)
    for day in (day for day in warehouse.days(JUDGEMENTS) if day < before):
        judgements = _count(warehouse, day, JUDGEMENTS, pl.lit(value=True))
        found[f"{JUDGEMENTS}: rows"] += judgements
        if not dry_run and judgements:
            warehouse.replace_day(JUDGEMENTS, day, DAY_JUDGEMENTS_SCHEMA, [])
    oldest = datetime.combine(before, time(), UTC)
    found["verdicts"] += VerdictStore(context.state).forget(oldest, dry_run=dry_run)
    found["alert messages"] += Outbox(context.state).forget_before(oldest, dry_run=dry_run)
    found["web accesses"] += AuditLog(context.state).forget_before(oldest, dry_run=dry_run)
    found["web uploads"] += Uploads(Path(context.settings.web.uploads)).remove_before(before, dry_run=dry_run)
    died_before = now - _LEFTOVER_AFTER
    unfinished = remove_unfinished(reports.folder, died_before, dry_run=dry_run)
    leftovers = unfinished + warehouse.remove_leftovers(died_before, dry_run=dry_run)
    return {**found, "leftovers of killed runs": leftovers}


def _prune_texts(context: Context, before: date, *, dry_run: bool) -> Counter[str]:
    """Clears the texts of a service's rows, and removes what quotes them."""
    warehouse = context.warehouse
    any_text = pl.any_horizontal(pl.col(TEXTS).is_not_null())
    texts = {day: _count(warehouse, day, SCORES, any_text) for day in warehouse.days(SCORES) if day < before}
    days = [day for day, count in texts.items() if count]
    going = {page for day in days for page in _pages_of_day(context, day)}  # one of a week quotes several days
    if going and not dry_run:
        with warehouse.lock(SITE_LOCK):
            for reports in _reports_of(context):
                _unlink(reports, {page.name for page in going})
    for day in () if dry_run else days:
        # Who has begun to build pages of these texts would write them after they have gone.
        with warehouse.staging(f"monitoring-{day}"), warehouse.lock(SITE_LOCK), warehouse.lock(ALERTS):
            for page in _pages_of_day(context, day):
                page.unlink(missing_ok=True)
            _forget_templates(warehouse, day, None)
            warehouse.clear(SCORES, day, context.rubric.scores_schema, TEXTS)
    return Counter({f"{SCORES}: texts": sum(texts.values()), "reports that quote": len(going)})


def _unlink(reports: ReportPaths, going: Collection[str]) -> None:
    """Leaves of links to pages that are going their text alone, of those of charts nothing: the pages of days and weeks
    that have left the span of the site are not made again.
    """
    for page in reports.pages_with_links():
        text = page.read_text(encoding="utf-8")
        kept = _LINK.sub(lambda link: link["text"] if link["page"] in going else link[0], text)
        kept = _LINK_OF_CHART.sub(lambda link: '"href":null' if link["page"] in going else link[0], kept)
        if kept != text:
            write_text(page, kept)


def left_tables(context: Context) -> list[str]:
    """The services, '' for one without a name, that have tables and that the settings do not name: neither command
    reaches them. None of a chosen service.

    Raises:
        StorageError: the tables cannot be listed.
    """
    if context.settings.service:
        return []
    former = RunLedger(context.state).services() - {one.settings.stored_service for one in context.services}
    return sorted(
        name or "" for name in former if Context(settings_of_former(context.settings, name)).warehouse.days(SCORES)
    )


def erase(context: Context, session_id: str, now: datetime, *, dry_run: bool) -> dict[str, int]:
    """Takes a session's texts and id out of every table, report and message; returns how much of what.

    The rows keep their scores, so that no rate changes. Later runs leave the session out by themselves. Of a chosen
    service that is what its tables, and what was made of them, hold.

    Raises:
        StorageError: something cannot be written, or a run is working on one of these days; run it again.
    """
    if not dry_run:
        remember_erased(context.state, session_id, now)
    places = ("reports", "alert messages", "notes of labels", "web accesses")
    found = Counter(dict.fromkeys((f"{SCORES}: rows", f"{EXCLUDED}: rows", *places), 0))
    for one in context.services:
        found.update(_erase_rows(one, session_id, dry_run=dry_run))
    found["web accesses"] = AuditLog(context.state).forget_text(session_id, dry_run=dry_run)
    return dict(found)


def _erase_rows(context: Context, session_id: str, *, dry_run: bool) -> Counter[str]:
    """Takes a session out of the rows of a service, and out of what shows them."""
    warehouse, found, touched = context.warehouse, Counter[str](), set[Path]()
    mine = pl.col("session_id") == session_id
    outbox, labels = Outbox(context.state), LabelStore(context.state)
    going = {run.score_date for run in RunLedger(context.state).unended_since(_EVER)}  # may write a day's first rows
    for day in sorted(going.union(*(_days_with(warehouse, table, mine) for table in (SCORES, EXCLUDED)))):
        with ExitStack() as alone:
            if not dry_run:  # who has begun to write the day, or pages of what it read, does not know of this session
                alone.enter_context(warehouse.staging(f"monitoring-{day}"))
                alone.enter_context(warehouse.lock(SITE_LOCK))
            rows = warehouse.read(SCORES, [day])
            own = None if rows is None else rows.filter(mine).select("row_id", "user_input", "tenant_id").collect()
            row_ids = [] if own is None else own["row_id"].to_list()
            templates = set() if own is None else _templates(context, own["user_input"].drop_nulls())
            found[f"{SCORES}: rows"] += len(row_ids)
            found[f"{EXCLUDED}: rows"] += (excluded := _count(warehouse, day, EXCLUDED, mine))
            if row_ids:
                texts = [*row_ids, *map(template_name, templates)]
                found["alert messages"] += outbox.forget(texts, dry_run=dry_run)
                found["notes of labels"] += labels.forget_notes(row_ids, dry_run=dry_run)
                for reports in _reports_of(context):
                    touched |= _forget_in_reports(reports, day, row_ids, dry_run=dry_run)
            if excluded and not dry_run:
                warehouse.clear(EXCLUDED, day, context.rubric.excluded_schema, PERSONAL_COLUMNS, session_id)
            if own is not None and row_ids and not dry_run:
                remember_rows(context.state, session_id, day, Counter(own["tenant_id"]))
                with warehouse.lock(ALERTS):  # the facts of this day are also written when an earlier one is scored
                    if templates:
                        _forget_templates(warehouse, day, templates)
                        for reports in _reports_of(context):  # those of later days name what a rise began with
                            _forget_lines(reports, templates)
                    warehouse.clear(SCORES, day, context.rubric.scores_schema, PERSONAL_COLUMNS, session_id)
    found["reports"] = len(touched)
    return found


def _days_with(warehouse: Warehouse, table: str, where: pl.Expr) -> set[date]:
    """The days on which a table has such rows; looked for on some days at a time, which are in memory together."""
    days, found = warehouse.days(table), set[date]()
    for start in range(0, len(days), _DAYS_AT_ONCE):
        rows = warehouse.read(table, days[start : start + _DAYS_AT_ONCE])
        if rows is not None:
            found.update(rows.filter(where).select("score_date").collect()["score_date"])
    return found


def _templates(context: Context, questions: pl.Series) -> set[str]:
    """The forms of these questions, as alerts keep them; those of a single word, or without a letter, are nobody's."""
    return {masked(context.rubric.template(question)) for question in questions} - {WORD, ""}


def _forget_templates(warehouse: Warehouse, day: date, templates: Collection[str] | None) -> None:
    """Takes these forms of questions, or all, out of what the alert facts of a day say that grew."""
    alerts = warehouse.read(ALERTS, [day])
    if alerts is None or "grown" not in alerts.collect_schema():
        return
    frame = alerts.collect()
    said = [grown or [] for grown in frame["grown"].to_list()]
    kept = [
        [one for one in grown if one["column"] != TEMPLATE or (templates and one["value"] not in templates)]
        for grown in said
    ]
    if kept != said:
        changed = frame.with_columns(grown=pl.Series(kept, dtype=frame.schema["grown"]))
        warehouse.replace_day(ALERTS, day, written_schema(alerts, ALERTS_SCHEMA), [changed])


def _forget_lines(reports: ReportPaths, templates: Collection[str]) -> None:
    """Takes the lines that name one of these forms of questions out of the reports of all days."""
    names = TextSearch(cell(template_name(template)) for template in templates)
    for report in reports.day_reports():
        if names.is_in(text := report.read_text(encoding="utf-8")):
            kept = (line for line in text.splitlines(keepends=True) if not names.is_in(line))
            write_text(report, "".join(kept))


def _reports_of(context: Context) -> list[ReportPaths]:
    """The reports of a service; where it had no name once, also those of that time."""
    former = context.reports.folder.parent.parent
    had_no_name = context.settings.service and context.settings.stored_service is None
    return [context.reports, *([ReportPaths(former)] if had_no_name else [])]


def _count(warehouse: Warehouse, day: date, table: str, where: pl.Expr) -> int:
    rows = warehouse.read(table, [day])
    return 0 if rows is None else int(rows.filter(where).select(pl.len()).collect().item())


def _pages_of_day(context: Context, day: date) -> list[Path]:
    return [page for reports in _reports_of(context) for page in _pages_of(reports, day)]


def _pages_of(reports: ReportPaths, day: date) -> list[Path]:
    """What quotes questions of a day, as it is for people."""
    pages = (reports.report(day), *reports.pages_of_rows(day), *reports.pages_of_patterns(day))
    return [page for page in pages if page.exists()]


def _forget_in_reports(reports: ReportPaths, day: date, row_ids: Sequence[str], *, dry_run: bool) -> set[Path]:
    """Empties the question in the rows' lines of the report; pages of the site are made anew by the
    next run, or by `aqb report`. The first page quotes rows of the last day. Returns what is touched."""
    touched, of_rows, wanted = set(), set(row_ids), TextSearch(row_ids)
    without_ids = reports.pages_of_patterns(day)
    for page in (*_pages_of(reports, day), *([reports.first_page] if reports.first_page.exists() else [])):
        text = page.read_text(encoding="utf-8")
        if page not in without_ids and not wanted.is_in(text):
            continue
        touched.add(page)
        if dry_run:
            continue
        if page == reports.report(day):
            write_text(page, "".join(_without_question(line, of_rows) for line in text.splitlines(keepends=True)))
        else:
            page.unlink(missing_ok=True)
    return touched


def _without_question(line: str, row_ids: Collection[str]) -> str:
    """The line of a row with its question erased: the first cell before the id, in older reports the last one."""
    cells = line.removeprefix("| ").removesuffix(" |\n").split(" | ")  # a bar within a cell is escaped
    if cells[-1] in row_ids:
        cells[0] = ERASED_CELL
    elif cells[0] in row_ids:
        cells[-1] = ERASED_CELL
    else:
        return line
    return f"| {' | '.join(cells)} |\n"
