"""The figures from which the thresholds of `ola-monitoring` were derived: 12,831 turns of 2026-01-27 to 02-19.

They score nothing: newer rows are compared with them. Source: seed 002, 2 and the comments of 4 to 6.
"""

from dataclasses import dataclass
from typing import Literal

from scoring.rubrics.ola_monitoring import thresholds as t

SEED_ROWS = 12_831


@dataclass(frozen=True)
class SeedMetric:
    """The mean of a metric (of a condition: the share of rows) over good and over failed answers; `source` is M1.."""

    column: str
    title: str
    ok: float
    failed: float
    source: str
    note: str = ""

    @property
    def is_share(self) -> bool:
        """Whether it is a condition."""
        return self.column.startswith(("answer_has_", "question_has_"))


# Source: seed 002, 2.1
METRICS = (
    SeedMetric("output_tokens", "출력 토큰", 1_060, 36, "M3"),
    SeedMetric("token_ratio", "출력/입력 토큰 비율", 0.21, 0.05, "M5"),
    SeedMetric("length_ratio", "답변/질문 길이 비율", 111.4, 13.0, "M6"),
    # The seed's mean of 0.5 cannot count lines, since every text has at least one: it must have counted line breaks.
    SeedMetric("answer_lines", "답변 줄 수", 51, 0.5, "M7", "기준 문서의 실패 평균은 줄바꿈 수로 보임"),
    SeedMetric("answer_length", "답변 길이(자)", 2_136, 120, "M2"),
    SeedMetric("answer_has_table", "답변에 표", 0.833, 0.0, "M9"),
    SeedMetric("answer_has_number", "답변에 천 단위 숫자", 0.813, 0.0, "M10"),
    SeedMetric("answer_has_date", "답변에 날짜", 0.897, 0.0, "M11"),
    SeedMetric("answer_has_bold", "답변에 볼드", 0.935, 0.001, "M12"),
    SeedMetric("question_has_stock_code", "질문에 종목코드", 0.608, 0.039, "M8"),
    SeedMetric("question_length", "질문 길이(자)", 24.1, 12.6, "M1"),
    SeedMetric("input_tokens", "입력 토큰", 6_061, 783, "M4"),
)


@dataclass(frozen=True)
class SeedBucket:
    """Turns with `low` to `high` tokens (None: no upper end), and how many of them failed."""

    low: int
    high: int | None
    rows: int
    failed: int


# Source: seed 002, 2.2 and 2.3
BUCKETS = {
    "output_tokens": (
        SeedBucket(0, 0, 223, 223),
        SeedBucket(1, 30, 124, 111),
        SeedBucket(31, 60, 397, 241),
        SeedBucket(61, 100, 408, 114),
        SeedBucket(101, 200, 486, 0),
        SeedBucket(201, None, 11_194, 0),
    ),
    "input_tokens": (
        SeedBucket(0, 0, 223, 223),
        SeedBucket(1, 500, 218, 11),
        SeedBucket(501, 1_000, 769, 388),
        SeedBucket(1_001, 2_000, 209, 40),
        SeedBucket(2_001, 4_000, 2_523, 21),
        SeedBucket(4_001, None, 8_890, 6),
    ),
}


@dataclass(frozen=True)
class SeedPrecision:
    """How often an answer is good with and without an element. No `column`: it is not in the score table."""

    column: str | None
    title: str
    ok_with: float
    ok_without: float


# Source: seed 002, 2.4
PRECISIONS = (
    SeedPrecision("answer_has_date", "날짜", 1.0, 0.670),
    SeedPrecision("answer_has_table", "표", 1.0, 0.746),
    SeedPrecision("answer_has_number", "천 단위 숫자", 1.0, 0.774),
    SeedPrecision("answer_has_bold", "볼드", 1.0, 0.536),
    SeedPrecision(None, "시장 언급 (KOSPI/KOSDAQ)", 0.994, 0.931),
    SeedPrecision(None, "원·% 기호", 0.990, 0.694),
    SeedPrecision("question_has_stock_code", "종목코드(질문)", 0.996, 0.878),
)


@dataclass(frozen=True)
class Basis:
    """A threshold that the seed derived from a quantile of the rows: of good answers, or of all rows."""

    title: str
    value: float
    column: str
    quantile: float
    of: Literal["ok", "all"]
    source: str


_BEST_QUESTION_FROM, _BEST_QUESTION_TO = t.QUESTION_LENGTH_POINTS.cuts[2][0] + 1, t.QUESTION_LENGTH_POINTS.cuts[3][0]
BASES = (
    Basis("응답량 만점의 출력 토큰", t.VOLUME_POINTS.cuts[0][0], "output_tokens", 0.5, "ok", "seed 002, 5.2 (1) P50"),
    Basis(
        "토큰 효율 만점의 비율", t.EFFICIENCY_POINTS.cuts[0][0], "token_ratio", 0.5, "ok", "seed 002, 5.2 (4) OK P50"
    ),
    Basis("길이 비율 만점", t.LENGTH_RATIO_POINTS.cuts[0][0], "length_ratio", 0.25, "ok", "seed 002, 6.2 (2) OK P25"),
    Basis("질문 길이 최적 구간의 시작", _BEST_QUESTION_FROM, "question_length", 0.25, "all", "seed 002, 4.2 (4) P25"),
    Basis("질문 길이 최적 구간의 끝", _BEST_QUESTION_TO, "question_length", 0.75, "all", "seed 002, 4.2 (4) P75"),
)

# From here up the seed saw no failure at all. Source: seed 002, 2.2
SAFE_FROM_TOKENS = t.VERY_SHORT_MAX_TOKENS + 1
