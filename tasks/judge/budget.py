"""The budget of a run: reserved before each call, settled after it, never exceeded."""

import operator
import threading
from dataclasses import dataclass

from scoring.errors import UsageError
from scoring.judging.requests import Verdict, VerdictStatus
from tasks.config.judge import JudgeSettings
from tasks.judge.questions import Question
from tasks.judge.replies import Usage

_NEAR = 0.9
BATCH_DISCOUNT = 0.5
"""The share of the list price that a call in a batch costs."""
OVER_BUDGET = Verdict(VerdictStatus.OVER_BUDGET, reason="이 실행의 판정 예산이 다함")


@dataclass(frozen=True)
class Cost:
    """Tokens and USD; `usd` is None where the price is unknown."""

    tokens: int
    usd: float | None


class Budget:
    """The money and the tokens of one run. Portions of a run share one, also from several threads.

    One that comes `after` another, for a model of another price, has what that one left.

    A reservation is the most that a call can cost: as many tokens as bytes go in, the longest answer comes out.

    Raises:
        UsageError: `max_usd` is set and the price of the model is unknown.
    """

    def __init__(self, settings: JudgeSettings, after: "Budget | None" = None) -> None:
        self._price, self._most_usd, self._most_tokens = settings.price, settings.max_usd, settings.max_tokens
        if self._most_usd is not None and self._price is None:
            raise UsageError(
                f"judge.max_usd is set, but the price of {settings.model} is unknown",
                where="judge.prices",
                fix=f'add [[judge.prices]] with model = "{settings.model}", input_usd, cached_usd and output_usd',
            )
        self._lock = threading.Lock()
        self._taken_usd: float = after._taken_usd if after else 0.0
        self._taken_tokens: int = after._taken_tokens if after else 0
        self._paid_usd = 0.0

    @property
    def paid_usd(self) -> float | None:
        """What the calls that said their usage have cost so far; None where the price is unknown."""
        return self._paid_usd if self._price else None

    def reserve(self, question: Question, discount: float = 1.0) -> Cost | None:
        """Reserves the most that a call can cost; None where the budget has less left."""
        most = self.cost(question.largest_usage, discount)
        with self._lock:
            if not self._fits(most, 1.0):
                return None
            self._add(most, 1)
        return most

    def settle(self, reserved: Cost, usage: Usage | None, discount: float = 1.0) -> None:
        """Replaces a reservation by the cost of the call; an unknown `usage` (None) leaves the reservation."""
        if usage is not None:
            cost = self.cost(usage, discount)
            with self._lock:
                self._add(reserved, -1)
                self._add(cost, 1)
                self._paid_usd += cost.usd or 0.0

    def is_near(self, question: Question) -> bool:
        """Whether the budget is nearly used up, so that no call should be hedged."""
        return not self._fits(self.cost(question.largest_usage), _NEAR)

    def cost(self, usage: Usage, discount: float = 1.0) -> Cost:
        """The cost of a call, `discount` times the list price."""
        tokens, price = usage.tokens_in + usage.tokens_out, self._price
        if price is None:
            return Cost(tokens, None)
        fresh = usage.tokens_in - usage.cached - usage.cache_written
        write_usd = price.input_usd if price.cache_write_usd is None else price.cache_write_usd
        usd_per_million = [price.input_usd, price.cached_usd, write_usd, price.output_usd]
        counts = [fresh, usage.cached, usage.cache_written, usage.tokens_out]
        return Cost(tokens, sum(map(operator.mul, counts, usd_per_million)) / 1e6 * discount)

    def _fits(self, cost: Cost, share: float) -> bool:
        usd_left = self._most_usd is None or self._taken_usd + (cost.usd or 0.0) <= self._most_usd * share
        return usd_left and (self._most_tokens is None or self._taken_tokens + cost.tokens <= self._most_tokens * share)

    def _add(self, cost: Cost, sign: int) -> None:
        self._taken_tokens += sign * cost.tokens
        self._taken_usd += sign * (cost.usd or 0.0)
