"""Monitoring rows from Parquet, CSV, TSV, JSON Lines and BigQuery, as a stream of data frames.

Here: what every source is, and the choice by its address.

files        inputs -> files -> batches, one file after the other; a failed file does not stop the others
delimited, json_lines, parquet      one kind of file each: bytes -> cells or columns
exports      JSON Lines that other tools wrote: bytes -> objects
bigquery     a view, a period at a time

What a cell or a column says, and which rows are rejected, is pure: `rows`, `cells`, `arrow_rows` and `sql_rows` of
`scoring.chat`, and what an object of another tool says: `exports` there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scoring.chat.day_content import DayContent
from scoring.chat.reading import ROWS, Reading
from scoring.days import Window
from scoring.errors import InputError, UsageError
from scoring.inputs import FileIdentity
from tasks.chat.sources.files import ChatRowFiles, endings_of
from tasks.chat.sources.pieces import RowStream
from tasks.config.addresses import is_bigquery

if TYPE_CHECKING:
    from tasks.config.settings import Settings

__all__ = ["ChatRowFiles", "ChatRowSource", "RowStream", "endings_of", "open_source", "reading_of"]


class ChatRowSource(RowStream, Protocol):
    """Monitoring rows and what is known of them, however they are kept."""

    @property
    def files(self) -> Sequence[str | Path]:
        """The files that are read, or the view."""
        ...

    @property
    def reading(self) -> Reading:
        """What files call the columns (a view: nothing), and the zone of timestamps that name none."""
        ...

    def parts(self, window: Window | None, part_bytes: int) -> Iterator[RowStream]:
        """All rows of `batches`, in their order, in parts of about `part_bytes` of text.

        Parts that are more than one can be pickled, and read in another process.
        """
        ...

    def fingerprint(self, names: Collection[str] | None = None) -> tuple[FileIdentity, ...]:
        """What identifies each file, those of these names alone where some are given, or the view."""
        ...

    def contents(self, window: Window, time_zone: str) -> dict[date, DayContent] | None:
        """The content of each day of the window that has rows; None where only reading the rows tells it."""
        ...

    def estimate(self, window: Window) -> str:
        """What reading a period would take, for people; reads a few rows at most.

        Raises:
            InputError: the columns are not those of chat rows.
        """
        ...


def reading_of(settings: Settings) -> Reading:
    """How files are read by `monitoring.format`, `[monitoring.columns]` and `monitoring.naive_timestamps`."""
    monitoring = settings.monitoring
    names = {str(name): called for name, called in monitoring.columns.items()}
    return Reading(names, monitoring.naive_timestamps, monitoring.format)


def open_source(address: str | Path, settings: Settings, labels: Mapping[str, str] | None = None) -> ChatRowSource:
    """The source at an address: a file, a folder, a glob, or `bigquery://project.dataset.view`.

    `labels` (`rubric`, `run_id`) mark the jobs of BigQuery.

    Raises:
        InputError: nothing is there.
        UsageError: no such kind of address; and as BigQuery does.
        StorageError: as BigQuery does.
    """
    if "://" in str(address) and not is_bigquery(str(address)):
        raise UsageError(
            "chat rows are read from files of this machine or from BigQuery",
            where=str(address),
            fix="name a file, a folder, a glob, or bigquery://project.dataset.view",
        )
    if not is_bigquery(str(address)):
        try:
            return ChatRowFiles([address], reading=reading_of(settings))
        except InputError as error:
            if address == settings.monitoring.source:
                error.fix += "; the setting monitoring.source names it"
            raise
    if settings.monitoring.format != ROWS:
        raise UsageError(
            f'monitoring.format = "{settings.monitoring.format}" is for files',
            where=str(address),
            fix="leave it out: a view has a row for each turn",
        )
    from tasks.chat.sources.bigquery import BigQueryChatRows  # a second of imports that only BigQuery needs

    return BigQueryChatRows(str(address), settings, labels)
