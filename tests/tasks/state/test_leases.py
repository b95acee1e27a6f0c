"""Names that one owner at a time holds: in a state database, and as file locks of a folder warehouse."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scoring.errors import StorageError
from tasks.state.leases import Leases
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.locks import exclusive, serialized

SHORT_S = 1.0


class ElsewhereWarehouse(FolderWarehouse):
    """A warehouse whose staging folders lie on this machine and whose tables do not, as BigQuery's."""

    @contextmanager
    def staging(self, name: str) -> Iterator[Path]:
        yield self.folder / name


@pytest.fixture
def leases(state_url: str) -> Iterator[Leases]:
    made = Leases(state_url, SHORT_S)
    yield made
    made.close()


def test_a_name_has_one_holder_and_is_free_afterwards(leases: Leases, state_url: str) -> None:
    other = Leases(state_url, SHORT_S)
    with leases.held("day"):
        assert other.alive(["day", "another"]) == {"day"}
        with pytest.raises(StorageError, match="another run is working on 'day'"), other.held("day", wait_s=0):
            pass
        with other.held("another", wait_s=0):
            pass
    assert other.alive(["day", "another"]) == set()
    with other.held("day", wait_s=0):
        pass
    other.close()


@pytest.mark.slow
def test_a_living_holder_keeps_its_name_far_beyond_one_lease(leases: Leases, state_url: str) -> None:
    other = Leases(state_url, SHORT_S)
    with leases.held("day"), pytest.raises(StorageError, match="another run"), other.held("day", wait_s=4 * SHORT_S):
        pass
    other.close()


HOLDING = """
import sys
from tasks.state.leases import Leases

with Leases(sys.argv[1], float(sys.argv[2])).held("day"):
    print("holding", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
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


def test_a_holder_that_was_given_up_for_dead_is_told_so(leases: Leases, state_url: str) -> None:
    sleeper = Leases(state_url, lease_s=-1.0)  # a machine that was suspended: its lease has run out at once
    with pytest.raises(StorageError, match="somebody else took over 'day'"), sleeper.held("day"):
        stack = leases.held("day")
        stack.__enter__()
    stack.__exit__(None, None, None)
    sleeper.close()


def test_of_many_that_want_a_name_at_once_each_gets_it_once_alone(state_url: str) -> None:
    inside, most, order = [0], [0], []

    def work(number: int) -> None:
        leases = Leases(state_url)
        with leases.held("day", wait_s=30):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            order.append(number)
            inside[0] -= 1
        leases.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], sorted(order)) == (1, list(range(6)))


def test_a_warehouse_elsewhere_is_worked_on_alone_by_lease(state_url: str, tmp_path: Path) -> None:
    warehouse = ElsewhereWarehouse(tmp_path)
    leases = Leases(state_url)
    with exclusive(warehouse, state_url, "monitoring-2026-02-13") as folder:
        assert folder == tmp_path / "monitoring-2026-02-13"
    assert leases.alive(["monitoring-2026-02-13"]) == set()
    leases.close()


def test_a_folder_needs_no_lease(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path)
    nowhere = "sqlite:////nowhere/state.db"
    with (
        exclusive(warehouse, nowhere, "day"),
        serialized(warehouse, nowhere, "alerts"),
        pytest.raises(StorageError, match="another run"),
        exclusive(warehouse, nowhere, "day"),
    ):
        pass
