"""A second row rubric, written to a folder that the catalog discovers: nothing that exists knows its names."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import scoring.rubrics
from scoring import catalog

# Politeness adds two components up, depth is one rule of its own; only warnings; no cause, no category, no evidence.
TOY = """
from __future__ import annotations
import pyarrow as pa
from scoring.chat.kpi_figures import figure_fields
from scoring.chat.kpis import Crosstab, Measure, Quotient, Target, measure_fields, quotient_fields
from scoring.chat.rubric import (
    AlertRule, CodedColumn, ExclusionRule, Grade, GradeScale, PartScore, RejectRule, RowRubric,
)
from scoring.chat.standard_rubric import SCORED_ROW_COLUMNS
from scoring.rules.arrow_types import TIMESTAMP, definition_fields, field
from scoring.rules.bands import Bands
from scoring.rules.expressions import (
    AnyOf, Case, Column, Compare, ContainsAny, Definition, Fired, IsIn, IsNull, Length, Not, Sum, Tenths, Value,
    WeightedScore, When, banded, points,
)

ANSWER, TOKENS = Column("llm_response"), Column("output_tokens")
DELIGHT = GradeScale("delight", "만족", (
    Grade("BEST", "♥", "아주 좋음", "모범 사례로 남김", "met"), Grade("FINE", "♡", "괜찮음"),
    Grade("SAD", "✕", "아쉬움", "다시 읽기", "missed"),
))
MANNER = GradeScale("manner", "말투", (Grade("WARM", "온", "따뜻함"), Grade("COLD", "냉", "차가움")))
DETAIL = GradeScale("detail", "내용", (Grade("RICH", "많", "자세함"), Grade("THIN", "적", "짧음")))

def one(condition):
    return points(1, condition, "")

RULES = (
    AlertRule("curt", "warning", Compare(Column("manner"), "=", Value("COLD")), "무뚝뚝한 답변", "말투를 고치세요."),
    AlertRule("mute", "warning", Compare(TOKENS, "=", Value(0)), "말이 없음", "로그를 보세요."),
)

def alerts(rules):
    level = Case((When(AnyOf(tuple(rule.condition for rule in rules)), Value("warning")),), Value(None))
    fired = Fired(tuple((rule.id, rule.condition) for rule in rules))
    return (
        Definition("alert_level", level, "알림 수준", "toy"), Definition("alert_rules", fired, "알림 규칙", "toy"),
    )

DEFINITIONS = (
    Definition("greeting", points(60, ContainsAny(ANSWER, ("안녕", "네,")), "인사함"), "인사말", "toy"),
    Definition("thanks", points(40, ContainsAny(ANSWER, ("감사",)), "감사함"), "감사말", "toy"),
    Definition("politeness", Sum((Column("greeting"), Column("thanks"))), "말투 점수", "toy"),
    Definition("manner", banded(Column("politeness"), Bands("at_least", ((60, "WARM"),), beyond="COLD"), "말투"),
               "말투 등급", "toy"),
    Definition("depth", banded(Length(ANSWER), Bands("at_least", ((40, 100), (10, 50)), beyond=0), "글자"),
               "내용 점수", "toy"),
    Definition("detail", banded(Column("depth"), Bands("at_least", ((100, "RICH"),), beyond="THIN"), "내용"),
               "내용 등급", "toy"),
    Definition("joy", WeightedScore(((50, Column("politeness")), (50, Column("depth")))), "만족 점수", "toy"),
    Definition("delight", banded(Column("joy"), Bands("at_least", ((80, "BEST"), (40, "FINE")), beyond="SAD"), "만족"),
               "만족 등급", "toy"),
    Definition("mishap", Case((When(ContainsAny(ANSWER, ("몰라",)), Value("shrug")),), Value(None)), "사고", "toy"),
    *alerts(RULES),
)
QUOTIENTS = (
    Quotient("warm_rate", one(Compare(Column("manner"), "=", Value("WARM"))), "따뜻한 답변 비율", "toy",
             target=Target(">=", 0.9)),
    Quotient("mean_joy", Tenths(Column("joy")), "평균 만족", "toy", scale=10, target=Target(">=", 50)),
    Quotient("mean_politeness", Column("politeness"), "평균 말투", "toy"),
    Quotient("mean_depth", Column("depth"), "평균 내용", "toy"),
)

def alert_measures(rules):
    some = AnyOf(tuple(rule.condition for rule in rules))
    counts = [Measure(f"alert_{rule.id}", one(rule.condition), rule.title) for rule in rules]
    return (Measure("warning_rows", one(some), "알림이 있는 행"), *counts)

MEASURES = (
    *(
        Measure(scale.count_column(code), one(Compare(Column(scale.column), "=", Value(code))), code)
        for scale in (DELIGHT, MANNER, DETAIL) for code in scale.codes
    ),
    *alert_measures(RULES),
)
DAY, TENANT = field("score_date", pa.date32(), "날"), field("tenant_id", pa.string(), "테넌트")
TURN = (field("timestamp", TIMESTAMP, "시각"), TENANT, field("session_id", pa.string(), "세션"))
TOKEN_COUNTS = (field("input_tokens", pa.float64(), "입력"), field("output_tokens", pa.float64(), "출력"))
TEXTS = (field("user_input", pa.string(), "질문"), field("llm_response", pa.string(), "답변"))
RUBRIC_COLUMNS = (field("rubric", pa.string(), "루브릭"), field("rubric_version", pa.string(), "버전"))

RUBRIC = RowRubric(
    id="toy-chat", version="7", title="장난감 상담", summary="답변의 말투와 길이.",
    rejects=(RejectRule("timestamp_missing", "timestamp", IsNull(Column("timestamp")), "시각이 비어 있습니다"),),
    exclusions=(ExclusionRule("unanswered", IsNull(ANSWER), "답변이 없음"),
                ExclusionRule("unasked", IsNull(Column("user_input")), "질문이 없음")),
    definitions=DEFINITIONS, excluded_definitions=alerts(RULES[1:]),
    flagged=AnyOf((Not(IsNull(Column("alert_level"))), IsIn(Column("delight"), ("SAD",)))),
    alert_rules=RULES, measures=MEASURES, excluded_measures=alert_measures(RULES[1:]), quotients=QUOTIENTS,
    crosstab=Crosstab("manner", "detail", ("politeness", "depth"), caption="말투와 내용의 교차표"),
    scores_schema=pa.schema([DAY, field("row_id", pa.string(), "행"), *TURN, *TEXTS, *TOKEN_COUNTS,
                             *definition_fields(DEFINITIONS, SCORED_ROW_COLUMNS), *RUBRIC_COLUMNS]),
    excluded_schema=pa.schema([DAY, *TURN, *TOKEN_COUNTS, field("reason", pa.string(), "까닭"),
                               *definition_fields(alerts(RULES[1:]), SCORED_ROW_COLUMNS)]),
    kpis_schema=pa.schema([DAY, TENANT, field("rows", pa.int64(), "행"), field("excluded", pa.int64(), "제외"),
                           field("excluded_rate", pa.float64(), "제외율"), *quotient_fields(QUOTIENTS),
                           *measure_fields(MEASURES), *RUBRIC_COLUMNS, *figure_fields(QUOTIENTS)]),
    crosstab_schema=pa.schema([DAY, field("manner", pa.string(), "말투"), field("detail", pa.string(), "내용"),
                               field("cnt", pa.int64(), "행"), field("pct", pa.float64(), "%"),
                               field("avg_politeness", pa.float64(), "말투"), field("avg_depth", pa.float64(), "내용"),
                               *RUBRIC_COLUMNS]),
    total="joy",
    parts=(PartScore("politeness", "말투", "manner"), PartScore("depth", "내용", "detail")),
    scales=(DELIGHT, MANNER, DETAIL),
    failure=CodedColumn("mishap", {"shrug": "모른다고 함"}),
)
"""


@contextmanager
def toy_row_rubric(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The row rubric `toy-chat` in a folder of its own."""
    with row_rubric_in(folder, monkeypatch, "toy_chat", {"__init__.py": TOY}):
        yield


@contextmanager
def row_rubric_in(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, files: Mapping[str, str]) -> Iterator[None]:
    """The rubric of these files, in a folder beside those of the product."""
    package = folder / name
    package.mkdir(parents=True)
    for file, text in files.items():
        (package / file).write_text(text, encoding="utf-8")
    monkeypatch.setattr(scoring.rubrics, "__path__", [*scoring.rubrics.__path__, str(folder)])
    catalog.rubrics.cache_clear()
    try:
        yield
    finally:
        catalog.rubrics.cache_clear()
        for module in [one for one in sys.modules if one.startswith(f"scoring.rubrics.{name}")]:
            del sys.modules[module]
