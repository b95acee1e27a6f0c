"""What can be read on its own, in whatever process: a stretch of a file, and the rows that come of it in its order."""

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
"""Of a text file that is looked at as a whole: no cell in it is too large."""


class RowStream(Protocol):
    """Monitoring rows in batches."""

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """The rows whose timestamp is in `window` or NULL (all rows when None), in bounded memory."""
        ...


@dataclass(frozen=True)
class FilePiece:
    """A file, or neighbouring row groups of a Parquet file, or bytes of a text file that hold whole rows.

    `start` and `stop` count row groups or bytes; without `stop` it reaches to the end. `first_line` is the line of the
    first row. `bytes` is about how much there is to read, before compression. `inode` is the file that was cut: its
    borders say nothing about another one of this name.
    """

    path: Path
    start: int = 0
    stop: int | None = None
    first_line: int = 1
    bytes: int = 0
    inode: int | None = None


def refuse_replaced(piece: FilePiece, opened: BinaryIO) -> None:
    """Raises InputError where the opened file is not the one that the piece was cut from."""
    if piece.inode not in (None, os.fstat(opened.fileno()).st_ino):
        raise InputError("was replaced while it was read", where=str(piece.path), fix="run again")


def cut_lines(path: Path, piece_bytes: int) -> Iterator[FilePiece]:
    """Pieces of about `piece_bytes` of a file of which each line is a row. Where it cannot be read on, the rest is one
    piece.

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
    """The whole lines from `start` on that make up `size` bytes, and where they end; None where one is too long."""
    file.seek(start)
    lines = 0
    while size > 0 and (block := file.read(min(size, BLOCK_BYTES))):
        lines += block.count(b"\n")
        size -= len(block)
    rest = file.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE:
        return lines, None
    return lines + rest.count(b"\n"), file.tell()
