"""The row rubric: an identified, versioned set of rules, and the titles under which people read its results."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from scoring.chat.kpis import Crosstab, Measure, Quotient
from scoring.chat.templates import question_template
from scoring.errors import RuleError
from scoring.rules.evaluation_order import steps
from scoring.rules.explain import evaluate
from scoring.rules.expressions import AllOf, Column, Definition, Expression, IsIn

AlertLevel = Literal["critical", "warning"]
LEVEL_TITLES = {"critical": "Critical", "warning": "Warning"}

# Alerts that AQB raises without a rule of the rubric; the alert of a KPI with a target is named `kpi_` plus the KPI.
NO_ROWS, FEW_ROWS, ROWS_REJECTED = "no_rows", "few_rows", "rows_rejected"
EXCLUDED_RATE_RISING = "excluded_rate_rising"
KPI_RULE = "kpi_"


@dataclass(frozen=True)
class RejectRule:
    """A reason to reject a row that cannot be scored: the condition, the column at fault, and the reason (Korean)."""

    code: str
    column: str
    condition: Expression
    reason: str


@dataclass(frozen=True)
class ExclusionRule:
    """A row that is valid but has nothing to score; it is counted and stored with the code of its reason.

    `title` is the reason in Korean.
    """

    code: str
    condition: Expression
    title: str


@dataclass(frozen=True)
class AlertRule:
    """One condition of a row that people are alerted to. `title` and `action`, what to do about it, are Korean.

    `usual_rate` is the share of rows that met it before AQB was first run, if known. A rule `on_excluded_rows` also
    applies to rows without a question or an answer: it uses `EXCLUDED_ROW_COLUMNS` only.

    Raises:
        RuleError: its id is the name of a built-in alert of AQB, such as `no_rows`.
    """

    id: str
    level: AlertLevel
    condition: Expression
    title: str
    action: str
    usual_rate: float | None = None
    on_excluded_rows: bool = False

    def __post_init__(self) -> None:
        if self.id in (NO_ROWS, FEW_ROWS, ROWS_REJECTED, EXCLUDED_RATE_RISING) or self.id.startswith(KPI_RULE):
            raise RuleError(f"{self.id} is the name of an alert that AQB makes by itself", fix="choose another name")


@dataclass(frozen=True)
class Grade:
    """A grade for display: its sign, its title and what to do (Korean); `tone` is its colour on pages."""

    code: str
    sign: str
    title: str
    action: str = ""
    tone: Literal["met", "undecided", "missed", ""] = ""

    @property
    def name(self) -> str:
        """`★ 우수`."""
        return f"{self.sign} {self.title}"


@dataclass(frozen=True)
class GradeScale:
    """A column of grades, what it grades (one Korean word), and its grades from best to worst."""

    column: str
    subject: str
    grades: tuple[Grade, ...]

    def grade(self, code: str | None) -> Grade:
        """The grade with that code; one of an earlier version of the rubric shows its code, a missing one a dash."""
        of_earlier_version = Grade(code or "", code or "–", "이전 채점 기준")
        return next((grade for grade in self.grades if grade.code == code), of_earlier_version)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes from best to worst."""
        return tuple(grade.code for grade in self.grades)

    @property
    def names(self) -> dict[str, str]:
        """Code -> `★ 우수`."""
        return {grade.code: grade.name for grade in self.grades}

    def count_column(self, code: str) -> str:
        """The measure that counts the rows of a grade."""
        return f"{self.column}_{code.lower()}"


@dataclass(frozen=True)
class PartScore:
    """A part of the total score: its column, what it scores (one Korean word), the column of its grade."""

    column: str
    subject: str
    grade_column: str = ""


FAILURE_NOTE = (
    "실패 유형은 점수와 따로 붙입니다. 유형이 있어도 점수로는 실패가 아닌 행이 있고, "
    "점수로는 실패인데 유형이 없는 행도 있습니다."
)
"""Why the counts of failure types do not add up to the rows that count against a target."""


@dataclass(frozen=True)
class CodedColumn:
    """A column of codes and the title of each code (Korean)."""

    column: str
    titles: dict[str, str]


@dataclass(frozen=True)
class EvidenceReport:
    """Whether `rows` scored rows still support the thresholds: for people and for programs."""

    rows: int
    markdown: str
    values: dict[str, Any]


@dataclass(frozen=True)
class EvidenceCheck:
    """How a rubric validates its thresholds: the score columns that it reads, and its report on a period."""

    schema: pa.Schema
    report: Callable[[pl.LazyFrame, str], EvidenceReport]


@dataclass(frozen=True)
class RowRubric:
    """A rubric that scores every row of a table by rule alone.

    A row is rejected, excluded or scored, in this order; these conditions use input columns only. `definitions` are the
    columns of a scored row in output order, `excluded_definitions` those of an excluded one. `flagged` is the condition
    of the rows whose texts are kept.

    `total` is the score of a row with one decimal, `parts` are its components. The first of the `scales` grades the
    total; the cross table has two of the others. `failure` is NULL for a row that did not fail, `cause` names the part
    of a score that lost the most, `category` the kind of question; a rubric may omit these two. `stocks` says whether
    questions are about stocks, whose names are then ignored in templates. `fingerprint` identifies the content of the
    file that defines the rubric; '' for a rubric in Python.

    Definitions always include `alert_level` and `alert_rules`, measures `<level>_rows` of each level in use,
    `alert_<rule>` of each alert rule and `<scale>_<grade>` of each grade, quotients `mean_<score>` of total and parts.

    Raises:
        RuleError: a definition uses a column before it is defined, or a required column is missing.
    """

    id: str
    version: str
    title: str
    summary: str
    rejects: tuple[RejectRule, ...]
    exclusions: tuple[ExclusionRule, ...]
    definitions: tuple[Definition, ...]
    excluded_definitions: tuple[Definition, ...]
    flagged: Expression
    alert_rules: tuple[AlertRule, ...]
    measures: tuple[Measure, ...]
    excluded_measures: tuple[Measure, ...]
    quotients: tuple[Quotient, ...]
    crosstab: Crosstab
    scores_schema: pa.Schema
    excluded_schema: pa.Schema
    kpis_schema: pa.Schema
    crosstab_schema: pa.Schema
    total: str
    parts: tuple[PartScore, ...]
    scales: tuple[GradeScale, ...]
    failure: CodedColumn
    cause: str = ""
    category: CodedColumn | None = None
    evidence: EvidenceCheck | None = None
    stocks: bool = False
    fingerprint: str = ""

    def __post_init__(self) -> None:
        steps(self.definitions)
        steps(self.excluded_definitions)
        known = {*self.titles, *(one.name for one in self.measures), *(one.name for one in self.quotients)}
        if missing := [name for name in self._required() if name not in known]:
            raise RuleError(f"rubric {self.id} does not define {', '.join(missing)}")

    def _required(self) -> Iterator[str]:
        """The columns that reports, pages and alerts read."""
        yield from ("alert_level", "alert_rules", self.failure.column)
        yield from filter(None, (self.cause, self.category and self.category.column))
        yield from filter(None, (part.grade_column for part in self.parts))
        for score in self.scores:
            yield from (score, f"mean_{score}")
        for scale in self.scales:
            yield from (scale.column, *map(scale.count_column, scale.codes))
        yield from (f"{level}_rows" for level in self.alert_levels)
        yield from (f"alert_{rule.id}" for rule in self.alert_rules)

    @property
    def varying(self) -> str:
        """How questions of one template may differ (Korean)."""
        return "종목·종목코드·숫자" if self.stocks else "숫자"

    def template(self, question: str) -> str:
        """The template of a question."""
        return question_template(question, stocks=self.stocks)

    def template_or_id(self, question: str | None, row_id: str) -> str:
        """Groups rows by the template of their question: the template, or the row's id if the row has no question."""
        return row_id if question is None else f"? {self.template(question)}"

    @cached_property
    def titles(self) -> dict[str, str]:
        """The title of each defined column (Korean)."""
        return {definition.name: definition.title for definition in self.definitions}

    @cached_property
    def rule_titles(self) -> dict[str, str]:
        """The title of each alert rule (Korean)."""
        return {rule.id: rule.title for rule in self.alert_rules}

    @property
    def kinds(self) -> list[CodedColumn]:
        """The columns that classify rows: how they failed, and what was asked."""
        return [self.failure, *([self.category] if self.category else [])]

    @property
    def coded_columns(self) -> list[CodedColumn]:
        """The columns of codes, the grades first, each with the titles of its codes."""
        grades = [CodedColumn(scale.column, scale.names) for scale in self.scales]
        return [*grades, *self.kinds, CodedColumn("alert_level", self.alert_levels)]

    @property
    def targeted(self) -> list[Quotient]:
        """The KPIs with a target."""
        return [kpi for kpi in self.quotients if kpi.target]

    @property
    def rates(self) -> dict[str, Quotient]:
        """The KPIs that are shares of the scored rows, by name; rows can be filtered by each of them."""
        return {kpi.name: kpi for kpi in self.quotients if kpi.is_rate}

    @property
    def scores(self) -> tuple[str, ...]:
        """The columns of the parts, then that of the total."""
        return (*(part.column for part in self.parts), self.total)

    @property
    def final_scale(self) -> GradeScale:
        """The grades of the total."""
        return self.scales[0]

    @cached_property
    def grade_names(self) -> dict[str, dict[str, str]]:
        """Column of grades -> code -> `★ 우수`."""
        return {scale.column: scale.names for scale in self.scales}

    @property
    def crosstab_scales(self) -> tuple[GradeScale, GradeScale]:
        """The grade scales of the rows and of the columns of the cross table."""
        by_column = {scale.column: scale for scale in self.scales}
        return by_column[self.crosstab.row_grade], by_column[self.crosstab.column_grade]

    @property
    def crosstab_title(self) -> str:
        """`질문 등급 × 답변 등급`."""
        return " × ".join(self.titles[scale.column] for scale in self.crosstab_scales)

    def crosstab_counts(self, pairs: Iterable[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
        """The number of rows of each pair of grades (row, column), from rows of the cross table."""
        counts = Counter[tuple[str, str]]()
        for pair in pairs:
            counts[pair[self.crosstab.row_grade], pair[self.crosstab.column_grade]] += pair["cnt"]
        return counts

    @cached_property
    def framed(self) -> Expression | None:
        """The condition of the rows in the framed cells of the cross table; None if none are framed."""
        framed = self.crosstab.framed
        if framed is None:
            return None
        return AllOf(
            (
                IsIn(Column(self.crosstab.row_grade), framed.row_grades),
                IsIn(Column(self.crosstab.column_grade), framed.column_grades),
            )
        )

    def is_framed(self, row: Mapping[str, Any]) -> bool:
        """Whether a scored row is in the framed cells of the cross table."""
        return self.framed is not None and evaluate(self.framed, row) is True

    def framed_rows(self, counts: Mapping[tuple[str, str], int]) -> int:
        """The number of rows in the framed cells of the cross table, from its counts; 0 if none are framed."""
        framed = self.crosstab.framed
        if framed is None:
            return 0
        return sum(counts[pair] for pair in product(framed.row_grades, framed.column_grades))

    def rates_without_target(self, kpis: Mapping[str, Any]) -> list[tuple[Quotient, int]]:
        """Each rate without a target and its number of rows, which is shown beside the failure types, from one KPI
        row.

        Rates that the row does not have are left out.
        """
        rates = (one for one in self.rates.values() if not one.target and kpis[one.name] is not None)
        return [(rate, round(kpis[rate.name] * kpis["rows"])) for rate in rates if kpis["rows"]]

    @property
    def alert_pairs(self) -> list[tuple[str, str]]:
        """All pairs of critical rules, in order. A measure `alerts_<one>_and_<other>` may count the rows with both."""
        return list(combinations([rule.id for rule in self.alert_rules if rule.level == "critical"], 2))

    @property
    def excluded_pairs(self) -> list[tuple[str, str]]:
        """Every critical rule that excluded rows can meet, with their rate; a measure may count the rows with both."""
        critical = (rule for rule in self.alert_rules if rule.level == "critical" and rule.on_excluded_rows)
        return [(rule.id, EXCLUDED_RATE_RISING) for rule in critical]

    @property
    def alert_levels(self) -> dict[str, str]:
        """The levels of its alert rules with their titles, most severe first."""
        used = {rule.level for rule in self.alert_rules}
        return {level: title for level, title in LEVEL_TITLES.items() if level in used}
