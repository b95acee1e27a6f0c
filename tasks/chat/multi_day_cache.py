"""Days of chat row files that are read once for all of them.

Reading one day means looking at every file. For many days their rows are read in one pass, put into a folder by day,
and handed out from there, exactly as if each day had been read alone.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import polars as pl

from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window, day_window
from scoring.errors import StorageError
from scoring.inputs import FileIdentity
from tasks.chat.sources import ChatRowFiles, ChatRowSource


class MultiDayCache:
    """The rows of some days, in a new folder that the caller removes.

    A file that cannot be read, or has rows that cannot be read or dated, is left where it is: which of its days such
    a row belongs to is found out by reading that day alone.

    Raises:
        StorageError: the folder cannot be written.
    """

    def __init__(self, source: ChatRowFiles, days: Sequence[date], time_zone: str, folder: Path) -> None:
        self._source = source
        self._days = set(days)
        self._time_zone = time_zone
        self._folder = folder
        self._places = {str(file): place for place, file in enumerate(source.files)}
        self._left: set[str] = set()
        self.files = source.files
        self._identities = source.fingerprint()
        window = Window(day_window(days[0], time_zone).start, day_window(days[-1], time_zone).end)
        try:
            folder.mkdir(parents=True)
            for number, batch in enumerate(source.batches(window)):
                if isinstance(batch, FileFailure) or not _can_be_split(batch):
                    self._left.add(batch.file)
                elif batch.file not in self._left:
                    self._keep(batch, number)
        except OSError as error:
            raise StorageError(
                f"cannot write: {error.strerror or error}", where=str(folder), fix="check free space and permissions"
            ) from error

    def of_day(self, day: date) -> ChatRowSource:
        """The rows of one of the days."""
        return _CachedDay(self, day)

    def fingerprint(self) -> tuple[FileIdentity, ...]:
        """What identified the files when they were read."""
        return self._identities

    def batches_of(self, day: date) -> Iterator[RowBatch | FileFailure]:
        """The rows of a day, file by file."""
        for file in self.files:
            if str(file) in self._left:
                yield from ChatRowFiles([file]).batches(day_window(day, self._time_zone))
            else:
                yield from self._kept(str(file), day)

    def estimate(self, window: Window) -> str:
        """What reading a period of the files would take."""
        return self._source.estimate(window)

    def _keep(self, batch: RowBatch, number: int) -> None:
        """Adds a batch to the folders of its days."""
        local_day = pl.col("timestamp").dt.convert_time_zone(self._time_zone).dt.date()
        naive = "naive" if batch.naive_timestamps else "zoned"
        by_day = batch.rows.with_columns(day=local_day).partition_by("day", as_dict=True, include_key=False)
        for (day,), part in by_day.items():
            if day in self._days:
                place = self._place(batch.file, day)
                place.mkdir(parents=True, exist_ok=True)
                part.write_ipc(place / f"{number:09}-{naive}.arrow")

    def _kept(self, file: str, day: date) -> Iterator[RowBatch]:
        for path in sorted(self._place(file, day).glob("*.arrow")):
            rows = pl.read_ipc(path)
            naive = rows.height if path.stem.endswith("naive") else 0
            yield RowBatch(file, rows, (), naive, rows.height, 0)

    def _place(self, file: str, day: object) -> Path:
        return self._folder / str(self._places[file]) / str(day)


class _CachedDay:
    """One day of a spool as a source."""

    def __init__(self, spool: MultiDayCache, day: date) -> None:
        self._spool = spool
        self._day = day
        self.files = spool.files

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """The rows of the day, whatever the window."""
        return self._spool.batches_of(self._day)

    def fingerprint(self) -> tuple[FileIdentity, ...]:
        return self._spool.fingerprint()

    def contents(self, window: Window, time_zone: str) -> None:
        """None: as of the files themselves."""

    def estimate(self, window: Window) -> str:
        return self._spool.estimate(window)


def _can_be_split(batch: RowBatch) -> bool:
    """Whether it is known of every row which day it belongs to, and whether its timestamp had a zone."""
    dated = not batch.rows["timestamp"].null_count()
    return dated and not batch.rejects and batch.naive_timestamps in (0, batch.rows.height)
