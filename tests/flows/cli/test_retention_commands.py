"""`aqb prune` and `aqb erase` as people call them."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import polars as pl
import pytest

from scoring.errors import TakenError
from tasks.config.settings import load_settings
from tasks.context import Context
from tasks.files.report_paths import SITE_LOCK
from tasks.state.run_ledger import Run, RunLedger
from tasks.waiting import attempts, begun
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import ALERTS
from tests.builders.chat_rows import DAY, REFUSAL, refused, write_rows
from tests.builders.scored_days import write_scored_day
from tests.flows.conftest import Command

SCORES = Path("data", "warehouse", "monitoring_scores", f"{DAY}.parquet")


@pytest.fixture
def scored(folder: Path) -> Path:
    """A scored day of two sessions at the places of the default settings."""
    source = write_rows(folder / "rows.jsonl", [refused(0), refused(1, session_id="s2")])
    write_scored_day(FolderWarehouse(folder / "data" / "warehouse"), DAY, source)
    return folder


def test_session_is_erased_after_a_look_at_what_would_go(aqb: Command, scored: Path) -> None:
    looked = aqb("erase", "--session", "s1", "--dry-run")
    assert (looked.exit_code, looked.err) == (0, "")
    assert "would take away, of the session:" in looked.out
    assert "nothing of it" not in looked.out
    assert pl.read_parquet(SCORES)["llm_response"].to_list() == [REFUSAL, REFUSAL]
    done = aqb("erase", "--session", "s1", "--json")
    assert json.loads(done.out)["counts"]["monitoring_scores: rows"] == 1
    assert pl.read_parquet(SCORES)["llm_response"].to_list() == [None, REFUSAL]
    assert "out of reach: the source" in aqb("erase", "--session", "s1").out


def test_session_that_no_row_has_is_not_called_erased(aqb: Command, scored: Path) -> None:
    done = aqb("erase", "--session", "S1")
    assert (done.exit_code, done.err) == (0, "")
    assert "nothing of it is in data/warehouse: check the id and the place of the tables" in done.out


def test_old_texts_are_pruned_by_their_age_in_days(aqb: Command, scored: Path) -> None:
    young = aqb("prune", "--older-than", "36500d", "--json")
    assert json.loads(young.out)["counts"].get("monitoring_scores: texts", 0) == 0
    done = aqb("prune", "--older-than", "1d")
    assert (done.exit_code, done.err) == (0, "")
    assert "taken away, older than" in done.out
    assert pl.read_parquet(SCORES)["llm_response"].to_list() == [None, None]


def test_pages_are_pruned_while_nobody_builds_any(aqb: Command, scored: Path) -> None:
    """Who has read the texts would write a page of them after they have gone."""
    warehouse, held = FolderWarehouse(scored / "data" / "warehouse"), Event()

    def is_alone() -> bool:
        with warehouse.lock(ALERTS):  # the command waits where it would take the texts out
            held.set()
            for _ in attempts("the pages", wait_s=30):
                try:
                    with warehouse.lock(SITE_LOCK, wait_s=0):
                        pass
                except TakenError:
                    return True
        return False

    was_alone = begun(is_alone)
    assert held.wait(30)
    assert aqb("prune", "--older-than", "1d").exit_code == 0
    assert was_alone()


@pytest.mark.parametrize("command", [("erase", "--session", "s1"), ("prune", "--older-than", "1d")])
def test_tables_of_a_service_that_was_renamed_are_told_not_passed_over(
    aqb: Command, folder: Path, command: tuple[str, ...]
) -> None:
    source = write_rows(folder / "rows.jsonl", [refused(0)])
    settings = '[[monitoring.service]]\nname = "old"\nsource = "rows.jsonl"\n'
    Path("aqb.toml").write_text(settings, encoding="utf-8")
    with Context(load_settings()) as context:
        run = Run("r", "nightly", DAY, "ola-monitoring", "1", "", datetime.now(UTC), rows_in=1, service="old")
        RunLedger(context.state).save(run)
    write_scored_day(FolderWarehouse(folder / "data" / "warehouse", "old"), DAY, source)
    Path("aqb.toml").write_text(settings.replace("old", "new"), encoding="utf-8")
    told = aqb(*command)
    assert told.exit_code == 1
    assert "not looked at: tables of old" in told.err
    Path("aqb.toml").write_text(settings, encoding="utf-8")
    assert aqb(*command).exit_code == 0
    shutil.rmtree(SCORES.parent)  # whoever removes the tables is not told again
    Path("aqb.toml").write_text(settings.replace("old", "new"), encoding="utf-8")
    assert aqb(*command).exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [("prune", "--older-than", age) for age in ("400", "0d", "-1d", "1y", "")]
    + [("prune",), ("erase",), ("erase", "--session", "")],
)
def test_what_is_no_age_and_no_session_takes_nothing_away(
    aqb: Command, scored: Path, arguments: tuple[str, ...]
) -> None:
    before = SCORES.read_bytes()
    assert aqb(*arguments).exit_code == 2
    assert SCORES.read_bytes() == before
