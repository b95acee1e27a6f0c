"""Atomic writes of files and folders of files; Parquet with the same bytes for the same rows."""

import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from errno import EDQUOT, EEXIST, EINVAL, ENOSPC
from fnmatch import fnmatch
from pathlib import Path
from stat import S_ISREG
from tempfile import TemporaryDirectory
from time import monotonic
from typing import IO, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scoring.errors import StorageError
from scoring.rules.arrow_types import no_rows

ROWS_PER_GROUP = 20_000
_UNFINISHED = ".unfinished"
_UNFINISHED_FOLDER = f".files{_UNFINISHED}"
_AGAIN = "check free space and permissions, then run again"
_STAGING = ".staging"
_LONGEST_LOOK_S = 0.3
TABLE_MODE = 0o640
"""Who may read and write tables: they hold texts of people."""


def write_parquet(path: Path, schema: pa.Schema, frames: Iterable[pl.DataFrame]) -> int:
    """Replaces `path` atomically by the rows of `frames` in the columns of `schema`; returns their number.

    A reader sees the old file or the new one. Row groups have a fixed size, so the bytes depend only on the rows and
    their order, not on the frames. Of two writers of the same path one waits for the other.

    Raises:
        StorageError: the folder cannot be written or the disk is full; the old file is still there.
    """
    with replacing(path, TABLE_MODE) as file:
        return parquet_into(file, schema, frames)


def write_text(path: Path, text: str | Iterator[str], mode: int = 0o666) -> None:
    """Replaces `path` atomically by `text`, or by its pieces one after another, in UTF-8. `mode` as for `replacing`.

    Raises:
        StorageError: as for `write_parquet`.
    """
    with replacing(path, mode) as file:
        file.writelines(piece.encode() for piece in ([text] if isinstance(text, str) else text))


def json_text(value: Any) -> str:
    """A JSON document for programs, as a text to write.

    Raises:
        ValueError: a number is not finite: not every program could read it.
    """
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def make_private(path: Path) -> None:
    """Makes a file readable and writable only by its owner; creates it if it is missing.

    Raises:
        OSError: it cannot be created, or it is a folder or a device, whose permissions stay.
    """
    path.touch(mode=0o600)
    there = path.stat()
    if not S_ISREG(there.st_mode):
        raise FileExistsError(EEXIST, "it is no file", str(path))
    if there.st_uid == os.geteuid():
        path.chmod(0o600)


@contextmanager
def sole_writer(folder: Path) -> Iterator[Path]:
    """An empty, hidden folder in `folder`, for the only process that may write there until the block ends.

    The remains of killed processes are removed; a link is removed, never followed. A folder that did not exist before
    and into which nothing was written is removed with the parents created for it.

    Raises:
        StorageError: another process is writing there, or it cannot be written.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with writable(folder, "choose another --out folder"):
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            asked_until = monotonic() + _LONGEST_LOOK_S
            while not locks(descriptor):  # ends with its owner, and leaves no file
                if has_sole_writer(folder) or monotonic() > asked_until:  # else somebody is just asking this
                    raise StorageError(
                        "another process is writing into this folder",
                        where=str(folder),
                        fix="wait for it to end, or choose another folder",
                    )
            stack.callback(_remove_empty, made)
            for left in folder.glob(f"{_STAGING}*"):
                _remove(left)
            staging = TemporaryDirectory(prefix=f"{_STAGING}-", dir=folder, ignore_cleanup_errors=True)
            yield Path(stack.enter_context(staging))


def has_sole_writer(folder: Path) -> bool:
    """Whether some process is the `sole_writer` of a folder; nobody is that of one that is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not locks(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def locks(opened: int | IO[Any], how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> bool:
    """Locks an open file or folder unless another process has it; the kernel releases it when its owner dies."""
    try:
        fcntl.flock(opened, how)
    except BlockingIOError:
        return False
    return True


def _remove_empty(folders: Iterable[Path]) -> None:
    """Removes nested folders, innermost first, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A new, hidden file beside `path` that replaces it when the block succeeds, and is removed when it fails.

    `mode` are its permissions, as far as the umask allows. Only one writer at a time, in any process, has it. What else
    lies in its place, such as the remains of a killed writer, is removed and never written to; nor is a link followed.
    """
    unfinished = path.with_name(f".{path.name}{_UNFINISHED}")
    with writable(path, f"{_AGAIN}; the file is as it was before"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone_with(unfinished, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not is_at(unfinished, file):
                raise FileNotFoundError(unfinished)
            unfinished.replace(path)
            sync_folder(path.parent)


@contextmanager
def replacing_together(folder: Path, last: str, others: Collection[str] = ()) -> Iterator[Path]:
    """A hidden folder in `folder`, whose files replace those there when the block succeeds, `last` as the last.

    Until then the old files stay, also if the process dies. While files are replaced, for milliseconds, there is no
    `last`: a folder that has it is complete. Those of `others` that the block did not write are removed at the same
    time, if the folder was written in this way before: they belong to the old files. Only one writer at a time has it;
    the remains of a killed one are removed.

    Raises:
        StorageError: the folder cannot be written or the disk is full; its files are unchanged.
    """
    unfinished = folder / _UNFINISHED_FOLDER
    with writable(folder, f"{_AGAIN}; the files are as they were before"):
        is_ours = unfinished.exists() or (folder / last).exists()
        _remove(unfinished)
        unfinished.mkdir(parents=True)
        try:
            yield unfinished
            made = {path.name for path in unfinished.iterdir()}
            if taken := [name for name in sorted(made) if (folder / name).is_dir()]:
                raise StorageError(
                    "a folder stands in the place of this file", where=str(folder / taken[0]), fix="move it away"
                )
            for name in [last, *(sorted({*others} - made) if is_ours else ())]:
                (folder / name).unlink(missing_ok=True)
            for name in [*sorted(made - {last}), last]:
                (unfinished / name).replace(folder / name)
            sync_folder(folder)
        except StorageError as error:  # of a file that people find in the folder itself
            raise StorageError(error.what, where=str(folder / Path(error.where).name), fix=error.fix) from error
        finally:
            _remove(unfinished)


def remove_together(folder: Path, last: str, others: Collection[str]) -> None:
    """Removes the files that `replacing_together` has written there, `last` first; none from a folder without `last`.

    Raises:
        StorageError: they cannot be removed.
    """
    if (folder / last).is_file():
        with writable(folder):
            for name in (last, *others):
                (folder / name).unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    """Removes a folder with its content; a link is removed, never followed."""
    folder.unlink() if folder.is_symlink() else shutil.rmtree(folder, ignore_errors=not folder.exists())


@contextmanager
def writable(path: Path, fix: str = _AGAIN) -> Iterator[None]:
    """Converts an OSError in the block to a StorageError of this file or folder."""
    try:
        yield
    except FileNotFoundError as error:  # folders are made before they are written to
        raise StorageError(
            "cannot write: files that belong to it were removed meanwhile",
            where=str(path),
            fix="keep other programs off this folder, then run again",
        ) from error
    except OSError as error:
        what, full = f"cannot write: {error.strerror or error}", error.errno in (ENOSPC, EDQUOT)
        ko = f"{'디스크가 가득 차 ' if full else ''}저장하지 못했습니다. 운영 담당자에게 알린 뒤 다시 하세요."
        raise StorageError(what, where=str(path), fix=fix, ko=ko) from error


@contextmanager
def _alone_with(unfinished: Path, mode: int) -> Iterator[IO[bytes]]:
    """A new file with the kernel's lock on it, which is released when its owner ends; it is removed unless it was
    renamed.
    """
    while True:
        descriptor, is_new = _opened(unfinished, mode)
        with os.fdopen(descriptor, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not is_at(unfinished, file):
                continue  # its former holder has renamed it
            if not is_new:  # nobody works on it: it may have another owner, other permissions, or a second name
                unfinished.unlink()
                continue
            try:
                yield file
            finally:
                if is_at(unfinished, file):
                    unfinished.unlink()
            return


def _opened(unfinished: Path, mode: int) -> tuple[int, bool]:
    """The descriptor of a new file, or of the regular file that is there already; and whether it is new."""
    while True:
        with suppress(FileExistsError):
            return os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), True
        with suppress(FileNotFoundError):  # its writer has renamed it
            if S_ISREG(unfinished.lstat().st_mode):
                return os.open(unfinished, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), False
            unfinished.unlink()


def is_at(path: Path, file: IO[Any]) -> bool:
    """Whether an open file itself, and no link to it, still has this name; it may have been removed or replaced."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def parquet_into(file: IO[bytes], schema: pa.Schema, frames: Iterable[pl.DataFrame]) -> int:
    """Writes the rows of `frames` in the columns of `schema` to an open file; returns their number."""
    rows = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in _regrouped(schema, frames):
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)
            rows += table.num_rows
    return rows


def remove_unfinished(folder: Path, before: datetime, *, dry_run: bool) -> int:
    """Removes the remains of writers that were killed before a moment, in a folder and below it; returns their number.

    With `dry_run` they are counted only.
    """
    every = (Path(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files))
    found = unchanged_since(before, (path for path in every if fnmatch(path.name, f".*{_UNFINISHED}")))
    if not dry_run:
        for path in found:
            _remove(path) if path.is_dir() else path.unlink(missing_ok=True)
    return len(found)


def unchanged_since(moment: datetime, paths: Iterable[Path]) -> list[Path]:
    """Those of the files and folders that still exist and have not changed since a moment.

    One that its writer renames or removes meanwhile is left out.
    """
    found = []
    for path in paths:
        with suppress(FileNotFoundError):
            if path.lstat().st_mtime < moment.timestamp():
                found.append(path)
    return found


def _regrouped(schema: pa.Schema, frames: Iterable[pl.DataFrame]) -> Iterator[pa.Table]:
    """The same rows in tables of exactly `ROWS_PER_GROUP` rows; the last one has the rest."""
    waiting = no_rows(schema)
    for frame in frames:
        arriving = frame.select(schema.names).to_arrow(compat_level=pl.CompatLevel.newest()).cast(schema)
        waiting = pa.concat_tables([waiting, arriving]) if waiting.num_rows else arriving
        whole = waiting.num_rows - waiting.num_rows % ROWS_PER_GROUP
        for start in range(0, whole, ROWS_PER_GROUP):
            yield waiting.slice(start, ROWS_PER_GROUP)
        waiting = waiting.slice(whole)
    if waiting.num_rows:
        yield waiting


def sync_folder(folder: Path) -> None:
    """Makes the current names in a folder durable where the file system can: shares of Windows cannot."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != EINVAL:
            raise
    finally:
        os.close(descriptor)
