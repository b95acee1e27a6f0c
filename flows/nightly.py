"""The nightly flow: one day of chat rows, then what has arrived in the inbox of test runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from prefect import flow

from flows.clock import today
from flows.day import DayOutcome, score_day
from flows.test_runs import InboxOutcome, IncompleteInboxError, score_inbox
from scoring.errors import AqbError
from tasks.settings import Settings


@dataclass(frozen=True)
class NightlyOutcome:
    """What one nightly run did; `test_runs` is what became of the inbox, None where there is none."""

    scored: DayOutcome
    test_runs: InboxOutcome | None

    @property
    def problems(self) -> tuple[str, ...]:
        """What a person should look at."""
        return self.scored.problems + (self.test_runs.problems if self.test_runs else ())


class IncompleteRunError(AqbError):
    """The run did what it could, but some of its files could not be read; `outcome` says what was done."""

    def __init__(self, outcome: NightlyOutcome) -> None:
        super().__init__(
            f"{outcome.scored.unread_files} of {outcome.scored.files} files could not be read",
            fix="mend or remove these files and run the day again",
        )
        self.outcome = outcome


@flow(name="nightly", flow_run_name="nightly {day}", validate_parameters=False)
def nightly(settings: Settings, day: date, kind: str = "nightly") -> NightlyOutcome:
    """Scores one day and replaces it in the warehouse, then what has arrived in the inbox of test runs.

    Raises:
        IncompleteRunError: some files of the source could not be read; the rows of the others are scored.
        InputError: none could be read; the day is as it was before.
    """
    outcome = NightlyOutcome(score_day(settings, day, kind), _score_inbox(settings))
    if outcome.scored.unread_files:
        raise IncompleteRunError(outcome)
    return outcome


def _score_inbox(settings: Settings) -> InboxOutcome | None:
    """Scores what has arrived in the inbox of test runs, whatever day was scored before."""
    if not Path(settings.test_runs.inbox).is_dir():
        return None
    try:
        return score_inbox(settings, today(settings.time_zone))
    except IncompleteInboxError as error:
        return error.outcome
    except AqbError as error:
        return InboxOutcome(scored=(), failures=(str(error),), known=0, arriving=())
