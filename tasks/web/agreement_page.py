"""The agreement of people with the scores and with each other, from the current labels, and the items on which they
differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath

from starlette.responses import Response

from scoring.catalog import rubric_title, rubrics
from scoring.chat.rubric import RowRubric
from scoring.markdown import one_line, score_text, shortened
from scoring.stats.agreement import ALL_AGENTS, LEAST_OTHERS, SAME_SCORE, agreements
from scoring.stats.intervals import MIN_N_FOR_VERDICT
from scoring.testruns.rubric import TestRunRubric
from tasks.context import Context
from tasks.files.web_addresses import row_address
from tasks.reports.site.judge_page import AGREEMENT_TITLES, agreement_cells
from tasks.reports.site.pages import Cell, Link, Table
from tasks.reports.wording import coefficient_text, count_text
from tasks.review.label_store import KeptLabel, LabelStore, newest
from tasks.review.trust import (
    ComparedLabel,
    ComparedLabels,
    agreement_of_people,
    compared_labels,
    pairs_of_people,
)
from tasks.testruns.trusted_metrics import agreement_figures
from tasks.warehouse import rows_with_ids
from tasks.web.asked import Asked, href
from tasks.web.conversation import shown_text
from tasks.web.review_queues import RunQueue, run_queues

_SHOWN = 50
_TEXT_CHARACTERS = 80


@dataclass(frozen=True)
class _Judged:
    """One metric of one item with every verdict of people on it."""

    labels: Sequence[ComparedLabel]

    @property
    def label(self) -> KeptLabel:
        """A label that names the item."""
        return self.labels[0][0]

    @property
    def distance(self) -> float:
        """The distance of the score and the verdicts, in points or grades."""
        values = [self.labels[0][1].score, *(pair.label for _, pair in self.labels)]
        return max(values) - min(values)

    def is_of(self, reviewer: str) -> bool:
        """Whether this person has given one of the verdicts."""
        return any(kept.reviewer == reviewer for kept, _ in self.labels)


def agreement_page(asked: Asked) -> Response:
    """The agreement of every metric, of every two people, and the items on which they differ.

    A reviewer sees only items that they have judged, or with `every=1` all of them.
    """
    context, sees_all = asked.context, ("every", "1") in asked.pairs
    asked.record("사람과 맞는 정도", "모두" if sees_all else "")
    labels = newest(LabelStore(context.state).every_label())
    of_rows, of_runs = [one for one in labels if one.row_id], [one for one in labels if not one.row_id]
    compared = [
        *compared_labels(of_rows, context.rubric, context.warehouse),
        *compared_labels(of_runs, None, asked.context.of_no_service.warehouse),
    ]
    apart = _apart(compared)
    blind = asked.viewer.may("reviewer") and not sees_all
    visible = [one for one in apart if not blind or one.is_of(asked.viewer.name)]
    return asked.page(
        "agreement.html",
        section="review",
        title="사람과 얼마나 맞나",
        service=context.settings.service,
        labels=len(labels),
        left_out=len(labels) - sum(len(one.pairs) for one in compared),
        least=context.settings.agreement.trusted_from,
        least_queries=MIN_N_FOR_VERDICT,
        least_others=LEAST_OTHERS,
        metrics=_metrics(context, compared),
        together=_together(context, compared),
        people=_people(context, compared),
        apart=_items(asked, visible[:_SHOWN]),
        hidden=len(apart) - len(visible),
        further=len(visible[_SHOWN:]),
    )


def _apart(compared: Iterable[ComparedLabels]) -> list[_Judged]:
    """The items on which the score and people differ, largest distance first."""
    by_item: dict[tuple[str, ...], list[ComparedLabel]] = {}
    for one in compared:
        for kept, pair in one.pairs:
            by_item.setdefault(kept.item, []).append((kept, pair))
    apart = [judged for pairs in by_item.values() if (judged := _Judged(pairs)).distance > SAME_SCORE]
    return sorted(apart, key=lambda one: -one.distance)


def _metrics(context: Context, compared: Iterable[ComparedLabels]) -> Table:
    least = context.settings.agreement.trusted_from
    rows: list[list[Cell]] = [
        [
            _title(context, one.rubric, found.metric),
            _scored_by(context, one.rubric),
            *agreement_cells(agreement_figures(found, least)),
        ]
        for one in compared
        for found in agreements(pair for _, pair in one.pairs)
        if found.agent_type == ALL_AGENTS
    ]
    return Table(["지표", "채점 기준", *AGREEMENT_TITLES], rows)


def _together(context: Context, compared: Iterable[ComparedLabels]) -> Table:
    """All reviewers of a metric together; kappa is only defined for two."""
    rows: list[list[Cell]] = [
        [
            _title(context, group.rubric, found.metric),
            _scored_by(context, group.rubric),
            count_text(found.people),
            count_text(found.items),
            coefficient_text(found.alpha),
        ]
        for group in compared
        for found in agreement_of_people(group.pairs)
    ]
    return Table(["지표", "채점 기준", "사람", "항목", "크리펜도르프 α (95% 구간)"], rows)


def _people(context: Context, compared: Iterable[ComparedLabels]) -> Table:
    """The agreement of each two people, without the last cell, which is about trust in a metric."""
    least = context.settings.agreement.trusted_from
    rows: list[list[Cell]] = [
        [
            " · ".join(map(_name, people)),
            _title(context, group.rubric, found.metric),
            _scored_by(context, group.rubric),
            *agreement_cells(agreement_figures(found, least))[:-1],
        ]
        for group in compared
        for people, pairs in pairs_of_people(group.pairs).items()
        for found in agreements(pairs, to_points=False)
    ]
    return Table(["두 사람", "지표", "채점 기준", *AGREEMENT_TITLES[:-1]], rows)


def _items(asked: Asked, apart: Sequence[_Judged]) -> Table:
    context = asked.context
    scored = _scored_rows(context, [one.label.row_id for one in apart if one.label.row_id])
    runs = run_queues(context) if any(not one.label.row_id for one in apart) else []
    rows: list[list[Cell]] = [
        [
            _link(asked, one.label, scored, runs),
            _title(context, one.label.rubric, one.label.metric),
            _said(context, one.label, one.labels[0][1].score),
            ", ".join(
                f"{kept.reviewer or '이름 없음'}: {_said(context, kept, pair.label)}" for kept, pair in one.labels
            ),
        ]
        for one in apart
    ]
    return Table(["항목", "지표", "자동 점수", "사람"], rows)


def _scored_rows(context: Context, row_ids: Sequence[str]) -> Mapping[str, tuple[date, str | None]]:
    """The days of these rows, and their questions if they are stored."""
    columns = ["row_id", "score_date", "user_input"]
    found = rows_with_ids(context.warehouse, context.rubric, row_ids, columns)
    return {row_id: (day, question) for row_id, day, question in found.iter_rows()}


def _link(
    asked: Asked, label: KeptLabel, scored: Mapping[str, tuple[date, str | None]], runs: Iterable[RunQueue]
) -> Link:
    """The link to the row, or for reviewers to the question of a test run while it is on a list."""
    if label.row_id:
        day, question = scored[label.row_id]
        return Link(f"{day} {_cut(shown_text(asked, question)) or label.row_id}", row_address(day, label.row_id))
    for run in runs if asked.viewer.may("reviewer") else ():
        for one in run.questions_of(label):
            said = _cut(run.material(asked, one).question) or label.query_id
            return Link(_joined(PurePath(label.file).name, said, label.round), href(run.address, [("item", one.id)]))
    return Link(_joined(PurePath(label.file).name, label.query_id, label.round), "")


def _cut(text: str | None) -> str:
    """A text truncated to a cell."""
    return shortened(one_line(text or ""), _TEXT_CHARACTERS)


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def _name(reviewer: str) -> str:
    return reviewer or "이름 없음"


def _scored_by(context: Context, rubric: str) -> str:
    return context.rubric.title if rubric == context.rubric.id else rubric_title(rubric)


def _title(context: Context, rubric: str, metric: str) -> str:
    scored_by = rubrics().get(rubric)
    if isinstance(scored_by, TestRunRubric):
        return next((one.title for one in scored_by.metrics if one.name == metric), metric)
    return context.rubric.titles.get(metric, metric)


def _said(context: Context, label: KeptLabel, value: float) -> str:
    """A score or verdict in the words of its scale."""
    return _grade(context.rubric, label.metric, value) if label.row_id else f"{score_text(value, 2)}점"


def _grade(rubric: RowRubric, metric: str, place: float) -> str:
    """The grade of a place on its scale, 0 for the worst."""
    (scale,) = [one for one in rubric.scales if one.column == metric]
    return scale.grades[::-1][int(place)].name
