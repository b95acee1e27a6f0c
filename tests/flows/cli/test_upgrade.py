"""`aqb upgrade`: the state database that an earlier version wrote, in the form of this one, with all that it held."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.cli.upgrade import STORES
from tasks.state.database import SCHEMA_NUMBER
from tasks.state.run_ledger import RunLedger
from tests.builders.state import opened
from tests.flows.cli.conftest import checks
from tests.flows.conftest import EARLIER, EARLIER_SETTINGS, Command

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def earlier(folder: Path) -> Path:
    """A working folder as the earlier version has left it."""
    shutil.copytree(EARLIER / "warehouse", folder / "warehouse")
    (folder / "aqb.toml").write_text(EARLIER_SETTINGS, encoding="utf-8")
    with closing(sqlite3.connect(folder / "state.db")) as state:
        state.executescript((EARLIER / "state.sql").read_text(encoding="utf-8"))
    return folder


def content(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Table -> rows, in the columns that the earlier version had."""
    with closing(sqlite3.connect(":memory:")) as earlier:
        earlier.executescript((EARLIER / "state.sql").read_text(encoding="utf-8"))
        tables = [name for (name,) in earlier.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {
            name: ", ".join(f'"{column[1]}"' for column in earlier.execute(f"PRAGMA table_info({name})"))
            for name in tables
        }
    with closing(sqlite3.connect(file)) as state:
        return {name: state.execute(f"SELECT {listed} FROM {name}").fetchall() for name, listed in columns.items()}


def test_upgrade_says_first_what_it_would_do_and_then_does_it_once_and_loses_nothing(
    aqb: Command, earlier: Path
) -> None:
    before = content(earlier / "state.db")
    assert len(before["runs"]) == 4
    check = aqb("upgrade", "--check", "--json")
    assert check.exit_code == 1
    assert {"alert_snoozes", "alert_messages", "alert_keys"} <= set(json.loads(check.out)["lacking"])
    assert content(earlier / "state.db") == before

    assert aqb("upgrade").exit_code == 0
    assert content(earlier / "state.db") == before
    again = aqb("upgrade", "--check")
    assert (again.exit_code, again.out.splitlines()[0]) == (0, "state database: up to date")
    with opened(RunLedger, "sqlite:///state.db") as ledger:
        assert [run.outcome for run in ledger.last(9)] == ["completed"] * 4


def test_upgrade_check_finds_nothing_to_do_with_tables_that_nothing_has_needed_yet(aqb: Command, folder: Path) -> None:
    (folder / "aqb.toml").write_text(EARLIER_SETTINGS, encoding="utf-8")
    # without a database, with the one that `aqb doctor` has begun, and after the first night
    for command in (["doctor"], ["nightly", "--date", "2026-03-12"], ["status"]):
        check = aqb("upgrade", "--check")
        assert (check.exit_code, check.out.splitlines()[0]) == (0, "state database: up to date")
        aqb(*command)
    assert json.loads(aqb("upgrade", "--check", "--json").out) == {"lacking": [], "stale": {}}


def test_doctor_names_a_database_that_is_not_upgraded_and_leaves_it(
    aqb: Command, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    before = json.loads(aqb("upgrade", "--check", "--json").out)["lacking"]
    seen = checks(aqb)["state database"]
    assert seen.startswith("NOT it lacks ")
    assert seen.endswith("-> aqb upgrade")
    assert json.loads(aqb("upgrade", "--check", "--json").out)["lacking"] == before
    aqb("upgrade")
    assert checks(aqb)["state database"] == "can be written"


def test_nights_go_on_after_an_upgrade(aqb: Command, earlier: Path) -> None:
    assert aqb("upgrade").exit_code == 0
    assert aqb("nightly", "--date", "2026-03-12").exit_code == 0


def test_older_code_stops_at_a_database_of_a_later_form_and_changes_nothing(aqb: Command, earlier: Path) -> None:
    assert aqb("upgrade").exit_code == 0
    with closing(sqlite3.connect(earlier / "state.db")) as state, state:
        state.execute("UPDATE schema_number SET number = ?", [SCHEMA_NUMBER + 1])
    before = content(earlier / "state.db")
    for command in (("nightly", "--date", "2026-03-12"), ("upgrade",), ("runs",)):
        stopped = aqb(*command)
        assert stopped.exit_code == 1
        assert "a later version of AQB has changed the state database" in stopped.err
    assert content(earlier / "state.db") == before


def form(file: Path) -> dict[str, object]:
    """Table -> its columns, key, indexes and constraints."""
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        seen = sa.inspect(connection)
        found: dict[str, object] = {
            name: (
                {column["name"]: (str(column["type"]), column["nullable"]) for column in seen.get_columns(name)},
                seen.get_pk_constraint(name)["constrained_columns"],
                sorted(index["name"] or "" for index in seen.get_indexes(name)),
                seen.get_unique_constraints(name),
                seen.get_foreign_keys(name),
            )
            for name in seen.get_table_names()
        }
    engine.dispose()
    return found


def test_upgraded_database_has_the_form_of_a_new_one(aqb: Command, earlier: Path) -> None:
    assert aqb("upgrade").exit_code == 0
    (earlier / "state.db").rename(earlier / "upgraded.db")
    (earlier / "state.db").touch()
    assert aqb("upgrade").exit_code == 0
    assert form(earlier / "upgraded.db") == form(earlier / "state.db")


def test_upgrade_knows_every_store() -> None:
    modules = {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts)
        for path in (PROJECT / "tasks").rglob("*.py")
        if "STATE_TABLES," in path.read_text(encoding="utf-8")
    }
    assert set(STORES) == modules


KILLED = """
import os, shutil, sys
import sqlalchemy as sa
from flows.cli import main

def kill(connection, cursor, statement, *_):
    kill.left -= statement.lstrip().startswith(("CREATE TABLE", "ALTER TABLE"))
    if not kill.left:
        os.kill(os.getpid(), 9)

count = int(sys.argv[1])
sys.argv = ["aqb", "upgrade", "--check"]
try:
    main()
except SystemExit:
    sys.argv.remove("--check")
    sa.event.listen(sa.Engine, "after_cursor_execute", kill)
for kill.left in range(1, count + 1):
    os.mkdir(f"killed-{kill.left}")
    for name in ("aqb.toml", "state.db"):
        shutil.copy(name, f"killed-{kill.left}")
    if not os.fork():
        os.chdir(f"killed-{kill.left}")
        main()
    os.wait()
"""


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as state:
        return list(state.iterdump())


@pytest.mark.long
def test_upgrade_that_is_killed_after_any_statement_has_changed_nothing(aqb: Command, earlier: Path) -> None:
    before = dump(earlier / "state.db")
    lacking = json.loads(aqb("upgrade", "--check", "--json").out)["lacking"]
    subprocess.run([sys.executable, "-c", KILLED, str(len(lacking))], cwd=earlier, check=True)
    killed = list(earlier.glob("killed-*"))
    assert len(killed) == len(lacking)
    for folder in killed:
        assert (folder / "state.db-wal").exists()  # the process ended with its changes in its hands
        assert dump(folder / "state.db") == before
