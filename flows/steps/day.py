"""One day of chat rows: extracted, scored, written and summarised. Nightly runs and backfills are made of it.

Each step is one task run per day, never one per row. The steps are plain functions of `tasks`; Prefect adds retries,
time-outs, states and artifacts.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.runtime.run_recorder import RunRecorder, publish_runs, recorded_run
from flows.runtime.task_policy import step
from scoring.alerting.facts import AlertFact
from scoring.catalog import MONITORING_RUBRIC, row_rubric
from scoring.days import day_window
from scoring.errors import InputError, StorageError
from tasks.chat.choose_engine import uses_pushdown
from tasks.chat.day_guard import NOT_SCORED, DayKeptError, day_guards
from tasks.chat.day_plan import day_parameters
from tasks.chat.local_engine import Counts, ScoredPeriod, ScoredRows, score_chat_rows
from tasks.chat.recompute_alerts import recompute_later_alerts
from tasks.chat.sources import ChatRowSource, FileIdentity, open_source
from tasks.chat.tables import write_alerts, write_scored_day
from tasks.config.settings import Settings
from tasks.reports.chat_folder import write_day_report
from tasks.state.erased_sessions import erased_sessions
from tasks.state.run_ledger import RunLedger
from tasks.warehouse import Warehouse, open_warehouse
from tasks.warehouse.locks import exclusive, serialized

if TYPE_CHECKING:
    from tasks.chat.bigquery_engine import PushdownDay
    from tasks.chat.sources.bigquery import BigQueryChatRows
    from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse


@dataclass(frozen=True)
class DayOutcome:
    """What became of one day: counts, KPIs of all tenants, alert facts, where the report is, what went wrong.

    `unread_files` of the `files` of the source could not be read; the rows of the others are scored.
    """

    run_id: str
    day: date
    counts: Counts
    kpis: dict[str, Any]
    alerts: list[AlertFact]
    report: Path
    problems: tuple[str, ...]
    files: int
    unread_files: int


@step("extract", run_name="extract {day}", timeout_s=3600)
def extract(
    settings: Settings, day: date, read_before: ChatRowSource | None, labels: dict[str, str]
) -> tuple[ChatRowSource, tuple[FileIdentity, ...]]:
    """Finds the files that hold the day's rows and what they contain. Files are read where they are."""
    files = read_before or open_source(settings.monitoring.source, settings, labels)
    return files, files.fingerprint()


@step("score", run_name="score {day}", timeout_s=6 * 3600)
def score(
    source: ChatRowSource, warehouse: Warehouse, day: date, settings: Settings, staging: Path, *, inside: bool
) -> ScoredRows | PushdownDay:
    """Scores the rows of the day: here, into the staging folder, or inside BigQuery, into a staged day there."""
    if inside:
        return _score_by_pushdown(source, warehouse, day, settings)
    shutil.rmtree(staging, ignore_errors=True)  # what an earlier attempt left there takes room
    try:
        return score_chat_rows(
            source,
            row_rubric(MONITORING_RUBRIC),
            time_zone=settings.time_zone,
            window=day_window(day, settings.time_zone),
            staging=staging,
            keep_text=settings.monitoring.keep_text,
        )
    except OSError as error:
        raise StorageError(
            f"cannot write: {error.strerror or error}",
            where=str(staging),
            fix="check free space and permissions, then run again",
        ) from error


@step("write", run_name="write {day}", timeout_s=3600)
def write(
    warehouse: Warehouse,
    day: date,
    outcome: ScoredRows | PushdownDay,
    state_url: str,
    most: Mapping[str | None, int] | None,
) -> list[AlertFact]:
    """Replaces the day in every monitoring table, the alert facts last: its own and those of the days after it.

    `most` are the scored rows by tenant that the day may have then; None where it may shrink.
    """
    erased = erased_sessions(state_url)
    if isinstance(outcome, ScoredRows):
        write_scored_day(warehouse, day, outcome, erased, most)
    else:
        outcome.write(erased, most)
    with serialized(warehouse, state_url, "monitoring-alerts"):
        facts = write_alerts(warehouse, day, outcome.rubric, outcome.counts.rejected)
        recompute_later_alerts(warehouse, day, outcome.rubric)
    return facts


@step("summarise", run_name="summarise {day}", timeout_s=600)
def summarise(warehouse: Warehouse, day: date, outcome: ScoredPeriod, reports: Path, title: str) -> Path:
    """Writes the day's report and shows its KPIs and worst rows as Prefect artifacts, without texts of people."""
    written = write_day_report(warehouse, day, outcome, reports, title)
    report = written.content
    create_markdown_artifact(key=f"monitoring-{day}", markdown=report.headline(), description=title)
    create_table_artifact(
        key=f"monitoring-worst-{day}", table=report.worst_without_texts(), description=f"{title}: 점수가 가장 낮은 행"
    )
    return written.path


def score_day(
    settings: Settings,
    day: date,
    kind: str,
    read_before: ChatRowSource | None = None,
    *,
    allow_shrink: bool = False,
) -> DayOutcome:
    """Scores one day and replaces it in the warehouse; to be called within a flow.

    The rows come from the configured source, unless they were `read_before`.

    The run is kept in the ledger whatever becomes of it.

    Raises:
        DayKeptError: the source holds far fewer rows than were scored, and the day may not shrink; it is as it was.
        InputError: no file of the source could be read; the day is as it was before.
        UsageError: the settings want it scored inside BigQuery, which does not have the rows or the tables.
    """
    inside = uses_pushdown(settings)
    warehouse, rubric = open_warehouse(settings.warehouse, settings), row_rubric(MONITORING_RUBRIC)
    with (
        closing(RunLedger(settings.state_url)) as ledger,
        exclusive(warehouse, settings.state_url, f"monitoring-{day}") as staging,
        recorded_run(
            ledger,
            settings.state_url,
            kind,
            day,
            rubric=rubric.id,
            rubric_version=rubric.version,
            parameters=day_parameters(settings),
        ) as run,
        ExitStack() as leftovers,
    ):
        labels = {"rubric": rubric.id, "run_id": run.run.run_id}
        warehouse = open_warehouse(settings.warehouse, settings, labels)
        with run.step("extract"):
            source, inputs = extract(settings, day, read_before, labels)
            run.note(inputs=[vars(file) for file in inputs])
        with run.step("score") as counts:
            outcome = score(source, warehouse, day, settings, staging, inside=inside)
            if not isinstance(outcome, ScoredRows):
                leftovers.callback(outcome.remove)
            counts.update(vars(outcome.counts))
            _refuse_nothing_read(outcome, len(source.files))
        most = None if allow_shrink else _most_replaceable(warehouse, day, outcome, run, settings.state_url)
        with run.step("write"):
            alerts = write(warehouse, day, outcome, settings.state_url, most)
        with run.step("summarise"):
            report = summarise(warehouse, day, outcome, Path(settings.reports), _title(day, kind))
        problems = _problems(outcome)
        ending = run.ends(
            outcome="failed" if outcome.failures else "completed",
            content=outcome.content and outcome.content.fingerprint,
            message="; ".join(problems) or None,
            **vars(outcome.counts),
        )
        # The ledger comes last: a day that it calls completed is looked at no more, so nothing may be left to do.
        publish_runs(warehouse, ledger, settings.state_url, day, ending)
        shutil.rmtree(staging, ignore_errors=True)
    return DayOutcome(
        ending.run_id,
        day,
        outcome.counts,
        outcome.period_kpis(),
        alerts,
        report,
        problems,
        len(source.files),
        len(outcome.failures),
    )


def _score_by_pushdown(source: ChatRowSource, warehouse: Warehouse, day: date, settings: Settings) -> PushdownDay:
    from tasks.chat.bigquery_engine import score_by_pushdown  # a second of imports that only BigQuery needs

    return score_by_pushdown(
        cast("BigQueryChatRows", source),
        cast("BigQueryWarehouse", warehouse),
        row_rubric(MONITORING_RUBRIC),
        day,
        time_zone=settings.time_zone,
        keep_text=settings.monitoring.keep_text,
    )


def _refuse_nothing_read(outcome: ScoredPeriod, files: int) -> None:
    """A day must not be emptied because its source is broken."""
    if len(outcome.failures) == files and not outcome.counts.rows_in:
        errors = "\n".join(str(failure.error) for failure in outcome.failures)
        raise InputError(f"no file of the source could be read; the day's tables are as they were\n{errors}")


def _most_replaceable(
    warehouse: Warehouse, day: date, outcome: ScoredPeriod, run: RunRecorder, state_url: str
) -> Mapping[str | None, int]:
    """The rows by tenant that the day may have for it to be replaced.

    Raises:
        DayKeptError: it has more; that is how the run ends.
    """
    now = outcome.rows_by_tenant()
    guard = day_guards(warehouse, [day], any_erased=bool(erased_sessions(state_url))).get(day, NOT_SCORED)
    if lost := guard.losses(now):
        content = outcome.content.fingerprint if outcome.content else ""
        kept = DayKeptError(day, lost, content)
        run.ends(outcome="kept", content=content, message=str(kept))
        raise kept
    return guard.most_replaceable(now)


def _title(day: date, kind: str) -> str:
    return f"{day} (오늘 지금까지, 잠정)" if kind == "intraday" else str(day)


def _problems(outcome: ScoredPeriod) -> tuple[str, ...]:
    problems = [str(failure.error) for failure in outcome.failures]
    if outcome.counts.rejected:
        codes = ", ".join(f"{code} {count}" for code, count in sorted(outcome.rejected_by_code.items()))
        problems.append(f"{outcome.counts.rejected} rows rejected ({codes}); see the table `rejected`")
    return tuple(problems)
