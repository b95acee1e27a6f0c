"""What a rubric is: an identified, versioned set of rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from scoring.chat.kpis import Crosstab, Measure, Quotient
from scoring.rules.evaluation_order import steps
from scoring.rules.expressions import Definition, Expression

AlertLevel = Literal["critical", "warning"]


@dataclass(frozen=True)
class RejectRule:
    """A row that cannot be scored: the condition, the column to blame, and the reason (Korean)."""

    code: str
    column: str
    condition: Expression
    reason: str


@dataclass(frozen=True)
class ExclusionRule:
    """A row that was read well but has nothing to score; it is counted and kept with the code of its reason."""

    code: str
    condition: Expression


@dataclass(frozen=True)
class AlertRule:
    """One condition of a row that people are told about. `title` and `action`, what to do about it, are Korean."""

    id: str
    level: AlertLevel
    condition: Expression
    title: str
    action: str


@dataclass(frozen=True)
class Label:
    """A code as people read it (Korean): its sign, its label, and what to do."""

    sign: str
    label: str
    action: str = ""


@dataclass(frozen=True)
class RowRubric:
    """A rubric that scores every row of a table by rule alone.

    A row is rejected, excluded or scored, in this order; these conditions use input columns only. `definitions` are
    the columns of a scored row in output order, `excluded_definitions` those of an excluded one. `flagged` tells the
    rows whose texts are kept.

    Raises:
        RuleError: a definition uses a column before it is defined.
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
    grade_labels: dict[str, Label]

    def __post_init__(self) -> None:
        steps(self.definitions)
        steps(self.excluded_definitions)
