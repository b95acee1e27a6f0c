"""Requests and tokens a minute, paced over all processes that share the state database.

Each limit is a bucket that mirrors the endpoint's own. The endpoint's headers correct the mirror: bad news at once,
good news slowly, and only by what was not yet corrected since the request was sent. The rates of a minute are spent
second by second, because endpoints count in shorter times than they say.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tasks.judge.questions import Question
from tasks.judge.replies import Usage
from tasks.judge.verdict_store import VerdictStore

_RESERVE = 0.2  # of a second's worth stays in the bucket; with two processes a tenth still let two 429s through
_TRUST_IN_GOOD_NEWS = 0.1
_BURST = 2.0  # times the rate, at most, when a bucket is full
_BURST_WINDOW_S = 0.1
_LONGEST_NAP_S = 0.1
_SHORTEST_NAP_S = 0.05  # some requests at a time: an exchange costs a commit
_ASKS_AT_ONCE = 64
_CLOCKS_DIFFER_S = 15.0  # at most; a process whose clock is further behind shares the state with one that was wrong


@dataclass
class Bucket:
    """The rest of a limit; `rate` is per second, 0 is no limit.

    `corrected` adds up all corrections so far: a reading of the headers is compared with the level that its request
    left behind, and must not repeat what other readings have corrected since.
    """

    rate: float
    level: float
    capacity: float = 0.0
    corrected: float = 0.0

    def __post_init__(self) -> None:
        self.capacity = max(self.capacity, self.rate)

    @property
    def reserve(self) -> float:
        """The amount that is never taken, so that a mirror a little ahead of the endpoint costs no 429."""
        return self.rate * _RESERVE

    def refill(self, elapsed_s: float) -> None:
        """Adds the rate of `elapsed_s`, up to the capacity."""
        self.level = min(self.capacity, self.level + elapsed_s * self.rate)

    def missing_s(self, amount: float) -> float:
        """Seconds until `amount` may be taken. An amount larger than the bucket waits until the bucket is full."""
        if not self.rate:
            return 0.0
        return max(0.0, (min(amount + self.reserve, self.capacity) - self.level) / self.rate)

    def correct(self, difference: float) -> None:
        """Corrects the level and adds up the corrections."""
        self.level += difference
        self.corrected += difference

    def read(self, remaining: float, sent: "Bucket") -> None:
        """Corrects the level by the endpoint's answer to a request; `sent` is the bucket as that request left it."""
        difference = remaining - sent.level - (self.corrected - sent.corrected)
        if difference > 0:
            difference *= _TRUST_IN_GOOD_NEWS
            self.capacity = max(self.capacity, min(remaining, self.rate * 60))
        self.correct(difference)


@dataclass(frozen=True)
class Ticket:
    """The permission to send one request: the buckets as it leaves them, by name, and its estimated tokens."""

    taken: Mapping[str, Bucket]
    tokens: float


@dataclass(frozen=True)
class Feedback:
    """The result of a ticket: the endpoint's readings, else the tokens used; or a refusal for `retry_after_s`."""

    ticket: Ticket
    readings: Mapping[str, float] = field(default_factory=dict)
    tokens_used: int | None = None
    refused: str = ""
    retry_after_s: float = 0.0


@dataclass
class Limits:
    """Both buckets at the time `at` (seconds since 1970, so that processes agree)."""

    requests: Bucket
    tokens: Bucket
    at: float
    paced_at: float = 0.0
    blocked_until: float = 0.0

    @classmethod
    def of(cls, state: Mapping[str, Any], rpm: int, tpm: int, now: float) -> "Limits":
        """The stored state with the rates of the settings."""
        per_s = {"requests": rpm / 60, "tokens": tpm / 60}
        if not state:  # the level of the endpoint is unknown: start with the least that may be taken at once
            requests, tokens = (Bucket(rate, level=rate * _RESERVE) for rate in per_s.values())
            return cls(requests, tokens, at=now)
        return cls(**{**state, **{name: Bucket(**{**state[name], "rate": rate}) for name, rate in per_s.items()}})

    def advance(self, now: float) -> None:
        """Refills both buckets for the time since `at`. A process whose clock is behind refills nothing.

        Moments that are far ahead were stored by a clock that was wrong: they are put back to now.
        """
        if (ahead_s := self.at - now) > _CLOCKS_DIFFER_S:
            self.at, self.paced_at, self.blocked_until = now, self.paced_at - ahead_s, self.blocked_until - ahead_s
        elapsed_s = max(0.0, now - self.at)
        self.requests.refill(elapsed_s)
        self.tokens.refill(elapsed_s)
        self.at += elapsed_s

    def apply_feedback(self, feedback: Feedback) -> None:
        """Corrects the buckets by the endpoint's answer to a request."""
        for name, remaining in feedback.readings.items():
            bucket: Bucket = getattr(self, name)
            bucket.read(remaining, feedback.ticket.taken[name])
        if feedback.tokens_used is not None and "tokens" not in feedback.readings:
            self.tokens.correct(feedback.ticket.tokens - feedback.tokens_used)
        if feedback.refused:
            bucket = getattr(self, feedback.refused)
            bucket.correct(min(0.0, -bucket.level))
            self.blocked_until = max(self.blocked_until, self.at + feedback.retry_after_s)

    def take(self, tokens: float) -> Ticket | float:
        """A ticket, or the seconds to wait before asking again."""
        gap_s = 1 / (_BURST * self.requests.rate) if self.requests.rate else 0.0
        paced_at = max(self.paced_at, self.at - _BURST_WINDOW_S)
        wait_s = max(
            self.blocked_until - self.at,
            paced_at - self.at if gap_s else 0.0,
            self.requests.missing_s(1),
            self.tokens.missing_s(tokens),
        )
        if wait_s > 0:
            return wait_s
        self.paced_at = paced_at + gap_s
        taken = {}
        for name, amount in (("requests", 1.0), ("tokens", tokens)):
            bucket: Bucket = getattr(self, name)
            bucket.level -= amount if bucket.rate else 0.0
            taken[name] = replace(bucket)
        return Ticket(taken, tokens)


class TokenEstimator:
    """Estimates the tokens of a call from those of the calls so far."""

    def __init__(self) -> None:
        self._tokens_per_byte, self._tokens_out = 0.3, 200.0

    def tokens(self, question: Question) -> float:
        """The tokens that a call for this question is expected to use, in and out."""
        return question.size_bytes * self._tokens_per_byte + self._tokens_out

    def learn(self, question: Question, usage: Usage) -> None:
        """Corrects the estimate by what a call has used."""
        self._tokens_per_byte += 0.05 * (usage.tokens_in / question.size_bytes - self._tokens_per_byte)
        self._tokens_out += 0.05 * (usage.tokens_out - self._tokens_out)


class Limiter:
    """Gives tickets in order; one task per process uses the shared state, for all waiting calls.

    What an endpoint refuses for longer than `patience_s` is asked again then: its limit may be free by that time.
    """

    def __init__(self, store: VerdictStore, worker: Executor, name: str, rpm: int, tpm: int, patience_s: float) -> None:
        self._store, self._worker, self._name = store, worker, name
        self._rpm, self._tpm, self._patience_s = rpm, tpm, patience_s
        self._waiting: deque[tuple[float, asyncio.Future[Ticket]]] = deque()
        self._feedback: list[Feedback] = []
        self._pump: asyncio.Task[None] | None = None

    async def take(self, tokens: float, *, in_front: bool) -> Ticket:
        """Waits for the ticket of a request of about `tokens`; `in_front` of all other waiting calls."""
        future: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if in_front else self._waiting.append)((tokens, future))
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._hand_out())
        return await future

    def report(self, feedback: Feedback) -> None:
        """Applies feedback of the endpoint with the next exchange."""
        self._feedback.append(feedback)

    async def _hand_out(self) -> None:
        asks: list[tuple[float, asyncio.Future[Ticket]]] = []
        try:
            while self._waiting:
                asks = [self._waiting.popleft() for _ in range(min(len(self._waiting), _ASKS_AT_ONCE))]
                asks = [ask for ask in asks if not ask[1].done()]
                feedback, self._feedback = self._feedback, []
                tickets, wait_s = await asyncio.get_running_loop().run_in_executor(
                    self._worker, self._exchange, [tokens for tokens, _ in asks], feedback
                )
                for (_, future), ticket in zip(asks, tickets, strict=False):
                    if not future.done():
                        future.set_result(ticket)
                self._waiting.extendleft(reversed(asks[len(tickets) :]))
                if wait_s:
                    await asyncio.sleep(min(max(wait_s, _SHORTEST_NAP_S), _LONGEST_NAP_S))
        except BaseException as error:
            for _, future in [*asks, *self._waiting]:
                if not future.done():
                    future.set_exception(error)
            raise

    def _exchange(self, asks: list[float], feedback: Iterable[Feedback]) -> tuple[list[Ticket], float]:
        def step(state: Mapping[str, Any], now: float) -> tuple[Mapping[str, Any], tuple[list[Ticket], float]]:
            limits = Limits.of(state, self._rpm, self._tpm, now)
            limits.advance(now)
            for each in feedback:
                limits.apply_feedback(each)
            limits.blocked_until = min(limits.blocked_until, limits.at + self._patience_s)
            tickets: list[Ticket] = []
            wait_s = 0.0
            for tokens in asks:
                answer = limits.take(tokens)
                if not isinstance(answer, Ticket):
                    wait_s = answer
                    break
                tickets.append(answer)
            return asdict(limits), (tickets, wait_s)

        return self._store.exchange(self._name, step)
