"""Asking the judge with people watching: a progress bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from flows.telemetry import tell_judgements
from tasks.judge.asking import Estimate, Judged, Progress, ask, estimate
from tasks.judge.budget import Budget
from tasks.judge.store import VerdictStore
from tasks.run_judging import questions_of
from tasks.run_scoring import RunPlan
from tasks.settings import Settings

_SECONDS_BETWEEN_LINES = 10.0


def judged_run(plan: RunPlan, settings: Settings, budget: Budget) -> Judged:
    """The verdicts on a run. What was paid for before is not asked again."""
    with closing(VerdictStore(settings.state_url)) as store, _shown(plan.run.name) as show:
        judged = ask(questions_of(plan), settings.judge, store, budget=budget, progress=show)
    tell_judgements(judged.judgements)
    return judged


def estimated_run(plan: RunPlan, settings: Settings) -> Estimate:
    """What judging a run would take. Nothing is asked."""
    with closing(VerdictStore(settings.state_url)) as store:
        return estimate(questions_of(plan), settings.judge, store)


def estimate_text(name: str, found: Estimate) -> str:
    """The estimate of one run on one line."""
    cached = f"{found.from_store / found.questions:.0%}" if found.questions else "-"
    price = "unknown" if found.usd is None else f"{found.usd:.4f} USD"
    duration = "up to a day (batch)" if found.seconds is None else f"{found.seconds:,.0f} s"
    return (
        f"{name}: {found.questions:,} questions ({cached} already answered), about {found.tokens_in:,} tokens in and "
        f"{found.tokens_out:,} out, price {price}, time {duration}"
    )


@contextmanager
def _shown(name: str) -> Iterator[Callable[[Progress], None]]:
    """Shows how far a run is, on standard error."""
    if not sys.stderr.isatty():
        yield _lines(name)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, TextColumn("{task.fields[spent]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(f"judge {name}", total=None, spent="")

        def show(progress: Progress) -> None:
            bar.update(task, total=progress.total, completed=progress.done, spent=_spent(progress))

        yield show


def _lines(name: str) -> Callable[[Progress], None]:
    last_s = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= _SECONDS_BETWEEN_LINES:
            last_s = time.monotonic()
            sys.stderr.write(f"judge {name}: {progress.done:,} of {progress.total:,} {_spent(progress)}\n")

    return show


def _spent(progress: Progress) -> str:
    return "" if progress.usd is None else f"{progress.usd:.4f} USD"
