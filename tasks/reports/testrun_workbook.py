"""`scores.xlsx`: summary, what people should look at, scores by query and by execution, what the columns mean, input.

Headings and values are Korean; the names that columns have in the tables stand in the tab that describes them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from scoring.figures import goal_figure
from scoring.inputs import BrokenRow
from scoring.markdown import score_text
from scoring.testruns.review_items import review_items
from scoring.testruns.rubric import AnyTestRunRubric
from scoring.testruns.scoring import ScoredTestRun
from scoring.testruns.summaries import SCORE_KEYS, score_counts
from scoring.testruns.tables import (
    RUBRIC_FIELDS,
    VALUE_TITLES,
    column_meaning,
    column_title,
    queries_schema,
    scores_schema,
)
from tasks.files.excel import LONGEST_CELL, fits_cell
from tasks.files.xlsx.sheet_xml import SheetColumn, Tab
from tasks.files.xlsx.workbook import write_workbook
from tasks.reports.wording import rules_text, weights_text
from tasks.review.queue import Drawn, flagged_queries, reviewed_metrics
from tasks.review.review_tab import criteria_tab, review_tab
from tasks.testruns.files import text_table

_MOST_REVIEWED = 200
_NOT_SHOWN = frozenset(column.name for column in RUBRIC_FIELDS)
_LONG = ("_reason", "_reasons", "query_text", "failed_checks", "signature", "_missing")
_YES_NO = {True: "예", False: "아니요"}
_SUMMARY_COLUMNS = (
    *(SheetColumn("구분"), SheetColumn("지표"), SheetColumn("평균", "mean"), SheetColumn("채점한 수", "number")),
    SheetColumn("미판정 질의", "number"),
    *(SheetColumn("최저(미판정 0점)", "mean"), SheetColumn("최고(미판정 5점)", "mean")),
    *(SheetColumn("점수 없음" if points == "null" else f"{points}점", "number") for points in SCORE_KEYS),
)
_MEANING_COLUMNS = (SheetColumn("탭"), SheetColumn("열"), SheetColumn("뜻", "long", 90), SheetColumn("저장된 이름"))
_FIGURES = ("mean", "n", "undecided", "low", "high")


def write_testrun_workbook(
    path: Path,
    scored: ScoredTestRun,
    source: Path,
    scores: pl.DataFrame,
    queries: pl.DataFrame,
    summary: Mapping[str, Any],
) -> None:
    """Writes the tabs to `path`, before the sheets of `source` where that is a workbook.

    `scores` and `queries` are the tables of the test run, `summary` is that of `summary.json`.
    """
    rubric, run = scored.plan.rubric, scored.plan.run
    by_query = _ScoreTab("질의별 점수", rubric, queries_schema(rubric), queries)
    by_execution = _ScoreTab("실행별 점수", rubric, scores_schema(rubric), scores)
    flagged = flagged_queries(rubric, queries, scores)
    of_workbook = source.suffix.lower() == ".xlsx"
    tabs = [
        _summary_tab(scored, summary, 0 if of_workbook else _cut_cells(source), len(flagged) - _MOST_REVIEWED),
        *([review_tab(run.identity.name, rubric, list(_reviewed(scored, flagged)), blind=False)] if flagged else []),
        by_query.tab,
        by_execution.tab,
        criteria_tab(rubric),
        Tab("열 설명", _MEANING_COLUMNS, [*by_query.meanings(), *by_execution.meanings()]),
    ]
    if run.rejects:
        refused = ([row.file, row.line, row.column, row.reason] for row in run.rejects)
        tabs.append(Tab("거부한 행", [SheetColumn(title) for title in ("파일", "줄", "열", "까닭")], refused))
    if of_workbook:
        write_workbook(path, tabs, source)
    else:
        write_workbook(path, [*tabs, _input_tab(source)])


@dataclass(frozen=True)
class _ScoreTab:
    """A table as a tab: columns without any value are left out, and what is short stands before what is long."""

    name: str
    rubric: AnyTestRunRubric
    schema: pa.Schema
    table: pl.DataFrame

    @property
    def tab(self) -> Tab:
        shown = self._shown()
        columns = [SheetColumn(column_title(column), _kind(column)) for column in shown]
        texts = [self._text_of(column.name) for column in shown]
        rows = (
            [text(value) for text, value in zip(texts, row, strict=True)]
            for row in self.table.select(column.name for column in shown).iter_rows()
        )
        printed = max(place for place, column in enumerate(shown, start=1) if _is_printed(column))
        return Tab(self.name, columns, rows, frozen=1, printed=(printed, self.table.height))

    def meanings(self) -> Iterator[Sequence[str]]:
        for column in self._shown():
            _, _, meaning = column_meaning(column).partition(": ")
            if titles := self._titles_of(column.name):  # what stands in the cells, not the codes of the table
                _, _, further = meaning.partition(". ")
                shown = [title for code, title in titles.items() if code is not None]
                meaning = ". ".join(filter(None, [", ".join(shown), further]))
            yield self.name, column_title(column), meaning, column.name

    def _shown(self) -> list[pa.Field]:
        filled = [
            column
            for column in self.schema
            if column.name not in _NOT_SHOWN
            and (column.name.endswith("_score") or self.table[column.name].null_count() < self.table.height)
        ]
        # The question is long too, but nobody reads scores without it.
        return sorted(filled, key=lambda column: _is_long(column) and column.name != "query_text")

    def _text_of(self, name: str) -> Callable[[Any], Any]:
        """How a value of a column is shown."""
        if name == "manual_review_reasons":
            return lambda codes: ", ".join(self.rubric.review_titles(codes or ()))
        titles = self._titles_of(name)
        return lambda value: _YES_NO[value] if isinstance(value, bool) else _shown(value, titles)

    def _titles_of(self, name: str) -> Mapping[Any, str]:
        """What people call the codes of a column; nothing for other columns."""
        return VALUE_TITLES.get(name) or self.rubric.value_titles.get(name) or {}


def _shown(value: Any, titles: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return titles.get(value, value) if titles and value is not None else value


def _is_long(column: pa.Field) -> bool:
    return bool(column.name.endswith(_LONG))


def _is_printed(column: pa.Field) -> bool:
    """Whether a page needs the columns up to this one: the scores, and what they are of."""
    return column.name in ("query_text", "flag_manual_review") or _kind(column) in ("score", "mean")


def _kind(column: pa.Field) -> str:
    if column.name == "weighted_total":
        return "mean"
    if column.name.endswith("_score"):
        return "score"
    if pa.types.is_boolean(column.type):
        return "text"
    if pa.types.is_floating(column.type):
        return "seconds" if column.name.endswith("_s") else "number"
    if pa.types.is_integer(column.type):
        return "number"
    return "long" if _is_long(column) else "text"


def _reviewed(scored: ScoredTestRun, flagged: Mapping[str, str]) -> Iterator[Drawn]:
    """The answers of the flagged queries, the worst query first."""
    run, metrics = scored.plan.run, reviewed_metrics(scored.plan.rubric)
    for query_id, why in islice(flagged.items(), _MOST_REVIEWED):
        for item in review_items(run.queries[query_id], metrics):
            yield Drawn(item, why)


def _cut_cells(source: Path) -> int:
    """How many cells of a text file the tab of the input holds only the beginning of."""
    rows = (row.cells for row in text_table(source).rows() if not isinstance(row, BrokenRow))
    return sum(not fits_cell(cell) for cells in rows for cell in cells)


def _input_tab(source: Path) -> Tab:
    """The rows of a text file, all as text. A row that could not be read shows why."""
    text = text_table(source)
    rows = ([row.reason] if isinstance(row, BrokenRow) else row.cells for row in text.rows())
    columns = [SheetColumn(name or "(이름 없음)") for name in text.columns]
    return Tab("입력", columns, rows, printed=(len(columns), 0))


def _summary_tab(scored: ScoredTestRun, summary: Mapping[str, Any], cut_cells: int, not_listed: int) -> Tab:
    """The first sentences of the report, metrics of the whole and of each round, then targets and what was read.

    `cut_cells` counts those of the input that are too long for Excel, `not_listed` the queries for a person that the
    tab of these leaves out, less than 1 if it has all.
    """
    head = (f"{scored.plan.rubric.title}: {scored.plan.run.name}", *summary["headline"])
    rows, notes = list(_summary_rows(scored)), _summary_notes(scored, summary, cut_cells, not_listed)
    return Tab("점수 요약", _SUMMARY_COLUMNS, rows, notes, head)


def _summary_rows(scored: ScoredTestRun) -> Iterator[list[Any]]:
    """A row per metric for the whole and for each round; counts of the whole are those of its rounds together."""
    titles = {**scored.plan.rubric.figure_titles, **{each.name: each.title for each in scored.plan.rubric.metrics}}
    summary = scored.summary
    rounds = [(f"회차 {name}", means, [summary.distributions.get(name, {})]) for name, means in summary.rounds.items()]
    for title, means, spread in [("전체", summary.set, [*summary.distributions.values()]), *rounds]:
        for name, values in means.items():
            if isinstance(values, Mapping):
                counts = _counts([by_metric.get(name, {}) for by_metric in spread])
                yield [title, titles.get(name, name), *map(values.get, _FIGURES), *counts]


def _counts(spread: Sequence[Mapping[str, int]]) -> list[int | None]:
    if not any(spread):
        return [None] * len(SCORE_KEYS)
    totals = dict.fromkeys(SCORE_KEYS, 0)
    for distribution in spread:
        for points, count in score_counts(distribution):
            totals[points] += count
    return list(totals.values())


def _summary_notes(
    scored: ScoredTestRun, summary: Mapping[str, Any], cut_cells: int, not_listed: int
) -> list[tuple[str, str]]:
    run, plan = scored.plan.run, scored.plan
    parts, counts = plan.rubric.page_parts(summary), run.counts
    notes = [
        *(
            (one.title, one.missing or f"{score_text(one.total)}점, {weights_text(one.coverage)}")
            for one in parts.totals
        ),
        *((f"목표: {title}", goal_figure(figures).text) for title, figures in parts.targets),
        *([("참고", parts.notice)] if parts.notice else []),
        *(
            ("테스트 세트 점검", f"{one['title']} {len(one['query_ids']):,}개: {one['example']}")
            for one in summary["lint"]
        ),
        ("파일", run.name),
        ("채점 기준", f"{plan.rubric.title}({plan.rubric.id}), {rules_text(plan.rubric_version)}"),
        (
            "행",
            f"읽음 {counts.rows_in:,} = 채점 {counts.scored:,} + 제외 {counts.excluded:,} + 거부 {counts.rejected:,}",
        ),
        ("파일 지문(SHA-256)", run.identity.sha256),
    ]
    if cut_cells:
        notes.append(
            (
                "잘린 칸",
                f"'입력' 탭에서 Excel 한 칸의 한도({LONGEST_CELL:,}자)를 넘는 칸 {cut_cells:,}개를 잘라 담았습니다. "
                "다시 채점할 때는 이 파일 말고 원본을 쓰세요.",
            )
        )
    if not_listed > 0:
        notes.append(("검토", f"'검토' 탭은 점수를 많이 잃은 질의부터 담았고, 그 밖에 {not_listed:,}개가 있습니다."))
    if unanswered := scored.questions.get("no_judge"):
        notes.append(("미판정", f"판정 모델을 쓰지 않아 질문 {unanswered:,}개의 점수를 비워 둠"))
    return notes
