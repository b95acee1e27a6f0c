"""The interface of engines that score a day of chat rows: the outcome, and writing the day."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass, field
from datetime import date
from typing import Any, Protocol

import polars as pl

from scoring.chat.day_content import DayContent
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.reading import UTC_ZONE, naive_text
from scoring.chat.row_ids import repeated_text
from scoring.chat.rows import FileFailure
from scoring.chat.rubric import RowRubric
from scoring.chat.shrinkage import RowsByTenant
from scoring.errors import InputError
from tasks.chat.sources import ChatRowSource
from tasks.warehouse import Warehouse


@dataclass
class Counts:
    """The number of rows by outcome: `rows_in` = `scored` + `excluded` + `rejected`, always."""

    rows_in: int = 0
    scored: int = 0
    excluded: int = 0
    rejected: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def check(self) -> None:
        """Raises AssertionError if a row was lost or counted twice: a defect of AQB, never of the data."""
        accounted = self.scored + self.excluded + self.rejected
        if self.rows_in != accounted:
            raise AssertionError(f"{self.rows_in} rows came in, {accounted} are accounted for")


@dataclass(kw_only=True)
class ScoringOutcome:
    """The outcome of scoring, without the rows.

    `first_rejected` are the first rejected rows (`file`, `line`, `column`, `code`, `reason`) that have a line, in
    reading order; rows of a view have none, nor has it `rows_by_file`. `naive_timestamps` had no zone and were read in
    `naive_zone`. `repeated` counts the scored rows that equal an earlier one, known after the scores are written.
    `content` is the source's content of the scored window, None without a window.
    """

    rubric: RowRubric
    counts: Counts = field(default_factory=Counts)
    failures: list[FileFailure] = field(default_factory=list)
    naive_timestamps: int = 0
    naive_zone: str = UTC_ZONE
    repeated: int = 0
    excluded_by_reason: Counter[str] = field(default_factory=Counter)
    rejected_by_code: Counter[str] = field(default_factory=Counter)
    first_rejected: list[dict[str, Any]] = field(default_factory=list)
    rows_by_file: Counter[str] = field(default_factory=Counter)
    content: DayContent | None = None

    @property
    def files_with_rows(self) -> set[str]:
        """The files of these rows, and the files that could not be read, whose rows are unknown."""
        failed = {failure.file for failure in self.failures}
        return failed | {file for file, rows in self.rows_by_file.items() if rows}

    @property
    def notices(self) -> tuple[str, ...]:
        """Information for people that needs no action."""
        return (*filter(None, [naive_text(self.naive_timestamps, self.naive_zone), repeated_text(self.repeated)]),)

    def require_read(self, files: int, kept: str) -> None:
        """Refuses a source without rows if some or all of its `files` could not be read: they may have the rows.

        `kept` names what is left unchanged.

        Raises:
            InputError: why each of them could not be read.
        """
        if self.failures and not self.counts.rows_in:
            errors = "\n".join(str(failure.error) for failure in self.failures)
            unread = len(self.failures)
            what = f"{unread} of {files} files could not be read, and the others have no row of it"
            raise InputError(f"{'no file of the source could be read' if unread == files else what}; {kept}\n{errors}")


@dataclass(frozen=True)
class KpiTables:
    """KPIs per day and tenant and per day for all (`tenant_id` = '*'), the cross table per day, and `period`: the KPIs
    of all rows together.
    """

    kpis: pl.DataFrame
    crosstab: pl.DataFrame
    period: Mapping[str, Any]

    @classmethod
    def of_day(cls, kpis: pl.DataFrame, crosstab: pl.DataFrame) -> "KpiTables":
        """The tables of a single day, which is the whole period."""
        return cls(kpis, crosstab, kpis.row(by_predicate=pl.col("tenant_id") == ALL_TENANTS, named=True))


class ScoredDay(Protocol):
    """A day whose rows are scored but not yet written."""

    @property
    def outcome(self) -> ScoringOutcome:
        """Counts and failures of the day."""
        ...

    @property
    def rows_by_tenant(self) -> RowsByTenant:
        """Scored and excluded rows by tenant and for all (`*`)."""
        ...

    def write(self, erased: Collection[str] = (), most: Mapping[str | None, int] | None = None) -> KpiTables:
        """Replaces the day in the score, excluded, KPI, cross and rejected tables; returns its KPIs.

        Rows of `erased` sessions, given by their hashes, are written without session and texts. `most` is the maximum
        number of rows by tenant that the day may have when it is replaced (None: no limit).

        Raises:
            StorageError: the day has more rows than `most`, or a table cannot be written.
        """
        ...

    def discard(self) -> None:
        """Removes the staged rows."""
        ...


class ChatEngine(Protocol):
    """Scores days of chat rows of a source for a warehouse."""

    @property
    def source(self) -> ChatRowSource:
        """The source of the rows."""
        ...

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse of the tables."""
        ...

    def score(self, day: date) -> ScoredDay:
        """Scores the rows of a day, which the caller then writes and discards.

        Raises:
            InputError: the source does not exist or lacks required columns.
            UsageError: no permission for it.
            StorageError: the rows cannot be read or staged now.
        """
        ...
