"""The judge: answers questions from the store or the endpoint, and estimates what that takes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scoring.errors import AqbError, StorageError
from scoring.judging.requests import NO_JUDGE, Verdict, VerdictStatus
from tasks.config.judge import Endpoint, JudgeSettings, endpoint_of
from tasks.judge.budget import BATCH_DISCOUNT, Budget
from tasks.judge.questions import Question
from tasks.judge.replies import STOPPED, Usage
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import Judgement, VerdictStore

if TYPE_CHECKING:
    from tasks.judge.dispatcher import Dispatcher

_TOKENS_PER_BYTE = 0.3  # of Korean text and JSON
_TYPICAL_LATENCY_S = 2.0


@dataclass(frozen=True)
class JudgeProgress:
    """The progress of those who ask. `usd` is paid so far, None where the price is unknown."""

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

    @property
    def by_epoch(self) -> dict[str, dict[str, int]]:
        """How many verdicts each epoch has given, by the kind of question."""
        counts: dict[str, Counter[str]] = {}
        for one in self.judgements:
            if one.verdict.given and one.epoch:
                counts.setdefault(one.kind, Counter())[one.epoch] += 1
        return {kind: dict(sorted(of_kind.items())) for kind, of_kind in sorted(counts.items())}

    def summary(self) -> dict[str, Any]:
        """The `judge` part of `summary.json`: tokens and cost (USD, None where no cost is known) of this run alone.

        Calls without an answer cost nothing that is known. `without_usage` counts the answers whose tokens the endpoint
        did not report: neither tokens nor cost hold them.
        """
        paid = [judgement for judgement in self.judgements if not judgement.from_store]
        prices = [judgement.usd for judgement in paid if judgement.usd is not None]
        # What the endpoint refuses by an HTTP status, no model has seen: it has no epoch, and costs nothing.
        seen = (VerdictStatus.OK, VerdictStatus.INVALID)
        answered = [one for one in paid if one.status in seen or one.epoch or one.tokens_in]
        return {
            "questions": len(self.judgements),
            "cached": len(self.judgements) - len(paid),
            "tokens": sum(judgement.tokens_in + judgement.tokens_out for judgement in paid),
            "tokens_in": sum(judgement.tokens_in for judgement in paid),
            "tokens_cached": sum(judgement.tokens_cached for judgement in paid),
            "tokens_out": sum(judgement.tokens_out for judgement in paid),
            "cost": sum(prices) if prices or not answered else None,
            "without_usage": sum(not one.tokens_in for one in answered),
            "by_status": dict(sorted(Counter(judgement.status.value for judgement in self.judgements).items())),
            "models": sorted({one.model_answered for one in self.judgements if one.model_answered}),
            "epochs": self.epochs,
            "by_epoch": self.by_epoch,
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


Progress = Callable[[JudgeProgress], None]


class Judge:
    """The judge of the settings, with the store of its verdicts.

    Those who ask at the same time, in one event loop, share its limits and its calls in flight; what two of them ask is
    asked once. Portions of a run share one `budget`; without one, each judge has the whole budget.

    Raises:
        UsageError: the budget cannot work.
    """

    def __init__(
        self, settings: JudgeSettings, store: VerdictStore, budget: Budget | None = None, timing: Timing | None = None
    ) -> None:
        self._settings, self._store = settings, store
        self._budget = budget or Budget(settings)
        self._timing = timing or Timing()
        self._asked: dict[str, asyncio.Event] = {}
        self._dispatcher: Dispatcher | None = None

    @property
    def in_flight(self) -> int:
        """Calls whose answers are being waited for."""
        return self._dispatcher.live.in_flight if self._dispatcher else 0

    def ask(self, questions: Sequence[Question], progress: Progress | None = None) -> Judged:
        """`answer` without an event loop. Ctrl-C lets the calls in flight finish and stores their verdicts."""
        return asyncio.run(self.answer(questions, progress))

    async def answer(self, questions: Sequence[Question], progress: Progress | None = None) -> Judged:
        """Asks the questions that the store does not answer; each verdict is stored before it is used.

        Without an endpoint, questions that are not in the store have the status `no_judge`. An endpoint that stops
        answering raises nothing: see `Judged.failure`. `progress` is called for each new judgement.

        Raises:
            UsageError: the address or the form of the key cannot work; nothing was asked.
            StorageError: the state database cannot be used.
        """
        endpoint = endpoint_of(self._settings)
        different = {question.key: question for question in questions}
        judgements: dict[str, Judgement] = {}
        failure: AqbError | None = None
        from_store = 0

        def record(judgement: Judgement) -> None:
            judgements[judgement.key] = judgement
            if progress:
                progress(JudgeProgress(len(judgements), len(different), from_store, self._budget.paid_usd))

        while left := different.keys() - judgements.keys():
            if not (mine := [different[key] for key in different if key in left and key not in self._asked]):
                await self._asked[min(left)].wait()  # another asks what is left; the store has it then
                continue
            over = asyncio.Event()
            self._asked.update(dict.fromkeys((question.key for question in mine), over))
            try:
                found = await asyncio.to_thread(self._store.found, [question.key for question in mine])
                judgements |= found
                from_store += len(found)
                unknown = [question for question in mine if question.key not in found]
                if unknown and endpoint:
                    failure = await self._ask(unknown, endpoint, record) or failure
                for question in unknown:
                    if question.key not in judgements:
                        record(question.judgement(STOPPED if failure else NO_JUDGE))
            finally:
                for question in mine:
                    del self._asked[question.key]
                over.set()
        verdicts = {question.request.key: judgements[question.key].verdict for question in questions}
        return Judged(verdicts, tuple(judgements[key] for key in different), failure)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The cost and time that `ask` would take. Asks and spends nothing.

        Raises:
            StorageError: the state database cannot be used.
        """
        settings = self._settings
        different = {question.key: question for question in questions}
        known = self._store.found(different)
        left = [question for key, question in different.items() if key not in known]
        tokens_in = round(sum(question.size_bytes for question in left) * _TOKENS_PER_BYTE)
        tokens_out = round(len(left) * self._store.usual_tokens_out(settings.model, settings.longest_output_tokens))
        paces_s = [len(left) * _TYPICAL_LATENCY_S / settings.max_in_flight, _TYPICAL_LATENCY_S if left else 0.0]
        if settings.rpm:
            paces_s.append(len(left) * 60 / settings.rpm)
        if settings.tpm:
            paces_s.append((tokens_in + tokens_out) * 60 / settings.tpm)
        discount = BATCH_DISCOUNT if settings.mode == "batch" else 1.0
        return Estimate(
            questions=len(different),
            from_store=len(known),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            usd=self._budget.cost(Usage(tokens_in, 0, tokens_out), discount).usd,
            seconds=None if settings.mode == "batch" else max(paces_s),
        )

    async def _ask(
        self, questions: Sequence[Question], endpoint: Endpoint, record: Callable[[Judgement], None]
    ) -> AqbError | None:
        """Asks the endpoint; why it answers no further question. The last of those who ask now ends the dispatcher."""
        try:
            if self._dispatcher is None or self._dispatcher.live.failure:
                # They import the openai package: two seconds of CPU, only for runs that ask.
                from tasks.judge.dispatcher import Dispatcher
                from tasks.judge.endpoint import JudgeEndpoint

                connections = JudgeEndpoint(endpoint, self._settings, self._timing)
                self._dispatcher = Dispatcher(connections, self._store, self._budget)
            dispatcher = self._dispatcher
            dispatcher.callers += 1
            try:
                await dispatcher.ask(questions, record)
            finally:
                dispatcher.callers -= 1
                if not dispatcher.callers:
                    if self._dispatcher is dispatcher:
                        self._dispatcher = None
                    await dispatcher.aclose()
        except StorageError:
            raise
        except AqbError as error:
            return error
        return None
