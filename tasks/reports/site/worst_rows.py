"""The rows that a day's page explains, and which rule gave them which points. Source: SPEC 1.3.

The worst rows in the frame of the cross table, the worst of the others, and the examples of the alerts. Texts are
masked: a page is sent around.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from scoring.chat.kpis import rubric_version_of
from scoring.chat.rubric import Grade, RowRubric
from scoring.judging.masking import SHOWN, masked
from scoring.markdown import shortened
from scoring.rules.explain import Finding, findings
from scoring.rules.expressions import Case, Column, Definition, Expression, Sum, Value
from scoring.rules.polars_backend import to_polars
from tasks.reports.site.listed_rows import FLAGGED, ListedRows
from tasks.warehouse import Warehouse

_WORST, _WORST_FRAMED = 10, 10
_QUESTION_CHARACTERS, _ANSWER_CHARACTERS = 300, 500


@dataclass(frozen=True)
class Component:
    """The points of one component of a row, and its rules with theirs."""

    title: str
    points: int
    maximum: int
    findings: Sequence[Finding]


@dataclass(frozen=True)
class ShownRow:
    """One row of the score table (`scores`) as people see it.

    `time` is local, texts are masked, or None where the table does not keep them. `parts` are the title, the points and
    the components of the scores that the total is made of.
    """

    scores: Mapping[str, Any]
    time: str
    question: str | None
    answer: str | None
    final: Grade
    alerts: Sequence[str]
    parts: Sequence[tuple[str, int, Sequence[Component]]]


def shown_rows(
    warehouse: Warehouse, rubric: RowRubric, day: date, listed: ListedRows, alert_row_ids: Iterable[str]
) -> list[ShownRow]:
    """The rows of a day that its page shows, the framed ones of the cross table first, the worst of them first."""
    ids = {*_worst_ids(listed), *alert_row_ids}
    rows = warehouse.day_queries(day, rubric).rows(ids, rubric.scores_schema.names)
    zone, framed = ZoneInfo(listed.time_zone), rubric.is_framed
    ordered = sorted(rows, key=lambda row: (not framed(row), row[rubric.total], row["timestamp"], row["row_id"]))
    return [shown_row(rubric, row, zone) for row in ordered]


def one_of_each_template(rubric: RowRubric, rows: Iterable[ShownRow]) -> list[ShownRow]:
    """The first row of each template of questions."""
    found: dict[str, ShownRow] = {}
    for row in rows:
        found.setdefault(rubric.template_or_id(row.scores["user_input"], row.scores["row_id"]), row)
    return list(found.values())


def _worst_ids(listed: ListedRows) -> list[str]:
    """The worst of the framed rows, and of the others that people are told about, one for each template."""
    framed = listed.rubric.framed
    told = listed.frame.select(
        "row_id",
        asked=pl.coalesce(pl.Series(listed.templates, dtype=pl.String), "row_id"),
        is_framed=to_polars(framed).fill_null(value=False) if framed else pl.lit(False),
        is_told=pl.col(FLAGGED) & pl.col(listed.rubric.total).is_not_null(),
    ).filter("is_told")
    of_each = told.unique(["asked", "is_framed"], keep="first", maintain_order=True)
    first, others = of_each.filter("is_framed")["row_id"], of_each.filter(~pl.col("is_framed"))["row_id"]
    return [*first.head(_WORST_FRAMED), *others.head(_WORST)]


def shown_row(rubric: RowRubric, row: Mapping[str, Any], zone: ZoneInfo) -> ShownRow:
    """One row as pages show it; its rules are explained where its texts are there."""
    timestamp: datetime = row["timestamp"]
    return ShownRow(
        scores=row,
        time=f"{timestamp.astimezone(zone):%H:%M:%S}",
        question=_shown_text(row["user_input"], _QUESTION_CHARACTERS),
        answer=_shown_text(row["llm_response"], _ANSWER_CHARACTERS),
        final=rubric.final_scale.grade(row[rubric.final_scale.column]),
        alerts=[rubric.rule_titles.get(rule, rule) for rule in row["alert_rules"] or ()],
        parts=_parts(rubric, row),
    )


def _shown_text(text: str | None, length: int) -> str | None:
    # Masked before it is cut: half a card number would not be recognised.
    return None if text is None else shortened(masked(text, end=SHOWN).strip(), length)


def _parts(rubric: RowRubric, row: Mapping[str, Any]) -> list[tuple[str, int, list[Component]]]:
    """The points as the table holds them; the rules behind them where both texts and the same rules are at hand.

    A component that the version of the row did not have is left out.
    """
    explained = None not in (row["user_input"], row["llm_response"]) and rubric_version_of(row) == (
        rubric.id,
        rubric.version,
    )
    part_of = {name: part.column for part in rubric.parts for name in _terms(rubric, part.column)}
    components = defaultdict(list)
    for definition, maximum in _scored_components(rubric.definitions):
        name = definition.name
        if row[name] is not None and name in part_of:
            found = findings(name, definition.expression, row) if explained else []
            components[part_of[name]].append(Component(definition.title, row[name], maximum, found))
    return [(rubric.titles[score], row[score], of_score) for score, of_score in components.items()]


def _terms(rubric: RowRubric, score: str) -> list[str]:
    """The columns that a score adds up; the score itself where its own rules give the points."""
    expression = next(definition.expression for definition in rubric.definitions if definition.name == score)
    terms = expression.terms if isinstance(expression, Sum) else ()
    return [term.name for term in terms if isinstance(term, Column)] or [score]


@cache
def _scored_components(definitions: tuple[Definition, ...]) -> list[tuple[Definition, int]]:
    """The columns that add up points by rules, with the most that each can give."""
    highest = ((definition, _highest_points(definition.expression)) for definition in definitions)
    return [(definition, points) for definition, points in highest if points is not None]


def _highest_points(expression: Expression) -> int | None:
    """The most that an expression of rules can give; None for one that is not made of points."""
    match expression:
        case Value(int(points)):
            return points
        case Sum(terms):
            parts = [_highest_points(term) for term in terms]
            return None if None in parts else sum(part for part in parts if part is not None)
        case Case(branches, otherwise):
            options = [_highest_points(value) for value in (*(branch.value for branch in branches), otherwise)]
            return None if None in options else max(option for option in options if option is not None)
        case _:
            return None
