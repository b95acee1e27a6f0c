"""The ledger of runs in the state database: what ran when, step by step, on what, with which outcome.

Two tables: `runs`, a row a run of one day or of one test-run file; `run_steps`, a row a step of a run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from types import UnionType
from typing import Annotated, Any, get_args

import polars as pl
import pyarrow as pa
import sqlalchemy as sa

from scoring.rules.arrow_types import TIMESTAMP, frame_of
from scoring.rules.arrow_types import field as arrow_field
from tasks.state.database import STATE_TABLES, StateDatabase, UtcDateTime

NIGHTLY, INTRADAY, BACKFILL, TEST_RUN = "nightly", "intraday", "backfill", "test_run"


@dataclass(frozen=True)
class Run:
    """One run of one day or test-run file. Counts are None until it has counted.

    `inputs` are the fingerprints of its files, `content` that of the day's rows whatever files they stand in;
    `parameters` are the settings that change the result. `model`, `prompt_versions` and `cost_usd` are the judge's.
    `told_at` is when the routes were notified of what it found: None where there is no route, or it died before.
    `service` is whose rows were scored: None of test runs, and of a service without a name.
    """

    run_id: Annotated[str, "실행 id"]
    kind: Annotated[str, "nightly | intraday | backfill | test_run"]
    score_date: Annotated[date, "채점한 날"]
    rubric: Annotated[str, "루브릭 id. 정해지기 전에 끝났으면 빈칸"]
    rubric_version: Annotated[str, "루브릭 버전"]
    code_version: Annotated[str, "aqb 버전과 커밋"]
    started_at: Annotated[datetime, "시작 시각(UTC)"]
    finished_at: Annotated[datetime | None, "끝난 시각(UTC). 끝나지 않았으면 NULL"] = None
    outcome: Annotated[
        str, "running | completed | failed | kept. 죽은 실행은 running으로 남고, kept는 그날을 그대로 둔 실행"
    ] = "running"
    inputs: Annotated[list[dict[str, Any]], "입력 파일: 이름, sha256, 크기 (JSON)"] = field(default_factory=list)
    rows_in: Annotated[int | None, "읽은 행 수 = scored + excluded + rejected"] = None
    scored: Annotated[int | None, "채점한 행 수"] = None
    excluded: Annotated[int | None, "제외한 행 수"] = None
    rejected: Annotated[int | None, "거부한 행 수"] = None
    message: Annotated[str | None, "실패했거나 알릴 것이 있을 때 그 내용"] = None
    # Added after the first version: a ledger made by that one has NULLs here.
    parameters: Annotated[Mapping[str, Any] | None, "결과를 바꾸는 설정 (JSON)"] = None
    content: Annotated[str | None, "그날 행들의 지문. 모르면 NULL"] = None
    model: Annotated[str | None, "판정 모델. 판정하지 않았으면 NULL"] = None
    prompt_versions: Annotated[str | None, "판정 프롬프트와 그 버전"] = None
    cost_usd: Annotated[float | None, "판정에 든 돈(USD). 모르거나 판정하지 않았으면 NULL"] = None
    told_at: datetime | None = None
    service: str | None = None


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


_TYPES: dict[Any, tuple[sa.types.TypeEngine[Any], pa.DataType]] = {
    str: (sa.String(), pa.string()),
    int: (sa.Integer(), pa.int64()),
    float: (sa.Float(), pa.float64()),
    date: (sa.Date(), pa.date32()),
    datetime: (UtcDateTime(), TIMESTAMP),
}
_JSON = sa.JSON(none_as_null=True), pa.string()


def _table(name: str, row: type[Run | RunStep], keys: int) -> tuple[sa.Table, pa.Schema]:
    """The table of a dataclass whose first fields are keys, and its described columns as a table of the warehouse."""
    columns, described = [], []
    for place, (column, hint) in enumerate(row.__annotations__.items()):
        doc = getattr(hint, "__metadata__", ())
        plain = hint.__origin__ if doc else hint
        kind, *optional = get_args(plain) if isinstance(plain, UnionType) else (plain,)
        stored, published = _TYPES.get(kind, _JSON)
        columns.append(sa.Column(column, stored, primary_key=place < keys, nullable=bool(optional)))
        if doc:
            described.append(arrow_field(column, published, *doc))
    return sa.Table(name, STATE_TABLES, *columns), pa.schema(described)


_runs, RUNS_SCHEMA = _table("runs", Run, keys=1)
_steps, _ = _table("run_steps", RunStep, keys=2)
sa.Index("runs_by_day", _runs.c.score_date)
_WHOLE_DAY = _runs.c.kind.not_in([TEST_RUN, INTRADAY])


class RunLedger:
    """The runs in the state database and their steps.

    What is asked of days is asked of those of the database's service alone.

    Raises:
        StorageError: the database cannot be reached, read or written; every method may find that out.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_runs, _steps)
        self._database = database
        self._mine = _runs.c.service == database.service

    def save(self, run: Run) -> None:
        """Adds a run or replaces what is known of it."""
        self._save(_runs, asdict(run))

    def save_step(self, step: RunStep) -> None:
        """Adds a step or replaces what is known of it."""
        self._save(_steps, asdict(step))

    def start_of_next(self, day: date, now: datetime) -> datetime:
        """When a run of the day begins: now, or just after its last run where the clock was set back.

        The latest run is the one that began last, whatever the clock says.
        """
        query = sa.select(sa.func.max(_runs.c.started_at)).where(_runs.c.score_date == day)
        last: datetime | None = self._database.value(query)
        return now if last is None else max(now, last + timedelta(microseconds=1))

    def of_day(self, day: date) -> list[Run]:
        """All runs of one day, earliest first."""
        return self._runs(sa.select(_runs).where(self._mine, _runs.c.score_date == day))

    def latest_of_days(self, first: date, last: date) -> dict[date, Run]:
        """The latest run that scored chat rows of each day from `first` to `last`, however it ended.

        Runs that kept a day as it was are left out: the tables are those of the run before.
        """
        days = self._mine & _runs.c.score_date.between(first, last) & (_runs.c.kind != TEST_RUN)
        return {run.score_date: run for run in self._runs(sa.select(_runs).where(days, _runs.c.outcome != "kept"))}

    def latest_kept(self, first: date, last: date) -> dict[date, Run]:
        """The latest run of each day from `first` to `last` that kept the day as it was."""
        kept = self._mine & _runs.c.score_date.between(first, last) & (_runs.c.outcome == "kept")
        return {run.score_date: run for run in self._runs(sa.select(_runs).where(kept))}

    def last_completed_day(self, before: date) -> date | None:
        """The last day before another of which a run of chat rows was completed as a whole day."""
        completed = self._mine & _WHOLE_DAY & (_runs.c.outcome == "completed")
        query = sa.select(sa.func.max(_runs.c.score_date)).where(completed, _runs.c.score_date < before)
        last: date | None = self._database.value(query)
        return last

    def first_night(self) -> date | None:
        """The first day that a nightly run has completed."""
        nights = self._mine & (_runs.c.kind == NIGHTLY) & (_runs.c.outcome == "completed")
        first: date | None = self._database.value(sa.select(sa.func.min(_runs.c.score_date)).where(nights))
        return first

    def completed_days(self, first: date, last: date) -> set[date]:
        """The days from `first` to `last` of which a run of chat rows was completed as a whole day."""
        completed = self._mine & _WHOLE_DAY & (_runs.c.outcome == "completed")
        query = sa.select(_runs.c.score_date).where(completed, _runs.c.score_date.between(first, last))
        return {day for (day,) in self._database.rows(query)}

    def whole_days(self, first: date, last: date) -> list[Run]:
        """The runs that were to score all of a day from `first` to `last`, earliest first, however they ended."""
        return self._runs(sa.select(_runs).where(self._mine, _WHOLE_DAY, _runs.c.score_date.between(first, last)))

    def unended_of_days(self, first: date, last: date) -> list[Run]:
        """The runs that were to score all of a day from `first` to `last` and work, or have died."""
        days = _WHOLE_DAY & _runs.c.score_date.between(first, last)
        return self._runs(sa.select(_runs).where(self._mine, days, _runs.c.outcome == "running"))

    def whole_days_since(self, since: datetime) -> list[Run]:
        """The runs that were to score all of a day and began at `since` or later, earliest first."""
        return self._runs(sa.select(_runs).where(self._mine, _WHOLE_DAY, _runs.c.started_at >= since))

    def unended_since(self, since: datetime) -> list[Run]:
        """The runs that began at `since` or later and have not ended: they work, or have died. Earliest first."""
        unended = self._mine & (_runs.c.started_at >= since) & (_runs.c.outcome == "running")
        return self._runs(sa.select(_runs).where(unended))

    def usd_since(self, since: datetime) -> float:
        """What the judge has cost in the runs that began at `since` or later, as far as it is known, in USD."""
        query = sa.select(sa.func.sum(_runs.c.cost_usd)).where(_runs.c.started_at >= since)
        return self._database.value(query) or 0.0

    def last(self, count: int) -> list[Run]:
        """The runs that started last, of whatever service, earliest first."""
        return self._last(sa.select(_runs), count)

    def last_of_service(self, count: int) -> list[Run]:
        """The runs of chat rows of the database's service that started last, earliest first."""
        return self._last(sa.select(_runs).where(self._mine, _runs.c.kind != TEST_RUN), count)

    def starting_with(self, run_id: str) -> list[Run]:
        """The runs whose id begins like this."""
        return self._runs(sa.select(_runs).where(_runs.c.run_id.startswith(run_id, autoescape=True)))

    def steps(self, run_id: str) -> list[RunStep]:
        """The steps of a run in their order."""
        query = sa.select(_steps).where(_steps.c.run_id == run_id).order_by(_steps.c.position)
        return [RunStep(**row._mapping) for row in self._database.rows(query)]

    def completed_inputs(self) -> set[str]:
        """The SHA-256 of every file that a completed test run has read."""
        query = sa.select(_runs.c.inputs).where(_runs.c.kind == TEST_RUN, _runs.c.outcome == "completed")
        return {file["sha256"] for (files,) in self._database.rows(query) for file in files}

    def completed(self, kind: str, count: int) -> list[Run]:
        """The completed runs of this kind that started last, the newest first."""
        query = sa.select(_runs).where(_runs.c.kind == kind, _runs.c.outcome == "completed")
        newest = query.order_by(_runs.c.started_at.desc(), _runs.c.run_id).limit(count)
        return [Run(**row._mapping) for row in self._database.rows(newest)]

    def failed_inputs(self) -> dict[str, str | None]:
        """The SHA-256 of every file that a failed test run has read, with the message of the latest."""
        query = sa.select(_runs.c.inputs, _runs.c.message).where(_runs.c.kind == TEST_RUN, _runs.c.outcome == "failed")
        rows = self._database.rows(query.order_by(_runs.c.started_at))
        return {file["sha256"]: message for files, message in rows for file in files}

    def unreported(self, kind: str, since: date) -> list[Run]:
        """The runs of this kind and of days from `since` on that have scored something and have notified nobody."""
        scored = self._mine & (_runs.c.kind == kind) & (_runs.c.score_date >= since) & _runs.c.rows_in.is_not(None)
        return self._runs(sa.select(_runs).where(scored, _runs.c.told_at.is_(None)))

    def mark_reported(self, run_ids: Sequence[str], at: datetime) -> None:
        """Notes that the routes were told of these runs."""
        self._database.change(sa.update(_runs).where(_runs.c.run_id.in_(list(run_ids))).values(told_at=at))

    def frame_of_day(self, day: date, ending: Run | None = None) -> pl.DataFrame:
        """The runs of one day in the columns of `RUNS_SCHEMA`, earliest first; the newest is the last.

        `ending` is a run of that day that is known better than the ledger knows it.
        """
        runs = [ending if ending and run.run_id == ending.run_id else run for run in self.of_day(day)]
        rows = [{name: _published(getattr(run, name)) for name in RUNS_SCHEMA.names} for run in runs]
        return frame_of(RUNS_SCHEMA, rows)

    def _save(self, table: sa.Table, row: dict[str, Any]) -> None:
        same = {f"same_{key.name}": row[key.name] for key in table.primary_key}
        with self._database.transaction() as connection:
            # An upsert would be compiled anew every time: SQLAlchemy does not keep those.
            if not connection.execute(_update(table), row | same).rowcount:
                connection.execute(sa.insert(table), row)

    def _last(self, query: sa.Select[Any], count: int) -> list[Run]:
        newest = query.order_by(_runs.c.started_at.desc()).limit(count).subquery()
        return self._runs(sa.select(_runs).join(newest, _runs.c.run_id == newest.c.run_id))

    def _runs(self, query: sa.Select[Any]) -> list[Run]:
        ordered = query.order_by(_runs.c.started_at, _runs.c.run_id)
        return [Run(**row._mapping) for row in self._database.rows(ordered)]


def _update(table: sa.Table) -> sa.Update:
    """Replaces the row of the same key, given as `same_...`."""
    return sa.update(table).where(*(key == sa.bindparam(f"same_{key.name}") for key in table.primary_key))


def _published(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
