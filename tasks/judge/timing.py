"""Time limits of the judge, and the latencies of its calls."""

from collections import deque
from dataclasses import dataclass

_ENOUGH_SEEN = 20
_REMEMBERED = 200
_SLOW, _MEDIAN = 0.95, 0.5
_LATE = 3.0  # times a slow call


@dataclass(frozen=True)
class Timing:
    """Times in seconds. A deadline lies between its two limits, by the latencies seen."""

    shortest_deadline_s: float = 10.0
    longest_deadline_s: float = 120.0
    """Local models are loaded when they are first asked, and models that reason write for minutes."""
    backoff_s: float = 0.5
    longest_backoff_s: float = 8.0
    watch_s: float = 0.25
    poll_s: float = 20.0
    """Between two requests for the state of a batch."""
    patience_s: float = 120.0
    """How long a limit may refuse all questions before the run fails."""
    grace_s: float = 15.0
    """How long a stopped run waits for its calls in flight."""


class Latencies:
    """The latencies of the last calls, and the limits that follow from them."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._seen: deque[float] = deque(maxlen=_REMEMBERED)

    def add(self, latency_s: float) -> None:
        """Adds an answered call."""
        self._seen.append(latency_s)

    @property
    def slow_s(self) -> float | None:
        """The 95th percentile; None while there are too few calls."""
        return self._quantile(_SLOW)

    @property
    def median_s(self) -> float | None:
        """The median; None while there are too few calls."""
        return self._quantile(_MEDIAN)

    @property
    def deadline_s(self) -> float:
        """The longest that a call may take."""
        if (slow_s := self.slow_s) is None:
            return self._timing.longest_deadline_s
        return min(max(_LATE * slow_s, self._timing.shortest_deadline_s), self._timing.longest_deadline_s)

    def _quantile(self, share: float) -> float | None:
        if len(self._seen) < _ENOUGH_SEEN:
            return None
        return sorted(self._seen)[int(len(self._seen) * share)]
