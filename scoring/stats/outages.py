"""Outages: runs with so many executions without an answer that their scores measure the servers, not the agent."""

from dataclasses import dataclass
from typing import Final, Literal

from scoring.stats.intervals import wilson_interval

OUTAGE_SHARE: Final = 0.2
Side = Literal["base", "candidate"]


@dataclass(frozen=True)
class Failures:
    """How many of a run's executions failed or gave an empty answer: without Raw JSON an outage is empty cells."""

    failed: int
    executions: int

    @property
    def is_outage(self) -> bool:
        """Whether significantly more than a fifth failed: the interval of the failure rate lies above it."""
        return self._ends[0] > OUTAGE_SHARE

    def are_more_than(self, others: "Failures") -> bool:
        """Whether significantly more failed than in another run: the two intervals do not overlap."""
        return self._ends[0] > others._ends[1]

    @property
    def _ends(self) -> tuple[float, float]:
        interval = wilson_interval(self.failed, self.executions)
        return (interval.low, interval.high) if interval else (0.0, 0.0)


NO_EXECUTIONS: Final = Failures(0, 0)


def outage_of(base: Failures, candidate: Failures) -> Side | None:
    """Which of two runs had an outage that the other did not have: such runs cannot be compared in quality."""
    side = more_failed(base, candidate)
    failures = base if side == "base" else candidate
    return side if failures.is_outage else None


def more_failed(base: Failures, candidate: Failures) -> Side | None:
    """The run with significantly more failed executions: their scores of 0 are part of every difference."""
    if candidate.are_more_than(base):
        return "candidate"
    return "base" if base.are_more_than(candidate) else None
