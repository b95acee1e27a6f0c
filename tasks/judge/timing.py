"""How long the judge waits for what."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_ENOUGH_SEEN = 20
_REMEMBERED = 200
_SLOW = 0.95
_LATE = 3.0  # times a slow call


@dataclass(frozen=True)
class Timing:
    """Times in seconds. A deadline lies between its two limits, by the latencies seen."""

    shortest_deadline_s: float = 10.0
    longest_deadline_s: float = 60.0
    backoff_s: float = 0.5
    longest_backoff_s: float = 8.0
    watch_s: float = 0.25
    poll_s: float = 20.0
    """Between two looks at a batch."""
    patience_s: float = 120.0
    """How long a limit may refuse everything before the run gives up."""
    grace_s: float = 15.0
    """What calls in flight get when the run is stopped."""


class Latencies:
    """The latencies of the last calls, and what they say about those in flight."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._seen: deque[float] = deque(maxlen=_REMEMBERED)

    def add(self, latency_s: float) -> None:
        """Takes note of a call that was answered."""
        self._seen.append(latency_s)

    @property
    def slow_s(self) -> float | None:
        """What one call in twenty takes longer than; None while too few are known."""
        if len(self._seen) < _ENOUGH_SEEN:
            return None
        return sorted(self._seen)[int(len(self._seen) * _SLOW)]

    @property
    def deadline_s(self) -> float:
        """When to stop waiting for a call."""
        if (slow_s := self.slow_s) is None:
            return self._timing.longest_deadline_s
        return min(max(_LATE * slow_s, self._timing.shortest_deadline_s), self._timing.longest_deadline_s)
