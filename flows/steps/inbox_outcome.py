"""The result of a look into the inbox of test runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import AqbError, counted, shown_name
from scoring.inputs import nothing_scored


@dataclass(frozen=True)
class WrittenTestRun:
    """A scored file: its report folder and its summary."""

    name: str
    folder: Path
    summary: dict[str, Any]


@dataclass(frozen=True)
class InboxOutcome:
    """The result of the inbox: scored files, failures, refused files (one line each), files whose content was scored
    before or in another file, files still arriving.

    `unpublished` is why the site could not be built, people could not be notified, or the inbox was left to another
    active run.
    """

    scored: tuple[WrittenTestRun, ...]
    failures: tuple[AqbError, ...]
    known: int
    arriving: tuple[str, ...]
    refused: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems that a person should look at."""
        rejected = [(shown_name(one.name), one.summary["counts"]["rejected"]) for one in self.scored]
        return (
            *map(str, self.failures),
            *self.refused,
            *(
                f"{shown_name(one.name)}: {why}"
                for one in self.scored
                if (why := nothing_scored(one.summary["counts"]))
            ),
            *(
                f"{name}: {counted(count, 'row')} rejected; see the table `rejected`"
                for name, count in rejected
                if count
            ),
            *self.unpublished,
        )
