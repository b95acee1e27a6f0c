"""Asks question by question: one dispatcher starts calls, watches those in flight, and hedges the last ones."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from tenacity import AsyncRetrying, retry_if_exception_type, wait_random_exponential

from scoring.errors import AqbError
from scoring.judging.prompts import absent_mark
from scoring.judging.requests import Verdict, VerdictStatus
from tasks.config.judge import JudgeSettings
from tasks.judge.budget import Budget, Cost
from tasks.judge.endpoint import JudgeEndpoint
from tasks.judge.limiter import Feedback, Limiter, Ticket
from tasks.judge.questions import Effort, Sendable
from tasks.judge.replies import LimitReachedError, QuestionRefusedError, Reply, TransientError, UnreachableError, Usage
from tasks.judge.timing import Latencies, Timing
from tasks.judge.verdict_store import Judgement

_FAILURES_IN_A_RUN = 4
_INVALID_IN_A_RUN = 3
_REFUSALS_PER_ATTEMPT = 20
_GIVEN_UP_IN_A_ROW = 10
_IN_FLIGHT_AT_FIRST = 10  # until the endpoint has answered once: a wrong key costs ten calls, not thousands
_HEDGED_SHARE = 0.0075  # of the questions, and one: a second answer is paid for
_RETRY_AFTER_S = 1.0  # where a 429 does not say


class _InvalidAnswerError(Exception):
    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class _OverBudgetError(Exception):
    pass


class _InFlight:
    """A question under way: its tasks (two when hedged), what it has cost, what went wrong so far."""

    def __init__(self, question: Sendable) -> None:
        self.question = question
        self.tasks: set[asyncio.Task[None]] = set()
        self.effort = Effort()
        self.failures = self.invalid = self.in_call = 0
        self.called_at: float | None = None
        self.concluded = False


class _TokenEstimator:
    """What a call usually needs, learnt from the calls so far."""

    def __init__(self) -> None:
        self._tokens_per_byte, self._tokens_out = 0.3, 200.0

    def tokens(self, question: Sendable) -> float:
        return question.size_bytes * self._tokens_per_byte + self._tokens_out

    def learn(self, question: Sendable, usage: Usage) -> None:
        self._tokens_per_byte += 0.05 * (usage.tokens_in / question.size_bytes - self._tokens_per_byte)
        self._tokens_out += 0.05 * (usage.tokens_out - self._tokens_out)


class LiveRun:
    """Asks questions and hands each judgement to `keep`, which returns when it is safe."""

    def __init__(
        self,
        endpoint: JudgeEndpoint,
        limiter: Limiter,
        budget: Budget,
        keep: Callable[[Judgement], Awaitable[None]],
        settings: JudgeSettings,
        timing: Timing,
    ) -> None:
        self._endpoint, self._limiter, self._budget = endpoint, limiter, budget
        self._keep, self._settings, self._timing = keep, settings, timing
        self._queue: deque[Sendable] = deque()
        self._cases: dict[str, _InFlight] = {}
        self._calls: dict[asyncio.Timeout, float] = {}
        self._changed, self._settled = asyncio.Event(), asyncio.Event()
        self._failure: BaseException | None = None
        self._latencies, self._usual = Latencies(timing), _TokenEstimator()
        self._reserved = self._given_up = self._hedges_left = 0
        self._refused_since: float | None = None
        self._stopping = False
        self._mark = secrets.token_hex(16)
        self._now = asyncio.get_running_loop().time

    async def ask(self, questions: Iterable[Sendable]) -> None:
        """Returns when every question has its judgement. Cancelled or failing, it lets the calls in flight finish.

        Raises:
            AqbError: no further question would be answered, or the database refuses verdicts.
        """
        self._queue.extend(questions)
        self._hedges_left = 1 + int(len(self._queue) * _HEDGED_SHARE)
        try:
            while self._queue or self._cases:
                self._start()
                self._watch()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), self._timing.watch_s)
                self._changed.clear()
                if self._failure:
                    raise self._failure
        finally:
            await self._finish_what_is_paid()

    def _start(self) -> None:
        room = self._settings.max_in_flight
        if not self._endpoint.answered:
            room = min(room, _IN_FLIGHT_AT_FIRST)
        while self._queue and len(self._cases) < room:
            case = _InFlight(self._queue.popleft())
            self._cases[case.question.key] = case
            self._add_task(case)

    def _add_task(self, case: _InFlight) -> None:
        task = asyncio.create_task(self._answer(case))
        case.tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(case, ended))

    def _ended(self, case: _InFlight, task: asyncio.Task[None]) -> None:
        case.tasks.discard(task)
        if not case.tasks:
            self._cases.pop(case.question.key, None)
        if not task.cancelled() and (error := task.exception()):
            self._failure = self._failure or error
        self._changed.set()

    def _watch(self) -> None:
        """Ends calls that are past their deadline; asks a second time what is slow when nothing else is to do."""
        now, deadline_s, slow_s = self._now(), self._latencies.deadline_s, self._latencies.slow_s
        for timer, started in self._calls.items():
            if now - started > deadline_s and not timer.expired():
                timer.reschedule(now)
        if self._queue or slow_s is None:
            return
        for case in self._cases.values():  # the oldest first
            if case.concluded or case.called_at is None or now - case.called_at < slow_s:
                continue
            if self._hedges_left and not self._budget.is_near(case.question):
                self._hedges_left -= 1
                case.called_at = None
                self._add_task(case)

    async def _answer(self, case: _InFlight) -> None:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type((TransientError, _InvalidAnswerError)),
            stop=lambda _: self._has_had_enough(case),
            wait=wait_random_exponential(self._timing.backoff_s, self._timing.longest_backoff_s),
            reraise=True,
        )
        try:
            verdict: Verdict = await retrying(self._attempt, case)
        except _InvalidAnswerError as invalid:
            verdict = invalid.verdict
        except TransientError as failure:
            self._given_up += 1
            if self._given_up >= _GIVEN_UP_IN_A_ROW:
                raise self._endpoint.unreachable(str(failure)) from None
            verdict = Verdict(VerdictStatus.FAILED, reason=f"판정 모델을 부르지 못함: {failure}")
        except QuestionRefusedError as refused:
            status = VerdictStatus.REFUSED if refused.filtered else VerdictStatus.FAILED
            verdict = Verdict(status, reason=f"판정 모델이 질문을 받지 않음: {refused}")
        except _OverBudgetError:
            verdict = Verdict(VerdictStatus.OVER_BUDGET, reason="이 실행의 판정 예산이 다함")
        await self._conclude(case, verdict)

    def _has_had_enough(self, case: _InFlight) -> bool:
        return self._stopping or case.failures >= _FAILURES_IN_A_RUN or case.invalid >= _INVALID_IN_A_RUN

    async def _conclude(self, case: _InFlight, verdict: Verdict) -> None:
        settled = verdict.status in (VerdictStatus.OK, VerdictStatus.REFUSED)
        # A task that has ended in this very round of the loop is still among them, and answers no more.
        others = [task for task in case.tasks if task is not asyncio.current_task() and not task.done()]
        if case.concluded or (others and not settled):
            return  # the other task of a hedged question has answered, or still may
        case.concluded = True
        for task in others:
            task.cancel()
        await self._keep(case.question.judgement(verdict, case.effort))

    async def _attempt(self, case: _InFlight) -> Verdict:
        """One attempt: a verdict, or what went wrong. A limit that is reached costs no attempt."""
        for _ in range(_REFUSALS_PER_ATTEMPT):
            try:
                reply = await self._call(case)
            except LimitReachedError:
                if self._stopping:
                    raise
            except TransientError as failure:
                case.failures += 1
                if isinstance(failure, UnreachableError) and not self._endpoint.answered and case.failures > 1:
                    raise self._endpoint.unreachable(str(failure)) from None
                raise
            else:
                verdict = case.question.verdict(reply)
                if verdict.status is VerdictStatus.INVALID:
                    case.invalid += 1
                    raise _InvalidAnswerError(verdict)
                return verdict
        case.failures += 1
        raise TransientError("the limit refuses this question again and again", maybe_paid=False)

    async def _call(self, case: _InFlight) -> Reply:
        """One call, paid from the budget and sent when the limits allow it."""
        question = case.question
        reserved = await self._reservation(question)
        usage: Usage | None = Usage()
        try:
            again = case.effort.attempts > 0 or len(case.tasks) > 1
            ticket = await self._limiter.take(self._usual.tokens(question), in_front=again)
            usage = None
            try:
                reply = await self._sent(case, ticket)
            except TransientError as failure:
                usage = None if failure.maybe_paid else Usage()
                raise
            except (LimitReachedError, QuestionRefusedError, AqbError):
                usage = Usage()
                raise
            usage = reply.usage
            return reply
        finally:
            self._budget.settle(reserved, usage)
            self._reserved -= 1
            self._settled.set()

    async def _reservation(self, question: Sendable) -> Cost:
        """The money for one call; while others may still give some back, it is worth waiting for."""
        while (reserved := self._budget.reserve(question)) is None:
            if not self._reserved:
                raise _OverBudgetError
            self._settled.clear()
            await self._settled.wait()
        self._reserved += 1
        return reserved

    async def _sent(self, case: _InFlight, ticket: Ticket) -> Reply:
        question, started = case.question, self._now()
        mark = absent_mark(question.payload, itertools.chain([self._mark], iter(lambda: secrets.token_hex(16), "")))
        try:
            async with asyncio.timeout(None) as timer:
                self._calls[timer] = case.called_at = started
                case.in_call += 1
                try:
                    reply = await self._endpoint.ask(question.body(mark))
                finally:
                    del self._calls[timer]
                    case.called_at = None
                    case.in_call -= 1
        except TimeoutError:
            case.effort = case.effort.with_call(None, None, None, "")
            raise TransientError(f"no answer within {self._now() - started:.0f} s", maybe_paid=True) from None
        except LimitReachedError as reached:
            self._heed(reached, ticket)
            raise
        except TransientError:
            case.effort = case.effort.with_call(None, None, None, "")
            raise
        latency_s = self._now() - started
        self._note(case, ticket, reply, latency_s)
        return reply

    def _note(self, case: _InFlight, ticket: Ticket, reply: Reply, latency_s: float) -> None:
        """Learns from a reply whatever it says."""
        self._latencies.add(latency_s)
        self._given_up, self._refused_since = 0, None
        usd = self._budget.cost(reply.usage or Usage()).usd
        case.effort = case.effort.with_call(reply.usage, usd, latency_s, reply.model)
        used = None
        if reply.usage:
            self._usual.learn(case.question, reply.usage)
            used = reply.usage.tokens_in + reply.usage.tokens_out
        self._limiter.tell(Feedback(ticket, reply.readings, used))

    def _heed(self, reached: LimitReachedError, ticket: Ticket) -> None:
        """Passes a 429 on to all who ask; gives up where it would take too long."""
        wait_s = _RETRY_AFTER_S if reached.retry_after_s is None else reached.retry_after_s
        self._limiter.tell(Feedback(ticket, refused=reached.bucket, retry_after_s=wait_s))
        self._refused_since = self._refused_since or self._now()
        if max(wait_s, self._now() - self._refused_since) > self._timing.patience_s:
            raise self._endpoint.unreachable(f"its limit of {reached.bucket} is used up for {wait_s:.0f} s or more")

    async def _finish_what_is_paid(self) -> None:
        """Gives the calls in flight some time, starts nothing new, and leaves no task behind."""
        self._stopping = True
        in_call = [task for case in self._cases.values() for task in case.tasks if case.in_call]
        if in_call:
            await asyncio.wait(in_call, timeout=self._timing.grace_s)
        tasks = [task for case in self._cases.values() for task in case.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
