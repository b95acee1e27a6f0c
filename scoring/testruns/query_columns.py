"""The columns of `queries.parquet`, each with its value for a scored query; here those that rubrics share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scoring.rules.arrow_types import field
from scoring.testruns.executions import AGENT_TITLES


@dataclass(frozen=True)
class QueryColumn:
    """A column; `value` gets its value from a scored query, by default the attribute of its name."""

    name: str
    type: pa.DataType
    what: str
    value: Callable[[Any], Any] | None = None

    @property
    def field(self) -> pa.Field:
        """The column with its description."""
        return field(self.name, self.type, self.what)

    def value_of(self, query: Any) -> Any:
        """The value for a query; an exact number is the nearest float."""
        value = self.value(query) if self.value else getattr(query, self.name)
        return float(value) if value is not None and self.type == pa.float64() else value


QUERY_ID = QueryColumn("query_id", pa.string(), "질의 ID: 파일에서 이 질의를 가리키는 이름")
QUERY_TEXT = QueryColumn("query_text", pa.string(), "질의: 에이전트에게 물은 것")
AGENT_TYPE = QueryColumn(
    "agent_type", pa.string(), f"에이전트: {', '.join(f'{agent}({title})' for agent, title in AGENT_TITLES.items())}"
)
IDENTITY = (QUERY_ID, QUERY_TEXT, AGENT_TYPE)
"""The first columns of a query."""
LATENCY_CLASS = QueryColumn("latency_class", pa.string(), "도구 호출: SINGLE(단일) 또는 MULTI(복수)")
CATEGORY = QueryColumn(
    "category", pa.string(), "카테고리: 파일의 열 카테고리, 없으면 빈칸", lambda query: _first_text(query, "category")
)
TRACK = QueryColumn(
    "track", pa.string(), "Track: 파일의 열 Track, 없으면 빈칸", lambda query: _first_text(query, "track")
)
GROUPS = (CATEGORY, TRACK)
"""The columns by which the queries of a file are grouped."""
ROUNDS = QueryColumn("rounds", pa.int64(), "실행 수: 방과 반복을 모두 더한 수", lambda query: len(query.executions))
REVIEW_REASONS = QueryColumn(
    "manual_review_reasons",
    pa.list_(pa.string()),
    "수기 확인 까닭: 어느 기준에 걸렸는지",
    lambda query: list(query.manual_review_reasons),
)
FLAG = QueryColumn(
    "flag_manual_review",
    pa.bool_(),
    "수기 확인 필요: 수기 확인 까닭이 하나라도 있는지",
    lambda query: bool(query.manual_review_reasons),
)
COVERAGE = QueryColumn(
    "weight_coverage", pa.float64(), "반영한 가중치: 종합 점수에 들어간 몫(0~1)", lambda query: query.total.coverage
)
TOTAL_MISSING = QueryColumn(
    "weighted_total_missing",
    pa.string(),
    "종합 점수가 없는 까닭: 종합 점수가 있으면 빈칸",
    lambda query: query.total.missing or None,
)


def groups_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Title of a column of `GROUPS` -> the group of a row's query; rows of earlier versions have none."""
    return {column.what.partition(":")[0]: row[column.name] for column in GROUPS if row.get(column.name)}


def _first_text(query: Any, name: str) -> str | None:
    texts = (getattr(scored.execution, name) for scored in query.executions)
    return next(filter(None, texts), None)


def total_column(what: str) -> QueryColumn:
    """`weighted_total` of a query with a `total`."""
    return QueryColumn("weighted_total", pa.float64(), what, lambda query: query.total.value)


def score_column(metric: str, what: str) -> QueryColumn:
    """`<metric>_score`."""
    return QueryColumn(f"{metric}_score", pa.float64(), what, lambda query: query.scores[metric].points)


def reason_text(title: str) -> str:
    """The description of a column of reasons, by the title of its metric."""
    return f"{title} 근거: 점수가 그렇게 나온 까닭"


def reason_column(metric: str, title: str) -> QueryColumn:
    """`<metric>_reason` of the metric with this title."""
    return QueryColumn(f"{metric}_reason", pa.string(), reason_text(title), lambda query: query.scores[metric].reason)


def pass_columns(pass_at: int) -> tuple[QueryColumn, QueryColumn]:
    """`passed` and `passed_of` of a query with `repeats`, from which pass^k can be computed for every k."""
    return (
        QueryColumn(
            "passed", pa.int64(), f"통과한 실행 수: 정확성이 {pass_at}점 이상", lambda query: query.repeats.passed
        ),
        QueryColumn(
            "passed_of",
            pa.int64(),
            "정확성을 채점한 실행 수: 점수를 모르면 뺌",
            lambda query: query.repeats.n,
        ),
    )


def mode_column(what: str) -> QueryColumn:
    """`mode_ratio` of a query with `repeats`."""
    return QueryColumn("mode_ratio", pa.float64(), what, lambda query: query.repeats.mode_ratio)
