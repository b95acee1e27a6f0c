"""Asks with one call per question: a dispatcher starts calls, watches those in flight and hedges the last ones."""

import asyncio
import itertools
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any

from tenacity import AsyncRetrying, retry_if_exception_type, retry_if_not_exception_type, wait_random_exponential

from scoring.errors import AqbError
from scoring.judging.prompts import absent_mark
from scoring.judging.requests import NO_JUDGE, Verdict, VerdictStatus
from tasks.judge.budget import OVER_BUDGET, Budget, Cost
from tasks.judge.endpoint import JudgeEndpoint
from tasks.judge.limiter import Feedback, Limiter, Ticket, TokenEstimator
from tasks.judge.questions import Question
from tasks.judge.replies import (
    STOPPED,
    LateError,
    LimitReachedError,
    QuestionRefusedError,
    Reply,
    TransientError,
    UnreachableError,
    Usage,
    WordingRefusedError,
)
from tasks.judge.timing import Latencies
from tasks.judge.verdict_store import Judgement
from tasks.judge.window import CallWindow

_FAILURES_IN_A_RUN = 4
_INVALID_IN_A_RUN = 3
_ROUNDS_OF_FAILURES = 3  # the later ones after all other questions
_ROUNDS_OF_INVALID = 2  # these are paid for
_REFUSALS_PER_ATTEMPT = 20
_GIVEN_UP_IN_A_ROW = 10
_REFUSED_IN_A_ROW = 3
_HEDGED_SHARE = 0.0075  # of the questions, and one: a second answer is paid for


class _InvalidAnswerError(Exception):
    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class _OverBudgetError(Exception):
    pass


class _AnsweredMeanwhileError(Exception):
    """Another command has stored the verdict while the question waited for its turn."""

    def __init__(self, judgement: Judgement) -> None:
        super().__init__(judgement.key)
        self.judgement = judgement


class _PendingQuestion:
    """A question in flight: its tasks (two when hedged), its judgement with the cost so far, its failures so far."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.tasks: set[asyncio.Task[None]] = set()
        self.judgement = question.judgement(NO_JUDGE)
        self.failures = self.invalid = 0
        self.rounds = 1
        self.called_at: float | None = None
        self.concluded, self.last_refusal = False, ""


class LiveRun:
    """Asks questions and passes each judgement to `save`, which returns when it is stored.

    `find` looks for a verdict that the store has by now, just before a question is sent for the first time.
    """

    def __init__(
        self,
        endpoint: JudgeEndpoint,
        limiter: Limiter,
        budget: Budget,
        find: Callable[[Question], Awaitable[Judgement | None]],
        save: Callable[[Judgement], Awaitable[None]],
    ) -> None:
        self._endpoint, self._limiter, self._budget, self._find, self._save = endpoint, limiter, budget, find, save
        self._timing = endpoint.timing
        self._queue: deque[_PendingQuestion] = deque()
        self._failed_for_now: deque[_PendingQuestion] = deque()
        self._pending: dict[str, _PendingQuestion] = {}
        self._calls: dict[asyncio.Task[Any] | None, tuple[asyncio.Timeout, float]] = {}
        """The calls in flight: what ends each at its deadline, and when it began."""
        self._changed, self._settled = asyncio.Event(), asyncio.Event()
        self.failure: BaseException | None = None
        """Why no further question is answered; None while they are."""
        self._latencies, self._estimator = Latencies(self._timing), TokenEstimator()
        self._window = CallWindow(endpoint.settings.max_in_flight)
        self._reserved = self._given_up = self._refused = self._unsent = 0
        self._hedges_left = 1.0
        self._refused_since: float | None = None
        self._over = self._stopping = self._others_ask = False
        self._mark = secrets.token_hex(16)
        self._now = asyncio.get_running_loop().time

    @property
    def in_flight(self) -> int:
        """Calls whose answers are being waited for."""
        return len(self._calls)

    def add(self, questions: Collection[Question]) -> None:
        """Asks these questions too, after those that are waiting."""
        self._queue.extend(map(_PendingQuestion, questions))
        self._hedges_left += len(questions) * _HEDGED_SHARE
        self._changed.set()

    def end(self) -> None:
        """Asks no further question."""
        self._over = True
        self._changed.set()

    async def run(self) -> None:
        """Asks what is added until it is ended or fails; then it lets the calls in flight finish.

        Raises:
            AqbError: no further question would be answered, or the database refuses verdicts.
        """
        try:
            while not self._over:
                self._start()
                self._watch()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), self._timing.watch_s)
                self._changed.clear()
                if self.failure:
                    raise self.failure
        finally:
            await self._drain()

    def _start(self) -> None:
        # The answers to those in flight tell whether an endpoint refuses all.
        room = 1 if self._refused >= _REFUSED_IN_A_ROW else self._window.size
        while (waiting := self._queue or self._failed_for_now) and len(self._pending) < room:
            # From the other end than a command that asks the same: side by side, both would pay for each question.
            pending = waiting.pop() if self._others_ask else waiting.popleft()
            self._pending[pending.question.key] = pending
            self._add_task(pending)

    def _add_task(self, pending: _PendingQuestion) -> None:
        task = asyncio.create_task(self._answer(pending))
        pending.tasks.add(task)
        task.add_done_callback(lambda ended: self._ended(pending, ended))

    def _ended(self, pending: _PendingQuestion, task: asyncio.Task[None]) -> None:
        pending.tasks.discard(task)
        if not pending.tasks:
            self._pending.pop(pending.question.key, None)
        if not task.cancelled() and (error := task.exception()):
            self.failure = self.failure or error
        self._changed.set()

    def _watch(self) -> None:
        """Ends calls that are past their deadline; hedges slow ones when no question is waiting to be sent."""
        now, deadline_s = self._now(), self._latencies.deadline_s
        for timer, started in self._calls.values():
            if now - started > deadline_s and not timer.expired():
                timer.reschedule(now)
        if self._queue or self._failed_for_now or self._unsent or (hedged_s := self._hedged_from_s()) is None:
            return
        for pending in self._pending.values():  # the oldest first
            if pending.concluded or pending.called_at is None or now - pending.called_at < hedged_s:
                continue
            if self._hedges_left >= 1 and not self._budget.is_near(pending.question):
                self._hedges_left -= 1
                pending.called_at = None
                self._add_task(pending)

    def _hedged_from_s(self) -> float | None:
        """How old a call is when it is hedged: an unusual age, and any later one when so few are left."""
        few = len(self._calls) <= self._hedges_left
        return self._latencies.median_s if few else self._latencies.slow_s

    async def _answer(self, pending: _PendingQuestion) -> None:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type((TransientError, _InvalidAnswerError))
            & retry_if_not_exception_type(LateError),  # it waits for room in the window
            stop=lambda _: self._attempts_are_used_up(pending),
            wait=wait_random_exponential(self._timing.backoff_s, self._timing.longest_backoff_s),
            reraise=True,
        )
        try:
            verdict: Verdict = await retrying(self._attempt, pending)
        except _InvalidAnswerError as invalid:
            if self._endpoint.fits and self._put_off(pending, _ROUNDS_OF_INVALID):
                return
            verdict = invalid.verdict
        except TransientError as failure:
            if isinstance(failure, LateError) and not self._attempts_are_used_up(pending):
                if not (pending.concluded or self._others(pending)):
                    self._queue.appendleft(pending)
                return
            self._given_up += pending.rounds == 1  # at the end come those alone that have failed before
            if self._given_up < _GIVEN_UP_IN_A_ROW and self._put_off(pending, _ROUNDS_OF_FAILURES):
                return
            is_all = not (self._endpoint.answered or self._queue or self._failed_for_now) and self._is_last(pending)
            if self._given_up >= _GIVEN_UP_IN_A_ROW or is_all:
                raise self._endpoint.unreachable(str(failure)) from None
            verdict = Verdict(VerdictStatus.FAILED, reason=f"판정 모델을 부르지 못함: {failure}")
        except QuestionRefusedError as refused:
            self._refused += refused.if_all is not None
            if refused.if_all and self._refused >= _REFUSED_IN_A_ROW and self._is_last(pending):
                raise refused.if_all from None
            verdict = refused.verdict
        except _OverBudgetError:
            verdict = OVER_BUDGET
        except _AnsweredMeanwhileError as answered:
            self._others_ask = True
            pending.judgement, verdict = answered.judgement, answered.judgement.verdict
        await self._conclude(pending, verdict)

    def _attempts_are_used_up(self, pending: _PendingQuestion) -> bool:
        return self._stopping or pending.failures >= _FAILURES_IN_A_RUN or pending.invalid >= _INVALID_IN_A_RUN

    def _put_off(self, pending: _PendingQuestion, rounds: int) -> bool:
        """Has a question asked again after all others, up to so many rounds; not where it is still in flight."""
        if self._stopping or pending.concluded or pending.rounds >= rounds or self._others(pending):
            return False
        pending.rounds += 1
        pending.failures = pending.invalid = 0
        self._failed_for_now.append(pending)
        return True

    async def _conclude(self, pending: _PendingQuestion, verdict: Verdict) -> None:
        settled = verdict.status in (VerdictStatus.OK, VerdictStatus.REFUSED)
        others = self._others(pending)
        if pending.concluded or (others and not settled):
            return  # the other task of a hedged question has answered, or still may
        pending.concluded = True
        for task in others:
            task.cancel()
        await self._save(pending.judgement.with_verdict(verdict))

    def _is_last(self, pending: _PendingQuestion) -> bool:
        """Whether no other question is in flight."""
        return all(other.concluded for other in self._pending.values() if other is not pending)

    def _others(self, pending: _PendingQuestion) -> list[asyncio.Task[None]]:
        """The other tasks of a hedged question that may answer it; one that has just ended does not any more."""
        return [task for task in pending.tasks if task is not asyncio.current_task() and not task.done()]

    async def _attempt(self, pending: _PendingQuestion) -> Verdict:
        """Returns the verdict of one attempt or raises its error. A limit that is reached costs no attempt."""
        for _ in range(_REFUSALS_PER_ATTEMPT):
            try:
                reply = await self._call(pending)
            except (LimitReachedError, WordingRefusedError) as refused:
                pending.last_refusal = str(refused)
                if self._stopping:
                    raise
            except TransientError as failure:
                pending.failures += 1
                if isinstance(failure, LateError):
                    self._window.add_late(self._now(), self._latencies.deadline_s)
                is_unheard = isinstance(failure, UnreachableError | LateError) and not self._endpoint.answered
                if is_unheard and (pending.failures > 1 or await self._endpoint.is_silent()):
                    raise self._endpoint.unreachable(str(failure)) from None
                raise
            else:
                verdict = pending.question.verdict(reply)
                if not (reply.cut or reply.refusal):
                    self._endpoint.learn_form(reply, fits=verdict.given)
                if verdict.status is VerdictStatus.INVALID:
                    pending.invalid += 1
                    raise _InvalidAnswerError(verdict)
                return verdict
        pending.failures += 1
        raise TransientError(f"it refuses this question again and again: {pending.last_refusal}", maybe_paid=False)

    async def _call(self, pending: _PendingQuestion) -> Reply:
        """Makes one call, reserved in the budget, when the limits allow it."""
        question = pending.question
        reserved = await self._reservation(question)
        usage: Usage | None = Usage()
        try:
            again = pending.judgement.attempts > 0 or len(pending.tasks) > 1
            self._unsent += 1
            try:
                ticket = await self._limiter.take(self._estimator.tokens(question), in_front=again)
            finally:
                self._unsent -= 1
            if not again and (found := await self._find(question)):
                self._limiter.report(Feedback(ticket, tokens_used=0))
                raise _AnsweredMeanwhileError(found)
            usage = None
            try:
                reply = await self._send(pending, ticket)
            except TransientError as failure:
                usage = None if failure.maybe_paid else Usage()
                raise
            except (LimitReachedError, QuestionRefusedError, WordingRefusedError, AqbError):
                usage = Usage()
                raise
            usage = reply.usage
            return reply
        finally:
            self._budget.settle(reserved, usage)
            self._reserved -= 1
            self._settled.set()

    async def _reservation(self, question: Question) -> Cost:
        """Reserves the cost of one call; waits while other calls may still return some of theirs."""
        while (reserved := self._budget.reserve(question)) is None:
            if not self._reserved:
                raise _OverBudgetError
            self._settled.clear()
            await self._settled.wait()
        self._reserved += 1
        return reserved

    async def _send(self, pending: _PendingQuestion, ticket: Ticket) -> Reply:
        question, started = pending.question, self._now()
        mark = absent_mark(question.payload, itertools.chain([self._mark], iter(lambda: secrets.token_hex(16), "")))
        try:
            async with asyncio.timeout(None) as timer:
                self._calls[task := asyncio.current_task()] = timer, started
                pending.called_at = started
                try:
                    reply = await self._endpoint.ask(question, mark)
                finally:
                    del self._calls[task]
                    pending.called_at = None
        except TimeoutError:
            pending.judgement = pending.judgement.with_call(None, None, None, "")
            raise LateError(f"no answer within {self._now() - started:.0f} s", maybe_paid=True) from None
        except LimitReachedError as reached:
            self._apply_limit(reached, ticket)
            raise
        except TransientError:
            pending.judgement = pending.judgement.with_call(None, None, None, "")
            raise
        self._learn(pending, ticket, reply, self._now() - started)
        return reply

    def _learn(self, pending: _PendingQuestion, ticket: Ticket, reply: Reply, latency_s: float) -> None:
        """Updates latencies, limits, cost and the token estimate by a reply, valid or not."""
        self._latencies.add(latency_s)
        self._window.add_answer(self._now())
        self._given_up = self._refused = 0
        self._refused_since = None
        usd = self._budget.cost(reply.usage).usd if reply.usage else None
        epoch = pending.question.epoch(reply)
        pending.judgement = pending.judgement.with_call(reply.usage, usd, latency_s, reply.model, epoch)
        used = None
        if reply.usage:
            self._estimator.learn(pending.question, reply.usage)
            used = reply.usage.tokens_in + reply.usage.tokens_out
        self._limiter.report(Feedback(ticket, reply.readings, used))

    def _apply_limit(self, reached: LimitReachedError, ticket: Ticket) -> None:
        """Applies a limit to all questions; fails where the wait would be too long."""
        self._refused_since = self._refused_since or self._now()
        refused_s = self._now() - self._refused_since
        wait_s = reached.retry_after_s or max(1.0, refused_s / 2)  # refused calls may count towards the limit
        self._limiter.report(Feedback(ticket, refused=reached.bucket, retry_after_s=wait_s))
        if (longest_s := max(wait_s, refused_s)) > self._timing.patience_s:
            raise self._endpoint.limited(reached, longest_s)

    async def _drain(self) -> None:
        """Waits some time for the calls in flight, starts no other, and records the questions that they leave."""
        self._stopping = True
        left = list(self._pending.values())
        ending, others = set[asyncio.Task[None]](), set[asyncio.Task[None]]()
        for pending in left:
            for task in pending.tasks:
                (ending if pending.concluded or task in self._calls else others).add(task)
        await self._cancel(others)  # before they get a ticket, and are paid for
        if ending:
            await asyncio.wait(ending, timeout=self._timing.grace_s)
        await self._cancel(ending)
        for pending in [*left, *self._failed_for_now, *(late for late in self._queue if late.judgement.attempts)]:
            if not pending.concluded:
                await self._save(pending.judgement.with_verdict(STOPPED))

    async def _cancel(self, tasks: Collection[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
