"""The run ledger in the state database: what ran when, step by step, on which input, with which outcome.

Two tables: `runs`, a row a run of one day or of one test-run file; `run_steps`, a row a step of a run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Annotated, Any

import polars as pl
import pyarrow as pa
import sqlalchemy as sa

from scoring.rules.arrow_types import TIMESTAMP, frame_of
from scoring.rules.arrow_types import field as arrow_field
from tasks.state.database import STATE_TABLES, StateDatabase, UtcDateTime, columns_for

NIGHTLY, INTRADAY, BACKFILL, TEST_RUN = "nightly", "intraday", "backfill", "test_run"


@dataclass(frozen=True)
class Run:
    """One run of a day or test-run file. Counts are None until they are known.

    `inputs` are the fingerprints of its files, `content` that of the day's rows, independent of the files; `parameters`
    are the settings that change the result. `model`, `prompt_versions` and `cost_usd` are the judge's. `told_at` is
    when the routes were notified: None if there is no route, or it ended before. `service` is the service of the rows:
    None for test runs, and for a service without a name.
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

    def began_after_its_day(self, zone: tzinfo) -> bool:
        """Whether it began when its day was over, so that all rows were there."""
        return self.started_at >= end_of_day(self.score_date, zone)


@dataclass(frozen=True)
class RunStep:
    """One step of a run, in the order of `position`; `counts` are its rows."""

    run_id: str
    position: int
    step: str
    started_at: datetime
    finished_at: datetime | None = None
    outcome: str = "running"
    counts: Mapping[str, int] = field(default_factory=dict)


_runs = sa.Table("runs", STATE_TABLES, *columns_for(Run, keys=1))
_steps = sa.Table("run_steps", STATE_TABLES, *columns_for(RunStep, keys=2))
_PUBLISHED = {sa.Integer: pa.int64(), sa.Float: pa.float64(), sa.Date: pa.date32(), UtcDateTime: TIMESTAMP}
"""The types of columns in the warehouse; others are texts there."""
RUNS_SCHEMA = pa.schema(
    arrow_field(name, _PUBLISHED.get(type(_runs.c[name].type), pa.string()), *hint.__metadata__)
    for name, hint in Run.__annotations__.items()
    if hasattr(hint, "__metadata__")
)
sa.Index("runs_by_day", _runs.c.score_date)
sa.Index("runs_by_start", _runs.c.started_at)
_unended = _runs.c.outcome == sa.literal("running", literal_execute=True)  # a parameter would not find the index
sa.Index("runs_unended", _runs.c.started_at, sqlite_where=_unended, postgresql_where=_unended)
_WHOLE_DAY = _runs.c.kind.not_in([TEST_RUN, INTRADAY])


def end_of_day(day: date, zone: tzinfo) -> datetime:
    """The midnight after a day."""
    return datetime.combine(day + timedelta(days=1), time(), zone)


class RunLedger:
    """The runs in the state database and their steps.

    Queries of days return only those of the database's service.

    Raises:
        StorageError: the database cannot be reached, read or written; any method may raise it.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_runs, _steps)
        self._database = database
        self._mine = _runs.c.service == database.service

    def save(self, run: Run) -> None:
        """Inserts or replaces a run."""
        self._save(_runs, asdict(run))

    def save_step(self, step: RunStep) -> None:
        """Inserts or replaces a step."""
        self._save(_steps, asdict(step))

    def start_of_next(self, day: date, now: datetime) -> datetime:
        """The start of a new run of the day: now, or just after its last run if the clock was set back.

        So the latest run is always the one that was started last.
        """
        query = sa.select(sa.func.max(_runs.c.started_at)).where(_runs.c.score_date == day)
        last: datetime | None = self._database.value(query)
        return now if last is None else max(now, last + timedelta(microseconds=1))

    def put_back_starts(self, now: datetime, zone: tzinfo) -> None:
        """Corrects runs of days that are not over, which a clock that was ahead has dated after `now`.

        They began before, so that none of them counts as having all rows of its day.
        """
        today = now.astimezone(zone).date()
        later = _WHOLE_DAY & (_runs.c.started_at > now) & (_runs.c.score_date >= today)
        self._database.change(sa.update(_runs).where(later).values(started_at=now))

    def of_day(self, day: date) -> list[Run]:
        """All runs of a day, earliest first."""
        return self._runs(sa.select(_runs).where(self._mine, _runs.c.score_date == day))

    def latest_of_days(self, first: date, last: date) -> dict[date, Run]:
        """The latest run that scored chat rows, of each day from `first` to `last`, whatever its outcome.

        Runs that kept a day unchanged are left out: its tables are those of an earlier run.
        """
        days = self._mine & _runs.c.score_date.between(first, last) & (_runs.c.kind != TEST_RUN)
        return self._latest(days & (_runs.c.outcome != "kept"))

    def latest_kept(self, first: date, last: date) -> dict[date, Run]:
        """The latest run that kept a day unchanged, of each day from `first` to `last`."""
        kept = self._mine & _runs.c.score_date.between(first, last) & (_runs.c.outcome == "kept")
        return self._latest(kept)

    def last_completed_day(self, before: date) -> date | None:
        """The last day before a given one that a run of chat rows completed as a whole."""
        completed = self._mine & _WHOLE_DAY & (_runs.c.outcome == "completed")
        query = sa.select(sa.func.max(_runs.c.score_date)).where(completed, _runs.c.score_date < before)
        return self._database.value(query)

    def first_night(self, *, had_rows: bool = False) -> date | None:
        """The first day that a nightly run completed; with `had_rows`, of those with rows: a clock of the past makes
        others.
        """
        nights = self._mine & (_runs.c.kind == NIGHTLY) & (_runs.c.outcome == "completed")
        if had_rows:
            nights &= _runs.c.rows_in.is_distinct_from(0)
        return self._database.value(sa.select(sa.func.min(_runs.c.score_date)).where(nights))

    def completed_days(self, first: date, last: date, zone: tzinfo) -> set[date]:
        """The days from `first` to `last` that a run of chat rows completed as a whole, begun when they were over."""
        completed = self._mine & _WHOLE_DAY & (_runs.c.outcome == "completed")
        latest = sa.select(_runs.c.score_date, sa.func.max(_runs.c.started_at))
        of_days = latest.where(completed, _runs.c.score_date.between(first, last)).group_by(_runs.c.score_date)
        return {day for day, started_at in self._database.rows(of_days) if started_at >= end_of_day(day, zone)}

    def whole_days(self, first: date, last: date) -> list[Run]:
        """The runs of whole days from `first` to `last`, earliest first, whatever their outcome."""
        return self._runs(sa.select(_runs).where(self._mine, _WHOLE_DAY, _runs.c.score_date.between(first, last)))

    def unended_of_days(self, first: date, last: date) -> list[Run]:
        """The runs of whole days from `first` to `last` without an outcome: they are running or have died."""
        days = _WHOLE_DAY & _runs.c.score_date.between(first, last)
        return self._runs(sa.select(_runs).where(self._mine, days, _unended))

    def whole_days_since(self, since: datetime) -> list[Run]:
        """The runs of whole days that began at `since` or later, earliest first."""
        return self._runs(sa.select(_runs).where(self._mine, _WHOLE_DAY, _runs.c.started_at >= since))

    def whole_days_ended_since(self, since: datetime) -> list[Run]:
        """The runs of whole days that ended at `since` or later, whenever they began."""
        return self._runs(sa.select(_runs).where(self._mine, _WHOLE_DAY, _runs.c.finished_at >= since))

    def unended_since(self, since: datetime) -> list[Run]:
        """The runs that began at `since` or later without an outcome: they are running or have died. Earliest first."""
        return self._runs(sa.select(_runs).where(self._mine, _runs.c.started_at >= since, _unended))

    def last(self, count: int) -> list[Run]:
        """The latest runs of all services, earliest first."""
        return self._last(sa.select(_runs), count)

    def last_of_service(self, count: int) -> list[Run]:
        """The latest runs of chat rows of the database's service, earliest first."""
        return self._last(sa.select(_runs).where(self._mine, _runs.c.kind != TEST_RUN), count)

    def services(self) -> set[str | None]:
        """The services of all runs, as tables name them; None for runs of no service, such as test runs."""
        return {service for (service,) in self._database.rows(sa.select(_runs.c.service).distinct())}

    def starting_with(self, run_id: str) -> list[Run]:
        """The runs whose id begins with this text."""
        return self._runs(sa.select(_runs).where(_runs.c.run_id.startswith(run_id, autoescape=True)))

    def steps(self, run_id: str) -> list[RunStep]:
        """The steps of a run in their order."""
        query = sa.select(_steps).where(_steps.c.run_id == run_id).order_by(_steps.c.position)
        return [RunStep(**row._mapping) for row in self._database.rows(query)]

    def outcomes_of_inputs(self) -> dict[str, str]:
        """The outcome of the latest test run of each file, by SHA-256."""
        return {sha256: outcome for sha256, _, outcome in self._inputs()}

    def completed_inputs(self) -> dict[str, date]:
        """The day of the latest completed test run of each file, by SHA-256; there may be later ones of it."""
        return {sha256: day for sha256, day, outcome in self._inputs() if outcome == "completed"}

    def completed(self, kind: str, count: int) -> list[Run]:
        """The latest completed runs of this kind, newest first."""
        query = sa.select(_runs).where(_runs.c.kind == kind, _runs.c.outcome == "completed")
        newest = query.order_by(_runs.c.started_at.desc(), _runs.c.run_id).limit(count)
        return [Run(**row._mapping) for row in self._database.rows(newest)]

    def failed_inputs(self) -> dict[str, str | None]:
        """The SHA-256 of all files that failed test runs have read, with the latest error of each."""
        query = sa.select(_runs.c.inputs, _runs.c.message).where(_runs.c.kind == TEST_RUN, _runs.c.outcome == "failed")
        rows = self._database.rows(query.order_by(_runs.c.started_at))
        return {file["sha256"]: message for files, message in rows for file in files}

    def unreported(self, kind: str, since: date) -> list[Run]:
        """The runs of this kind, of days from `since` on, that have scored rows and have notified nobody."""
        scored = self._mine & (_runs.c.kind == kind) & (_runs.c.score_date >= since) & _runs.c.rows_in.is_not(None)
        return self._runs(sa.select(_runs).where(scored, _runs.c.told_at.is_(None)))

    def mark_reported(self, run_ids: Sequence[str], at: datetime) -> None:
        """Records that the routes were notified of these runs."""
        self._database.change(sa.update(_runs).where(_runs.c.run_id.in_(list(run_ids))).values(told_at=at))

    def frame_of_day(self, day: date, ending: Run | None = None) -> pl.DataFrame:
        """The runs of one day in the columns of `RUNS_SCHEMA`, earliest first; the newest is the last.

        `ending` is a run of that day that is newer than its row in the ledger.
        """
        runs = [ending if ending and run.run_id == ending.run_id else run for run in self.of_day(day)]
        rows = [{name: _published(getattr(run, name)) for name in RUNS_SCHEMA.names} for run in runs]
        return frame_of(RUNS_SCHEMA, rows)

    def _inputs(self) -> Iterator[tuple[str, date, str]]:
        """File, day and outcome of all test runs, earliest first."""
        query = sa.select(_runs.c.inputs, _runs.c.score_date, _runs.c.outcome).where(_runs.c.kind == TEST_RUN)
        for files, day, outcome in self._database.rows(query.order_by(_runs.c.started_at)):
            yield from ((file["sha256"], day, outcome) for file in files)

    def _save(self, table: sa.Table, row: dict[str, Any]) -> None:
        same = {f"same_{key.name}": row[key.name] for key in table.primary_key}
        update = sa.update(table).where(*(key == sa.bindparam(f"same_{key.name}") for key in table.primary_key))
        with self._database.transaction() as connection:
            # An upsert would be compiled anew every time: SQLAlchemy does not keep those.
            if not connection.execute(update, row | same).rowcount:
                connection.execute(sa.insert(table), row)

    def _last(self, query: sa.Select[Any], count: int) -> list[Run]:
        newest = query.order_by(_runs.c.started_at.desc()).limit(count).subquery()
        return self._runs(sa.select(_runs).join(newest, _runs.c.run_id == newest.c.run_id))

    def _latest(self, wanted: sa.ColumnElement[bool]) -> dict[date, Run]:
        """The latest of these runs of each day; of a year of hourly runs it reads one a day."""
        day, start = _runs.c.score_date, _runs.c.started_at
        newest = sa.select(day, sa.func.max(start).label("start")).where(wanted).group_by(day).subquery()
        of_day = (day == newest.c.score_date) & (start == newest.c.start)
        return {run.score_date: run for run in self._runs(sa.select(_runs).join(newest, of_day).where(wanted))}

    def _runs(self, query: sa.Select[Any]) -> list[Run]:
        ordered = query.order_by(_runs.c.started_at, _runs.c.run_id)
        return [Run(**row._mapping) for row in self._database.rows(ordered)]


def _published(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
