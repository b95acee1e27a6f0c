"""Reads chat row files once for many days.

Reading one day requires every file. For many days the rows are read in one pass and stored in a folder by day. Each
day is returned from there exactly as if it had been read alone: with its rejected rows, and the rows of its files
whose time is unknown.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from scoring.chat.day_content import DayContent, day_contents, local_day
from scoring.chat.reading import Reading
from scoring.chat.rows import BATCH_BYTES, BATCH_ROWS, CHAT_ROW_SCHEMA, FileFailure, RowBatch
from scoring.days import Window, days_window
from scoring.inputs import FileIdentity, Reject
from tasks.chat.sources import ChatRowFiles, ChatRowSource, RowStream
from tasks.files.atomic import writable


class _Piece(NamedTuple):
    """The rows of a day in one batch of a file: record batches of a cached file, and rejected rows.

    `naive` counts the rows whose timestamp had no zone.
    """

    path: Path
    places: tuple[int, ...]
    rejects: tuple[Reject, ...]
    rows: int
    naive: int

    def frames(self) -> list[pl.DataFrame]:
        """The rows, which are read from the file when they are used."""
        if not self.places:
            return []
        with pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            return [pl.DataFrame(reader.get_batch(place)) for place in self.places]


@dataclass
class _FileOfDay:
    """The pieces of a file for one day, the number of the file's rows on other days, and the rows' content."""

    pieces: list[_Piece] = field(default_factory=list)
    outside: int = 0
    content: DayContent = field(default_factory=DayContent)

    def batches(self, file: str) -> Iterator[RowBatch]:
        """The rows in batches of the usual size: rows that are not sorted by time make many small pieces."""
        frames: list[pl.DataFrame] = []
        pieces: list[_Piece] = []
        outside = self.outside
        for piece in self.pieces:
            following = piece.frames()
            together = [*frames, *following]
            size = sum(frame.estimated_size() for frame in together)
            if pieces and (size > BATCH_BYTES or sum(frame.height for frame in together) > BATCH_ROWS):
                yield _batch(file, frames, pieces, outside)
                frames, pieces, outside = [], [], 0
            frames += following
            pieces.append(piece)
        if pieces:
            yield _batch(file, frames, pieces, outside)


def read_at_once(
    source: ChatRowFiles, days: Sequence[date], time_zone: str, folder: Path
) -> Mapping[date, ChatRowSource]:
    """The rows of each of these days, stored in a new folder that the caller removes.

    A file that cannot be read, or that mixes timestamps with and without a zone in a batch, is not cached but read
    again for each day.

    Raises:
        StorageError: the folder cannot be written.
    """
    identities = source.fingerprint()
    kept: dict[date, dict[str, _FileOfDay]] = {day: defaultdict(_FileOfDay) for day in days}
    rows_in = Counter[str]()
    left = set[str]()
    day_of_row = local_day(time_zone)
    window = days_window(days[0], days[-1], time_zone)
    with writable(folder, "check free space and permissions, or backfill fewer days at a time"):
        folder.mkdir(parents=True)
        for number, batch in enumerate(source.batches(window)):
            if isinstance(batch, FileFailure) or not _of_one_kind(batch):
                left.add(batch.file)
            elif batch.file not in left:
                rows_in[batch.file] += batch.rows_in
                for day, piece in _pieces(batch, days, day_of_row, folder / f"{number:09}.arrow"):
                    kept[day][batch.file].pieces.append(piece)
                for day, content in day_contents(batch.rows, day_of_row):
                    if day in kept:
                        kept[day][batch.file].content += content
    for files in kept.values():
        for file, of_day in files.items():
            of_day.outside = rows_in[file] - sum(piece.rows + len(piece.rejects) for piece in of_day.pieces)
    return {
        day: _DayReadBefore(source.files, source.reading, identities, day, {**kept[day]}, frozenset(left))
        for day in days
    }


@dataclass(eq=False, repr=False)  # its pieces are many
class _DayReadBefore(ChatRowFiles):
    """One day of files, most of which are cached. It holds nothing of other days, because it is sent to workers."""

    files: tuple[Path, ...]
    reading: Reading
    _identities: tuple[FileIdentity, ...]
    _day: date
    _kept: Mapping[str, _FileOfDay]
    _left: Set[str]

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """The rows of the day, which must equal `window`, file by file."""
        for file in self.files:
            if str(file) in self._left:
                yield from ChatRowFiles([file], reading=self.reading).batches(window)
            elif kept := self._kept.get(str(file)):
                yield from kept.batches(str(file))

    def contents(self, window: Window, time_zone: str) -> dict[date, DayContent] | None:
        """The content of the rows when they were cached; None if a file was not cached."""
        if self._left:
            return None
        return {self._day: sum((kept.content for kept in self._kept.values()), DayContent())}

    def parts(self, window: Window | None, part_bytes: int) -> Iterator[RowStream]:
        """The whole day as one part: there are many days."""
        yield self

    def fingerprint(self, names: Collection[str] | None = None) -> tuple[FileIdentity, ...]:
        """The fingerprint of the files when they were cached."""
        return tuple(one for one in self._identities if names is None or one.name in names)


def _of_one_kind(batch: RowBatch) -> bool:
    """Whether all timestamps of a batch have a zone, or none has: single rows are not distinguished."""
    return batch.naive_timestamps in (0, batch.rows["timestamp"].count())


def _pieces(batch: RowBatch, days: Sequence[date], day_of_row: pl.Expr, path: Path) -> Iterator[tuple[date, _Piece]]:
    """The pieces of a batch by day; their rows are written to a new file. Rows without a day belong to every day."""
    by_day = batch.rows.with_columns(day=day_of_row).partition_by("day", as_dict=True, include_key=False)
    kept: dict[date | None, tuple[int, pl.DataFrame]] = {
        day: (place, rows) for place, ((day,), rows) in enumerate(by_day.items())
    }
    if kept:
        _write(path, [rows for _, rows in kept.values()])
    moments = pl.Series("timestamp", [reject.at for reject in batch.rejects], CHAT_ROW_SCHEMA["timestamp"])
    rejects: dict[date | None, list[Reject]] = defaultdict(list)
    for reject, day in zip(batch.rejects, moments.to_frame().select(day_of_row).to_series(), strict=True):
        rejects[day].append(reject)
    for day in days:
        found = [kept[some] for some in (day, None) if some in kept]
        of_day = (*rejects.get(day, ()), *rejects.get(None, ()))
        if found or of_day:
            naive = kept[day][1].height if batch.naive_timestamps and day in kept else 0
            places, rows = tuple(place for place, _ in found), sum(rows.height for _, rows in found)
            yield day, _Piece(path, places, of_day, rows, naive)


def _write(path: Path, frames: Sequence[pl.DataFrame]) -> None:
    """Writes a file that has each of the frames as one record batch."""
    with pa.ipc.new_file(path, frames[0].to_arrow().schema) as file:
        for frame in frames:
            (rows,) = frame.rechunk().to_arrow().to_batches()
            file.write_batch(rows)


def _batch(file: str, frames: Sequence[pl.DataFrame], pieces: Sequence[_Piece], outside: int) -> RowBatch:
    rows = pl.concat(frames, rechunk=True) if frames else CHAT_ROW_SCHEMA.to_frame()
    rejects = tuple(reject for piece in pieces for reject in piece.rejects)
    naive = sum(piece.naive for piece in pieces)
    return RowBatch(file, rows, rejects, naive, rows.height + len(rejects) + outside, outside)
