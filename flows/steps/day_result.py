"""A day that must not stop the others: scored, kept as it was, or the reason why it was not scored."""

import logging
from dataclasses import dataclass
from datetime import date

from flows.runtime.prefect_env import is_prefect_gone
from flows.steps.day import DayOutcome, score_day
from scoring.errors import AqbError
from tasks.chat.day_guard import DayKeptError
from tasks.chat.sources import ChatRowSource
from tasks.context import Context

_log = logging.getLogger(__name__)


class UnexpectedError(AqbError):
    """A defect of ours that stopped one day: the class of the error and the step in which it was raised.

    Its own text may quote an input, so that only the log has it.
    """

    def __init__(self, error: Exception) -> None:
        steps = getattr(error, "__notes__", [])
        super().__init__(
            f"{type(error).__name__}{f' in {steps[0]}' if steps else ''}",
            fix="this is a defect of AQB: report it with the log of this run; the day's tables may be half new, "
            "and scoring it again makes them whole",
        )


@dataclass(frozen=True)
class DayResult:
    """A day, what came of it, and why it was done at all where that needs saying (`late rows`).

    Exactly one is there: `outcome`, `kept` (its tables are as they were: the source holds too few rows), `error`.
    """

    day: date
    outcome: DayOutcome | None
    error: AqbError | None = None
    why: str = ""
    kept: DayKeptError | None = None

    @property
    def complete(self) -> bool:
        """Whether the whole day was read and scored."""
        return self.outcome is not None and not self.outcome.unread_files

    @property
    def failed(self) -> bool:
        """Whether something went wrong: a day that was kept did what it should."""
        return not self.complete and self.kept is None

    @property
    def problems(self) -> tuple[str, ...]:
        """What a person should look at."""
        found = self.outcome.problems if self.outcome else (str(self.kept or self.error),)
        title = f"{self.day} ({self.why})" if self.why else str(self.day)
        return tuple(f"{title}: {problem}" for problem in found)

    def result(self) -> DayOutcome:
        """What came of the day; raises what kept or stopped it."""
        if self.outcome is None:
            raise self.kept or self.error or AssertionError("a day without an outcome was kept or has an error")
        return self.outcome


def failure_text(one: DayResult) -> str:
    """The day, and the class and step of an error that nobody expected."""
    return f"{one.day} ({one.error.what})" if isinstance(one.error, UnexpectedError) else str(one.day)


def try_day(
    context: Context,
    day: date,
    kind: str,
    read_before: ChatRowSource | None = None,
    why: str = "",
    *,
    allow_shrink: bool = False,
) -> DayResult:
    """Scores a day as `score_day` does; whatever stops it becomes its error, so that other days go on.

    Raises:
        httpx.HTTPError, RuntimeError: Prefect's server is gone, which stops every day.
    """
    if why:
        _log.info("%s: %s", day, why)
    try:
        return DayResult(day, score_day(context, day, kind, read_before, allow_shrink=allow_shrink), why=why)
    except DayKeptError as kept:
        return DayResult(day, None, why=why, kept=kept)
    except AqbError as error:
        return DayResult(day, None, error, why)
    except Exception as error:
        if is_prefect_gone(error):
            raise
        _log.exception("%s: unexpected error", day)
        return DayResult(day, None, UnexpectedError(error), why)
