"""Pieces of files, which any process can read independently, and the interface of a stream of rows."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window
from scoring.errors import InputError
from scoring.limits import LARGEST_CELL, LONGEST_LINE

BLOCK_BYTES = LARGEST_CELL
"""Size of a block of a text file that is parsed as a whole: no cell in it can exceed the limit."""


class RowStream(Protocol):
    """Monitoring rows in batches."""

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """The rows whose timestamp is in `window` or NULL (all rows when None), in bounded memory."""
        ...


@dataclass(frozen=True)
class FilePiece:
    """A file, or neighbouring row groups of a Parquet file, or bytes of a text file that hold whole rows.

    `start` and `stop` count row groups or bytes; without `stop` the piece reaches to the end. `first_line` is the line
    of the first row. `bytes` is about how much there is to read, before compression. `inode` identifies the file that
    was split: `start` and `stop` do not apply to another file of this name. So does `size`, in bytes, where a file that
    grows is written anew, as Parquet is.
    """

    path: Path
    start: int = 0
    stop: int | None = None
    first_line: int = 1
    bytes: int = 0
    inode: int | None = None
    size: int | None = None


def refuse_replaced(piece: FilePiece, opened: BinaryIO) -> None:
    """Raises InputError if the opened file is not the one that the piece was cut from."""
    status = os.fstat(opened.fileno())
    if piece.inode not in (None, status.st_ino) or piece.size not in (None, status.st_size):
        raise InputError("was replaced while it was read", where=str(piece.path), fix="run again")


def cut_lines(path: Path, piece_bytes: int) -> Iterator[FilePiece]:
    """Splits a file with one row per line into pieces of about `piece_bytes`; if reading fails, the rest is one piece.

    Raises:
        OSError: it cannot be opened.
    """
    with path.open("rb") as file:
        status = path.stat()
        start, line = 0, 1
        while status.st_size - start > piece_bytes:
            try:
                lines, stop = _lines_from(file, start, piece_bytes)
            except OSError:
                break  # the reader of the rest says what is wrong, in its place
            if stop is None or stop >= status.st_size:
                break
            yield FilePiece(path, start, stop, line, stop - start, status.st_ino)
            start, line = stop, line + lines
        yield FilePiece(path, start, None, line, status.st_size - start, status.st_ino)


def _lines_from(file: BinaryIO, start: int, size: int) -> tuple[int, int | None]:
    """Counts the whole lines that cover `size` bytes from `start` on; returns count and end (None: a line too long)."""
    file.seek(start)
    lines = 0
    while size > 0 and (block := file.read(min(size, BLOCK_BYTES))):
        lines += block.count(b"\n")
        size -= len(block)
    rest = file.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE:
        return lines, None
    return lines + rest.count(b"\n"), file.tell()
