"""Which files the chat rows come from, and their rows one after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from scoring.days import Window
from scoring.errors import InputError
from tasks.chat_rows.delimited import read_delimited
from tasks.chat_rows.json_lines import read_json_lines
from tasks.chat_rows.parquet import read_parquet
from tasks.chat_rows.rows import FileFailure, RowBatch

_READERS: dict[str, Callable[[Path, Window | None], Iterator[RowBatch]]] = {
    ".parquet": read_parquet,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
}
_ENDINGS = ", ".join(_READERS)


@dataclass(frozen=True)
class FileIdentity:
    """What a file held when it was read: its name as in the batches, SHA-256 in hex, size in bytes."""

    name: str
    sha256: str
    bytes: int


class ChatRowFiles:
    """Monitoring rows from files, folders and globs, in the order given, each file once.

    Of a folder every table is taken, at any depth and sorted by path; what is hidden or starts with `_` is left to
    the tools that wrote it. A glob may find files and folders. A file named outright is always tried. Raises
    InputError when an input matches nothing.
    """

    def __init__(self, inputs: Sequence[str | Path]) -> None:
        found: dict[Path, Path] = {}
        for given in inputs:
            for path in _matches(given):
                found.setdefault(path.resolve(), path)
        self.files = tuple(found.values())

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        """The rows of every file whose timestamp is in `window` or NULL, file by file, in bounded memory.

        A file that cannot be read, or not to its end, is one FileFailure in its place; the next file follows.
        """
        for path in self.files:
            try:
                yield from _reader_of(path)(path, window)
            except InputError as error:
                yield FileFailure(str(path), error)
            except (OSError, pa.ArrowException) as error:
                yield FileFailure(str(path), _unreadable(path, error))

    def fingerprint(self) -> tuple[FileIdentity, ...]:
        """The identity of each file that can be opened; the others are failures of `batches`."""
        return tuple(identity for path in self.files if (identity := _identity(path)))


def _matches(given: str | Path) -> list[Path]:
    path = Path(given)
    if path.is_file():
        return [path]
    found = _tables_in(path) if path.is_dir() else _tables_by_glob(path)
    if not found:
        raise InputError(
            f"nothing to read: looked for a file, a folder or a glob with files ending in {_ENDINGS}",
            where=str(given),
            fix="check the path",
        )
    return found


def _tables_in(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if _is_table(path.relative_to(folder)))


def _tables_by_glob(pattern: Path) -> list[Path]:
    try:
        hits = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    except ValueError:  # before Python 3.13, a `**` that is not a whole part of the path
        return []
    found: list[Path] = []
    for path in hits:
        if path.is_dir():
            found += _tables_in(path)
        elif _is_table(Path(path.name)):
            found.append(path)
    return found


def _is_table(path: Path) -> bool:
    return path.suffix.lower() in _READERS and not any(part.startswith((".", "_")) for part in path.parts)


def _reader_of(path: Path) -> Callable[[Path, Window | None], Iterator[RowBatch]]:
    try:
        return _READERS[path.suffix.lower()]
    except KeyError:
        raise InputError(
            f"expected a name ending in {_ENDINGS}, found {path.suffix or 'no ending'}",
            where=str(path),
            fix="rename or convert the file",
        ) from None


def _unreadable(path: Path, error: Exception) -> InputError:
    found = str(error).partition("\n")[0]
    if path.is_file() and not path.stat().st_size:
        found = "the file is empty (0 bytes)"
    return InputError(
        f"cannot be read: expected a whole table ({path.suffix}), found: {found}",
        where=str(path),
        fix="copy or export the file again",
    )


def _identity(path: Path) -> FileIdentity | None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return FileIdentity(str(path), digest.hexdigest(), file.tell())
    except OSError:
        return None
