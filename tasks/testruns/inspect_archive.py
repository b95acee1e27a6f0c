"""Packed logs of Inspect (`.eval`): a zip archive with an entry for each sample, packed by zstd or deflate.

Source: SPEC 13.
"""

import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scoring.errors import InputError
from scoring.limits import LARGEST_EXPORT
from scoring.testruns.exports import Export, inspect_log
from tasks.files.discovery import readable, refuse_protected

if sys.version_info >= (3, 14):
    from zipfile import BadZipFile, ZipFile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError
    from backports.zstd.zipfile import BadZipFile, ZipFile

_HEADERS = ("header.json", "_journal/start.json")  # of an evaluation that has not ended there is the second alone
_HEAD_BYTES = 1024
# RuntimeError: an entry with a password, one packed by another method, or JSON that is nested too deep.
_BROKEN = (BadZipFile, ZstdError, zlib.error, EOFError, RuntimeError, ValueError)


@dataclass(frozen=True)
class _Samples:
    """The samples of a log, one in memory at a time; an unreadable one is None. Each iteration reads the file again."""

    path: Path
    entries: tuple[str, ...]

    def __iter__(self) -> Iterator[object]:
        with _opened(self.path) as log:
            for entry in self.entries:
                try:
                    sample = json.loads(log.read(entry))
                except _BROKEN:
                    sample = None
                yield sample


def packed_inspect_log(path: Path) -> Export:
    """The log in a packed file; its samples are in the order in which Inspect dumps them, by epoch and id.

    Raises:
        InputError: it is no such log, is damaged, has no samples, or one that is too large.
    """
    with readable(path), path.open("rb") as file:
        refuse_protected(path, file.read(_HEAD_BYTES))
    try:
        with _opened(path) as log:
            sizes = {entry.filename: entry.file_size for entry in log.infolist()}
            head = next(entry for entry in _HEADERS if entry in sizes)
            samples = [entry for entry in sizes if entry.startswith("samples/") and entry.endswith(".json")]
            _refuse_large(path, {entry: sizes[entry] for entry in (head, *samples)})
            header = json.loads(log.read(head))
    except (*_BROKEN, StopIteration) as error:
        raise InputError(
            "cannot be read as a packed log of Inspect (.eval)",
            where=str(path),
            fix="copy it again, or dump it where it was written: `inspect log dump LOG.eval > log.json`",
        ) from error
    found = {
        "eval": header.get("eval") if isinstance(header, dict) else None,
        "samples": _Samples(path, tuple(sorted(samples, key=_place))) if samples else None,
    }
    return inspect_log(found, str(path))


@contextmanager
def _opened(path: Path) -> Iterator[ZipFile]:
    with readable(path), ZipFile(path) as log:
        yield log


def _refuse_large(path: Path, sizes: dict[str, int]) -> None:
    if large := [entry for entry, size in sizes.items() if size > LARGEST_EXPORT]:
        raise InputError(
            f"{large[0]} has more than {LARGEST_EXPORT:,} bytes, which are parsed as a whole",
            where=str(path),
            fix="log fewer events of a sample",
        )


def _place(entry: str) -> tuple[int, str]:
    """Epoch and id of the sample in `samples/ID_epoch_EPOCH.json`, numbers of ids in their order."""
    sample, _, epoch = entry.removesuffix(".json").rpartition("_epoch_")
    name = sample.removeprefix("samples/")
    return int(epoch) if epoch.isdecimal() else 0, name.zfill(20) if name.isdecimal() else name
