"""`aqb runs`, `aqb runs show`: list the latest runs with their outcomes, and explain one.

The ledger has `running` for a run that has not ended. An active run holds a lease on its id: a run without one has died
and is shown as `crashed`. The lease of a killed run expires after a minute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from flows.cli.terminal import Json, open_context, show
from scoring.errors import UsageError
from scoring.markdown import score_text

if TYPE_CHECKING:
    from tasks.state.database import StateDatabase
    from tasks.state.run_ledger import Run, RunStep

_COUNTS = ("rows_in", "scored", "excluded", "rejected")
runs_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@runs_app.callback()
def runs(
    context: typer.Context,
    last: Annotated[int, typer.Option(help="How many runs, the latest ones.", min=1, max=1_000_000)] = 20,
    as_json: Json = False,
) -> None:
    """List the latest runs: when, which day, how they ended. Of a chosen service, its own.

    Example: aqb runs --last 50
    """
    from tasks.state.run_ledger import RunLedger

    if context.invoked_subcommand:
        return
    with open_context() as places:
        ledger = RunLedger(places.state)
        latest = ledger.last_of_service(last) if places.settings.service else ledger.last(last)
        found = _as_they_are(places.state, latest)
        zone = places.settings.zone
    value = [asdict(run) | {"seconds": _seconds(run)} for run in found]
    show(value, _runs_text(found, zone) if found else "no runs yet", as_json=as_json)


@runs_app.command("show")
def show_run(
    run_id: Annotated[str, typer.Argument(help="The run's id, or how it begins.", metavar="ID")], as_json: Json = False
) -> None:
    """Explain one run: versions, settings, inputs, counts, every step with its time.

    Example: aqb runs show 3f9c2a1b
    """
    from tasks.state.run_ledger import RunLedger

    with open_context() as places:
        ledger = RunLedger(places.state)
        run = _only_run(places.state, ledger.starting_with(run_id), run_id)
        steps = ledger.steps(run.run_id)
    if run.outcome == "crashed":
        steps = [replace(step, outcome="crashed") if step.outcome == "running" else step for step in steps]
    value = asdict(run) | {
        "seconds": _seconds(run),
        "steps": [asdict(step) | {"seconds": _seconds(step)} for step in steps],
    }
    show(value, _run_text(run, steps, places.settings.zone), as_json=as_json)


def _only_run(state: StateDatabase, found: list[Run], run_id: str) -> Run:
    """The single run that was found for the beginning of an id.

    Raises:
        UsageError: there is none, or more than one.
    """
    if len(found) != 1:
        ids = ", ".join(run.run_id for run in found[:5])
        raise UsageError(
            f"{len(found) or 'no'} runs have an id that begins with '{run_id}'" + (f": {ids}" if ids else ""),
            fix="`aqb runs` lists them",
        )
    return _as_they_are(state, found)[0]


def _as_they_are(state: StateDatabase, runs: list[Run]) -> list[Run]:
    """The same runs, with the outcome `crashed` for those that died."""
    from tasks.state.leases import Leases

    running = [run.run_id for run in runs if run.outcome == "running"]
    alive = Leases(state).alive(running)
    return [replace(run, outcome="crashed") if run.run_id in set(running) - alive else run for run in runs]


def _runs_text(runs: Sequence[Run], zone: ZoneInfo) -> str:
    """A table with one line per run, a column of services if any run has one, and the files of test runs."""
    from tasks.state.run_ledger import TEST_RUN

    names = [run.service for run in runs if run.service]
    width = max(map(len, ["service", *names])) + 2 if names else 0
    lines = [
        f"{'id':<8}  {'kind':<8}  {'service' if names else '':<{width}}{'day':<10}  {'started':<16}  {'took':>8}"
        f"  {'outcome':<9}  rows in / scored"
    ]
    for run in runs:
        counts = "" if run.rows_in is None else f"{run.rows_in:,} / {run.scored:,}"
        lines.append(
            f"{run.run_id[:8]}  {run.kind:<8}  {run.service or '':<{width}}{run.score_date}"
            f"  {run.started_at.astimezone(zone):%Y-%m-%d %H:%M}"
            f"  {_took(run):>8}  {run.outcome:<9}  {counts:<16}  {_files(run) if run.kind == TEST_RUN else ''}".rstrip()
        )
        if run.message:
            lines.append(f"          {run.message.splitlines()[0]}")
    return "\n".join(lines)


def _files(run: Run) -> str:
    return ", ".join(PurePath(file["name"]).name for file in run.inputs)


def _run_text(run: Run, steps: Sequence[RunStep], zone: ZoneInfo) -> str:
    """The facts, inputs and steps of a run, one per line."""
    counts = {name: count for name in _COUNTS if (count := getattr(run, name)) is not None}
    cost = "cost not known" if run.cost_usd is None else f"{score_text(run.cost_usd, 4)} USD"
    facts = {
        "run": run.run_id,
        "outcome": run.outcome,
        "kind": f"{run.kind} of {run.score_date}",
        **({"service": run.service} if run.service else {}),
        "started": f"{run.started_at.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}, took {_took(run)}",
        "versions": f"aqb {run.code_version}, rubric {run.rubric or '?'} {run.rubric_version}".rstrip(),
        "judge": f"{run.model}; {run.prompt_versions}; {cost}" if run.model else "nobody was asked",
        "parameters": json.dumps(run.parameters, ensure_ascii=False) if run.parameters else "not kept",
        "rows": _counts(counts) or "not counted",
        "content": run.content or "not known",
    }
    lines = [f"{name:<10}  {value}" for name, value in facts.items()]
    lines += [f"input       {file['name']}, {file['bytes']:,} bytes, sha256 {file['sha256']}" for file in run.inputs]
    lines += [
        f"step        {step.step:<10}  {step.outcome:<9}  {_took(step):>8}  {_counts(step.counts)}".rstrip()
        for step in steps
    ]
    return "\n".join(lines + (["", run.message] if run.message else []))


def _seconds(part: Run | RunStep) -> float | None:
    return (part.finished_at - part.started_at).total_seconds() if part.finished_at else None


def _took(part: Run | RunStep) -> str:
    seconds = _seconds(part)
    return "-" if seconds is None else f"{seconds:,.1f} s"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
