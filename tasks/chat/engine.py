"""What every engine that scores a day of chat rows has in common: its outcome, and how the day is written."""

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
    """What became of the rows: `rows_in` = `scored` + `excluded` + `rejected`, always."""

    rows_in: int = 0
    scored: int = 0
    excluded: int = 0
    rejected: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def check(self) -> None:
        """Raises AssertionError when a row was lost or counted twice: a defect of ours, never of the data."""
        accounted = self.scored + self.excluded + self.rejected
        if self.rows_in != accounted:
            raise AssertionError(f"{self.rows_in} rows came in, {accounted} are accounted for")


@dataclass(kw_only=True)
class ScoringOutcome:
    """What is known of scored rows without the rows.

    `first_rejected` are the first rejected rows (`file`, `line`, `column`, `code`, `reason`) that have a line, in
    reading order; rows of a view have none, nor has it `rows_by_file`. `naive_timestamps` name no zone and were read in
    `naive_zone`. `repeated` are the scored rows that are equal to an earlier one, known when the scores are written.
    `content` is what the source holds of the scored window, None without a window.
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
        """The files whose rows these are, and those of which nobody knows, for they could not be read."""
        failed = {failure.file for failure in self.failures}
        return failed | {file for file, rows in self.rows_by_file.items() if rows}

    @property
    def notices(self) -> tuple[str, ...]:
        """What people should know and need not act on."""
        return (*filter(None, [naive_text(self.naive_timestamps, self.naive_zone), repeated_text(self.repeated)]),)

    def require_read(self, files: int, kept: str) -> None:
        """Refuses a source without a row of which some or all of the `files` could not be read: there its rows may be.

        `kept` says what stays as it was.

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
    """KPIs per day and tenant and per day for all (`tenant_id` = '*'), the tier x grade table per day, and `period`:
    the KPIs of all rows together, whatever their day and tenant."""

    kpis: pl.DataFrame
    crosstab: pl.DataFrame
    period: Mapping[str, Any]

    @classmethod
    def of_day(cls, kpis: pl.DataFrame, crosstab: pl.DataFrame) -> "KpiTables":
        """The tables of a single day, which is the whole period."""
        return cls(kpis, crosstab, kpis.row(by_predicate=pl.col("tenant_id") == ALL_TENANTS, named=True))


class ScoredDay(Protocol):
    """A day whose rows are scored and not yet written."""

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

        Rows of `erased` sessions, given by their hashes, are written without session and texts. `most` are the rows by
        tenant that the day may have at the moment when it is replaced (None: any number).

        Raises:
            StorageError: the day has more rows than `most`, or a table cannot be written.
        """
        ...

    def discard(self) -> None:
        """Removes the scored rows from where they wait to be written."""
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
            InputError: the source is not there or has no such columns.
            UsageError: no permission for it.
            StorageError: the rows cannot be read or kept now.
        """
        ...
