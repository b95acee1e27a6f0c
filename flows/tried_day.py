"""A day that must not stop the others: scored, or the reason why it was not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from flows.day import DayOutcome, score_day
from scoring.errors import AqbError
from tasks.chat_rows import ChatRowSource
from tasks.settings import Settings


@dataclass(frozen=True)
class TriedDay:
    """A day, what came of it or stopped it, and why it was done at all where that needs saying (`late rows`)."""

    day: date
    outcome: DayOutcome | None
    error: AqbError | None = None
    why: str = ""

    @property
    def complete(self) -> bool:
        """Whether the whole day was read and scored."""
        return self.outcome is not None and not self.outcome.unread_files

    @property
    def problems(self) -> tuple[str, ...]:
        """What a person should look at."""
        found = self.outcome.problems if self.outcome else (str(self.error),)
        title = f"{self.day} ({self.why})" if self.why else str(self.day)
        return tuple(f"{title}: {problem}" for problem in found)

    def result(self) -> DayOutcome:
        """What came of the day; raises what stopped it."""
        if self.outcome is None:
            raise self.error or AssertionError("a day without an outcome has an error")
        return self.outcome


def try_day(
    settings: Settings, day: date, kind: str, read_before: ChatRowSource | None = None, why: str = ""
) -> TriedDay:
    """Scores a day as `score_day` does; what a user can cause becomes its error."""
    try:
        return TriedDay(day, score_day(settings, day, kind, read_before), why=why)
    except AqbError as error:
        return TriedDay(day, None, error, why)
