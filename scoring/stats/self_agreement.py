"""Detects a change of the judge: the same questions are asked every night and compared with the nights before.

A night is unusual if so few equal answers are less likely than one false alarm a year. The probability is
beta-binomial, because the rate is only estimated from the nights before: few nights raise no false alarm. Questions
differ in the certainty of their answers, which makes a night vary less than the binomial distribution, never more.

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
    """A night: `agreed` of `asked` questions with an answer had the stored answer."""

    day: date
    agreed: int
    asked: int


@dataclass(frozen=True, slots=True)
class WatchedNight:
    """A night and the nights before it since the last change: `agreed_before` of `asked_before` answers.

    `chance` is the probability of so few equal answers or fewer from an unchanged judge; `limit` is the largest number
    that would be a change, -1 if there is none. A change starts a new baseline.
    """

    night: AnchorNight
    agreed_before: int
    asked_before: int
    chance: float
    limit: int

    @property
    def is_change(self) -> bool:
        """Whether the judge's answers have changed."""
        return self.night.agreed <= self.limit


def watched(nights: Iterable[AnchorNight]) -> list[WatchedNight]:
    """The nights in order, each evaluated with the knowledge of that night. All nights asked the same questions."""
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
    """For 0, 1, ... `asked` equal answers the probability of so many or fewer, from the rate of the answers before."""
    alpha, beta = agreed_before + _JEFFREYS, asked_before - agreed_before + _JEFFREYS
    agreed = np.arange(asked + 1)
    ways = -np.log(asked + 1) - log_beta(agreed + 1, asked - agreed + 1)
    chances = np.exp(ways + log_beta(agreed + alpha, asked - agreed + beta) - log_beta(alpha, beta))
    return [float(chance) for chance in chances.cumsum()]
