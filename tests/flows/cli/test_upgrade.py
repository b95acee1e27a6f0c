"""`aqb upgrade`: the state database that an earlier version wrote, in the form of this one, with all that it held."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tasks.state.database import SCHEMA_NUMBER
from tasks.state.run_ledger import RunLedger
from tests.builders.state import opened
from tests.flows.conftest import Command

EARLIER = Path(__file__).parents[2] / "earlier_version"
SETTINGS = f"""
warehouse = "warehouse"
reports = "reports"
state_url = "sqlite:///state.db"

[monitoring]
source = "{EARLIER / "chat_rows"}"
"""


@pytest.fixture
def earlier(folder: Path) -> Path:
    """A working folder as the earlier version has left it."""
    shutil.copytree(EARLIER / "warehouse", folder / "warehouse")
    (folder / "aqb.toml").write_text(SETTINGS, encoding="utf-8")
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


KILLED = """
import os, sys
import sqlalchemy as sa
from tasks.state.database import StateDatabase
from tasks.alerts.outbox import Outbox

def kill(connection, cursor, statement, *_):
    if statement.lstrip().startswith("CREATE TABLE"):
        kill.left -= 1
        if not kill.left:
            os.kill(os.getpid(), 9)

kill.left = int(sys.argv[1])
sa.event.listen(sa.Engine, "after_cursor_execute", kill)
Outbox(StateDatabase("sqlite:///state.db"))
"""


@pytest.mark.parametrize("tables", [1, 2])
def test_upgrade_that_is_killed_on_the_way_has_changed_nothing(aqb: Command, earlier: Path, tables: int) -> None:
    before = aqb("upgrade", "--check").out
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tables)], cwd=earlier, check=False)
    assert killed.returncode == -9
    assert aqb("upgrade", "--check").out == before
    assert aqb("upgrade").exit_code == 0
