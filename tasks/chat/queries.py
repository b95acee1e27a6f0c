"""What a report shows of the scored rows of a day besides their KPIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.stats.intervals import Interval
from tasks.warehouse.day_queries import DayQueries

FAILURE_TITLES = {
    "refused_advice": "거절: 투자 자문(법률)",
    "refused_domain": "거절: 금융 범위 밖",
    "refused_scope": "거절: 주식 범위 밖",
    "too_broad": "질문 범위가 너무 넓음",
    "not_understood": "질문을 이해하지 못함",
    "blocked": "LLM 호출 차단",
    "too_short": "답변이 너무 짧음",
}

_WORST_ROWS = 20
_SHOWN = (
    *("row_id", "timestamp", "final_score", "final_grade", "q_score", "a_score", "i_score", "failure_type", "cause"),
    "user_input",
)


@dataclass(frozen=True)
class Findings:
    """Failure types with their `row_count`, most first, the rows with the lowest scores, worst first, and how sure the
    means are."""

    failures: Sequence[Mapping[str, Any]]
    worst: Sequence[Mapping[str, Any]]
    mean_intervals: Mapping[str, Interval | None]


def findings_of(scores: DayQueries) -> Findings:
    """The findings among scores."""
    return Findings(scores.failure_types(), scores.worst_rows(_SHOWN, _WORST_ROWS), scores.mean_intervals())
