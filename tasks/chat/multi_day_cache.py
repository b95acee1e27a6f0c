"""Days of chat row files that are read once for all of them.

Reading one day means looking at every file. For many days their rows are read in one pass, put into a folder by day,
and handed out from there, exactly as if each day had been read alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import polars as pl

from scoring.chat.day_content import DayContent, day_contents
from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window, days_window
from scoring.inputs import FileIdentity
from tasks.chat.sources import ChatRowFiles, ChatRowSource, RowStream
from tasks.files.atomic import writable


@dataclass
class _KeptRows:
    """The rows of a file and a day: where they are kept, whether their timestamps named no zone, and what they are."""

    parts: list[tuple[Path, bool]] = field(default_factory=list)
    content: DayContent = field(default_factory=DayContent)


def read_at_once(
    source: ChatRowFiles, days: Sequence[date], time_zone: str, folder: Path
) -> Mapping[date, ChatRowSource]:
    """The rows of each of these days, kept in a new folder that the caller removes.

    A file that cannot be read, or has rows that cannot be read or dated, is left where it is: which of its days such
    a row belongs to is found out by reading that day alone.

    Raises:
        StorageError: the folder cannot be written.
    """
    identities = source.fingerprint()
    kept: dict[str, dict[date, _KeptRows]] = {str(file): {day: _KeptRows() for day in days} for file in source.files}
    local_day = pl.col("timestamp").dt.convert_time_zone(time_zone).dt.date()
    window = days_window(days[0], days[-1], time_zone)
    with writable(folder, "check free space and permissions"):
        folder.mkdir(parents=True)
        for number, batch in enumerate(source.batches(window)):
            if isinstance(batch, FileFailure) or not _can_be_split(batch):
                kept.pop(batch.file, None)
                continue
            of_file = kept.get(batch.file, {})
            by_day = batch.rows.with_columns(day=local_day).partition_by("day", as_dict=True, include_key=False)
            for (day,), rows in by_day.items():
                if day in of_file:
                    path = folder / f"{number:09}-{day}.arrow"
                    rows.write_ipc(path)
                    of_file[day].parts.append((path, batch.naive_timestamps > 0))
            for day, content in day_contents(batch.rows, local_day):
                if day in of_file:
                    of_file[day].content += content
    return {
        day: _DayReadBefore(source, identities, day, {file: of_file[day] for file, of_file in kept.items()})
        for day in days
    }


class _DayReadBefore(ChatRowFiles):
    """One day of files, most of which have been read before. It holds nothing of other days: workers are sent it."""

    def __init__(
        self, source: ChatRowFiles, identities: tuple[FileIdentity, ...], day: date, kept: Mapping[str, _KeptRows]
    ) -> None:
        self.files, self.reading, self.naive_zone = source.files, source.reading, source.naive_zone
        self._identities = identities
        self._day = day
        self._kept = kept

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """The rows of the day, which `window` must be, file by file."""
        for file in self.files:
            if (kept := self._kept.get(str(file))) is None:
                yield from ChatRowFiles([file], reading=self.reading).batches(window)
                continue
            for path, naive in kept.parts:
                rows = pl.read_ipc(path)
                yield RowBatch(str(file), rows, (), rows.height if naive else 0, rows.height, 0)

    def contents(self, window: Window, time_zone: str) -> dict[date, DayContent] | None:
        """What the rows were when they were read; None where a file was left where it is."""
        if any(str(file) not in self._kept for file in self.files):
            return None
        return {self._day: sum((kept.content for kept in self._kept.values()), DayContent())}

    def parts(self, window: Window | None, part_bytes: int) -> Iterator[RowStream]:
        """The whole day as one part: it is one of many."""
        yield self

    def fingerprint(self) -> tuple[FileIdentity, ...]:
        """What identified the files when they were read."""
        return self._identities


def _can_be_split(batch: RowBatch) -> bool:
    """Whether it is known of every row which day it belongs to, and whether its timestamp had a zone."""
    dated = not batch.rows["timestamp"].null_count()
    return dated and not batch.rejects and batch.naive_timestamps in (0, batch.rows.height)
