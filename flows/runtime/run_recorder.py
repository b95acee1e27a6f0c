"""Records a run in the ledger: its start, each step, and its end, however it ends."""

import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from typing import Any

from flows.runtime.clock import now
from flows.runtime.code_version import code_version
from flows.runtime.telemetry import measure_run, run_attributes, span
from scoring.errors import AqbError, DamagedFileError, StorageError
from tasks.config.log_lines import lines_with
from tasks.state.database import StateDatabase
from tasks.state.leases import Leases
from tasks.state.run_ledger import RUNS_SCHEMA, Run, RunLedger, RunStep
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.tables import RUNS

_LOG = logging.getLogger(__name__)


class RunRecorder:
    """An active run. Every step and its results are in the ledger before the next step begins."""

    def __init__(self, ledger: RunLedger, run: Run) -> None:
        self.run = run
        self._ledger = ledger
        self._steps = 0
        ledger.save(run)

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, int]]:
        """Records one step; the entries that the block adds to the dictionary become its counts."""
        self._steps += 1
        counts: dict[str, int] = {}
        going = RunStep(self.run.run_id, self._steps, name, now(), counts=counts)
        self._ledger.save_step(going)
        outcome = "failed"
        try:
            with span(name) as attributes:
                yield counts
                attributes.update({f"aqb.{part}": count for part, count in counts.items()})
            outcome = "completed"
        except BaseException as error:
            error.add_note(f"step {name}")
            raise
        finally:
            ended = now()
            self._ledger.save_step(replace(going, finished_at=ended, outcome=outcome))
            seconds = (ended - going.started_at).total_seconds()
            _LOG.info("%s %s: %s in %.2f s", name, self.run.score_date, outcome, seconds)

    def require_latest(self, *, has_written: bool = False) -> None:
        """Refuses to go on if another run of the day has begun since: this one was paused beyond the end of its lease.

        If it has written, it ends as the latest run of the day, a failed one, so that the day is scored again.

        Raises:
            StorageError: there is such a run.
        """
        day = self.run.score_date
        latest = self._ledger.latest_of_days(day, day).get(day, self.run)
        if latest.started_at <= self.run.started_at:
            return
        fix = "look at the other run: aqb runs"
        if has_written:
            self.note(started_at=self._ledger.start_of_next(day, now()))
            fix = "run it again: what the two wrote may be mixed"
        raise StorageError(f"another run took over {day} while this one was paused", where="state database", fix=fix)

    def note(self, **found: Any) -> None:
        """Adds facts about the run; they are stored when the run ends."""
        self.run = replace(self.run, **found)

    def ends(self, outcome: str, **found: Any) -> Run:
        """The run as it will be stored when its block ends."""
        self.note(finished_at=max(now(), self.run.started_at), outcome=outcome, **found)
        return self.run

    def keep(self) -> None:
        """The last entry."""
        self._ledger.save(self.run)
        measure_run(self.run)
        _LOG.info(
            "%s %s: %s, %s rows in, %s scored, %s excluded, %s rejected",
            *(self.run.kind, self.run.score_date, self.run.outcome),
            *(self.run.rows_in, self.run.scored, self.run.excluded, self.run.rejected),
        )


@contextmanager
def recorded_run(
    state: StateDatabase,
    kind: str,
    day: date,
    *,
    rubric: str = "",
    rubric_version: str = "",
    inputs: list[dict[str, Any]] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Iterator[RunRecorder]:
    """Records a run for the duration of the block, and holds its id, so that others can tell whether it is alive.

    The block sets how the run ends (`ends`), unless it fails.
    """
    ledger = RunLedger(state)
    run = Run(
        run_id=uuid.uuid4().hex,
        kind=kind,
        score_date=day,
        rubric=rubric,
        rubric_version=rubric_version,
        code_version=code_version(),
        started_at=ledger.start_of_next(day, now()),
        inputs=inputs or [],
        parameters=parameters,
        service=state.service,
    )
    with (
        Leases(state).held(run.run_id, wait_s=0),
        lines_with(run_id=run.run_id),
        span(f"run {kind}") as attributes,
    ):
        recording = RunRecorder(ledger, run)
        try:
            yield recording
        except BaseException as error:
            if recording.run.outcome == "running":
                recording.ends("failed", message=reason_of(error))
            raise
        finally:
            recording.keep()
            attributes.update(run_attributes(recording.run))


def reason_of(error: BaseException) -> str:
    """The storable reason of a failure: errors of other libraries may quote a cell, so only their class is stored."""
    return f"{type(error).__name__}: {error}" if isinstance(error, AqbError) else f"{type(error).__name__}: see the log"


def publish_runs(warehouse: Warehouse, state: StateDatabase, day: date, ending: Run | None = None) -> None:
    """Copies the runs of a day from the ledger into the warehouse, including the `ending` one, unless they are there.

    One run at a time reads and writes: the table is never older than the state of an earlier writer. A damaged file is
    replaced: the ledger has all that it held.
    """
    with warehouse.lock(RUNS):
        runs, known = RunLedger(state).frame_of_day(day, ending), list[tuple[Any, ...]]()
        current = runs.select("run_id", "outcome").rows()
        with suppress(DamagedFileError):
            known = table_rows(warehouse, RUNS, RUNS_SCHEMA, [day]).select("run_id", "outcome").collect().rows()
        if sorted(current) != sorted(known):
            warehouse.replace_day(RUNS, day, RUNS_SCHEMA, [runs])
