"""A warehouse in a folder: one Parquet file per table and day, `<table>/<day>.parquet`.

Those of a service that has a name are `<table>/<service>/<day>.parquet`.
"""

import fcntl
import fnmatch
import os
import shutil
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import date, datetime
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import IO, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scoring.errors import DamagedFileError, StorageError, TakenError
from tasks.files.atomic import is_at, locks, remove_unfinished, unchanged_since, writable, write_parquet
from tasks.files.presence import exists
from tasks.waiting import attempts
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import SERVICE, rows_of_service, schema_of_service, shaped

_STAGING = ".staging"
_SMALL_BYTES = 64 * 1024
_SMALL_FILES = 256


class FolderWarehouse(Warehouse):
    """Score tables as Parquet files, readable by DuckDB, pandas and external tables of BigQuery.

    Writers hold the staging lock of the day they write; readers need no lock. Each `service` has its own days and
    locks; None is the one without a name.
    """

    def __init__(self, folder: Path, service: str | None = None) -> None:
        self.folder = folder
        self.url = str(folder)
        self._service = service

    def replace_day(
        self,
        table: str,
        day: date,
        schema: pa.Schema,
        frames: Iterable[pl.DataFrame],
        only: Mapping[str, str] | None = None,
        most: Mapping[str | None, int] | None = None,
    ) -> None:
        """Replaces one day of a table by renaming a complete file over the old one.

        With `only` the file is ordered by these columns, independent of the order of writing, and writers of the same
        day wait for each other. `most` is not checked: the writer has held the day's lock since the rows were counted.
        """
        path, schema = self.path(table, day), schema_of_service(schema, self._service)
        frames = rows_of_service(frames, self._service)
        if only is None:
            write_parquet(path, schema, frames)
            return
        with self.lock(f"{table}-{day}"):
            before, after = _others(path, day, schema, only)
            write_parquet(path, schema, chain(before, frames, after))

    def read(
        self, table: str, days: Sequence[date] | None = None, schema: pa.Schema | None = None
    ) -> pl.LazyFrame | None:
        """The rows of these days, earliest day first, in the columns of `schema`, else in the union of their columns.
        NULL if a day lacks a column.

        Raises:
            DamagedFileError: a file is damaged.
            StorageError: a file may not be read, or the warehouse is not a readable folder.
        """
        wanted = self.days(table) if days is None else self._there(table, days)
        if not wanted:
            return None
        rows = _together(_rows_of({day: self.path(table, day) for day in wanted}))
        return rows.drop(SERVICE, strict=False) if schema is None else shaped(rows, schema)

    def days(self, table: str) -> list[date]:
        """The days of a table; files that are not named like a day are ignored.

        Raises:
            StorageError: the warehouse is not a readable folder.
        """
        folder, found, names = self._folder_of(table), [], list[str]()
        with _readable(folder), os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
        for name in fnmatch.filter(names, "????-??-??.parquet"):  # `fromisoformat` takes 20260213 and 2026-W07 as well
            with suppress(ValueError):
                found.append(date.fromisoformat(name.removesuffix(".parquet")))
        return sorted(found)

    def _there(self, table: str, days: Sequence[date]) -> list[date]:
        """Those of some days that a table has, without a look at its others."""
        found = []
        for day in sorted(set(days)):
            with _readable(path := self.path(table, day)):
                path.stat()
                found.append(day)
        return found

    def day_versions(self, table: str, days: Sequence[date]) -> dict[date, str]:
        """The hashes of the files."""
        return {day: _hash_of(self.path(table, day)) for day in days}

    def path(self, table: str, day: date) -> Path:
        """The file of one table and day."""
        return self._folder_of(table) / f"{day.isoformat()}.parquet"

    def _folder_of(self, table: str) -> Path:
        return self.folder / table / (self._service or "")

    def _own(self, name: str) -> str:
        return name if self._service is None else f"{self._service}.{name}"

    @contextmanager
    def lock(self, name: str, wait_s: float | None = None) -> Iterator[None]:
        """Holds the kernel's lock on a file, which is released when its owner ends; waits without limit by default."""
        with self._locked(self._own(name), wait_s):
            yield

    def staging(self, name: str, wait_s: float = 0.0) -> AbstractContextManager[Path]:
        """An empty folder for one run of that name; the remains of a killed run are removed first.

        Raises StorageError also if it was removed meanwhile, or a link is in the place of its staging folder.
        """
        return self._staged(self._own(name), wait_s)

    @contextmanager
    def _staged(self, name: str, wait_s: float = 0.0) -> Iterator[Path]:
        folder = self.folder / _STAGING / name
        with self._locked(name, wait_s) as lock:
            shutil.rmtree(folder, ignore_errors=True)
            try:
                yield folder
                if not is_at(Path(lock.name), lock):
                    raise StorageError(
                        "the warehouse was removed while a run wrote to it",
                        where=str(self.folder),
                        fix="keep other programs off this folder, then run again",
                    )
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _locked(self, name: str, wait_s: float | None) -> Iterator[IO[str]]:
        """The file with the lock of a name; raises TakenError after about `wait_s` (None: waits without limit)."""
        path = self.folder / _STAGING / f"{name}.lock"
        with writable(self.folder, "check the permissions of this folder"):
            if path.parent.is_symlink():
                raise StorageError(
                    "the staging folder of the warehouse is a link, and links are not followed",
                    where=str(path.parent),
                    fix="remove the link; the next run makes the folder",
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = open(path, "a", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW))  # noqa: SIM115
        with lock:
            try:
                if wait_s is None:
                    locks(lock, fcntl.LOCK_EX)
                elif not any(locks(lock) for _ in attempts(name, wait_s)):
                    fix = "wait for it to end, then run again"
                    raise TakenError(f"another run is working on '{name}'", where=str(self.folder), fix=fix)
            except OSError as error:
                fix = "put the warehouse on a file system with locks, such as a disk of this machine"
                raise StorageError(f"cannot be locked: {error.strerror}", where=lock.name, fix=fix) from error
            yield lock

    def remove_leftovers(self, before: datetime, *, dry_run: bool) -> int:
        """Removes unfinished files and staging folders of killed runs of all services; those of running ones stay."""
        staged = (path for path in (self.folder / _STAGING).glob("*/") if path.is_dir())
        folders = [path.name for path in unchanged_since(before, staged)]
        removed = remove_unfinished(self.folder, before, dry_run=dry_run)
        for name in folders:
            # Entering a staging folder removes what a killed run has left there.
            with suppress(StorageError), nullcontext() if dry_run else self._staged(name):
                removed += 1
        return removed


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Ends the block where there is no such file or folder."""
    try:
        yield
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StorageError(
            f"cannot be read: {error.strerror}", where=str(path), fix="check the path and its permissions"
        ) from error


def _hash_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def _together(files: Sequence[pl.DataFrame | pl.LazyFrame]) -> pl.LazyFrame:
    """The rows of files, whose columns may differ between versions."""
    frames = [file for file in files if isinstance(file, pl.DataFrame)]
    if len(frames) == len(files):
        with suppress(pl.exceptions.SchemaError, pl.exceptions.ShapeError):
            return pl.concat(frames).lazy()  # a plan over so many frames takes four times as long
    return pl.concat([file.lazy() for file in files], how="diagonal_relaxed")


def _rows_of(files: Mapping[date, Path]) -> list[pl.DataFrame | pl.LazyFrame]:
    """The rows of each file, small ones cached: the KPIs of a day are read for each of the 56 days after it."""
    small: dict[date, _SmallFile] = {}
    for day, path in files.items():
        with _damage_refused(path, day):
            found = path.stat()
            if found.st_size <= _SMALL_BYTES:
                small[day] = _SmallFile(path, (found.st_ino, found.st_mtime_ns, found.st_size))
            else:
                pq.read_metadata(path)  # the footer, without which nothing of a Parquet file can be read
    rows = _small_rows(small)
    return [rows[day] if day in rows else pl.scan_parquet(path, glob=False) for day, path in files.items()]


class _SmallFile(NamedTuple):
    path: Path
    version: tuple[int, int, int]  # a file that replaces another has another one


_read: dict[Path, tuple[_SmallFile, pl.DataFrame]] = {}
"""The small files that were read last, each as it was then: an inbox of many files replaces one with each of them."""
_reading = Lock()  # the pages of `aqb web` are made by several threads


def _small_rows(files: Mapping[date, _SmallFile]) -> dict[date, pl.DataFrame]:
    """The rows of small files: those not in the cache are read together, which takes half the time."""
    with _reading:
        known = {day: _read[file.path] for day, file in files.items() if file.path in _read}
    found = {day: rows for day, (file, rows) in known.items() if file == files[day]}
    unread = {day: file for day, file in files.items() if day not in found}
    try:
        for first in range(0, len(unread), _SMALL_FILES):
            days = list(unread)[first : first + _SMALL_FILES]
            together = pl.collect_all([pl.scan_parquet(unread[day].path, glob=False) for day in days])
            found |= dict(zip(days, together, strict=True))
    except (OSError, pl.exceptions.PolarsError):  # which of them is damaged, nobody says
        for day, file in unread.items():
            with _damage_refused(file.path, day):
                found[day] = pl.read_parquet(file.path, glob=False)
    with _reading:
        for day, file in unread.items():
            _read[file.path] = (file, found[day])
        while len(_read) > _SMALL_FILES:
            _read.pop(next(iter(_read)))
    return found


@contextmanager
def _damage_refused(path: Path, day: date) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise StorageError(
            "this table file may not be read: Permission denied",
            where=str(path),
            fix="read as the user that scores or as a member of the file's group",
        ) from error
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise DamagedFileError(
            "this table file is damaged or cannot be read",
            where=str(path),
            fix=f"remove it and score the day once more: aqb backfill --from {day} --to {day} --force",
        ) from error


def _others(
    path: Path, day: date, schema: pa.Schema, only: Mapping[str, str]
) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """The rows of a file with other values than `only`: those ordered before and after them."""
    if not exists(path):
        return [], []
    [rows] = _rows_of({day: path})
    there = shaped(rows.lazy(), schema).collect()
    if not (keys := there.select(*only)).equals(keys.sort(*only)):  # they were ordered by other columns
        there = there.sort(*only, maintain_order=True)
    values, mine = there.select(*only).rows(), tuple(only.values())
    return [there[: bisect_left(values, mine)]], [there[bisect_right(values, mine) :]]
