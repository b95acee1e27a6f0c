"""The workbook tab for verdicts: a row per answer, a drop-down per metric, room for a note."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scoring.testruns.rubric import AnyTestRunRubric
from tasks.files.xlsx.sheet_xml import SheetColumn, Tab
from tasks.review.queue import Drawn, reviewed_metrics

SHEET, CRITERIA = "검토", "점수 기준"
FILE, QUERY, ROUND, NOTE = "파일", "질의 ID", "회차", "메모"
METRIC, STORED_NAME = "지표", "저장된 이름"
PROBABILITY = "뽑힐 확률"
CANNOT_TELL = "판단 불가"
POINTS = ("5", "4", "3", "2", "1", "0")
_GIVEN = (
    SheetColumn("질의", "long", 30),
    SheetColumn(ROUND, width=8),
    SheetColumn("기대 결과", "long", 40),
    SheetColumn("답변", "long", 50),
)
_SEEN = (
    SheetColumn("사용한 조건", "long", 30),
    SheetColumn("화면 요소", "long", 45),
    SheetColumn("링크", "long", 30),
    SheetColumn("다른 회차의 답변", "long", 40),
)
_IDS = (SheetColumn(QUERY, width=16), SheetColumn(FILE, width=24))


def review_tab(file: str, rubric: AnyTestRunRubric, items: Sequence[Drawn], *, blind: bool) -> Tab:
    """The answers with the reasons for their review, which are hidden in a `blind` tab. `file` is their test run.

    The sampling probability of an answer is always hidden: it is used when the verdicts are read.

    Yellow cells are to be filled in; grey ones do not apply to their row.
    """
    metrics = reviewed_metrics(rubric)
    columns = [
        *_GIVEN,
        *(SheetColumn(metric.title, width=12, choices=(*POINTS, CANNOT_TELL)) for metric in metrics),
        SheetColumn(NOTE, "long", 30),
        *_SEEN,
        SheetColumn("검토하는 까닭", "long", 30, folded=blind),
        *_IDS,
        SheetColumn(PROBABILITY, width=10, folded=True),
    ]
    rows = _rows(file, [metric.name for metric in metrics], items)
    return Tab(SHEET, columns, rows, frozen=2, printed=(len(_GIVEN) + len(metrics) + 1, len(items)))


def criteria_tab(rubric: AnyTestRunRubric) -> Tab:
    """The scoring criteria, and the stored name of each metric."""
    columns = [
        SheetColumn(METRIC),
        SheetColumn("점수"),
        SheetColumn("기준", "long", 90),
        SheetColumn(STORED_NAME, folded=True),
    ]
    rows = [
        [metric.title, points, meaning, metric.name]
        for metric in reviewed_metrics(rubric)
        for points, meaning in rubric.criteria.get(metric.name, [("", "")])
    ]
    return Tab(CRITERIA, columns, rows)


def _rows(file: str, metrics: list[str], items: Iterable[Drawn]) -> Iterator[list[Any]]:
    for drawn in items:
        item = drawn.item
        yield [
            *(item.question, item.round, item.expected, item.answer),
            *("" if metric in item.metrics else None for metric in metrics),
            None,
            *(item.tools, item.screen, item.urls, item.other_answers),
            *(drawn.why, item.query_id, file, drawn.probability),
        ]
