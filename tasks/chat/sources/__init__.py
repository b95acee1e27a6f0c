"""Monitoring rows from Parquet, CSV, TSV, JSON Lines and BigQuery, as a stream of data frames.

This module has the interface of sources, and selects a source by its address.

files        inputs -> files -> batches, one file after the other; a failed file does not stop the others
delimited, json_lines, parquet      one kind of file each: bytes -> cells or columns
exports      JSON Lines, or Parquet of Langfuse, that other tools wrote: bytes -> objects
bigquery     a view, one period at a time

Parsing cells and columns and rejecting rows is pure code in `scoring.chat`: `rows`, `cells`, `arrow_rows` and
`sql_rows`; `exports` there parses the objects of other tools.
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
    """The interface of a source: its monitoring rows and their metadata, however they are stored."""

    @property
    def files(self) -> Sequence[str | Path]:
        """The files that are read, or the view."""
        ...

    @property
    def reading(self) -> Reading:
        """The names of the columns in files (none for a view), and the time zone of timestamps without one."""
        ...

    def parts(self, window: Window | None, part_bytes: int) -> Iterator[RowStream]:
        """Splits the rows of `batches`, in their order, into parts of about `part_bytes` before compression.

        If there is more than one part, they can be pickled and read in another process.
        """
        ...

    def fingerprint(self, names: Collection[str] | None = None) -> tuple[FileIdentity, ...]:
        """The identity of each file (with `names`, of these files only), or of the view."""
        ...

    def contents(self, window: Window, time_zone: str) -> dict[date, DayContent] | None:
        """The content of each day of the window that has rows; None if only reading the rows can determine it."""
        ...

    def estimate(self, window: Window) -> str:
        """A text for people on what reading a period would take; reads at most the first rows of one file.

        Raises:
            InputError: a file cannot be opened, or the columns are not those of chat rows.
        """
        ...


def reading_of(settings: Settings) -> Reading:
    """The way files are read by `monitoring.format`, `[monitoring.columns]` and `monitoring.naive_timestamps`."""
    monitoring = settings.monitoring
    names = {str(name): called for name, called in monitoring.columns.items()}
    return Reading(names, monitoring.naive_timestamps, monitoring.format)


def open_source(address: str | Path, settings: Settings, labels: Mapping[str, str] | None = None) -> ChatRowSource:
    """Opens the source at an address: a file, a folder, a glob, or `bigquery://project.dataset.view`.

    `labels` (`rubric`, `run_id`) mark the jobs of BigQuery.

    Raises:
        InputError: no file matches the address; or as `BigQueryChatRows`.
        UsageError: the kind of address is not supported, or the format is for files only; or as `BigQueryChatRows`.
        StorageError: as `BigQueryChatRows`.
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
