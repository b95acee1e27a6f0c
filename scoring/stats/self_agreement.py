"""Does a judge still answer as it did? The same questions night after night, each night against the nights before it.

A night is unusual where so few repeated answers have less than a chance that comes to one false alarm a year. The
chance is beta-binomial: of a rate that is only known from the nights before, so that few nights raise no false alarm.
Questions differ in how sure their answers are; that makes a night vary less than the binomial says, never more.

Source: SPEC 11; H. Jeffreys 1961 (the prior of a rate).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import numpy as np

from scoring.stats.distributions import log_beta

FALSE_ALARMS_PER_YEAR = 1.0
_NIGHTS_PER_YEAR = 365
_JEFFREYS = 0.5


@dataclass(frozen=True, slots=True)
class AnchorNight:
    """A night: of `asked` questions with an answer `agreed` had the answer that is stored."""

    day: date
    agreed: int
    asked: int


@dataclass(frozen=True, slots=True)
class WatchedNight:
    """A night beside the nights before it, since the last change: `agreed_before` of `asked_before` answers.

    `chance` is that of so few equal answers or fewer from an unchanged judge; `limit` the most that would be a change,
    -1 where no number is. A change begins a new usual.
    """

    night: AnchorNight
    agreed_before: int
    asked_before: int
    chance: float
    limit: int

    @property
    def is_change(self) -> bool:
        """Whether the judge answers otherwise than before."""
        return self.night.agreed <= self.limit


def watched(nights: Iterable[AnchorNight]) -> list[WatchedNight]:
    """The nights in their order, each judged by what was known then. All have asked the same questions."""
    found: list[WatchedNight] = []
    agreed_before = asked_before = 0
    for night in nights:
        chances = chances_of_fewer(night.asked, agreed_before, asked_before)
        limit = sum(chance <= FALSE_ALARMS_PER_YEAR / _NIGHTS_PER_YEAR for chance in chances) - 1
        found.append(WatchedNight(night, agreed_before, asked_before, chances[night.agreed], limit))
        if found[-1].is_change:
            agreed_before = asked_before = 0
        agreed_before += night.agreed
        asked_before += night.asked
    return found


def chances_of_fewer(asked: int, agreed_before: int, asked_before: int) -> list[float]:
    """For 0, 1, ... `asked` equal answers the chance of so many or fewer, by the rate of the answers before."""
    alpha, beta = agreed_before + _JEFFREYS, asked_before - agreed_before + _JEFFREYS
    agreed = np.arange(asked + 1)
    ways = -np.log(asked + 1) - log_beta(agreed + 1, asked - agreed + 1)
    chances = np.exp(ways + log_beta(agreed + alpha, asked - agreed + beta) - log_beta(alpha, beta))
    return [float(chance) for chance in chances.cumsum()]
