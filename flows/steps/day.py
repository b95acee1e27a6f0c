"""One day of chat rows: extracted, scored, written and summarised. Nightly runs and backfills are made of it.

Each step is one task run per day, never one per row. The steps are plain functions of `tasks`; Prefect adds retries,
time-outs, states and artifacts. A day must not stop the others: a `DayResult` says what kept or stopped it.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.runtime.flow_run import show, step
from flows.runtime.prefect_env import is_prefect_gone
from flows.runtime.run_recorder import RunRecorder, publish_runs, recorded_run
from flows.steps.days_before import NONE_TAKEN, DaysTaken, wait_for_days_before
from flows.steps.parts import score_parts
from scoring.alerting.facts import AlertFact
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import KPI_RULE, LEVEL_TITLES
from scoring.chat.shrinkage import NOT_SCORED
from scoring.errors import AqbError, InputError, UnexpectedError, counted
from scoring.figures import Figure
from scoring.inputs import FileIdentity, nothing_scored, repeated_files
from tasks.chat.choose_engine import open_engine, uses_pushdown
from tasks.chat.day_guard import DayKeptError, day_guards
from tasks.chat.day_plan import day_parameters
from tasks.chat.engine import ChatEngine, Counts, KpiTables, ScoredDay, ScoringOutcome
from tasks.chat.sources import ChatRowSource
from tasks.chat.tables import write_alerts
from tasks.context import Context
from tasks.reports.chat_folder import write_day_report
from tasks.reports.markdown.monitoring import MonitoringReport
from tasks.state.alert_choices import AlertChoices
from tasks.state.erased_sessions import erased_sessions
from tasks.state.run_ledger import BACKFILL, INTRADAY
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import ALERTS

_log = logging.getLogger(__name__)
_TAKEN_DAY_PATIENCE_S = 300.0
_DEFECT = (
    "this is a defect of AQB: report it with the log of this run; the day's tables may be half new, and scoring it "
    "again makes them whole"
)


@dataclass(frozen=True)
class DayOutcome:
    """The result of one day: counts, KPIs of all tenants and their figures, alert facts, the report, problems.

    `notices` need no action. `unread` says which of the `files` of the source could not be read and why; the rows of
    the others are scored.
    """

    run_id: str
    day: date
    counts: Counts
    kpis: Mapping[str, Any]
    figures: Mapping[str, Figure]
    alerts: list[AlertFact]
    report: Path
    problems: tuple[str, ...]
    notices: tuple[str, ...]
    files: int
    unread: tuple[str, ...]


@dataclass(frozen=True)
class DayResult:
    """A day with its result, and the reason for scoring it if it is unusual (`late rows`).

    At most one is set: `outcome`, `kept` (its tables are unchanged because the source has too few rows), `error`. A day
    in progress without rows has none. `service` is the service, '' if there is only one.
    """

    day: date
    outcome: DayOutcome | None
    error: AqbError | None = None
    why: str = ""
    kept: DayKeptError | None = None
    service: str = ""

    @property
    def name(self) -> str:
        """The day, preceded by its service if there are several."""
        return f"{self.service} {self.day}".strip()

    @property
    def complete(self) -> bool:
        """Whether the whole day was read and scored."""
        return self.outcome is not None and not self.outcome.unread

    @property
    def failed(self) -> bool:
        """Whether something failed: a kept day is not a failure."""
        return self.error is not None or (self.outcome is not None and not self.complete)

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems that a person should look at."""
        found = self.outcome.problems if self.outcome else [str(why) for why in (self.kept, self.error) if why]
        title = f"{self.name} ({self.why})" if self.why else self.name
        return tuple(f"{title}: {problem}" for problem in found)

    def result(self) -> DayOutcome:
        """The result of the day; raises the error that kept or stopped it."""
        if self.outcome is None:
            raise (
                self.kept
                or self.error
                or InputError(f"the source has no rows of {self.day} so far", fix="run it again when there are some")
            )
        return self.outcome


def failure_text(one: DayResult) -> str:
    """The day, and the class and step of an unexpected error."""
    return f"{one.name} ({one.error.what})" if isinstance(one.error, UnexpectedError) else one.name


@step("extract", run_name="extract {day}", timeout_s=3600)
def extract(context: Context, day: date, staging: Path, read_before: ChatRowSource | None, run_id: str) -> ChatEngine:
    """Opens the engine over the source."""
    labels = {"rubric": context.rubric.id, "run_id": run_id}
    in_parts = partial(score_parts, settings=context.settings)
    return open_engine(context.settings, context.rubric, staging, labels, read_before, in_parts)


@step("score", run_name="score {day}", timeout_s=6 * 3600)
def score(engine: ChatEngine, day: date) -> tuple[ScoredDay, tuple[FileIdentity, ...]]:
    """Scores the rows of the day, and returns the fingerprints of the files that had some; other files are not read."""
    scored = engine.score(day)
    return scored, engine.source.fingerprint(scored.outcome.files_with_rows)


@step("write", run_name="write {day}", timeout_s=3600)
def write(
    context: Context, warehouse: Warehouse, day: date, scored: ScoredDay, most: Mapping[str | None, int] | None
) -> tuple[KpiTables, list[AlertFact]]:
    """Replaces the day in every monitoring table, the alert facts last: its own and those of the days after it.

    `most` is the maximum number of scored rows by tenant that the replaced day may have; None if it may shrink.
    """
    tables, outcome = scored.write(erased_sessions(context.state), most), scored.outcome
    with warehouse.lock(ALERTS):  # no other run or `aqb erase` changes them, or the rows that they are computed from
        facts = write_alerts(warehouse, day, outcome.rubric, outcome.counts.rejected)
    return tables, facts


@step("summarise", run_name="summarise {day}", timeout_s=600)
def summarise(
    context: Context,
    warehouse: Warehouse,
    day: date,
    outcome: ScoringOutcome,
    tables: KpiTables,
    alerts: Sequence[AlertFact],
    kind: str,
) -> MonitoringReport:
    """Writes the day's report and shows the day as Prefect artifacts."""
    settings = context.settings
    title = _title(day, kind, settings.service)
    policy = AlertChoices(context.state).policy(settings.alerts)
    path, is_over = context.reports.report(day), kind != INTRADAY
    report = write_day_report(warehouse, day, outcome, tables, alerts, path, title, policy, is_over=is_over)
    _show_day(report, alerts, title, kind, settings.service)
    return report


def score_day(
    context: Context,
    day: date,
    kind: str,
    read_before: ChatRowSource | None = None,
    taken: DaysTaken = NONE_TAKEN,
    *,
    allow_shrink: bool = False,
) -> DayOutcome:
    """Scores one day and replaces it in the warehouse; to be called within a flow.

    The rows come from the configured source, unless they were `read_before`. The report of a backfill waits for the
    days before it that are being scored, and those that were `taken`.

    The run is recorded in the ledger, however it ends. If another run is working on the day, this one waits up to
    `_TAKEN_DAY_PATIENCE_S` for its end, and then scores the day; a backfill does not wait.

    Raises:
        DayKeptError: the source holds far fewer rows than were scored, and the day may not shrink; it is as it was.
        InputError: no file of the source could be read; the day is as it was before.
        StorageError: another run has taken the day over while this one was paused.
        UsageError: the settings want it scored inside BigQuery, which does not have the rows or the tables.
    """
    settings, rubric = context.settings, context.rubric
    uses_pushdown(settings)  # refuses impossible settings before a run is recorded
    with (
        context.warehouse.staging(f"monitoring-{day}", 0.0 if kind == BACKFILL else _TAKEN_DAY_PATIENCE_S) as staging,
        recorded_run(
            context.state,
            kind,
            day,
            rubric=rubric.id,
            rubric_version=rubric.version,
            parameters=day_parameters(settings, rubric),
        ) as run,
        ExitStack() as leftovers,
    ):
        with run.step("extract"):
            engine = extract(context, day, staging, read_before, run.run.run_id)
        warehouse, files = engine.warehouse, len(engine.source.files)
        with run.step("score") as counts:
            scored, inputs = score(engine, day)
            run.note(inputs=[vars(file) for file in inputs])
            leftovers.callback(scored.discard)
            outcome = scored.outcome
            counts.update(vars(outcome.counts))
            outcome.require_read(files, "the day's tables are as they were")
        most = None if allow_shrink else _most_replaceable(context, warehouse, day, scored, run)
        run.require_latest()
        with run.step("write"):
            tables, alerts = write(context, warehouse, day, scored, most)
        run.require_latest(has_written=True)
        if kind == BACKFILL:
            wait_for_days_before(context, day, taken)
        with run.step("summarise"):
            report = summarise(context, warehouse, day, outcome, tables, alerts, kind)
        problems = _problems(outcome, inputs)
        ending = run.ends(
            outcome="failed" if outcome.failures else "completed",
            content=outcome.content and outcome.content.fingerprint,
            message="; ".join(problems) or None,
            **vars(outcome.counts),
        )
        # The ledger is written last: a day that is completed there is not checked again, so nothing may be left to do.
        publish_runs(warehouse, context.state, day, ending)
    return DayOutcome(
        run_id=ending.run_id,
        day=day,
        counts=outcome.counts,
        kpis=tables.period,
        figures=report.figures,
        alerts=alerts,
        report=context.reports.report(day),
        problems=problems,
        notices=outcome.notices,
        files=files,
        unread=tuple(str(failure.error) for failure in outcome.failures),
    )


def try_day(context: Context, day: date, kind: str, why: str = "", *, allow_shrink: bool = False) -> DayResult:
    """Scores a day like `score_day`; an exception becomes the error of the result, so that other days go on.

    Raises:
        httpx.HTTPError, RuntimeError: Prefect's server is gone, which stops every day.
    """
    if why:
        _log.info("%s: %s", day, why)
    try:
        result = DayResult(day, score_day(context, day, kind, allow_shrink=allow_shrink), why=why)
    except Exception as error:  # noqa: BLE001 - `stopped_day` distinguishes the errors
        log_unexpected(day, error)
        result = stopped_day(day, error, why)
    return replace(result, service=context.settings.service)


def log_unexpected(day: date, error: Exception) -> None:
    """Logs the traceback of an unexpected error; another process would lose it."""
    if not isinstance(error, AqbError):
        _log.error("%s: unexpected error", day, exc_info=error)


def stopped_day(day: date, error: Exception, why: str = "") -> DayResult:
    """The result of a day that was kept or failed; an error of Prefect itself is raised."""
    if isinstance(error, DayKeptError):
        return DayResult(day, None, why=why, kept=error)
    if isinstance(error, AqbError):
        return DayResult(day, None, error, why)
    if is_prefect_gone(error):
        raise error
    return DayResult(day, None, UnexpectedError(error, fix=_DEFECT), why)


def _most_replaceable(
    context: Context, warehouse: Warehouse, day: date, scored: ScoredDay, run: RunRecorder
) -> Mapping[str | None, int]:
    """The maximum rows by tenant of a day that may be replaced.

    Raises:
        DayKeptError: it has more; the run ends with this error.
    """
    now, outcome = scored.rows_by_tenant, scored.outcome
    guard = day_guards(warehouse, context.state, [day]).get(day, NOT_SCORED)
    if lost := guard.losses(now):
        content = outcome.content.fingerprint if outcome.content else ""
        kept = DayKeptError(day, lost, content, context.settings.service)
        run.ends(outcome="kept", content=content, message=str(kept))
        raise kept
    return guard.most_replaceable(now)


def _title(day: date, kind: str, service: str) -> str:
    named = f"{service} {day}".strip()
    return f"{named} (오늘 지금까지, 잠정)" if kind == INTRADAY else named


def _show_day(report: MonitoringReport, alerts: Iterable[AlertFact], title: str, kind: str, service: str) -> None:
    """Creates the artifacts of a day: KPIs, worst rows and fired alerts, without texts of people.

    The keys are equal every day, so that Prefect shows the history of each; those of a service have its name. A
    backfill creates none: a year would have a thousand, and its site has all of it.
    """
    if kind == BACKFILL:
        return
    prefix = "-".join(filter(None, ("monitoring", service, INTRADAY if kind == INTRADAY else "")))
    show(create_markdown_artifact, key=prefix, markdown=report.headline(), description=f"{title}: 핵심 지표")
    show(
        create_table_artifact,
        key=f"{prefix}-worst",
        table=report.worst_without_texts(),
        description=f"{title}: 점수가 가장 낮은 행",
    )
    fired = [_alert_row(fact, report) for fact in alerts if fact.tenant_id == ALL_TENANTS]
    show(create_table_artifact, key=f"{prefix}-alerts", table=fired, description=f"{title}: 발생한 알림")


def _alert_row(fact: AlertFact, report: MonitoringReport) -> dict[str, Any]:
    """A row of the table; a KPI has a value, and its usual values are in the tables only."""
    is_kpi = fact.count is None
    return {
        "알림 수준": LEVEL_TITLES[fact.level],
        "알림": fact.title,
        "값": report.figures[fact.rule.removeprefix(KPI_RULE)].value_text if is_kpi else f"{fact.count:,}건",
        "대상 행": fact.rows,
        "앞선 날의 건수": ", ".join(map(str, fact.usual)),
    }


def _problems(outcome: ScoringOutcome, inputs: Sequence[FileIdentity]) -> tuple[str, ...]:
    problems = [str(failure.error) for failure in outcome.failures]
    if outcome.counts.rejected:
        codes = ", ".join(f"{code} {count}" for code, count in sorted(outcome.rejected_by_code.items()))
        problems.append(f"{counted(outcome.counts.rejected, 'row')} rejected ({codes}); see the table `rejected`")
    problems += repeated_files((file.name, file.sha256) for file in inputs if outcome.rows_by_file[file.name])
    return (*filter(None, [nothing_scored(vars(outcome.counts))]), *problems)
