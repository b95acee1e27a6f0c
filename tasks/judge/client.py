"""The way in: questions, and what became of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from scoring.judging.requests import NO_JUDGE, Verdict, VerdictStatus
from tasks.config.judge import Endpoint, JudgeSettings, endpoint_of
from tasks.judge.budget import Budget
from tasks.judge.limiter import Limiter
from tasks.judge.questions import Question, Sendable
from tasks.judge.replies import Usage
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import Judgement, VerdictStore
from tasks.judge.verdict_writer import VerdictWriter

_KEPT = (VerdictStatus.OK, VerdictStatus.REFUSED, VerdictStatus.INVALID)
_TOKENS_PER_BYTE = 0.3  # of Korean text and JSON
_USUAL_TOKENS_OUT = 200
_USUAL_LATENCY_S = 2.0


@dataclass(frozen=True)
class JudgeProgress:
    """How far a run is. `usd` is what it has spent or reserved, None where the price is unknown."""

    done: int
    total: int
    from_store: int
    usd: float | None


@dataclass(frozen=True)
class Judged:
    """The verdicts by `JudgeRequest.key`, and a judgement for each different question, in the order asked."""

    verdicts: Mapping[str, Verdict]
    judgements: tuple[Judgement, ...]

    def summary(self) -> dict[str, Any]:
        """The `judge` part of `summary.json`: tokens and cost (USD, None where unknown) are what this run has paid."""
        paid = [judgement for judgement in self.judgements if not judgement.from_store]
        prices = [judgement.usd for judgement in paid if judgement.usd is not None]
        return {
            "questions": len(self.judgements),
            "cached": len(self.judgements) - len(paid),
            "tokens": sum(judgement.tokens_in + judgement.tokens_out for judgement in paid),
            "tokens_in": sum(judgement.tokens_in for judgement in paid),
            "tokens_cached": sum(judgement.tokens_cached for judgement in paid),
            "tokens_out": sum(judgement.tokens_out for judgement in paid),
            "cost": sum(prices) if prices or not paid else None,
            "by_status": dict(sorted(Counter(judgement.status.value for judgement in self.judgements).items())),
        }


@dataclass(frozen=True)
class Estimate:
    """What asking would take, before anything is asked.

    `usd` is None where the price is unknown, `seconds` where batches take their time.
    """

    questions: int
    from_store: int
    tokens_in: int
    tokens_out: int
    usd: float | None
    seconds: float | None


def ask(
    questions: Sequence[Question],
    settings: JudgeSettings,
    store: VerdictStore,
    *,
    budget: Budget | None = None,
    progress: Callable[[JudgeProgress], None] | None = None,
    timing: Timing | None = None,
) -> Judged:
    """`judge_all` for callers without an event loop. Ctrl-C lets the calls in flight finish and keeps them."""
    return asyncio.run(judge_all(questions, settings, store, budget=budget, progress=progress, timing=timing))


async def judge_all(
    questions: Sequence[Question],
    settings: JudgeSettings,
    store: VerdictStore,
    *,
    budget: Budget | None = None,
    progress: Callable[[JudgeProgress], None] | None = None,
    timing: Timing | None = None,
) -> Judged:
    """Asks what the store does not know and returns all verdicts; each is stored before it is used.

    Portions of a run share one `budget`; without one the whole of it is for these questions. Without an endpoint,
    what is not in the store has the status `no_judge`.

    Raises:
        UsageError: the endpoint, the key, the model or the budget cannot work.
        AqbError: the endpoint gives no answer at all.
        StorageError: the state database cannot be used.
    """
    budget = budget or Budget(settings)
    endpoint = endpoint_of(settings)
    sendable = [Sendable(question, settings) for question in questions]
    different = {question.key: question for question in sendable}
    ledger = _Ledger(store.found(different), len(different), budget, progress)
    left = [question for key, question in different.items() if key not in ledger.judgements]
    if endpoint is None:
        for question in left:
            ledger.record(question.judgement(NO_JUDGE))
    elif left:
        await _ask(left, endpoint, settings, store, ledger, timing or Timing())
    judgements = {key: ledger.judgements[key] for key in different}
    verdicts = {one.question.request.key: _verdict(judgements[one.key]) for one in sendable}
    return Judged(verdicts, tuple(judgements.values()))


def estimate(questions: Sequence[Question], settings: JudgeSettings, store: VerdictStore) -> Estimate:
    """What asking the questions would take: nothing is asked and nothing is spent.

    Raises:
        UsageError: the budget cannot work.
        StorageError: the state database cannot be used.
    """
    budget = Budget(settings)
    different = {question.key: question for question in (Sendable(question, settings) for question in questions)}
    known = store.found(different)
    left = [question for key, question in different.items() if key not in known]
    tokens_in = round(sum(question.size_bytes for question in left) * _TOKENS_PER_BYTE)
    tokens_out = len(left) * min(_USUAL_TOKENS_OUT, settings.max_output_tokens)
    paces_s = [len(left) * _USUAL_LATENCY_S / settings.max_in_flight, _USUAL_LATENCY_S if left else 0.0]
    if settings.rpm:
        paces_s.append(len(left) * 60 / settings.rpm)
    if settings.tpm:
        paces_s.append((tokens_in + tokens_out) * 60 / settings.tpm)
    return Estimate(
        questions=len(different),
        from_store=len(known),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        usd=budget.cost(Usage(tokens_in, 0, tokens_out)).usd,
        seconds=None if settings.mode == "batch" else max(paces_s),
    )


class _Ledger:
    """The judgements so far, by store key, and who wants to hear of them."""

    def __init__(
        self,
        judgements: dict[str, Judgement],
        total: int,
        budget: Budget,
        progress: Callable[[JudgeProgress], None] | None,
    ) -> None:
        self.judgements, self.budget = judgements, budget
        self._total, self._from_store, self._progress = total, len(judgements), progress

    def record(self, judgement: Judgement) -> None:
        self.judgements[judgement.key] = judgement
        if self._progress:
            self._progress(JudgeProgress(len(self.judgements), self._total, self._from_store, self.budget.spent.usd))


async def _ask(
    questions: Sequence[Sendable],
    endpoint: Endpoint,
    settings: JudgeSettings,
    store: VerdictStore,
    ledger: _Ledger,
    timing: Timing,
) -> None:
    # They import the openai package, two seconds of CPU that only those who ask should pay.
    from tasks.judge.batches import BatchRun
    from tasks.judge.endpoint import JudgeEndpoint
    from tasks.judge.live import LiveRun

    name = f"{endpoint.shown} {settings.model}"
    with ThreadPoolExecutor(1, "judge-state") as worker:  # one thread: no call in flight waits for a disk
        keeper = VerdictWriter(store, worker)

        async def keep(judgement: Judgement) -> None:
            if judgement.status in _KEPT:
                await keeper.keep(judgement)
            ledger.record(judgement)

        async with JudgeEndpoint(endpoint, settings, timing.longest_deadline_s) as judge:
            if settings.mode == "batch":
                batches = BatchRun(judge, name, store, worker, ledger.budget, ledger.record, settings, timing)
                await batches.ask(questions)
                return
            limiter = Limiter(store, worker, name, settings.rpm, settings.tpm)
            try:
                await LiveRun(judge, limiter, ledger.budget, keep, settings, timing).ask(questions)
            finally:
                await keeper.finish()


def _verdict(judgement: Judgement) -> Verdict:
    return Verdict(judgement.status, judgement.answer, judgement.reason)
