"""The judge: answers questions from the store or the endpoint, and estimates what that takes."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from scoring.errors import AqbError, StorageError
from scoring.judging.requests import NO_JUDGE, Verdict, VerdictStatus
from tasks.config.judge import Endpoint, JudgeSettings, endpoint_of
from tasks.judge.budget import Budget
from tasks.judge.limiter import Limiter
from tasks.judge.questions import Question
from tasks.judge.replies import STOPPED, Usage
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import Judgement, VerdictStore

_STORED = (VerdictStatus.OK, VerdictStatus.REFUSED, VerdictStatus.INVALID)
_TOKENS_PER_BYTE = 0.3  # of Korean text and JSON
_TYPICAL_LATENCY_S = 2.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeProgress:
    """The progress of a run. `usd` is spent or reserved, None where the price is unknown."""

    done: int
    total: int
    from_store: int
    usd: float | None


@dataclass(frozen=True)
class Judged:
    """The verdicts by `JudgeRequest.key`, and a judgement for each different question, in the order asked.

    `failure` is why the judge answers no further question, None where it would: the questions left are `failed`, and
    the caller can go on with what is known before it raises the failure.
    """

    verdicts: Mapping[str, Verdict]
    judgements: tuple[Judgement, ...]
    failure: AqbError | None = None

    @property
    def epochs(self) -> dict[str, list[str]]:
        """The epochs of the verdicts, by the kind of question."""
        found: dict[str, set[str]] = {}
        for one in self.judgements:
            found.setdefault(one.kind, set()).update([one.epoch] if one.epoch else [])
        return {kind: sorted(epochs) for kind, epochs in sorted(found.items())}

    def summary(self) -> dict[str, Any]:
        """The `judge` part of `summary.json`: tokens and cost (USD, None where unknown) of this run alone."""
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
            "models": sorted({one.model_answered for one in self.judgements if one.model_answered}),
            "epochs": self.epochs,
        }


@dataclass(frozen=True)
class Estimate:
    """The cost and time that questions would take.

    `usd` is None where the price is unknown, `seconds` in batch mode.
    """

    questions: int
    from_store: int
    tokens_in: int
    tokens_out: int
    usd: float | None
    seconds: float | None


@dataclass(frozen=True)
class Judge:
    """The judge of the settings, with the store of its verdicts.

    Portions of a run share one `budget`; without one, each call of `ask` has the whole budget. `progress` is called
    for each new judgement.
    """

    settings: JudgeSettings
    store: VerdictStore
    budget: Budget | None = None
    progress: Callable[[JudgeProgress], None] | None = None
    timing: Timing = field(default_factory=Timing)

    def ask(self, questions: Sequence[Question]) -> Judged:
        """`answer` without an event loop. Ctrl-C lets the calls in flight finish and stores their verdicts."""
        return asyncio.run(self.answer(questions))

    async def answer(self, questions: Sequence[Question]) -> Judged:
        """Asks the questions that the store does not answer; each verdict is stored before it is used.

        Without an endpoint, questions that are not in the store have the status `no_judge`. An endpoint that stops
        answering raises nothing: see `Judged.failure`.

        Raises:
            UsageError: the address, the form of the key or the budget cannot work; nothing was asked.
            StorageError: the state database cannot be used.
        """
        budget = self.budget or Budget(self.settings)
        endpoint = endpoint_of(self.settings)
        different = {question.key: question for question in questions}
        judgements = self.store.found(different)
        from_store = len(judgements)

        def record(judgement: Judgement) -> None:
            judgements[judgement.key] = judgement
            if self.progress:
                self.progress(JudgeProgress(len(judgements), len(different), from_store, budget.spent.usd))

        def left() -> list[Question]:
            return [question for key, question in different.items() if key not in judgements]

        failure: AqbError | None = None
        if endpoint and left():
            try:
                await self._ask(left(), endpoint, budget, record)
            except StorageError:
                raise
            except AqbError as error:
                failure = error
        for question in left():
            record(question.judgement(STOPPED if failure else NO_JUDGE))
        verdicts = {question.request.key: judgements[question.key].verdict for question in questions}
        return Judged(verdicts, tuple(judgements[key] for key in different), failure)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The cost and time that `ask` would take. Asks and spends nothing.

        Raises:
            UsageError: the budget cannot work.
            StorageError: the state database cannot be used.
        """
        settings, budget = self.settings, Budget(self.settings)
        different = {question.key: question for question in questions}
        known = self.store.found(different)
        left = [question for key, question in different.items() if key not in known]
        tokens_in = round(sum(question.size_bytes for question in left) * _TOKENS_PER_BYTE)
        tokens_out = round(len(left) * self.store.usual_tokens_out(settings.model, settings.longest_output_tokens))
        paces_s = [len(left) * _TYPICAL_LATENCY_S / settings.max_in_flight, _TYPICAL_LATENCY_S if left else 0.0]
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

    async def _ask(
        self, questions: Sequence[Question], endpoint: Endpoint, budget: Budget, record: Callable[[Judgement], None]
    ) -> None:
        # They import the openai package: two seconds of CPU, only for runs that ask.
        from tasks.judge.batches import BatchRun
        from tasks.judge.endpoint import JudgeEndpoint
        from tasks.judge.live import LiveRun

        with ThreadPoolExecutor(1, "judge-state") as worker:  # one thread: no call in flight waits for a disk
            async with aclosing(JudgeEndpoint(endpoint, self.settings, self.timing)) as judge:
                loop, unsaved = asyncio.get_running_loop(), list[Judgement]()
                known = await loop.run_in_executor(worker, self.store.dialect, judge.name)
                judge.dialect = known or judge.dialect

                def commit() -> None:
                    """Stores what came since the last commit; what the database refuses stays for the next."""
                    while saved := unsaved[:]:
                        self.store.save(saved)
                        del unsaved[: len(saved)]

                async def save(judgement: Judgement) -> None:
                    if judgement.status in _STORED:
                        unsaved.append(judgement)
                        await loop.run_in_executor(worker, commit)
                    record(judgement)

                limiter = Limiter(self.store, worker, judge.name, self.settings.rpm, self.settings.tpm)
                live = questions if self.settings.mode == "live" else []
                if self.settings.mode == "batch" and not (known or self.store.waiting_batches(judge.name)):
                    live = questions[:1]  # finds out how to ask: a batch that is refused for its wording costs a day
                try:
                    await LiveRun(judge, limiter, budget, save).ask(live)
                    if self.settings.mode == "batch":
                        await BatchRun(judge, self.store, worker, budget, record).ask(questions[len(live) :])
                finally:  # a cancelled task leaves a verdict that is paid for
                    await loop.run_in_executor(worker, commit)
                    if judge.fits and judge.dialect != known:
                        await loop.run_in_executor(worker, self.store.remember_dialect, judge.name, judge.dialect)
                        if judge.dialect.shown():
                            _log.warning("judge: %s %s: remembered", judge.name, judge.dialect.shown())
