"""The ledger of runs in the state database: what ran when, on what, with which outcome."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import sqlalchemy as sa

from scoring.tables import TIMESTAMP
from scoring.tables import field as column
from tasks.state_database import StateDatabase
from tasks.whole_files import empty_frame

_metadata = sa.MetaData()


class _UtcDateTime(sa.TypeDecorator[datetime]):
    """An instant; SQLite keeps no zone, so it goes in and comes out as UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


_runs = sa.Table(
    "runs",
    _metadata,
    sa.Column("run_id", sa.String, primary_key=True),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("score_date", sa.Date, nullable=False),
    sa.Column("rubric", sa.String, nullable=False),
    sa.Column("rubric_version", sa.String, nullable=False),
    sa.Column("code_version", sa.String, nullable=False),
    sa.Column("started_at", _UtcDateTime, nullable=False),
    sa.Column("finished_at", _UtcDateTime),
    sa.Column("outcome", sa.String, nullable=False),
    sa.Column("inputs", sa.JSON, nullable=False),
    sa.Column("rows_in", sa.Integer),
    sa.Column("scored", sa.Integer),
    sa.Column("excluded", sa.Integer),
    sa.Column("rejected", sa.Integer),
    sa.Column("message", sa.String),
)
sa.Index("runs_by_day", _runs.c.score_date)

RUNS_SCHEMA = pa.schema(
    [
        column("run_id", pa.string(), "실행 id"),
        column("kind", pa.string(), "nightly | intraday | test_run"),
        column("score_date", pa.date32(), "채점한 날"),
        column("rubric", pa.string(), "루브릭 id. 정해지기 전에 끝났으면 빈칸"),
        column("rubric_version", pa.string(), "루브릭 버전"),
        column("code_version", pa.string(), "aqb 버전"),
        column("started_at", TIMESTAMP, "시작 시각(UTC)"),
        column("finished_at", TIMESTAMP, "끝난 시각(UTC). 끝나지 않았으면 NULL"),
        column("outcome", pa.string(), "running | completed | failed"),
        column("inputs", pa.string(), "입력 파일: 이름, sha256, 크기 (JSON)"),
        column("rows_in", pa.int64(), "읽은 행 수 = scored + excluded + rejected"),
        column("scored", pa.int64(), "채점한 행 수"),
        column("excluded", pa.int64(), "제외한 행 수"),
        column("rejected", pa.int64(), "거부한 행 수"),
        column("message", pa.string(), "실패했거나 알릴 것이 있을 때 그 내용"),
    ]
)


@dataclass(frozen=True)
class Run:
    """One run of one day. Counts are None until it has counted; `inputs` are the fingerprints of its files."""

    run_id: str
    kind: str
    score_date: date
    rubric: str
    rubric_version: str
    code_version: str
    started_at: datetime
    finished_at: datetime | None = None
    outcome: str = "running"
    inputs: list[dict[str, Any]] = field(default_factory=list)
    rows_in: int | None = None
    scored: int | None = None
    excluded: int | None = None
    rejected: int | None = None
    message: str | None = None


class RunLedger:
    """Runs in the database at a SQLAlchemy URL; the table is made on first use.

    Raises:
        UsageError: no such kind of database.
        StorageError: the database cannot be reached, read or written; every method may find that out.
    """

    def __init__(self, url: str) -> None:
        self._database = StateDatabase(url, _metadata)

    def save(self, run: Run) -> None:
        """Adds a run or replaces what is known of it."""
        with self._database.transaction() as connection:
            connection.execute(sa.delete(_runs).where(_runs.c.run_id == run.run_id))
            connection.execute(sa.insert(_runs).values(**asdict(run)))

    def of_day(self, day: date) -> list[Run]:
        """All runs of one day, earliest first."""
        query = sa.select(_runs).where(_runs.c.score_date == day).order_by(_runs.c.started_at, _runs.c.run_id)
        with self._database.transaction() as connection:
            return [Run(**row) for row in connection.execute(query).mappings()]

    def completed_inputs(self, kind: str) -> set[str]:
        """The SHA-256 of every file that a completed run of this kind has read."""
        query = sa.select(_runs.c.inputs).where(_runs.c.kind == kind, _runs.c.outcome == "completed")
        with self._database.transaction() as connection:
            return {file["sha256"] for files in connection.execute(query).scalars() for file in files}

    def frame_of_day(self, day: date) -> pl.DataFrame:
        """The runs of one day in the columns of `RUNS_SCHEMA`, earliest first; the newest is the last."""
        rows = [asdict(run) | {"inputs": json.dumps(run.inputs, ensure_ascii=False)} for run in self.of_day(day)]
        empty = empty_frame(RUNS_SCHEMA)
        return pl.DataFrame(rows, schema=empty.schema)

    def close(self) -> None:
        """Gives the connections back."""
        self._database.close()
