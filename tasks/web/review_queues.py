"""The review lists: the sampled rows of a day, and the sampled answers of a test run."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scoring.chat.row_ids import TEXTS
from scoring.days import day_text
from scoring.errors import AqbError
from scoring.markdown import score_text
from scoring.testruns.review_items import ReviewItem
from scoring.testruns.team_names import TeamNames
from tasks.chat.tables import KPIS
from tasks.context import Context
from tasks.files.web_addresses import row_address
from tasks.reports.wording import tenant_text
from tasks.review.label_store import KeptLabel, LabelStore
from tasks.review.questions import ReviewQuestion, row_questions, run_questions
from tasks.review.queue import USUAL_AUDIT, Drawn, drawn_queries, review_queue
from tasks.testruns.read_folder import read_scored_folder
from tasks.web.asked import Asked, NotFoundError
from tasks.web.conversation import Row, conversation, lacks_texts, shown_text, with_source_texts

_DAYS, _RUNS = 7, 10
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Material:
    """The data for a verdict: question and answer, `parts` of title and text, and the turns before, earliest first.
    Texts are None if they are not available; `notice` may say why.
    """

    about: str
    question: str | None
    answer: str | None
    parts: Sequence[tuple[str, str]]
    before: Sequence[tuple[str | None, str | None]] = ()
    notice: str = ""


@dataclass(frozen=True)
class Scored:
    """The automatic score, its reason, and the URL of its details ('' if there is none)."""

    score: str
    reason: str
    href: str = ""


class RowQueue:
    """The sampled rows of a day."""

    def __init__(self, context: Context, day: date, questions: Sequence[ReviewQuestion]) -> None:
        self.address = f"/review/rows/{day}"
        self.title = f"운영 대화 {day.year}년 {day_text(day)}"
        self.questions = questions
        self._context, self._day = context, day

    def labels(self, store: LabelStore) -> list[KeptLabel]:
        """The labels of its questions; imported files may have labels of other items."""
        items = {one.blank.item for one in self.questions}
        of_rows = store.labels_of(self._context.rubric.id, "", sorted({one.blank.row_id for one in self.questions}))
        return [one for one in of_rows if one.item in items]

    def progress(self, mine: Sequence[KeptLabel]) -> tuple[str, int, int]:
        """What a person is counted by (Korean), how many of them have one of these labels, and how many there are."""
        return "판정", len(mine), len(self.questions)

    def material(self, asked: Asked, question: ReviewQuestion) -> Material:
        """The row with the turns before it; texts that the table does not store are read from the source."""
        row = self._row(question)
        turns = [one for one in conversation(asked, self._day, row) if one["timestamp"] < row["timestamp"]]
        notice = ""
        if lacks_texts([row, *turns]):
            try:
                row, *turns = with_source_texts(asked, self._day, [row, *turns])
            except AqbError as error:
                _log.warning("%s", error)
                notice = "보관하지 않은 글이 있고, 지금은 원본을 읽을 수 없습니다."
        if lacks_texts([row]):
            notice = notice or "글이 원본에 없거나, 지운 세션의 글입니다."
        said = [tuple(shown_text(asked, one[name]) for name in TEXTS) for one in [*turns, row]]
        *before, (asked_for, answered) = [(one[0], one[1]) for one in said]
        local = row["timestamp"].astimezone(self._context.settings.zone)
        return Material(f"{local:%H:%M:%S} · {tenant_text(row['tenant_id'])}", asked_for, answered, (), before, notice)

    def scored(self, question: ReviewQuestion) -> Scored:
        """The grade; the row's page explains it."""
        row, rubric = self._row(question), self._context.rubric
        metric = question.blank.metric
        (scale,) = [one for one in rubric.scales if one.column == metric]
        (part,) = [one for one in rubric.parts if one.grade_column == metric]
        grade = scale.grade(row[metric])
        return Scored(
            grade.name,
            f"{rubric.titles[part.column]} {row[part.column]:g}점",
            row_address(self._day, row["row_id"]),
        )

    def _row(self, question: ReviewQuestion) -> Row:
        queries = self._context.warehouse.day_queries(self._day, self._context.rubric)
        rows = queries.rows([question.blank.row_id], self._context.rubric.scores_schema.names)
        if not rows:
            raise NotFoundError("이 행은 이제 없습니다", fix="검토 목록에서 다시 여세요.")
        return rows[0]


class RunQueue:
    """The sampled answers of the test run in a folder."""

    def __init__(self, context: Context, folder: Path) -> None:
        self.address = f"/review/runs/{quote(folder.name)}"
        self.run = read_scored_folder(folder)
        self.title = Path(self.run.file).name
        self._names = context.settings.test_runs.names

    @cached_property
    def _items(self) -> Mapping[str, tuple[ReviewQuestion, ReviewItem]]:
        written = (self.run.folder / "summary.json").stat().st_mtime_ns
        names = (tuple(self._names.columns.items()), tuple(self._names.filters.items()))
        drawn = _drawn(self.run.folder, written, *names)
        return {question.id: (question, one.item) for one in drawn for question in run_questions(self.run, one)}

    @property
    def questions(self) -> Sequence[ReviewQuestion]:
        """The questions of its answers."""
        return [question for question, _ in self._items.values()]

    def questions_of(self, label: KeptLabel) -> list[ReviewQuestion]:
        """The question about the item of a label, if it is in this run's sample."""
        if label.input_sha256 != self.run.sha256:
            return []
        return [one for one in self.questions if one.blank.item == label.item]

    def labels(self, store: LabelStore) -> list[KeptLabel]:
        """The labels of the run."""
        return store.labels_of(self.run.rubric.id, self.run.sha256, [""])

    def progress(self, mine: Sequence[KeptLabel]) -> tuple[str, int, int]:
        """As of rows, counted by query; their answers are not read for it."""
        queries = drawn_queries(self.run, USUAL_AUDIT).keys()
        return "질의", len(queries & {one.query_id for one in mine}), len(queries)

    def material(self, asked: Asked, question: ReviewQuestion) -> Material:
        """The answer with what was expected and what else the user saw."""
        _, item = self._items[question.id]
        parts = (
            ("기대 결과", item.expected),
            ("사용한 조건", item.tools),
            ("화면 요소", item.screen),
            ("링크", item.urls),
            ("다른 회차의 답변", item.other_answers),
        )
        return Material(
            f"{item.query_id} · {item.round} 회차" if item.round else f"{item.query_id} · 모든 회차",
            shown_text(asked, item.question),
            shown_text(asked, item.answer),
            [(title, shown_text(asked, text) or "") for title, text in parts if text],
        )

    def scored(self, question: ReviewQuestion) -> Scored:
        """The points and their reason."""
        blank = question.blank
        rows = self.run.scores.filter(round=blank.round) if blank.round else self.run.queries
        found: list[dict[str, Any]] = rows.filter(query_id=blank.query_id).to_dicts()
        points = found[0].get(f"{blank.metric}_score") if found else None
        reason = found[0].get(f"{blank.metric}_reason") if found else None
        return Scored("미판정" if points is None else f"{score_text(points, 2)}점", reason or "")


ReviewQueue = RowQueue | RunQueue
"""A list: its URL and title, its questions in order, their labels, and what is shown with a question."""


@lru_cache(maxsize=4)
def _drawn(
    folder: Path, written_ns: int, columns: tuple[tuple[str, str], ...], filters: tuple[tuple[str, str], ...]
) -> list[Drawn]:
    """The sample of a test run, cached: a key press must not wait for its workbook. `written_ns` distinguishes
    versions.
    """
    return review_queue(read_scored_folder(folder), USUAL_AUDIT, TeamNames(dict(columns), dict(filters))).items


def row_queues(context: Context) -> list[RowQueue]:
    """The lists of the last scored days, latest first."""
    days = context.warehouse.days(KPIS)[-_DAYS:]
    by_day = row_questions(context.warehouse, context.rubric, days)
    return [RowQueue(context, day, by_day[day]) for day in reversed(days) if day in by_day]


def run_queues(context: Context) -> list[RunQueue]:
    """The lists of the test runs that were scored last, latest first."""
    reports = context.of_no_service.reports
    return [RunQueue(context, folder) for folder in reports.testrun_folders()[:_RUNS]]


def opened_queue(asked: Asked) -> ReviewQueue:
    """The list in the URL.

    Raises:
        NotFoundError: there is none.
    """
    context = asked.context
    if "run" in asked.place:
        for folder in context.of_no_service.reports.testrun_folders():
            if folder.name == asked.place["run"]:
                return RunQueue(context, folder)
        raise NotFoundError("그런 테스트 런은 없습니다", fix="검토 목록에서 다른 것을 고르세요.")
    questions = row_questions(context.warehouse, context.rubric, [asked.day])
    if asked.day not in questions:
        raise NotFoundError("그날 채점한 행이 없습니다", fix="검토 목록에서 다른 날을 고르세요.")
    return RowQueue(context, asked.day, questions[asked.day])
