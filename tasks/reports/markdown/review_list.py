"""The queries of a test run that a person should review: a CSV beside the report, and the data of its message.

The list has the unmasked texts: reviewers have to read them, and the report and the workbook in the same folder have
them too. Messages leave the folder and are masked. Source: seed 000, 4.2; SPEC 3.3, 7, 8.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from scoring.alerting.run_messages import ReviewedQuery, ReviewedTestRun
from scoring.catalog import testrun_rubric_of_summary
from scoring.judging.requests import VerdictStatus
from scoring.markdown import score_text
from scoring.testruns.change_wording import (
    change_text,
    failures_text,
    has_outage,
    outage_text,
    passed_over_text,
    worse_metrics,
)
from scoring.testruns.rubric import AnyTestRunRubric, Metric
from scoring.testruns.scoring import failures_of
from scoring.testruns.tables import VALUE_TITLES
from tasks.files.atomic import TABLE_MODE, write_text
from tasks.files.excel import excel_csv

REVIEW_LIST = "review.csv"
_WORST = 5

Row = Mapping[str, Any]


def has_review_list(rubric: AnyTestRunRubric) -> bool:
    """Whether a rubric flags queries at all."""
    return any(column.name == "manual_review_reasons" for column in rubric.query_columns)


def write_review_list(path: Path, rubric: AnyTestRunRubric, queries: pl.DataFrame) -> None:
    """Writes the flagged queries, worst first: query, reasons of the flag, and the scores with their reasons.

    UTF-8 with BOM, as Korean Excel expects. No cell is a formula. `queries` is the table of the test run.
    """
    header = ["질의 ID", "질의", "에이전트", "까닭", "종합 점수"]
    header += [cell for one in _shown_metrics(rubric) for cell in (f"{one.title} 점수", f"{one.title} 근거")]
    write_text(
        path,
        excel_csv([header, *(_cells(row, rubric) for row in rubric.flagged(queries.iter_rows(named=True)))]),
        TABLE_MODE,
    )


def reviewed_testrun(
    folder: Path, summary: Mapping[str, Any], run_id: str, report_url: str = ""
) -> ReviewedTestRun | None:
    """The data of a message about a scored run, from its folder; None for chat rows."""
    rubric = testrun_rubric_of_summary(summary)
    if rubric is None:
        return None
    queries = pl.read_parquet(folder / "queries.parquet", glob=False)
    flagged = rubric.flagged(queries.iter_rows(named=True)) if has_review_list(rubric) else []
    codes = Counter(code for row in flagged for code in row["manual_review_reasons"])
    (read,), change = summary["inputs"], summary.get("change")
    outage = _outage(summary, change)
    return ReviewedTestRun(
        name=Path(read["name"]).name,
        input_sha256=read["sha256"],
        rubric=rubric.id,
        rubric_version=summary["rubric_version"],
        rubric_title=rubric.title,
        agent_types=tuple(sorted(set(queries["agent_type"].drop_nulls()))),
        rows_in=summary["counts"]["rows_in"],
        rejected=summary["counts"]["rejected"],
        queries=queries.height,
        flagged=len(flagged),
        reasons=tuple((rubric.code_titles[code], count) for code, count in codes.most_common()),
        worst=tuple(
            ReviewedQuery(
                row["query_id"],
                row["query_text"],
                row["weighted_total"],
                rubric.review_titles(row["manual_review_reasons"]),
            )
            for row in flagged[:_WORST]
        ),
        over_budget=summary["judge"]["by_status"].get(VerdictStatus.OVER_BUDGET, 0),
        judge_failed=summary["judge"]["by_status"].get(VerdictStatus.FAILED, 0),
        review_list=str(folder / REVIEW_LIST),
        report=str(folder / "report.md"),
        run_id=run_id,
        report_url=report_url,
        change=_change(change) if change and not has_outage(change) else "",
        worse=worse_metrics(change) if change else (),
        outage=outage,
        outage_todo="".join(summary["headline"][-1:]) if outage else "",
    )


def _change(change: Mapping[str, Any]) -> str:
    return ". ".join(filter(None, (change_text(change), passed_over_text(change))))


def _outage(summary: Mapping[str, Any], change: Mapping[str, Any] | None) -> str:
    if change and has_outage(change):
        return outage_text(change)
    failures = failures_of(summary)
    return f"{failures_text(failures)}입니다" if failures.is_outage else ""


def _shown_metrics(rubric: AnyTestRunRubric) -> list[Metric]:
    """The metrics for which a query has a score."""
    columns = {column.name for column in rubric.query_columns}
    return [metric for metric in rubric.metrics if f"{metric.name}_score" in columns]


def _cells(row: Row, rubric: AnyTestRunRubric) -> list[str]:
    reasons, total = " / ".join(rubric.review_titles(row["manual_review_reasons"])), _score(row["weighted_total"])
    cells = [
        row["query_id"],
        row["query_text"] or "",
        VALUE_TITLES["agent_type"].get(row["agent_type"], ""),
        reasons,
        total,
    ]
    for metric in _shown_metrics(rubric):
        cells += [_score(row[f"{metric.name}_score"]), row.get(f"{metric.name}_reason") or ""]
    return cells


def _score(points: float | None) -> str:
    """Empty if a score is unknown: a dash would make it a text column."""
    return "" if points is None else score_text(points)
