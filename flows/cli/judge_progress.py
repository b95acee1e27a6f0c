"""Asks the judge with a progress bar."""

from flows.cli.progress import progress
from flows.runtime.telemetry import tell_judgements
from scoring.testruns.scoring import TestRunPlan
from tasks.config.judge import JudgeSettings
from tasks.judge.budget import Budget
from tasks.judge.client import Estimate, Judge, Judged, JudgeProgress
from tasks.judge.verdict_store import VerdictStore
from tasks.testruns.judging import questions_of


def judged_testrun(plan: TestRunPlan, settings: JudgeSettings, store: VerdictStore, budget: Budget) -> Judged:
    """The verdicts on a test run. Questions that were paid for before are not asked again."""
    with progress(f"judge {plan.run.name}", "questions") as show:
        judge = Judge(settings, store, budget, lambda now: show(now.done, now.total, _spent(now)))
        judged = judge.ask(questions_of(plan, settings))
    tell_judgements(judged.judgements)
    return judged


def estimate_text(name: str, found: Estimate) -> str:
    """The estimate of one test run on one line."""
    cached = f"{found.from_store / found.questions:.0%}" if found.questions else "-"
    price = "unknown" if found.usd is None else f"{found.usd:.4f} USD"
    duration = "up to a day (batch)" if found.seconds is None else f"{found.seconds:,.0f} s"
    return (
        f"{name}: {found.questions:,} questions ({cached} already answered), about {found.tokens_in:,} tokens in and "
        f"{found.tokens_out:,} out, price {price}, time {duration}"
    )


def _spent(progress: JudgeProgress) -> str:
    return "" if progress.usd is None else f"{progress.usd:.4f} USD"
