"""The ledger of runs in the state database: what ran when, step by step, on what, with which outcome.

Two tables: `runs`, a row a run of one day or of one test-run file; `run_steps`, a row a step of a run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import sqlalchemy as sa

from scoring.rules.arrow_types import TIMESTAMP, empty_frame
from scoring.rules.arrow_types import field as column
from tasks.state.database import StateDatabase, UtcDateTime

_metadata = sa.MetaData()
_runs = sa.Table(
    "runs",
    _metadata,
    sa.Column("run_id", sa.String, primary_key=True, doc="실행 id"),
    sa.Column("kind", sa.String, nullable=False, doc="nightly | intraday | backfill | test_run"),
    sa.Column("score_date", sa.Date, nullable=False, doc="채점한 날"),
    sa.Column("rubric", sa.String, nullable=False, doc="루브릭 id. 정해지기 전에 끝났으면 빈칸"),
    sa.Column("rubric_version", sa.String, nullable=False, doc="루브릭 버전"),
    sa.Column("code_version", sa.String, nullable=False, doc="aqb 버전"),
    sa.Column("started_at", UtcDateTime, nullable=False, doc="시작 시각(UTC)"),
    sa.Column("finished_at", UtcDateTime, doc="끝난 시각(UTC). 끝나지 않았으면 NULL"),
    sa.Column(
        "outcome",
        sa.String,
        nullable=False,
        doc="running | completed | failed | kept. 죽은 실행은 running으로 남고, kept는 그날을 그대로 둔 실행",
    ),
    sa.Column("inputs", sa.JSON, nullable=False, doc="입력 파일: 이름, sha256, 크기 (JSON)"),
    sa.Column("rows_in", sa.Integer, doc="읽은 행 수 = scored + excluded + rejected"),
    sa.Column("scored", sa.Integer, doc="채점한 행 수"),
    sa.Column("excluded", sa.Integer, doc="제외한 행 수"),
    sa.Column("rejected", sa.Integer, doc="거부한 행 수"),
    sa.Column("message", sa.String, doc="실패했거나 알릴 것이 있을 때 그 내용"),
    # Added after the first version: a ledger made by that one has NULLs here.
    sa.Column("parameters", sa.JSON(none_as_null=True), doc="결과를 바꾸는 설정 (JSON)"),
    sa.Column("content", sa.String, doc="그날 행들의 지문. 모르면 NULL"),
    sa.Column("model", sa.String, doc="판정 모델. 판정하지 않았으면 NULL"),
    sa.Column("prompt_versions", sa.String, doc="판정 프롬프트와 그 버전"),
    sa.Column("cost_usd", sa.Float, doc="판정에 든 돈(USD). 모르거나 판정하지 않았으면 NULL"),
    sa.Column("told_at", UtcDateTime),
)
sa.Index("runs_by_day", _runs.c.score_date)
_steps = sa.Table(
    "run_steps",
    _metadata,
    sa.Column("run_id", sa.String, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("step", sa.String, nullable=False),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("finished_at", UtcDateTime),
    sa.Column("outcome", sa.String, nullable=False),
    sa.Column("counts", sa.JSON, nullable=False),
)

NIGHTLY, INTRADAY, BACKFILL, TEST_RUN = "nightly", "intraday", "backfill", "test_run"

_ARROW_TYPES: dict[type[sa.types.TypeEngine[Any]], pa.DataType] = {
    sa.String: pa.string(),
    sa.Integer: pa.int64(),
    sa.Float: pa.float64(),
    sa.Date: pa.date32(),
    sa.JSON: pa.string(),
    UtcDateTime: TIMESTAMP,
}
RUNS_SCHEMA = pa.schema(
    [column(one.name, _ARROW_TYPES[type(one.type)], one.doc) for one in _runs.c if one.doc is not None]
)
"""The table `runs` of the warehouse: the columns of the ledger that have a description."""


@dataclass(frozen=True)
class Run:
    """One run of one day or test-run file. Counts are None until it has counted.

    `inputs` are the fingerprints of its files, `content` that of the day's rows whatever files they stand in;
    `parameters` are the settings that change the result. `model`, `prompt_versions` and `cost_usd` are the judge's.
    `told_at` is when the routes were told of what it found: None where nobody listens, or it died before.
    """

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
    parameters: Mapping[str, Any] | None = None
    content: str | None = None
    model: str | None = None
    prompt_versions: str | None = None
    cost_usd: float | None = None
    told_at: datetime | None = None


@dataclass(frozen=True)
class RunStep:
    """One step of a run, in the order of `position`; `counts` is what went through it."""

    run_id: str
    position: int
    step: str
    started_at: datetime
    finished_at: datetime | None = None
    outcome: str = "running"
    counts: Mapping[str, int] = field(default_factory=dict)


class RunLedger:
    """The runs in the state database and their steps.

    Raises:
        StorageError: the database cannot be reached, read or written; every method may find that out.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_metadata)
        self._database = database

    def save(self, run: Run) -> None:
        """Adds a run or replaces what is known of it."""
        self._replace(_runs, _runs.c.run_id == run.run_id, asdict(run))

    def save_step(self, step: RunStep) -> None:
        """Adds a step or replaces what is known of it."""
        same = (_steps.c.run_id == step.run_id) & (_steps.c.position == step.position)
        self._replace(_steps, same, asdict(step))

    def of_day(self, day: date) -> list[Run]:
        """All runs of one day, earliest first."""
        return self._runs(sa.select(_runs).where(_runs.c.score_date == day))

    def latest_of_days(self, first: date, last: date) -> dict[date, Run]:
        """The latest run that scored chat rows of each day from `first` to `last`, however it ended.

        Runs that kept a day as it was are left out: the tables are those of the run before.
        """
        days = _runs.c.score_date.between(first, last) & (_runs.c.kind != TEST_RUN)
        return {run.score_date: run for run in self._runs(sa.select(_runs).where(days, _runs.c.outcome != "kept"))}

    def latest_kept(self, first: date, last: date) -> dict[date, Run]:
        """The latest run of each day from `first` to `last` that kept the day as it was."""
        kept = _runs.c.score_date.between(first, last) & (_runs.c.outcome == "kept")
        return {run.score_date: run for run in self._runs(sa.select(_runs).where(kept))}

    def last_completed_day(self, before: date) -> date | None:
        """The last day before another of which a run of chat rows was completed as a whole day."""
        whole_days = _runs.c.kind.not_in([TEST_RUN, INTRADAY]) & (_runs.c.outcome == "completed")
        query = sa.select(sa.func.max(_runs.c.score_date)).where(whole_days, _runs.c.score_date < before)
        with self._database.transaction() as connection:
            last: date | None = connection.execute(query).scalar_one()
        return last

    def last(self, count: int) -> list[Run]:
        """The runs that started last, earliest first."""
        newest = sa.select(_runs).order_by(_runs.c.started_at.desc()).limit(count).subquery()
        return self._runs(sa.select(_runs).join(newest, _runs.c.run_id == newest.c.run_id))

    def starting_with(self, run_id: str) -> list[Run]:
        """The runs whose id begins like this."""
        return self._runs(sa.select(_runs).where(_runs.c.run_id.startswith(run_id, autoescape=True)))

    def steps(self, run_id: str) -> list[RunStep]:
        """The steps of a run in their order."""
        query = sa.select(_steps).where(_steps.c.run_id == run_id).order_by(_steps.c.position)
        with self._database.transaction() as connection:
            return [RunStep(**row) for row in connection.execute(query).mappings()]

    def completed_inputs(self, kind: str) -> set[str]:
        """The SHA-256 of every file that a completed run of this kind has read."""
        query = sa.select(_runs.c.inputs).where(_runs.c.kind == kind, _runs.c.outcome == "completed")
        with self._database.transaction() as connection:
            return {file["sha256"] for files in connection.execute(query).scalars() for file in files}

    def unreported(self, kind: str, since: date) -> list[Run]:
        """The runs of this kind and of days from `since` on that have scored something of which nobody was told."""
        scored = (_runs.c.kind == kind) & (_runs.c.score_date >= since) & _runs.c.rows_in.is_not(None)
        return self._runs(sa.select(_runs).where(scored, _runs.c.told_at.is_(None)))

    def mark_reported(self, run_ids: Sequence[str], at: datetime) -> None:
        """Notes that the routes were told of these runs."""
        with self._database.transaction() as connection:
            connection.execute(sa.update(_runs).where(_runs.c.run_id.in_(list(run_ids))).values(told_at=at))

    def frame_of_day(self, day: date, ending: Run | None = None) -> pl.DataFrame:
        """The runs of one day in the columns of `RUNS_SCHEMA`, earliest first; the newest is the last.

        `ending` is a run of that day that is known better than the ledger knows it.
        """
        runs = [ending if ending and run.run_id == ending.run_id else run for run in self.of_day(day)]
        rows = [
            _published(run) | {"inputs": _json(run.inputs), "parameters": run.parameters and _json(run.parameters)}
            for run in runs
        ]
        empty = empty_frame(RUNS_SCHEMA)
        return pl.DataFrame(rows, schema=empty.schema)

    def _runs(self, query: sa.Select[Any]) -> list[Run]:
        with self._database.transaction() as connection:
            ordered = query.order_by(_runs.c.started_at, _runs.c.run_id)
            return [Run(**row) for row in connection.execute(ordered).mappings()]

    def _replace(self, table: sa.Table, same: sa.ColumnElement[bool], row: dict[str, Any]) -> None:
        with self._database.transaction() as connection:
            connection.execute(sa.delete(table).where(same))
            connection.execute(sa.insert(table).values(**row))


def _published(run: Run) -> dict[str, Any]:
    return {name: value for name, value in asdict(run).items() if name in RUNS_SCHEMA.names}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
