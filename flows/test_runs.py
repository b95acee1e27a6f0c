"""The flow of test runs: scores each new file of the inbox once, into its own report folder and the warehouse.

A file is known by its content: a changed file is a new run. One that failed, or was still arriving, is looked at again
by the next run. One task run per file; a file that fails does not stop the others.
"""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.clock import now
from flows.score import safe_name
from flows.steps import step
from scoring.errors import AqbError, InputError
from tasks.inbox import look_into
from tasks.input_files import FileIdentity
from tasks.monitoring_tables import RUNS
from tasks.run_files import read_run_file
from tasks.run_folder import write_run_folder
from tasks.run_ledger import RUNS_SCHEMA, Run, RunLedger
from tasks.run_scoring import RunChoices, plan_of, score_run
from tasks.run_warehouse import write_test_run
from tasks.settings import Settings
from tasks.warehouse import open_warehouse

KIND = "test_run"
_HASH_DIGITS = 8


@dataclass(frozen=True)
class ScoredTestRun:
    """A scored file: its report folder and its summary."""

    name: str
    folder: Path
    summary: dict[str, Any]


@dataclass(frozen=True)
class InboxOutcome:
    """What became of the inbox: scored files, failures (one line each), files scored before, files still arriving."""

    scored: tuple[ScoredTestRun, ...]
    failures: tuple[str, ...]
    known: int
    arriving: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What a person should look at."""
        refused = [(one.name, one.summary["counts"]["rejected"]) for one in self.scored]
        return (
            *self.failures,
            *(f"{name}: {count} rows rejected; see the table `rejected`" for name, count in refused if count),
        )


class IncompleteInboxError(AqbError):
    """Some files of the inbox could not be scored; `outcome` says what was done."""

    def __init__(self, outcome: InboxOutcome) -> None:
        super().__init__(
            f"{len(outcome.failures)} files of the inbox could not be scored",
            fix="mend them or take them out of the inbox: the next run tries them again",
        )
        self.outcome = outcome


@step("score test run", run_name="score test run {name}", timeout_s=3600)
def score_file(name: str, identity: FileIdentity, settings: Settings, day: date) -> ScoredTestRun:
    """Scores one file into its report folder and the warehouse."""
    path = Path(identity.name)
    run = read_run_file(path)
    if run.identity != identity:
        raise InputError("it changed while it was being read", where=str(path), fix="the next run takes it")
    scored = score_run(plan_of(run, RunChoices(), settings.rubric_options), {})
    folder = Path(settings.reports) / "test-runs" / f"{safe_name(path.stem)}-{identity.sha256[:_HASH_DIGITS]}"
    summary = write_run_folder(folder, scored, path)
    write_test_run(open_warehouse(settings.warehouse), day, scored)
    return ScoredTestRun(name, folder, summary)


@flow(name="test-runs", flow_run_name="test runs {day}", validate_parameters=False)
def score_inbox(settings: Settings, day: date) -> InboxOutcome:
    """Scores the new files of the inbox; `day` is the local day under which the warehouse keeps them.

    Raises:
        IncompleteInboxError: some files failed; the others are scored.
    """
    warehouse = open_warehouse(settings.warehouse)
    with closing(RunLedger(settings.state_url)) as ledger, warehouse.staging("test-runs"):
        inbox = look_into(
            Path(settings.test_runs.inbox), ledger.completed_inputs(KIND), now(), settings.test_runs.quiet_s
        )
        scored, failures = [], []
        for identity in inbox.new:
            result = _score_and_record(ledger, identity, settings, day)
            if isinstance(result, ScoredTestRun):
                scored.append(result)
            else:
                failures.append(result)
        if inbox.new:
            warehouse.replace_day(RUNS, day, RUNS_SCHEMA, [ledger.frame_of_day(day)])
    outcome = InboxOutcome(
        tuple(scored), tuple(failures), len(inbox.known), tuple(path.name for path in inbox.arriving)
    )
    if failures:
        raise IncompleteInboxError(outcome)
    return outcome


def _score_and_record(ledger: RunLedger, identity: FileIdentity, settings: Settings, day: date) -> ScoredTestRun | str:
    """Scores one file as a task run of its own and keeps it in the ledger; a failure is its message."""
    run = Run(
        run_id=uuid.uuid4().hex,
        kind=KIND,
        score_date=day,
        rubric="",
        rubric_version="",
        code_version=version("aqb"),
        started_at=now(),
        inputs=[vars(identity)],
    )
    ledger.save(run)
    state: State[ScoredTestRun] = score_file(Path(identity.name).name, identity, settings, day, return_state=True)
    result = state.result(raise_on_failure=False)
    if isinstance(result, ScoredTestRun):
        counts = {name: result.summary["counts"][name] for name in ("rows_in", "scored", "excluded", "rejected")}
        rubric = {name: result.summary[name] for name in ("rubric", "rubric_version")}
        ledger.save(replace(run, finished_at=now(), outcome="completed", **rubric, **counts))
        return result
    message = str(result)
    ledger.save(replace(run, finished_at=now(), outcome="failed", message=message))
    return message
