"""The folder that `aqb score` writes for chat rows: tables, `summary.json` and `report.md`.

Source: SPEC 4.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import date
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from scoring.alerting.decision import DayDecisions, WatchedDays
from scoring.alerting.facts import AlertFact
from scoring.alerting.few_rows import few_rows, naming_tenants
from scoring.alerting.rule_changes import tenant_of_day
from scoring.alerting.standing_out import standing_out
from scoring.alerting.watch import DECISION_DAYS, AlertPolicy
from scoring.alerting.wording import change_text
from scoring.chat.kpi_figures import kpi_intervals
from scoring.chat.kpi_windows import FOUR_WEEKS
from scoring.chat.kpis import ALL_TENANTS, KpisByDay
from scoring.chat.reading import UTC_ZONE
from scoring.chat.rubric import RowRubric
from scoring.inputs import REJECTED_SCHEMA, FileIdentity
from scoring.judging.requests import summary_of_unasked
from tasks.chat.engine import KpiTables, ScoringOutcome
from tasks.chat.local_engine import ScoredRows
from tasks.chat.tables import read_kpis, read_kpis_of_all, scored_until
from tasks.files.atomic import TABLE_MODE, json_text, replacing_together, write_parquet, write_text
from tasks.files.excel import excel_csv
from tasks.files.report_paths import SCORE_FILES, SCORE_TABLES
from tasks.reports.markdown.monitoring import MonitoringReport, findings_of
from tasks.reports.site.failure_types import earlier_failures, failures_by_day
from tasks.reports.site.scored_days import earlier_rows
from tasks.waiting import begun
from tasks.warehouse import Warehouse
from tasks.warehouse.day_queries import FrameQueries

_ROWS_AT_ONCE = 20_000


def write_score_folder(
    folder: Path,
    outcome: ScoredRows,
    inputs: Callable[[], tuple[FileIdentity, ...]],
    also: Collection[str] = (),
    time_zone: str = UTC_ZONE,
) -> dict[str, Any]:
    """Writes the six files and returns the summary. They replace the old ones together, the summary last.

    `inputs` is called when the tables are written. `also` names additional output for Excel, with times in `time_zone`:
    the tables as `csv`, a workbook as `xlsx`.

    Raises:
        StorageError: the folder cannot be written; its files are unchanged.
    """
    with replacing_together(folder, "summary.json", SCORE_FILES) as unfinished:
        rubric = outcome.rubric
        write_parquet(unfinished / "scores.parquet", rubric.scores_schema, outcome.score_frames())
        scores = pl.scan_parquet(unfinished / "scores.parquet", glob=False)
        # Now a core is idle. Before, two threads make and write the scores.
        identities = begun(inputs) if outcome.several_cores else inputs
        write_parquet(unfinished / "excluded.parquet", rubric.excluded_schema, outcome.excluded_frames())
        rejected = (
            frame.with_columns(score_date=pl.lit(None, pl.Date), rubric=pl.lit(rubric.id))
            for frame in outcome.rejected_frames()
        )
        write_parquet(unfinished / "rejected.parquet", REJECTED_SCHEMA, rejected)
        failure = rubric.failure.column
        failures = [(row[failure], row["count"]) for row in _counts(scores, failure) if row[failure] is not None]
        findings = findings_of(rubric, FrameQueries(rubric, scores), failures)
        tables = outcome.kpi_tables(kpi_intervals(scores, rubric.quotients))
        write_parquet(unfinished / "kpis.parquet", rubric.kpis_schema, [tables.kpis])
        write_parquet(unfinished / "crosstab.parquet", rubric.crosstab_schema, [tables.crosstab])
        if "csv" in also:
            _write_csv_tables(unfinished, time_zone)
        report = MonitoringReport(outcome, _period_title(tables.kpis), tables, findings, empty=_empty_texts(scores))
        write_text(unfinished / "report.md", report.markdown())
        if "xlsx" in also:
            from tasks.reports.chat_workbook import write_chat_workbook  # with libraries that nothing else here needs

            write_chat_workbook(unfinished, report, time_zone)
        summary = _summary(outcome, identities(), report, scores)
        write_text(unfinished / "summary.json", json_text(summary))
        return summary


def _write_csv_tables(folder: Path, time_zone: str) -> None:
    """Writes `<table>.csv` beside each `<table>.parquet`, for people who open them in Excel.

    Every text stays a text, times are those of the zone, and a list is one cell.
    """
    local = cs.datetime().dt.convert_time_zone(time_zone)
    for name in SCORE_TABLES:
        rows = pl.scan_parquet(folder / f"{name}.parquet", glob=False).with_columns(local, cs.list().list.join(", "))
        batches = rows.collect_batches(chunk_size=_ROWS_AT_ONCE, maintain_order=True)
        lines = chain.from_iterable(batch.iter_rows() for batch in batches)
        write_text(folder / f"{name}.csv", excel_csv(chain([rows.collect_schema().names()], lines)), TABLE_MODE)


def _summary(
    outcome: ScoredRows, inputs: tuple[FileIdentity, ...], report: MonitoringReport, scores: pl.LazyFrame
) -> dict[str, Any]:
    means = {
        name: {"mean": report.tables.period[f"mean_{name}"], "n": outcome.counts.scored}
        for name in outcome.rubric.scores
    }
    return {
        "rubric": outcome.rubric.id,
        "rubric_version": outcome.rubric.version,
        "inputs": [
            {"name": file.name, "sha256": file.sha256, "rows": outcome.rows_by_file[file.name]} for file in inputs
        ],
        "counts": vars(outcome.counts),
        "rounds": {},
        "set": means,
        "kpis": {name: figure.as_dict() for name, figure in report.figures.items()},
        "distributions": {
            column: {row[column] or "none": row["count"] for row in _counts(scores, column)}
            for column in _distributed(outcome.rubric)
        },
        "data_quality": {
            "excluded": dict(sorted(outcome.excluded_by_reason.items())),
            "rejected": dict(sorted(outcome.rejected_by_code.items())),
            "naive_timestamps": outcome.naive_timestamps,
            "naive_zone": outcome.naive_zone,
            "repeated": outcome.repeated,
            "failed_files": [{"name": failure.file, "error": str(failure.error)} for failure in outcome.failures],
        },
        "judge": summary_of_unasked({}),
    }


def _empty_texts(scores: pl.LazyFrame) -> dict[str, int]:
    """The number of scored rows with an empty question, or an empty answer, by Korean title."""
    texts = {"질문": "user_input", "답변": "llm_response"}
    counted = scores.select((pl.col(column) == "").sum().alias(title) for title, column in texts.items())
    return counted.collect().row(0, named=True)


def _distributed(rubric: RowRubric) -> list[str]:
    """The columns of codes whose distribution is in the summary."""
    scales = (scale.column for scale in rubric.scales)
    return [*scales, rubric.failure.column, "alert_level", *([rubric.category.column] if rubric.category else [])]


def _counts(scores: pl.LazyFrame, column: str) -> list[dict[str, Any]]:
    """The number of rows by value of a column, most frequent first."""
    counted = scores.group_by(column).agg(pl.len().alias("count"))
    return counted.sort(["count", column], descending=[True, False]).collect().to_dicts()


def _period_title(kpis: pl.DataFrame) -> str:
    days = kpis.filter(pl.col("tenant_id") == ALL_TENANTS)["score_date"].to_list()
    if not days:
        return "채점한 행 없음"
    return str(days[0]) if days[0] == days[-1] else f"{days[0]} ~ {days[-1]}"


def write_day_report(
    warehouse: Warehouse,
    day: date,
    outcome: ScoringOutcome,
    tables: KpiTables,
    alerts: Sequence[AlertFact],
    path: Path,
    title: str,
    policy: AlertPolicy,
    *,
    is_over: bool = True,
) -> MonitoringReport:
    """Writes the report of a written day with its `alerts`; `policy` decides which rates rose."""
    rubric, scored = outcome.rubric, scored_until(warehouse, day)
    history = read_kpis_of_all(warehouse, rubric, scored[-2 * FOUR_WEEKS :])

    @cache
    def kpis() -> KpisByDay:
        return read_kpis(warehouse, rubric, scored[-DECISION_DAYS - 1 :])

    @cache
    def decided() -> DayDecisions:
        return WatchedDays(rubric, kpis(), policy).decided[day]

    facts = [fact for fact in alerts if fact.tenant_id == ALL_TENANTS]
    high = standing_out(rubric, history, day, decided, facts) if day in history else []
    few = few_rows(history, day, policy.days_off) if is_over and day in history else ""
    few = naming_tenants(few, kpis(), day, policy.days_off) if few else few
    before = earlier_rows(history, day) if high else []  # where nothing rose nobody asks which failures grew
    days = [day, *(row["score_date"] for row in before)]
    counted = failures_by_day(warehouse.value_counts(days, [rubric.failure.column], rubric), rubric)
    of_all = [one for one in decided().values() if one.tenant_id == ALL_TENANTS] if high else []
    report = MonitoringReport(
        outcome,
        title,
        tables,
        findings_of(rubric, warehouse.day_queries(day, rubric), counted.get(day, [])),
        day=day,
        history=history,
        earlier=earlier_failures(before, counted),
        standing_out=high,
        grown=next((fact.grown for fact in facts if fact.rule in high[:1]), ()),
        mostly=tenant_of_day(rubric, high, kpis(), day, decided()) if high else "",
        facts=facts,
        changes={one.rule: change_text(one, day) for one in of_all},
        few=few,
    )
    write_text(path, report.markdown())
    return report
