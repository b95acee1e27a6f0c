"""The nightly flow: one day of chat rows, extracted, scored, written and summarised.

Each step is one task run per day, never one per row. The steps are plain functions of `tasks`; Prefect adds retries,
time-outs, states and artifacts.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Task, flow, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from flows.clock import now
from scoring.alerts import AlertFact
from scoring.catalog import row_rubric
from scoring.days import day_window
from scoring.errors import AqbError, StorageError
from tasks.chat_rows import ChatRowFiles, FileIdentity
from tasks.chat_scoring import Counts, ScoredRows, score_chat_rows
from tasks.monitoring_tables import RUNS, write_alerts, write_day_report, write_scored_day
from tasks.run_ledger import RUNS_SCHEMA, Run, RunLedger
from tasks.settings import Settings
from tasks.warehouse import Warehouse, open_warehouse

RUBRIC_ID = "ola-monitoring"
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class NightlyOutcome:
    """What one nightly run did: counts, KPIs of all tenants, alert facts, where the report is, what went wrong."""

    run_id: str
    day: date
    counts: Counts
    kpis: dict[str, Any]
    alerts: list[AlertFact]
    report: Path
    problems: tuple[str, ...]


class IncompleteRunError(AqbError):
    """The run did what it could, but some of its files could not be read; `outcome` says what was done."""

    def __init__(self, what: str, outcome: NightlyOutcome) -> None:
        super().__init__(what, fix="mend or remove these files and run the day again")
        self.outcome = outcome


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """A wrong setting or a missing file stays wrong; a full disk or a broken connection may pass."""
    error = state.result(raise_on_failure=False)
    return not isinstance(error, AqbError) or isinstance(error, StorageError)


def _step(name: str, *, timeout_s: int) -> Callable[[Callable[P, R]], Task[P, R]]:
    """A Prefect task that is one step of one day. Nothing is cached: the tables themselves are the result."""
    return task(
        name=name,
        task_run_name=f"{name} {{day}}",
        timeout_seconds=timeout_s,
        retries=2,
        retry_delay_seconds=[5, 30],
        retry_condition_fn=_worth_retrying,
        cache_policy=NO_CACHE,
        persist_result=False,
    )


@_step("extract", timeout_s=3600)
def extract(source: str, day: date) -> tuple[ChatRowFiles, tuple[FileIdentity, ...]]:
    """Finds the files that hold the day's rows and what they contain. Files are read where they are."""
    files = ChatRowFiles([source])
    return files, files.fingerprint()


@_step("score", timeout_s=6 * 3600)
def score(files: ChatRowFiles, day: date, settings: Settings, staging: Path) -> ScoredRows:
    """Scores the rows of the day into the staging folder."""
    return score_chat_rows(
        files,
        row_rubric(RUBRIC_ID),
        time_zone=settings.time_zone,
        window=day_window(day, settings.time_zone),
        staging=staging / uuid.uuid4().hex,
        keep_text=settings.monitoring.keep_text,
    )


@_step("write", timeout_s=3600)
def write(warehouse: Warehouse, day: date, outcome: ScoredRows) -> list[AlertFact]:
    """Replaces the day in every monitoring table, the alert facts last."""
    write_scored_day(warehouse, day, outcome)
    return write_alerts(warehouse, day, outcome.rubric, outcome.counts.rejected)


@_step("summarise", timeout_s=600)
def summarise(warehouse: Warehouse, day: date, outcome: ScoredRows, reports: Path, title: str) -> Path:
    """Writes the day's report and shows its KPIs and worst rows as Prefect artifacts, without texts of people."""
    written = write_day_report(warehouse, day, outcome, reports, title)
    report = written.content
    create_markdown_artifact(key=f"monitoring-{day}", markdown=report.headline(), description=title)
    create_table_artifact(
        key=f"monitoring-worst-{day}", table=report.worst_without_texts(), description=f"{title}: 점수가 가장 낮은 행"
    )
    return written.path


@flow(name="nightly", flow_run_name="nightly {day}", validate_parameters=False)
def nightly(settings: Settings, day: date, kind: str = "nightly") -> NightlyOutcome:
    """Scores one day and replaces it in the warehouse. The run is kept in the ledger whatever becomes of it."""
    warehouse = open_warehouse(settings.warehouse)
    ledger = RunLedger(settings.state_url)
    rubric = row_rubric(RUBRIC_ID)
    run = Run(
        run_id=uuid.uuid4().hex,
        kind=kind,
        score_date=day,
        rubric=rubric.id,
        rubric_version=rubric.version,
        code_version=version("aqb"),
        started_at=now(),
    )
    with warehouse.staging(f"monitoring-{day}") as staging:
        ledger.save(run)
        try:
            files, inputs = extract(settings.monitoring.source, day)
            outcome = score(files, day, settings, staging)
            alerts = write(warehouse, day, outcome)
            report = summarise(warehouse, day, outcome, Path(settings.reports), _title(day, kind))
        except BaseException as error:
            ledger.save(replace(run, finished_at=now(), outcome="failed", message=f"{type(error).__name__}: {error}"))
            raise
        problems = _problems(outcome)
        ledger.save(
            replace(
                run,
                finished_at=now(),
                outcome="failed" if outcome.failures else "completed",
                inputs=[vars(file) for file in inputs],
                message="; ".join(problems) or None,
                **vars(outcome.counts),
            )
        )
        warehouse.replace_day(RUNS, day, RUNS_SCHEMA, [ledger.frame_of_day(day)])
    ledger.close()
    done = NightlyOutcome(run.run_id, day, outcome.counts, outcome.period_kpis(), alerts, report, problems)
    if outcome.failures:
        raise IncompleteRunError(f"{len(outcome.failures)} of {len(files.files)} files could not be read", done)
    return done


def _title(day: date, kind: str) -> str:
    return f"{day} (오늘 지금까지, 잠정)" if kind == "intraday" else str(day)


def _problems(outcome: ScoredRows) -> tuple[str, ...]:
    problems = [str(failure.error) for failure in outcome.failures]
    if outcome.counts.rejected:
        codes = ", ".join(f"{code} {count}" for code, count in sorted(outcome.rejected_by_code.items()))
        problems.append(f"{outcome.counts.rejected} rows rejected ({codes}); see the table `rejected`")
    return tuple(problems)
