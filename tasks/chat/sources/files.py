"""Selects the files with chat rows, and reads their rows file by file."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from os import SEEK_END, stat_result
from pathlib import Path

import pyarrow as pa

from scoring.chat.day_content import DayContent
from scoring.chat.reading import AS_IT_IS, ROWS, Reading
from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window
from scoring.errors import InputError, counted
from scoring.inputs import FileIdentity
from tasks.chat.sources.delimited import cut_delimited, read_delimited
from tasks.chat.sources.exports import export_endings, read_export
from tasks.chat.sources.json_lines import read_json_lines
from tasks.chat.sources.parquet import cut_parquet, read_parquet
from tasks.chat.sources.pieces import FilePiece, RowStream, cut_lines
from tasks.files.discovery import files_in, identity_of, matching_files, readable
from tasks.files.presence import exists, is_folder

_Reader = Callable[[FilePiece, Window | None, Reading], Iterator[RowBatch]]
_READERS: dict[str, _Reader] = {
    ".parquet": read_parquet,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
}
_LINE_ENDINGS = (".jsonl", ".ndjson")
_PACKED = (".gz", ".zip", ".zst", ".bz2", ".xz")


@dataclass(frozen=True)
class FilePieces:
    """Whole files, or one piece of a file; it can be pickled, so that another process can read the rows."""

    pieces: tuple[FilePiece, ...]
    reading: Reading

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """Yields the rows of these pieces, as `ChatRowFiles.batches` does."""
        for piece in self.pieces:
            path = piece.path
            try:
                before = path.stat()
                yield from _reader_of(path, self.reading)(piece, window, self.reading)
                _refuse_cut(path, before)
            except InputError as error:
                yield FileFailure(str(path), error)
            except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
                yield FileFailure(str(path), _unreadable(path, error))


class ChatRowFiles:
    """Monitoring rows from files, folders and globs, in the order given, each file once.

    `matching_files` selects them. Raises InputError if an input matches nothing.
    """

    def __init__(self, inputs: Sequence[str | Path], out: Path | None = None, reading: Reading = AS_IT_IS) -> None:
        self.files = matching_files(inputs, endings_of(reading), out)
        self._folders = [folder for folder in map(Path, inputs) if is_folder(folder)]
        self.reading = reading

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """The rows of every file whose timestamp is in `window` or NULL, file by file, in bounded memory.

        A file that cannot be read, or not to its end, gives one FileFailure at that point; the next file follows.
        """
        return FilePieces(tuple(map(FilePiece, self.files)), self.reading).batches(window)

    def parts(self, window: Window | None, part_bytes: int) -> Iterator[RowStream]:
        """All rows of `batches` in parts of about `part_bytes`: some small files, or a piece of a large one."""
        together: list[FilePiece] = []
        for path in self.files:
            pieces = _cut(path, window, self.reading, part_bytes)
            first, second = next(pieces), next(pieces, None)
            if together and (second or sum(piece.bytes for piece in (*together, first)) > part_bytes):
                yield FilePieces(tuple(together), self.reading)
                together = []
            if second:
                yield from (FilePieces((piece,), self.reading) for piece in (first, second, *pieces))
            else:
                together.append(FilePiece(path, bytes=first.bytes))
        if together:
            yield FilePieces(tuple(together), self.reading)

    def fingerprint(self, names: Collection[str] | None = None) -> tuple[FileIdentity, ...]:
        """The identity of each file that can be opened; the others are failures of `batches`.

        With `names` no other file is read.
        """
        wanted = (path for path in self.files if names is None or str(path) in names)
        return tuple(identity for path in wanted if (identity := _identity(path)))

    def contents(self, window: Window, time_zone: str) -> dict[date, DayContent] | None:
        """None: the content of a day is determined while the rows of the files are read."""
        return None

    def estimate(self, window: Window) -> str:
        """The number of files and their total size, whatever the period; opens each, and reads the start of the newest.

        Raises:
            InputError: a file cannot be opened, or the newest one cannot be read in the way of `reading`.
        """
        size, changed = 0, {}
        for path in self.files:
            with readable(path), path.open("rb") as file:
                size += file.seek(0, SEEK_END)
                changed[path] = os.fstat(file.fileno()).st_mtime_ns
        newest = FilePieces((FilePiece(max(self.files, key=changed.__getitem__)),), self.reading)
        begun = next(newest.batches(window), None)
        if isinstance(begun, FileFailure):
            raise begun.error
        packed = sum(len(files_in(folder, _PACKED)) for folder in self._folders)
        passed_over = f"; {counted(packed, 'packed file')} not read (unpack what has rows)" if packed else ""
        return f"{counted(len(self.files), 'file')}, {size:,} bytes{passed_over}"


def endings_of(reading: Reading) -> tuple[str, ...]:
    """The file name endings that can be read in this way."""
    return tuple(_READERS) if reading.format == ROWS else export_endings(reading.format)


def _cut(path: Path, window: Window | None, reading: Reading, piece_bytes: int) -> Iterator[FilePiece]:
    """Splits a file into pieces; a file that cannot be split is one piece, and its reader reports the error.

    No row is in two pieces: splitting fails before the first piece or not at all.
    """
    ending = path.suffix.lower()
    try:
        if ending == ".parquet" and reading.format != ROWS:
            yield FilePiece(path, bytes=path.stat().st_size)
        elif reading.format != ROWS or ending in _LINE_ENDINGS:
            yield from cut_lines(path, piece_bytes)
        elif ending == ".parquet":
            yield from [*cut_parquet(path, window, reading, piece_bytes)]
        else:
            yield from cut_delimited(path, piece_bytes)
    except (InputError, OSError, pa.ArrowException, UnicodeDecodeError):
        yield FilePiece(path)


def _reader_of(path: Path, reading: Reading) -> _Reader:
    ending, endings = path.suffix.lower(), endings_of(reading)
    if ending not in endings:
        what = "" if reading.format == ROWS else f" of the format {reading.format}"
        raise InputError(
            f"expected a name{what} ending in {', '.join(endings)}, found {path.suffix or 'no ending'}",
            where=str(path),
            fix=("save it as CSV UTF-8" if ending.startswith(".xls") else "rename or convert the file")
            + (what and ", or correct monitoring.format (aqb score: --format)"),
        )
    return _READERS[ending] if reading.format == ROWS else read_export


def _refuse_cut(path: Path, before: stat_result) -> None:
    """Raises InputError if a file became shorter while it was read, because rows may be lost.

    It may grow or be replaced.
    """
    after = path.stat() if exists(path) else before
    if after.st_ino == before.st_ino and after.st_size < before.st_size:
        raise InputError("became shorter while it was read", where=str(path), fix="run again when it is complete")


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, PermissionError):
        return InputError("cannot be read: Permission denied", where=str(path), fix="change its permissions")
    found = str(error).partition("\n")[0]
    if path.is_file() and not path.stat().st_size:
        found = "the file is empty (0 bytes)"
    elif isinstance(error, UnicodeDecodeError):
        found = "a column whose name is no UTF-8"
    return InputError(
        f"cannot be read: expected a whole table ({path.suffix}), found: {found}",
        where=str(path),
        fix="copy or export the file again",
    )


def _identity(path: Path) -> FileIdentity | None:
    try:
        return identity_of(path)
    except InputError:
        return None
