"""The state database, SQLite or PostgreSQL, shared by several processes."""

import logging
import os
import re
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, date, datetime
from pathlib import Path
from types import UnionType
from typing import Any, Self, get_args, get_type_hints
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn
from tenacity import (
    Retrying,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_delay,
    wait_random,
    wait_random_exponential,
)

from scoring.errors import StorageError, UsageError
from tasks.config.secrets import shown_url
from tasks.files.atomic import make_private
from tasks.files.presence import exists

_log = logging.getLogger(__name__)

_MOMENT_S, _LOCK_WAIT_S = 3, 30
_LONGEST_OUTAGE_S = 60.0
_CHANGED_AT_ONCE = 5_000
_OPTION = re.compile(r"([a-z_]+=[^/]*)?")
_answered: set[sa.URL] = set()
"""The servers that have answered this process."""
_SCHEMA_LOCK = 7_240_117  # any number that no other program locks in that database

_FIXES = {
    "08006": "look whether the server and the network to it work, then run again: what is done stays done",
    "25006": "the server takes no changes, as a standby does: let state_url name the primary",
    "55P03": "try again; a host that is frozen or gone loses its locks after a minute, and `SELECT * FROM "
    "pg_stat_activity` in the database shows who has them",
    "57014": "raise the statement_timeout of the database or of its user",
}
"""What to do about errors of PostgreSQL, by their code."""

SCHEMA_NUMBER = 1
"""The form of the tables. It rises with a change that older code must not meet; a new table or column is none."""

STATE_TABLES = sa.MetaData()
"""The tables of the stores that have been imported."""

_schema = sa.Table("schema_number", sa.MetaData(), sa.Column("number", sa.Integer, nullable=False))


class UtcDateTime(sa.TypeDecorator[datetime]):
    """An instant; stored as UTC, since SQLite has no time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


_TYPES: dict[Any, sa.types.TypeEngine[Any]] = {
    str: sa.String(),
    int: sa.Integer(),
    float: sa.Float(),
    date: sa.Date(),
    datetime: UtcDateTime(),
}


class StateDatabase:
    """The database at a SQLAlchemy URL, shared by its stores and threads.

    It connects when a store first creates its tables. A transaction that begins while a server is down that has
    answered this process before waits for it for a minute; one in progress fails. On SQLite a transaction holds the
    write lock from its start, so that two processes cannot block each other; a process that waits for the lock for more
    than a moment logs it. PostgreSQL is waited for within bounds, too (`tasks.state.postgresql`).

    `clock` is the time of the database in seconds since 1970, which all hosts share, whatever their own clocks say.

    A `read_only` database creates and changes nothing; `lacking` names the missing tables and columns. Stores read and
    write only the rows of the `service`; None is the one without a name.

    Raises:
        UsageError: the kind of database is not supported.
        StorageError: the database cannot be reached, read or written, or a later version of AQB has changed its schema;
            any method may raise it.
    """

    def __init__(self, url: str, *, read_only: bool = False, service: str | None = None) -> None:
        self.service = service
        self._shown_url = shown_url(url)
        self._is_read_only = read_only
        self.lacking: list[str] = []
        self._created: set[sa.Table] = set()
        self._creating = threading.Lock()
        try:
            parsed = sa.make_url(url)
            self.is_sqlite, name = parsed.get_backend_name() == "sqlite", parsed.database or ""
            is_in_memory = name.removeprefix("file:") in ("", ":memory:") or parsed.query.get("mode") == "memory"
            if self.is_sqlite and is_in_memory:
                raise _unusable("it names no file, so SQLite would forget everything at the end of each command")
            file = Path(name) if self.is_sqlite and not name.startswith("file:") else None  # that is a URI to SQLite
            if file and not all(map(_OPTION.fullmatch, url.partition("?")[2].split("&"))):
                raise _unusable("what follows its ? is no option such as timeout=9; a ? of a path is written %3F")
            if file and read_only:
                parsed = parsed.set(database=f"file:{quote(str(file))}", query={"mode": "ro", "uri": "true"})
            # Any number of threads may write at once, and a server may have closed what was idle for an hour.
            self._engine = sa.create_engine(parsed, poolclass=sa.QueuePool, max_overflow=-1, pool_pre_ping=True)
        except ModuleNotFoundError as error:
            raise _unusable(f"the driver {error.name} is not installed") from error
        except sa.exc.ArgumentError as error:
            raise _unusable(str(error)) from error
        except ValueError:
            raise _unusable("its port is no number") from None
        self._form, self._is_empty = 0, True  # of what is only read; 0 where a version without such a number made it
        self._file = file
        self._opened: os.stat_result | None = None
        if self.is_sqlite:
            sa.event.listen(self._engine, "connect", _shared if read_only else _durable_and_shared)
            if not read_only:
                sa.event.listen(self._engine, "begin", _begin_immediate)
            self.clock: sa.ColumnElement[float] = (sa.func.julianday("now") - 2440587.5) * 86400.0
        else:
            from tasks.state import postgresql  # the driver, which SQLite does not need

            postgresql.listen(self._engine, self._shown_url)
            self.clock = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Float)

    @property
    def outdated(self) -> list[str]:
        """What of `lacking` an upgrade adds. Tables that nothing has needed yet do not count: a new database, or one of
        the current schema, lacks them.
        """
        is_todays = self._is_empty or self._form == SCHEMA_NUMBER
        return [name for name in self.lacking if "." in name] if is_todays else self.lacking

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_tables(self, *tables: sa.Table) -> None:
        """Creates missing tables; a second call for the same tables does nothing.

        A table of an earlier version gets its missing indexes, and columns, which must be nullable. All of it is one
        transaction: a process that is killed meanwhile has changed nothing.
        """
        with self._creating:
            if self._created.issuperset(tables):
                return
            if not self._is_read_only:
                self._create(tables)
            elif self._file and not exists(self._file):
                self.lacking += [table.name for table in tables if table not in self._created]
            else:
                self._look_for(tables)
            self._created.update(tables)

    def _look_for(self, tables: Sequence[sa.Table]) -> None:
        """Records the schema version of a read-only database, and what it lacks of these tables."""
        with self.transaction() as connection:
            there = _table_names(connection)
            self._form = self._refuse_later_form(connection, there)
            self._is_empty = there.isdisjoint(STATE_TABLES.tables)
            self.lacking += [table.name for table in tables if table.name not in there]
            present = [table for table in tables if table.name in there]
            self.lacking += [f"{column.table.name}.{column.name}" for column in _missing_columns(connection, present)]

    def _create(self, tables: Sequence[sa.Table]) -> None:
        if self._file:
            try:  # SQLite's own files beside it follow its mode: verdicts and messages quote people
                self._file.parent.mkdir(parents=True, exist_ok=True)
                make_private(self._file)
                self._opened = self._opened or self._file.stat()
            except OSError as error:
                raise self._refused(error) from error
        with self.transaction() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
            there = _table_names(connection)
            number = self._refuse_later_form(connection, there)
            STATE_TABLES.create_all(connection, [one for one in tables if one.name not in there], checkfirst=False)
            earlier = [one for one in tables if one.name in there]
            _add_missing_columns(connection, earlier)
            _add_missing_indexes(connection, earlier)
            if number < SCHEMA_NUMBER:
                if _schema.name not in there:
                    _schema.create(connection, checkfirst=False)
                connection.execute(sa.insert(_schema).values(number=SCHEMA_NUMBER))

    @contextmanager
    def transaction(self, alone_in: sa.Table | None = None) -> Iterator[sa.Connection]:
        """A connection whose changes are committed at the end of the block, and rolled back if it fails.

        Nobody else changes the table that it is `alone_in`, so that what it reads there still holds when it writes.
        """
        try:
            with self._connection() as connection, connection.begin():
                if alone_in is not None and not self.is_sqlite:  # SQLite has locked everything already
                    connection.execute(sa.text(f"LOCK TABLE {alone_in.name} IN EXCLUSIVE MODE"))
                yield connection
                if self._opened and not self._is_there(self._opened):  # SQLite would go on in the removed file
                    raise self._refused("its file was removed or replaced while it was in use")
        except sa.exc.DBAPIError as error:
            if self.lacking:
                raise StorageError(
                    f"the state database lacks what this version keeps in it: {', '.join(self.lacking)}",
                    where=self._shown_url,
                    fix="aqb upgrade",
                ) from error
            raise self._refused(error.orig) from error

    def rows(self, query: sa.Select[*tuple[Any, ...]]) -> Sequence[sa.Row[*tuple[Any, ...]]]:
        """The rows of a query."""
        with self.transaction() as connection:
            return connection.execute(query).all()

    def value(self, query: sa.Select[Any]) -> Any | None:
        """The single value of a query; None if it has no row."""
        with self.transaction() as connection:
            return connection.execute(query).scalar_one_or_none()

    def change(self, statement: sa.Insert | sa.Update | sa.Delete) -> int:
        """Executes a change; returns the number of rows."""
        with self.transaction() as connection:
            return connection.execute(statement).rowcount

    def take_away(self, statement: sa.Update | sa.Delete, *, dry_run: bool) -> int:
        """Executes a change after which its rows no longer meet its condition, some rows at a time, so that others can
        write in between; returns the number of rows. With `dry_run` they are only counted.
        """
        (key,), where, found = statement.table.primary_key, statement.whereclause, 0
        assert where is not None
        if dry_run:
            return int(self.value(sa.select(sa.func.count()).where(where)) or 0)
        some, changed = statement.where(key.in_(sa.select(key).where(where).limit(_CHANGED_AT_ONCE))), _CHANGED_AT_ONCE
        while changed == _CHANGED_AT_ONCE:
            changed = self.change(some)
            found += changed
        return found

    def _connection(self) -> sa.Connection:
        """A connection. It waits for a server that has answered before: it may be restarting."""
        patience_s = _LONGEST_OUTAGE_S if self._engine.url in _answered and not self.is_sqlite else 0.0
        retrying = Retrying(
            retry=retry_if_exception_type(sa.exc.OperationalError),
            stop=stop_after_delay(patience_s),
            wait=wait_random_exponential(multiplier=0.1, max=5.0),
            reraise=True,
        )
        connection = retrying(self._engine.connect)
        _answered.add(self._engine.url)
        return connection

    def close(self) -> None:
        """Closes the connections; the next use opens new ones."""
        self._engine.dispose()

    def _refuse_later_form(self, connection: sa.Connection, there: Collection[str]) -> int:
        """The schema version of the database; 0 if it has none yet. Refuses a later version."""
        number = 0
        if _schema.name in there:
            number = connection.execute(sa.select(sa.func.max(_schema.c.number))).scalar_one() or 0
        if number > SCHEMA_NUMBER:
            raise StorageError(
                f"a later version of AQB has changed the state database (form {number}; this code has {SCHEMA_NUMBER})",
                where=self._shown_url,
                fix="install that version again, or restore the database of before the upgrade",
            )
        return number

    def _is_there(self, opened: os.stat_result) -> bool:
        try:
            return self._file is not None and os.path.samestat(self._file.stat(), opened)
        except FileNotFoundError:
            return False

    def _refused(self, reason: BaseException | str | None) -> StorageError:
        if _is_locked(reason):
            return StorageError(
                f"another process has kept the state database locked for {_LOCK_WAIT_S} s",
                where=self._shown_url,
                fix="try again when it has ended: a run, or a program that has the file open; "
                "where several processes write at once, take PostgreSQL",
            )
        said = f"the state database cannot be used: {' '.join(str(reason).split())}"
        return StorageError(said, where=self._shown_url, fix=_fix_of(reason))


def columns_of(table: sa.Table, record: type[Any]) -> list[sa.Column[Any]]:
    """The columns of a table that the fields of a dataclass are called like, in their order."""
    return [table.c[one.name] for one in fields(record)]


def columns_for(record: type[Any], keys: int = 0) -> Iterator[sa.Column[Any]]:
    """New columns for the fields of a dataclass, the first of which are the `keys` of its rows; a field that may be
    None is nullable, one of another type than `_TYPES` is JSON.
    """
    for place, (name, hint) in enumerate(get_type_hints(record).items()):
        kind, *none = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        stored = _TYPES.get(kind, sa.JSON(none_as_null=True))
        yield sa.Column(name, stored, primary_key=place < keys, nullable=bool(none))


def _table_names(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())


def _missing_columns(connection: sa.Connection, tables: Sequence[sa.Table]) -> list[sa.Column[Any]]:
    inspector = sa.inspect(connection)
    names = {table.name: {column["name"] for column in inspector.get_columns(table.name)} for table in tables}
    return [column for table in tables for column in table.columns if column.name not in names[table.name]]


def _add_missing_columns(connection: sa.Connection, tables: Sequence[sa.Table]) -> None:
    dialect = connection.dialect
    for column in _missing_columns(connection, tables):
        name, declared = dialect.identifier_preparer.format_table(column.table), CreateColumn(column)
        connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {declared.compile(dialect=dialect)}")


def _add_missing_indexes(connection: sa.Connection, tables: Sequence[sa.Table]) -> None:
    inspector = sa.inspect(connection)
    for table in tables:
        there = {index["name"] for index in inspector.get_indexes(table.name)}
        for index in table.indexes:
            if index.name not in there:
                index.create(connection)


def _shared(connection: Any, record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_immediate` says
    connection.execute(f"PRAGMA busy_timeout={_LOCK_WAIT_S * 1000}")


def _durable_and_shared(connection: Any, record: object) -> None:
    # Several processes that open a new database at once: SQLite does not wait for the lock that this switch takes.
    retrying = Retrying(
        retry=retry_if_exception(_is_locked),
        stop=stop_after_delay(_LOCK_WAIT_S),
        wait=wait_random(0.01, 0.1),
        reraise=True,
    )
    try:
        _shared(connection, record)
        retrying(connection.execute, "PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")  # what is erased is overwritten, whatever SQLite was built for
    except sqlite3.Error:  # a file that is no database: nobody else knows of this connection yet
        connection.close()
        raise


def _begin_immediate(connection: sa.Connection) -> None:
    try:
        _take_write_lock(connection, _MOMENT_S)
    except sa.exc.OperationalError as error:
        if not _is_locked(error.orig):
            raise
        _log.warning("the state database is locked by another process: waiting for up to %d s", _LOCK_WAIT_S)
        _take_write_lock(connection, _LOCK_WAIT_S - _MOMENT_S)


def _take_write_lock(connection: sa.Connection, wait_s: int) -> None:
    connection.exec_driver_sql(f"PRAGMA busy_timeout={wait_s * 1000}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _is_locked(error: object) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _fix_of(reason: object) -> str:
    is_damaged = isinstance(reason, sqlite3.DatabaseError) and re.search("malformed|not a database", str(reason))
    if is_damaged:
        return "check state_url; if it is the database, it is damaged: put its backup in its place (docs/operate.md)"
    state = getattr(reason, "sqlstate", None) or ""
    return _FIXES.get(state, "check state_url, and that the database or its folder can be written")


def _unusable(reason: str) -> UsageError:
    return UsageError(
        f"state_url is no database URL that can be used: {reason}",
        fix="for example sqlite:///data/state.db or postgresql+psycopg://user@host/database",
    )
