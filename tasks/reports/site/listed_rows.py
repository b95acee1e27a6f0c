"""The rows of a day or a period as its page of rows lists them, and what they can be told apart by. Source: SPEC 1.3.

Rows that people are told about (an alert, or a grade whose texts are kept) come first, the worst of them first.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any

import polars as pl

from scoring.chat.periods import Period
from scoring.chat.row_filter import RowFilter
from scoring.chat.rubric import LEVEL_TITLES, RowRubric
from scoring.judging.masking import masked
from scoring.markdown import shortened
from scoring.rules.evaluation_order import columns_of
from scoring.rules.polars_backend import to_polars
from tasks.chat.tables import EXCLUDED
from tasks.reports.wording import tenant_text
from tasks.warehouse import Warehouse
from tasks.warehouse.row_search import RowOrder

MOST_ROWS = 10_000
"""Of a page of rows: a row takes about 80 bytes without its texts, and a page has at most 1.5 MB."""

QUESTION_CHARACTERS = 300
FLAGGED, FRAMED = "flagged", "framed"
_OFFERED_TEMPLATES = 50
_QUESTIONS_OF_PERIOD = 1_000
"""Of so many rows of a period the questions stand on its page; those of all stand on the pages of its days."""


@dataclass(frozen=True)
class Facet:
    """One thing that tells rows apart: the `values` stand in links and are mapped to what people read (Korean).

    `of_rows` is the place of each row's value, -1 where it has none; with `many` a row has the values whose bits are 1.
    People choose among the `offered`, links lead to every value.
    """

    name: str
    title: str
    values: Mapping[str, str]
    of_rows: Sequence[int]
    many: bool = False
    offered: int = 1_000

    def has(self, of_row: int, value: str) -> bool:
        """Whether a row whose place is `of_row` has a value."""
        place = self._places.get(value, len(self._places))
        return bool(of_row >> place & 1) if self.many else of_row == place

    @cached_property
    def _places(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values)}


@dataclass(frozen=True)
class ListedRows:
    """The rows of a day, or of the `period`, that are listed, and how many there are in all (`rows`).

    Rows that were not scored and yet have an alert are among them; they have neither id nor scores.
    """

    rubric: RowRubric
    frame: pl.DataFrame
    rows: int
    time_zone: str
    period: Period | None = None
    _counted: dict[tuple[str, ...], Counter[tuple[int, ...]]] = field(init=False, default_factory=dict, repr=False)
    """How many rows have each combination of places in some facets, by the names of these."""

    @property
    def complete(self) -> bool:
        """Whether every row is listed, with its question where it is kept."""
        return self.frame.height >= self.rows and (self.period is None or self.frame.height <= _QUESTIONS_OF_PERIOD)

    @property
    def without_score(self) -> int:
        """How many of the listed rows were not scored and yet have an alert."""
        return self.frame["row_id"].null_count()

    def count(self, **wanted: str) -> int:
        """How many of the listed rows have all of these values."""
        by_name = {facet.name: facet for facet in self.facets}
        facets = [by_name[name] for name in wanted]
        counted = self._counted.get(tuple(wanted))
        if counted is None:
            counted = self._counted[tuple(wanted)] = Counter(zip(*(facet.of_rows for facet in facets), strict=True))
        return sum(
            rows
            for places, rows in counted.items()
            if all(facet.has(place, wanted[facet.name]) for facet, place in zip(facets, places, strict=True))
        )

    @cached_property
    def questions(self) -> list[str | None]:
        """The beginning of each row's question, masked; None where its text is not kept."""
        return masked_texts(self.frame["user_input"], QUESTION_CHARACTERS)

    @cached_property
    def templates(self) -> list[str | None]:
        """The template of each row's question."""
        return [None if text is None else self.rubric.template(text) for text in self.questions]

    @cached_property
    def facets(self) -> list[Facet]:
        """Everything that rows can be filtered by, what is asked for most first."""
        rubric, frame = self.rubric, self.frame
        of_rows = frame["timestamp"].dt.convert_time_zone(self.time_zone).dt.hour().to_list()
        hours = {str(hour): f"{hour}시" for hour in sorted(set(of_rows))}
        coded = {"alert_level": LEVEL_TITLES, **{one.column: one.titles for one in rubric.kinds}, **rubric.grade_names}
        names = sorted(set(frame["tenant_id"]), key=str)
        tenants = {tenant_json(name): tenant_text(name) for name in names}
        alerts = [pl.col("alert_rules").list.contains(rule) for rule in rubric.rule_titles]
        return [
            self._flagged_facet(),
            Facet("tenant", "테넌트", tenants, _places(names, frame["tenant_id"].to_list())),
            Facet("alert", "알림", rubric.rule_titles, _bits(alerts, frame), True),
            self._kpi_facet(),
            *(
                Facet(name, rubric.titles[name], values, _places(values, frame[name].to_list()))
                for name, values in coded.items()
            ),
            Facet("hour", "시각", hours, _places(hours, map(str, of_rows))),
            self._template_facet(),
        ]

    def _flagged_facet(self) -> Facet:
        """The rows that people are told about, and those in the frame of the cross table."""
        conditions, titles = [pl.col(FLAGGED)], {"1": "알림이나 낮은 등급이 있는 행"}
        if (framed := self.rubric.framed) and (pairs := self.rubric.crosstab.framed):
            conditions, titles = [*conditions, to_polars(framed)], titles | {FRAMED: pairs.title}
        return Facet(FLAGGED, "범위", titles, _bits(conditions, self.frame), True)

    def _kpi_facet(self) -> Facet:
        """The rows that count against the target of a rate, or for a rate without target."""
        rates = self.rubric.rates.values()
        conditions = [to_polars(kpi.counted) & pl.col(self.rubric.total).is_not_null() for kpi in rates]
        return Facet("kpi", "지표", {kpi.name: kpi.counted_title for kpi in rates}, _bits(conditions, self.frame), True)

    def _template_facet(self) -> Facet:
        """The templates of the questions, the most frequent first; those that came once are not offered."""
        counted = Counter(filter(None, self.templates)).items()
        ordered = sorted((-count, template) for template, count in counted)
        templates = {template: template for _, template in ordered}
        offered = min(sum(count < -1 for count, _ in ordered), _OFFERED_TEMPLATES)
        return Facet("template", "반복된 질문", templates, _places(templates, self.templates), offered=offered)


def list_rows(warehouse: Warehouse, rubric: RowRubric, day: date, rows: int, time_zone: str) -> ListedRows:
    """Reads the rows of a day that has `rows` scored ones; none where its score table is gone."""
    worst = warehouse.day_queries(day, rubric).worst_rows(_columns(rubric), MOST_ROWS)
    worst = worst.with_columns(to_polars(rubric.flagged).alias(FLAGGED))
    return _with_fired(warehouse, [day], ListedRows(rubric, worst, rows, time_zone))


def list_period_rows(
    warehouse: Warehouse, rubric: RowRubric, period: Period, days: Sequence[Mapping[str, Any]], time_zone: str
) -> ListedRows:
    """Reads the rows of days of a period by their KPI rows; of more than MOST_ROWS those with the lowest totals."""
    columns = [name for name in _columns(rubric) if name != "llm_response"]
    scored = [day["score_date"] for day in days]
    wanted, lowest_first = RowFilter(scored[0], scored[-1]), RowOrder(rubric.total, descending=False)
    found = warehouse.row_search(rubric).rows(wanted, columns, lowest_first, 0, MOST_ROWS)
    worst = found.with_columns(to_polars(rubric.flagged).alias(FLAGGED), llm_response=pl.lit(None, pl.String))
    worst = worst.sort(~pl.col(FLAGGED), rubric.total, "timestamp", "row_id", "score_date")
    has_question = pl.int_range(pl.len()) < _QUESTIONS_OF_PERIOD
    worst = worst.with_columns(pl.when(has_question).then("user_input"))
    rows = sum(day["rows"] for day in days)
    return _with_fired(warehouse, scored, ListedRows(rubric, worst, rows, time_zone, period))


def _with_fired(warehouse: Warehouse, days: Sequence[date], listed: ListedRows) -> ListedRows:
    """The rows, and those of the days that were not scored and yet have an alert."""
    worst, rows = listed.frame, listed.rows
    excluded = warehouse.read(EXCLUDED, days, listed.rubric.excluded_schema)
    if excluded is not None and worst.height:
        fired = excluded.filter(pl.col("alert_level").is_not_null()).collect()
        shared = [name for name in fired.columns if name in worst.columns]
        worst = pl.concat(
            [worst, fired.select(shared).with_columns(pl.lit(True).alias(FLAGGED))], how="diagonal_relaxed"
        )
        rows += fired.height
    return replace(listed, frame=worst, rows=rows)


def masked_texts(texts: Iterable[str | None], length: int) -> list[str | None]:
    """Texts of at most so many characters; what reaches over the end is masked as a whole."""
    return [None if text is None else shortened(masked(text, end=length + 1).strip(), length) for text in texts]


def tenant_json(tenant: str | None) -> str:
    """A tenant in the links of the report site, as JSON: no tenant (NULL) is not the same as a tenant named `null`."""
    return json.dumps(tenant, ensure_ascii=False)


def _columns(rubric: RowRubric) -> list[str]:
    scales = (scale.column for scale in rubric.scales)
    kinds = (kind.column for kind in rubric.kinds)
    parts = (part.column for part in rubric.parts)
    named = [
        "score_date",
        "row_id",
        "timestamp",
        "tenant_id",
        "alert_level",
        "alert_rules",
        "user_input",
        "llm_response",
    ]
    rates = (name for kpi in rubric.rates.values() for name in columns_of(kpi.expression))
    return list(dict.fromkeys([*named, *scales, *kinds, *parts, rubric.total, *filter(None, [rubric.cause]), *rates]))


def _places(values: Iterable[object], of_rows: Iterable[object]) -> list[int]:
    """The place of each row's value among the values, -1 for any other."""
    places = {value: place for place, value in enumerate(values)}
    return [places.get(value, -1) for value in of_rows]


def _bits(conditions: Sequence[pl.Expr], frame: pl.DataFrame) -> list[int]:
    """A number for each row whose bits say which of the conditions it meets."""
    bits = (condition.fill_null(value=False).cast(pl.Int64) * 2**place for place, condition in enumerate(conditions))
    return frame.select(pl.sum_horizontal(pl.lit(0, pl.Int64), *bits)).to_series().to_list()
