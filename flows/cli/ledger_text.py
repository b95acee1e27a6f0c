"""The ledger of runs as people and programs read it.

The ledger says `running` of a run that has not ended. A run holds its id while it lives: without that it has died, and
is called `crashed`. Of a run that was killed this is known when its lease has run out, a minute later.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from scoring.errors import UsageError
from tasks.state.database import StateDatabase
from tasks.state.leases import Leases
from tasks.state.run_ledger import Run, RunLedger, RunStep

_COUNTS = ("rows_in", "scored", "excluded", "rejected")


@dataclass(frozen=True)
class LedgerEntry:
    """A run and its steps."""

    run: Run
    steps: tuple[RunStep, ...]


def last_runs(state: StateDatabase, count: int) -> list[Run]:
    """The runs that started last, earliest first."""
    return _as_they_are(state, RunLedger(state).last(count))


def ledger_entry(state: StateDatabase, run_id: str) -> LedgerEntry:
    """The run whose id begins like this.

    Raises:
        UsageError: there is none, or more than one.
    """
    ledger = RunLedger(state)
    found = ledger.starting_with(run_id)
    if len(found) != 1:
        ids = ", ".join(run.run_id for run in found[:5])
        raise UsageError(
            f"{len(found) or 'no'} runs have an id that begins with '{run_id}'" + (f": {ids}" if ids else ""),
            fix="`aqb runs` lists them",
        )
    (run,) = _as_they_are(state, found)
    steps = ledger.steps(run.run_id)
    if run.outcome == "crashed":
        steps = [replace(step, outcome="crashed") if step.outcome == "running" else step for step in steps]
    return LedgerEntry(run, tuple(steps))


def runs_text(runs: Sequence[Run], time_zone: str) -> str:
    """A line a run."""
    lines = [f"{'id':<8}  {'kind':<8}  {'day':<10}  {'started':<16}  {'took':>8}  {'outcome':<9}  rows in / scored"]
    for run in runs:
        counts = "" if run.rows_in is None else f"{run.rows_in:,} / {run.scored:,}"
        lines.append(
            f"{run.run_id[:8]}  {run.kind:<8}  {run.score_date}  {_local(run.started_at, time_zone):%Y-%m-%d %H:%M}"
            f"  {_took(run):>8}  {run.outcome:<9}  {counts}"
        )
        if run.message:
            lines.append(f"          {run.message.splitlines()[0]}")
    return "\n".join(lines)


def entry_text(entry: LedgerEntry, time_zone: str) -> str:
    """Everything that is known of a run."""
    run = entry.run
    facts = {
        "run": run.run_id,
        "outcome": run.outcome,
        "kind": f"{run.kind} of {run.score_date}",
        "started": f"{_local(run.started_at, time_zone):%Y-%m-%d %H:%M:%S %Z}, took {_took(run)}",
        "versions": f"aqb {run.code_version}, rubric {run.rubric or '?'} {run.rubric_version}".rstrip(),
        "judge": f"{run.model}; {run.prompt_versions}; {_usd(run.cost_usd)}" if run.model else "nobody was asked",
        "parameters": json.dumps(run.parameters, ensure_ascii=False) if run.parameters else "not kept",
        "rows": _counts({name: count for name in _COUNTS if (count := getattr(run, name)) is not None})
        or "not counted",
        "content": run.content or "not known",
    }
    lines = [f"{name:<10}  {value}" for name, value in facts.items()]
    lines += [f"input       {file['name']}, {file['bytes']:,} bytes, sha256 {file['sha256']}" for file in run.inputs]
    lines += [
        f"step        {step.step:<10}  {step.outcome:<9}  {_took(step):>8}  {_counts(step.counts)}".rstrip()
        for step in entry.steps
    ]
    return "\n".join(lines + (["", run.message] if run.message else []))


def run_dict(run: Run) -> dict[str, Any]:
    """A run for programs."""
    return asdict(run) | {"seconds": _seconds(run)}


def entry_dict(entry: LedgerEntry) -> dict[str, Any]:
    """A run with its steps for programs."""
    return run_dict(entry.run) | {"steps": [asdict(step) | {"seconds": _seconds(step)} for step in entry.steps]}


def _as_they_are(state: StateDatabase, runs: list[Run]) -> list[Run]:
    """The same runs; those that died are `crashed`."""
    running = [run.run_id for run in runs if run.outcome == "running"]
    alive = Leases(state).alive(running)
    return [replace(run, outcome="crashed") if run.run_id in set(running) - alive else run for run in runs]


def _seconds(part: Run | RunStep) -> float | None:
    return (part.finished_at - part.started_at).total_seconds() if part.finished_at else None


def _took(part: Run | RunStep) -> str:
    seconds = _seconds(part)
    return "-" if seconds is None else f"{seconds:,.1f} s"


def _counts(counts: Any) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _usd(cost: float | None) -> str:
    return "cost not known" if cost is None else f"{cost:.4f} USD"


def _local(moment: datetime, time_zone: str) -> datetime:
    return moment.astimezone(ZoneInfo(time_zone))
