"""Tables that more than one subject writes or reads: their names and columns."""

from __future__ import annotations

import pyarrow as pa

from scoring.rules.arrow_types import field

REJECTED, ALERTS, RUNS = "rejected", "alerts", "runs"

REJECTED_SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "이 행을 읽으려던 실행의 날"),
        field("file", pa.string(), "파일"),
        field("line", pa.int64(), "줄(Parquet는 행 번호)"),
        field("column", pa.string(), "문제가 된 열. 행 전체가 문제면 NULL"),
        field("code", pa.string(), "거부한 까닭의 코드"),
        field("reason", pa.string(), "거부한 까닭"),
        field("rubric", pa.string(), "루브릭 id"),
    ]
)
