"""Names that one owner at a time holds in a state database, for a warehouse that is elsewhere."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring.errors import StorageError
from tasks.config.bigquery import BigQuerySettings
from tasks.config.settings import Settings
from tasks.state.database import StateDatabase
from tasks.state.leases import Leases
from tasks.warehouse import open_warehouse
from tests.builders.state import opened

SHORT_S = 2.0


@pytest.fixture
def leases(state_url: str) -> Iterator[Leases]:
    with StateDatabase(state_url) as state:
        yield Leases(state, SHORT_S)


@pytest.fixture
def other(state_url: str) -> Iterator[Leases]:
    """The leases as another process sees them."""
    with StateDatabase(state_url) as state:
        yield Leases(state, SHORT_S)


def test_name_has_one_holder_and_is_free_afterwards(leases: Leases, other: Leases) -> None:
    with leases.held("day"):
        assert other.alive(["day", "another"]) == {"day"}
        with pytest.raises(StorageError, match="another run is working on 'day'"), other.held("day", wait_s=0):
            pass
        with other.held("another", wait_s=0):
            pass
    assert other.alive(["day", "another"]) == set()
    with other.held("day", wait_s=0):
        pass


@pytest.mark.slow
def test_living_holder_keeps_its_name_far_beyond_one_lease(leases: Leases, other: Leases) -> None:
    with leases.held("day"), pytest.raises(StorageError, match="another run"), other.held("day", wait_s=4 * SHORT_S):
        pass


HOLDING = """
import sys
from tasks.state.database import StateDatabase
from tasks.state.leases import Leases

with Leases(StateDatabase(sys.argv[1]), float(sys.argv[2])).held("day"):
    print("holding", flush=True)
    sys.stdin.read()
"""


@pytest.mark.long
def test_what_a_killed_process_held_is_taken_over_after_its_lease(leases: Leases, state_url: str) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDING, state_url, str(SHORT_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout and holder.stdin
    assert holder.stdout.readline() == b"holding\n"
    with pytest.raises(StorageError), leases.held("day", wait_s=0):
        pass
    holder.kill()
    holder.communicate()
    with leases.held("day"):  # it waits as long as a dead holder's lease lasts
        assert leases.alive(["day"]) == {"day"}


def test_holder_that_was_given_up_for_dead_is_told_so(leases: Leases, state_url: str) -> None:
    with (
        StateDatabase(state_url) as state,
        pytest.raises(StorageError, match="somebody else took over 'day'"),
        Leases(state, lease_s=-1.0).held("day"),
    ):  # a machine that was suspended: its lease has run out at once
        stack = leases.held("day")
        stack.__enter__()
    stack.__exit__(None, None, None)


def test_lease_that_a_wrong_clock_wrote_holds_nobody_up(leases: Leases, state_url: str) -> None:
    with (
        StateDatabase(state_url) as state,
        pytest.raises(StorageError, match="somebody else took over 'day'"),
        Leases(state, lease_s=9 * 3_600.0).held("day"),
    ):
        assert leases.alive(["day"]) == set()
        with leases.held("day", wait_s=0):
            assert leases.alive(["day"]) == {"day"}


def test_of_many_that_want_a_name_at_once_each_gets_it_once_alone(state_url: str) -> None:
    inside, most, order = [0], [0], []

    def work(number: int) -> None:
        with opened(Leases, state_url) as leases, leases.held("day", wait_s=30):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            order.append(number)
            inside[0] -= 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], sorted(order)) == (1, list(range(6)))


def test_lock_of_a_dataset_is_a_lease_of_the_state_database(leases: Leases, state_url: str, tmp_path: Path) -> None:
    settings = Settings(state_url=state_url, bigquery=BigQuerySettings(scratch=str(tmp_path)))
    warehouse = open_warehouse("bigquery://team/aqb", settings)
    with warehouse.staging("day") as folder, warehouse.lock("alerts"):
        assert folder == tmp_path / ".staging" / "day"
        assert leases.alive(["day", "alerts"]) == {"day", "alerts"}
        with pytest.raises(StorageError, match="another run"), warehouse.lock("day", wait_s=0):
            pass
    assert leases.alive(["day", "alerts"]) == set()
