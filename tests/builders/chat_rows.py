"""Small chat rows made by hand, and the files that hold them."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from scoring.catalog import row_rubric
from scoring.chat.scorer import KeepText
from tasks.chat.local_engine import ScoredRows, ScoringJob
from tasks.chat.sources import ChatRowFiles

DAY = date(2026, 2, 13)
NOON_IN_SEOUL = datetime(2026, 2, 13, 3, tzinfo=UTC)
RUBRIC = row_rubric("ola-monitoring")

# Everything that the rubric looks for in a question: 100 points, tier S.
BEST_QUESTION = "하늘전자 005930 주가 뉴스 PER 최근 3개월 비교 분석 알려줘"
_REPORT = """## 하늘전자(005930) 분석
---
**요약**: 코스피 상장사로 2026-02-13 기준 주가는 70,000원이며 전일보다 2% 올랐습니다.

| 항목 | 값 | 비고 |
|---|---|---|
| 주가 | 70,000원 | 상승 |
| PER | 12 | 업종 평균 |

- 뉴스: 새 공장 발표
- 거래량 증가

"""
BEST_ANSWER = _REPORT + "자세한 설명입니다. " * 300
REFUSAL = "죄송합니다. 저는 법률 자문을 드릴 수 없습니다."
# Neither good nor bad enough for an alert: grade B, and its texts are not kept.
PLAIN_QUESTION = "하늘전자 주가 동향 알려줘"
PLAIN_ANSWER = "**하늘전자** 주가는 70,000원입니다. " + "설명을 덧붙입니다. " * 60


def plain(minute: int = 0, **columns: Any) -> dict[str, Any]:
    """A turn without alert, some minutes after noon (Asia/Seoul) of `DAY`."""
    return {
        "user_input": PLAIN_QUESTION,
        "llm_response": PLAIN_ANSWER,
        "input_tokens": 3000.0,
        "output_tokens": 420.0,
        "timestamp": (NOON_IN_SEOUL + timedelta(minutes=minute)).isoformat(),
        "tenant_id": "t1",
        "session_id": "s1",
    } | columns


def best(minute: int = 0, **columns: Any) -> dict[str, Any]:
    """A turn of grade STAR."""
    return plain(minute, user_input=BEST_QUESTION, llm_response=BEST_ANSWER, output_tokens=1300.0) | columns


def refused(minute: int = 0, **columns: Any) -> dict[str, Any]:
    """A turn that was refused: critical alerts, grade F."""
    return plain(minute, user_input="살까", llm_response=REFUSAL, output_tokens=20.0) | columns


def of_sessions(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The turns, each of a session of its own: a day is as sure of its rates as it has sessions."""
    return [{**row, "session_id": f"s{number}"} for number, row in enumerate(rows)]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A JSON Lines file with these rows, in their order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def scored(inputs: Path, staging: Path, keep_text: KeepText = "flagged") -> ScoredRows:
    """All rows of a file or folder through `ola-monitoring`, in the days of Asia/Seoul."""
    return ScoringJob(ChatRowFiles([inputs]), RUBRIC, "Asia/Seoul", None, keep_text, staging).scored()
