"""The review questions about one item: a metric, its choices, and the label to store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from hashlib import sha256

import polars as pl

from scoring.chat.review_draw import (
    BORDERLINE,
    EDGE_POINTS,
    FLAGGED,
    KIND,
    OTHER,
    PROBABILITY,
    draw_columns,
    drawn_rows,
    judged_scales,
)
from scoring.chat.rubric import GradeScale, RowRubric
from scoring.testruns.rubric import AnyTestRunRubric
from tasks.review.label_store import KeptLabel
from tasks.review.queue import Drawn
from tasks.review.review_tab import POINTS
from tasks.testruns.read_folder import ScoredFolder
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.tables import SCORES

_ID_DIGITS = 16
_LARGEST_KEY = 5
_NOT_YET = datetime.min.replace(tzinfo=UTC)
WHY_DRAWN = {
    FLAGGED: "알림이 있는 행에서 뽑음",
    BORDERLINE: f"{EDGE_POINTS}점 차이로 등급이 갈리는 행에서 뽑음",
    OTHER: "나머지 행에서 무작위로 뽑음",
}


@dataclass(frozen=True)
class Choice:
    """One choice: its key, the label to store, and its description (Korean, may be empty)."""

    key: str
    label: str
    title: str


@dataclass(frozen=True)
class ReviewQuestion:
    """One metric of one item. `blank` is the label without a verdict, `why` the reason for the review (Korean)."""

    blank: KeptLabel
    title: str
    choices: Sequence[Choice]
    why: str

    @property
    def id(self) -> str:
        """A stable id, the same for everybody; it needs no escaping."""
        return sha256("\0".join(self.blank.item).encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]

    def answered(self, label: str, note: str, reviewer: str, at: datetime) -> KeptLabel:
        """The label to store; an empty one withdraws the reviewer's earlier one."""
        return replace(self.blank, label=label, note=note, reviewer=reviewer, labelled_at=at)


def row_questions(warehouse: Warehouse, rubric: RowRubric, days: Sequence[date]) -> dict[date, list[ReviewQuestion]]:
    """The questions about the sampled rows of each of these days.

    Raises:
        StorageError: the warehouse cannot be read.
    """
    names = ["score_date", "rubric_version", *draw_columns(rubric)]
    scores = table_rows(warehouse, SCORES, rubric.scores_schema, days)
    by_day = scores.select(names).collect().partition_by("score_date", as_dict=True)
    return {day: list(_of_rows(by_day[day,], rubric, day)) for day in days if (day,) in by_day}


def _of_rows(rows: pl.DataFrame, rubric: RowRubric, day: date) -> Iterator[ReviewQuestion]:
    scales, drawn = judged_scales(rubric), drawn_rows(rows, rubric, day)
    versions = rows.select("row_id", "rubric_version")
    for row in drawn.join(versions, "row_id", maintain_order="left").iter_rows(named=True):
        for scale in scales:
            blank = KeptLabel(
                labelled_at=_NOT_YET,
                rubric=rubric.id,
                rubric_version=row["rubric_version"],
                row_id=row["row_id"],
                metric=scale.column,
                probability=row[PROBABILITY],
            )
            yield ReviewQuestion(blank, rubric.titles[scale.column], _grades(scale), WHY_DRAWN[row[KIND]])


def run_questions(run: ScoredFolder, drawn: Drawn) -> Iterator[ReviewQuestion]:
    """The questions about an item of a test run."""
    metrics = {metric.name: metric for metric in run.rubric.metrics}
    for name in drawn.item.metrics:
        blank = KeptLabel(
            labelled_at=_NOT_YET,
            rubric=run.rubric.id,
            rubric_version=run.version,
            input_sha256=run.sha256,
            file=run.file,
            query_id=drawn.item.query_id,
            round=drawn.item.round,
            metric=name,
            epoch=metrics[name].epoch(run.epochs),
            probability=drawn.probability,
        )
        yield ReviewQuestion(blank, metrics[name].title, _points(run.rubric, name), drawn.why)


def _grades(scale: GradeScale) -> list[Choice]:
    """The best grade has the largest key, as the highest points do."""
    largest = max(_LARGEST_KEY, len(scale.grades) - 1)
    return [Choice(str(largest - place), grade.code, grade.name) for place, grade in enumerate(scale.grades)]


def _points(rubric: AnyTestRunRubric, metric: str) -> list[Choice]:
    meanings = dict(rubric.criteria.get(metric, ()))
    return [Choice(points, points, meanings.get(points, "")) for points in POINTS]
