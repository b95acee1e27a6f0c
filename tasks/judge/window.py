"""How many calls may be in flight: as many as the endpoint answers in time."""

from collections import deque

_AT_FIRST = 10  # until the endpoint has answered once: a wrong key costs ten calls, not thousands
_LATE_SHARE = 0.1  # of the answers; a few calls hang at every endpoint
_GROWTH = 0.1  # of the window, for as many answers as it holds


class CallWindow:
    """The number of calls in flight at an endpoint. Times are in seconds, of one clock.

    A server of a local model answers a few calls at a time and queues the others. Where calls are late, the window
    narrows to half of what the endpoint answered within the time limit, and grows again with every answer: by one call
    up to half of what it answered within the time limit before it stopped, then slowly.
    """

    def __init__(self, most: int) -> None:
        self._most, self._size = most, float(min(most, _AT_FIRST))
        self._proven = 0.0
        self._answered, self._late = deque[float](maxlen=2 * most), deque[float](maxlen=2 * most)

    @property
    def size(self) -> int:
        """Calls that may be in flight."""
        return int(self._size)

    def add_answer(self, now: float) -> None:
        """Adds an answered call; the first one opens the window."""
        if not self._answered:
            growth = float(self._most)
        else:
            growth = 1.0 if self._size < self._proven else max(1 / self._size, _GROWTH)
        self._size = min(self._most, self._size + growth)
        self._answered.append(now)

    def add_late(self, now: float, limit_s: float) -> None:
        """Adds a call that was not answered within the time limit."""
        self._late.append(now)
        answered, late = (sum(moment > now - limit_s for moment in seen) for seen in (self._answered, self._late))
        if late > answered * _LATE_SHARE:
            self._size = max(1.0, min(self._size, answered / 2))
            if self._answered:
                before = self._answered[-1] - limit_s
                self._proven = sum(moment > before for moment in self._answered) / 2
