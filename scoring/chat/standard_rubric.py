"""Builds a row rubric from its author's decisions: tables, counts and alert columns are derived.

A column added later is last in its table, after `rubric_version`. Source: SPEC 1.1 to 1.5.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import pyarrow as pa

from scoring.chat.kpi_figures import figure_fields
from scoring.chat.kpis import ALL_TENANTS, Crosstab, Measure, Quotient, measure_fields, quotient_fields
from scoring.chat.row_ids import SOURCE_ID
from scoring.chat.rubric import (
    EXCLUDED_RATE_RISING,
    LEVEL_TITLES,
    AlertRule,
    CodedColumn,
    ExclusionRule,
    GradeScale,
    PartScore,
    RejectRule,
    RowRubric,
)
from scoring.errors import RuleError
from scoring.rules.arrow_types import TIMESTAMP, definition_fields, field
from scoring.rules.expressions import (
    AllOf,
    AnyOf,
    Case,
    Column,
    Compare,
    Definition,
    Expression,
    Fired,
    IsIn,
    IsNull,
    Not,
    Value,
    When,
    points,
)
from scoring.rules.kinds import Kind, Kinds, kind_of, with_kinds

EXCLUDED_ROW_COLUMNS: Kinds = {
    "input_tokens": Kind("number", nullable=True),
    "output_tokens": Kind("number", nullable=True),
    "tenant_id": Kind("text", nullable=True),
    "session_id": Kind("text", nullable=True),
}
"""The columns that are known of a row without a question or an answer."""

SCORED_ROW_COLUMNS: Kinds = {"user_input": Kind("text"), "llm_response": Kind("text"), **EXCLUDED_ROW_COLUMNS}
"""The columns that are known of every scored row."""

_QUESTION_IS_NULL, _ANSWER_IS_NULL = IsNull(Column("user_input")), IsNull(Column("llm_response"))
_NO_ROW = IsNull(Column("timestamp"))  # is rejected


def _token_rejects(column: str, title: str) -> tuple[RejectRule, RejectRule]:
    tokens = Column(column)
    return (
        RejectRule("negative_tokens", column, Compare(tokens, "<", Value(0)), f"{title}이 음수입니다"),
        RejectRule("infinite_tokens", column, Compare(tokens, "=", Value(math.inf)), f"{title}이 무한대입니다"),
    )


_REJECTS = (
    RejectRule("timestamp_missing", "timestamp", IsNull(Column("timestamp")), "시각이 비어 있습니다"),
    *_token_rejects("input_tokens", "입력 토큰"),
    *_token_rejects("output_tokens", "출력 토큰"),
    RejectRule(
        "reserved_tenant",
        "tenant_id",
        Compare(Column("tenant_id"), "=", Value(ALL_TENANTS)),
        f"테넌트 이름 '{ALL_TENANTS}'는 전체 합계를 뜻하므로 쓸 수 없습니다",
    ),
)
_EXCLUSIONS = (
    ExclusionRule("both_texts_null", AllOf((_QUESTION_IS_NULL, _ANSWER_IS_NULL)), "질문과 답변이 없음"),
    ExclusionRule("user_input_null", _QUESTION_IS_NULL, "질문이 없음"),
    ExclusionRule("llm_response_null", _ANSWER_IS_NULL, "답변이 없음"),
)

_DAY = field("score_date", pa.date32(), "설정한 시간대의 날짜")
_TURN = (
    field("timestamp", TIMESTAMP, "대화 시각(UTC)"),
    field("tenant_id", pa.string(), "테넌트"),
    field("session_id", pa.string(), "세션"),
)
_TOKENS = (field("input_tokens", pa.float64(), "입력 토큰"), field("output_tokens", pa.float64(), "출력 토큰"))
_KPI_KEYS = (
    _DAY,
    field("tenant_id", pa.string(), f"테넌트. '{ALL_TENANTS}'는 전체, NULL은 테넌트가 없는 행"),
    field("rows", pa.int64(), "채점한 행 수(모든 비율의 분모)"),
    field("excluded", pa.int64(), "질문이나 답변이 없어 채점하지 않은 행 수"),
    field("excluded_rate", pa.float64(), "제외율: excluded / (rows + excluded)"),
)
_RUBRIC = (field("rubric", pa.string(), "루브릭 id"), field("rubric_version", pa.string(), "루브릭 버전"))


def standard_rubric(
    *,
    id: str,  # noqa: A002  (the field's name)
    version: str,
    title: str,
    summary: str,
    columns: tuple[Definition, ...],
    alerts: tuple[AlertRule, ...],
    alert_source: str,
    cause: Definition | None,
    total: str,
    parts: tuple[PartScore, ...],
    scales: tuple[GradeScale, ...],
    failure: CodedColumn,
    category: CodedColumn | None,
    kept_grades: tuple[str, ...],
    kpis: tuple[Quotient, ...],
    crosstab: Crosstab,
    later_columns: tuple[Definition, ...] = (),
    later_kpis: tuple[Quotient, ...] = (),
) -> RowRubric:
    """Builds the rubric of these columns, alerts and KPIs.

    A row lists its `alerts` in their order; `alert_source` is their source clause. `kept_grades` are the grades of the
    total whose rows keep their texts, as do rows with an alert. Tables written by earlier versions lack
    `later_columns` and `later_kpis`.

    Raises:
        RuleError: as `RowRubric`; a column, KPI or count that engines would compute differently, or with a code that no
            row has; a table has a column twice.
    """
    fired = _alert_columns(alerts, alert_source)
    definitions = (*columns, *fired, *([cause] if cause else []), *later_columns)
    on_excluded_rows = tuple(rule for rule in alerts if rule.on_excluded_rows)
    excluded = _alert_columns(on_excluded_rows, alert_source)
    shared_rows = _shared_rows(alerts)
    shared_excluded = _shared_excluded_rows(on_excluded_rows)
    failures = Measure("failures", one_if(Not(IsNull(Column(failure.column)))), "실패 유형이 있는 행")
    counts = (*_grade_counts(scales, definitions), failures, *_alert_counts(alerts))
    quotients = (*kpis, *later_kpis)
    kept = [IsIn(Column(scales[0].column), kept_grades)] if kept_grades else []
    flagged = AnyOf((Not(IsNull(Column("alert_level"))), *kept))
    summed: tuple[Measure | Quotient, ...] = (*quotients, *counts)
    _refuse_ambiguous(definitions, [*((one.name, one.expression) for one in summed), ("kept_grades", flagged)])
    return RowRubric(
        id=id,
        version=version,
        title=title,
        summary=summary,
        rejects=_REJECTS,
        exclusions=_EXCLUSIONS,
        definitions=definitions,
        excluded_definitions=excluded,
        flagged=flagged,
        alert_rules=alerts,
        # 0 for every scored row: a measure of excluded rows must exist for scored rows as well.
        measures=(*counts, *shared_rows, *(replace(one, expression=Value(0)) for one in shared_excluded)),
        excluded_measures=(*_alert_counts(on_excluded_rows), *shared_excluded),
        quotients=quotients,
        crosstab=crosstab,
        scores_schema=_scores_schema(definitions, len(later_columns), kept_grades),
        excluded_schema=_schema(
            _DAY,
            *_TURN,
            *_TOKENS,
            field("reason", pa.string(), "채점하지 않은 까닭"),
            *definition_fields(excluded, {**EXCLUDED_ROW_COLUMNS, "timestamp": Kind("time")}),
        ),
        kpis_schema=_schema(
            *_KPI_KEYS,
            *quotient_fields(kpis),
            *measure_fields(counts),
            *_RUBRIC,
            *quotient_fields(later_kpis),
            *measure_fields(shared_rows),
            *figure_fields(quotients),
            *measure_fields(shared_excluded),
        ),
        crosstab_schema=_crosstab_schema(crosstab, definitions),
        total=total,
        parts=parts,
        scales=scales,
        failure=failure,
        cause=cause.name if cause else "",
        category=category,
    )


def first_true(branches: Iterable[tuple[Expression, str]], otherwise: str | None) -> Case:
    """The name of the first condition that is true."""
    return Case(tuple(When(condition, Value(name)) for condition, name in branches), Value(otherwise))


def one_if(condition: Expression) -> Expression:
    """1 for a row that meets the condition, else 0."""
    return points(1, condition, "")


def _refuse_ambiguous(definitions: tuple[Definition, ...], expressions: Iterable[tuple[str, Expression]]) -> None:
    """Refuses an expression over these columns that engines would compute differently; the error has its name."""
    kinds = with_kinds(definitions, SCORED_ROW_COLUMNS)
    for name, expression in expressions:
        try:
            kind_of(expression, kinds)
        except RuleError as error:
            raise RuleError(error.what, where=name, fix=error.fix) from None


def _alert_columns(rules: tuple[AlertRule, ...], source: str) -> tuple[Definition, Definition]:
    """The most severe level of a row and its rules; NULL and none if there are no rules."""
    levels: list[tuple[Expression, str]] = [
        (AnyOf(tuple(rule.condition for rule in rules if rule.level == level)), level)
        for level in LEVEL_TITLES
        if any(rule.level == level for rule in rules)
    ]
    fired = tuple((rule.id, rule.condition) for rule in rules)
    return (
        Definition("alert_level", first_true(levels or [(_NO_ROW, "critical")], otherwise=None), "알림 수준", source),
        Definition("alert_rules", Fired(fired or (("none", _NO_ROW),)), "알림 규칙", source),
    )


def _grade_counts(scales: tuple[GradeScale, ...], definitions: Iterable[Definition]) -> list[Measure]:
    """The number of rows of each grade: of the total, then from the last scale on."""
    titles = {definition.name: definition.title for definition in definitions}
    return [
        Measure(
            scale.count_column(code),
            one_if(Compare(Column(scale.column), "=", Value(code))),
            f"{titles[scale.column]} {code}",
        )
        for scale in (scales[0], *reversed(scales[1:]))
        for code in scale.codes
    ]


def _alert_counts(rules: tuple[AlertRule, ...]) -> tuple[Measure, ...]:
    return (
        *(
            Measure(
                f"{level}_rows", one_if(Compare(Column("alert_level"), "=", Value(level))), f"{title} 알림이 있는 행"
            )
            for level, title in LEVEL_TITLES.items()
            if any(rule.level == level for rule in rules)
        ),
        *(Measure(f"alert_{rule.id}", one_if(rule.condition), f"알림 {rule.id}: {rule.title}") for rule in rules),
    )


def _shared_rows(rules: tuple[AlertRule, ...]) -> tuple[Measure, ...]:
    """The rows with both rules, for each pair of critical rules: rules that share most rows are reported together.
    Source: SPEC 8.
    """
    return tuple(
        Measure(
            f"alerts_{first.id}_and_{second.id}",
            one_if(AllOf((first.condition, second.condition))),
            f"알림 {first.id}와 {second.id}에 모두 해당하는 행",
        )
        for first, second in combinations([rule for rule in rules if rule.level == "critical"], 2)
    )


def _shared_excluded_rows(rules: tuple[AlertRule, ...]) -> tuple[Measure, ...]:
    """The excluded rows that meet each critical rule: an outage without answers is one cause with their rate."""
    return tuple(
        Measure(
            f"alerts_{rule.id}_and_{EXCLUDED_RATE_RISING}",
            one_if(rule.condition),
            f"알림 {rule.id}에 해당하는, 질문이나 답변이 없는 행",
        )
        for rule in rules
        if rule.level == "critical"
    )


def _scores_schema(definitions: tuple[Definition, ...], later: int, kept_grades: tuple[str, ...]) -> pa.Schema:
    """The score table; the last `later` definitions were added later."""
    defined = definition_fields(definitions, SCORED_ROW_COLUMNS)
    kept = f"알림이 있거나 {'·'.join(kept_grades)} 등급인 행" if kept_grades else "알림이 있는 행"
    return _schema(
        _DAY,
        field("row_id", pa.string(), "행의 고유 id: 어느 엔진에서나, 다시 실행해도 같음"),
        *_TURN,
        field("user_input", pa.string(), f"질문. {kept}에만 남김"),
        field("llm_response", pa.string(), f"답변. {kept}에만 남김"),
        *_TOKENS,
        *defined[: len(defined) - later],
        *_RUBRIC,
        *defined[len(defined) - later :],
        SOURCE_ID,
    )


def _crosstab_schema(crosstab: Crosstab, definitions: Iterable[Definition]) -> pa.Schema:
    titles = {definition.name: definition.title for definition in definitions}
    return _schema(
        _DAY,
        *(field(grade, pa.string(), titles[grade]) for grade in (crosstab.row_grade, crosstab.column_grade)),
        field("cnt", pa.int64(), "행 수"),
        field("pct", pa.float64(), "그날 행의 몇 %인가"),
        *(
            field(name, pa.float64(), f"평균 {titles[score]}")
            for score, name in zip(crosstab.mean_scores, crosstab.mean_columns, strict=True)
        ),
        *_RUBRIC,
    )


def _schema(*fields: pa.Field) -> pa.Schema:
    twice = [name for name, count in Counter(one.name for one in fields).items() if count > 1]
    if twice:
        raise RuleError(f"a table would have the column {twice[0]} twice", fix="give one of them another name")
    return pa.schema(fields)
