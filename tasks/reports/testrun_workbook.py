"""The tabs of `scores.xlsx`: the input of a text file, executions, queries, summary, column names, refused rows."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.inputs import BrokenRow
from scoring.testruns.scoring import ScoredTestRun
from scoring.testruns.summaries import score_counts
from scoring.testruns.tables import queries_schema, scores_schema
from scoring.testruns.team_names import COMMON_NAMES
from tasks.files.xlsx.sheet_xml import SheetColumn, Tab
from tasks.files.xlsx.workbook import write_workbook
from tasks.testruns.files import text_table

_EXECUTIONS = "실행별 점수"
_QUERIES = "문항별 점수"
_POINTS = ("5", "4", "3", "2", "1", "0", "null")
_SUMMARY_COLUMNS = (
    *(SheetColumn("구분"), SheetColumn("지표"), SheetColumn("평균", "score"), SheetColumn("n", "number")),
    SheetColumn("미판정 질의", "number"),
    *(SheetColumn("최저(미판정 0점)", "score"), SheetColumn("최고(미판정 5점)", "score")),
    *(SheetColumn("모름" if points == "null" else f"{points}점", "number") for points in _POINTS),
)
_FIGURES = ("mean", "n", "undecided", "low", "high")
_MEANING_COLUMNS = (SheetColumn("탭"), SheetColumn("열"), SheetColumn("뜻", "long"))


def write_testrun_workbook(
    path: Path, scored: ScoredTestRun, source: Path, scores: pl.DataFrame, queries: pl.DataFrame
) -> None:
    """Writes the tabs to `path`, behind the sheets of `source` where that is a workbook.

    `scores` and `queries` are the tables of the test run.
    """
    schemas = {_EXECUTIONS: scores_schema(scored.plan.rubric), _QUERIES: queries_schema(scored.plan.rubric)}
    tabs = [
        Tab(_EXECUTIONS, _columns(schemas[_EXECUTIONS]), scores.iter_rows()),
        Tab(_QUERIES, _columns(schemas[_QUERIES]), queries.iter_rows()),
        Tab("점수 요약", _SUMMARY_COLUMNS, list(_summary_rows(scored)), _notes(scored)),
        Tab("열 설명", _MEANING_COLUMNS, list(_meanings(schemas))),
    ]
    if scored.plan.run.rejects:
        refused = ([row.file, row.line, row.column, row.code, row.reason] for row in scored.plan.run.rejects)
        tabs.append(Tab("거부한 행", [SheetColumn(title) for title in ("파일", "줄", "열", "코드", "까닭")], refused))
    if source.suffix.lower() == ".xlsx":
        write_workbook(path, tabs, source)
    else:
        write_workbook(path, [_input_tab(source), *tabs])


def _input_tab(source: Path) -> Tab:
    """The rows of a text file, all as text. A row that could not be read shows why."""
    text = text_table(source)
    rows = ([row.reason] if isinstance(row, BrokenRow) else row.cells for row in text.rows())
    return Tab("입력", [SheetColumn(name or "(이름 없음)") for name in COMMON_NAMES.headers(text.columns)], rows)


def _columns(schema: pa.Schema) -> list[SheetColumn]:
    return [SheetColumn(each.name, _kind(each.name, each.type)) for each in schema]


def _kind(name: str, data_type: pa.DataType) -> str:
    if name.endswith("_score") or name == "weighted_total":
        return "score"
    if pa.types.is_floating(data_type) and name.endswith("_s"):
        return "seconds"
    if pa.types.is_primitive(data_type):
        return "number"
    return "long" if name.endswith(("_reason", "_reasons", "query_text", "failed_checks")) else "text"


def _meanings(schemas: Mapping[str, pa.Schema]) -> Iterator[Sequence[str]]:
    """A row per column of the score tabs, whose names are those of the tables: what it holds, in Korean."""
    for title, schema in schemas.items():
        for each in schema:
            yield title, each.name, (each.metadata or {}).get(b"description", b"").decode()


def _summary_rows(scored: ScoredTestRun) -> Iterator[list[Any]]:
    """A row per metric for the set and for each round; counts of the set are those of its rounds together."""
    titles = {metric.name: metric.title for metric in scored.plan.rubric.metrics}
    summary = scored.summary
    for name, values in summary.set.items():
        if isinstance(values, Mapping):
            spread = [by_metric[name] for by_metric in summary.distributions.values() if name in by_metric]
            yield ["세트", titles.get(name, name), *map(values.get, _FIGURES), *_counts(spread)]
    for round_, means in summary.rounds.items():
        for name, values in means.items():
            if isinstance(values, Mapping):
                spread = [summary.distributions.get(round_, {}).get(name, {})]
                yield [round_, titles.get(name, name), *map(values.get, _FIGURES), *_counts(spread)]


def _counts(spread: Sequence[Mapping[str, int]]) -> list[int | None]:
    if not any(spread):
        return [None] * len(_POINTS)
    totals = dict.fromkeys(_POINTS, 0)
    for distribution in spread:
        for points, count in score_counts(distribution):
            totals[points] += count
    return list(totals.values())


def _notes(scored: ScoredTestRun) -> list[tuple[str, str]]:
    run, plan = scored.plan.run, scored.plan
    counts = run.counts
    notes = [
        ("파일", run.name),
        ("SHA-256", run.identity.sha256),
        ("루브릭", f"{plan.rubric.id} ({plan.rubric.title}), 버전 {plan.rubric_version}"),
        (
            "행",
            f"읽음 {counts.rows_in:,} = 채점 {counts.scored:,} + 제외 {counts.excluded:,} + 거부 {counts.rejected:,}",
        ),
        ("문항, 실행", f"문항 {len(run.queries):,}개, 실행 {counts.executions:,}회"),
    ]
    if unanswered := scored.questions.get("no_judge"):
        notes.append(("판정 모델 없음", f"질문 {unanswered:,}건의 점수를 비워 둠(no_judge)"))
    return notes
