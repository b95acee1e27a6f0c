"""A full disk, a folder that cannot be written, a source that vanishes, a Prefect server that is gone: the run says so,
and once the world is fixed the next run leaves what an undisturbed one leaves.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from signal import SIGKILL

import pytest

from tasks.state.run_ledger import RunLedger
from tests.builders.chat_rows import DAY
from tests.builders.disks import small_disk
from tests.builders.state import opened
from tests.fakes.cuttable_proxy import CuttableProxy
from tests.faults.processes import SAID
from tests.faults.worlds import BACKFILL, NIGHTLY, SETTINGS, Undisturbed, World, leftovers, results, world_in

pytestmark = pytest.mark.long


@pytest.fixture
def undisturbed(undisturbed_backfill: Undisturbed) -> dict[str, bytes]:
    """What a backfill of the three days leaves; nightly runs of them leave the same."""
    return undisturbed_backfill.results


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_in(tmp_path / "world") as made:
        yield made


@pytest.fixture
def warehouse_disk(world: World) -> Iterator[Callable[[str], None]]:
    """Makes the warehouse a disk of its own, nearly full; gives what changes it: `size=50m`, `ro`."""
    with small_disk(world.folder / "warehouse", "size=40k") as change:
        yield change


def messages(world: World) -> str:
    with opened(RunLedger, f"sqlite:///{world.folder}/state.db") as ledger:
        return json.dumps([run.message for run in ledger.last(100)])


def assert_fixed(world: World, undisturbed: dict[str, bytes]) -> None:
    world.run(BACKFILL)
    assert results(world) == undisturbed
    assert leftovers(world) == []


def test_full_disk_fails_the_days_and_leaves_nothing_half(
    world: World, warehouse_disk: Callable[[str], None], undisturbed: dict[str, bytes]
) -> None:
    assert world.run(BACKFILL) == 1
    assert leftovers(world) == []
    assert all(content == undisturbed[name] for name, content in results(world).items())
    warehouse_disk("size=50m")
    assert_fixed(world, undisturbed)


def test_folder_that_became_read_only_fails_the_days_until_it_can_be_written(
    world: World, warehouse_disk: Callable[[str], None], undisturbed: dict[str, bytes]
) -> None:
    warehouse_disk("size=50m,ro")
    assert world.run(BACKFILL) == 1
    warehouse_disk("rw")
    assert_fixed(world, undisturbed)


def test_source_that_vanishes_in_the_middle_of_a_night_loses_no_day(
    world: World, undisturbed: dict[str, bytes]
) -> None:
    assert world.run(NIGHTLY, DAY) == 0
    source, away = world.folder / "source", world.folder / "away"
    next_day = DAY + timedelta(days=1)

    def vanish() -> None:
        source.rename(away)

    assert world.run_until(NIGHTLY, lambda: world.has_scored(next_day), vanish) == 1
    assert "nothing to read" in messages(world)
    away.rename(source)
    assert world.run(NIGHTLY) == 0
    assert results(world) == undisturbed
    assert leftovers(world) == []


def test_warehouse_that_is_removed_in_the_middle_fails_its_day_and_is_made_again(
    world: World, undisturbed: dict[str, bytes]
) -> None:
    warehouse = world.folder / "warehouse"

    def vanish() -> None:
        warehouse.rename(world.folder / "away")

    assert world.run_until(BACKFILL, lambda: world.has_scored(DAY), vanish) == 1
    assert "were removed" in messages(world) or "was removed" in messages(world)
    assert_fixed(world, undisturbed)


def test_full_disk_of_the_state_stops_the_night_and_the_next_one_does_it(
    world: World, undisturbed: dict[str, bytes]
) -> None:
    (world.folder / "state.db").symlink_to("state/state.db")
    with small_disk(world.folder / "state", "size=120k") as change:
        assert world.run(BACKFILL) == 1
        assert "Traceback" not in (world.folder / SAID).read_text("utf-8")
        change("size=20m")
        assert_fixed(world, undisturbed)


def test_workers_of_a_killed_backfill_end_with_it(
    world: World, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS, "monitoring", SETTINGS["monitoring"] | {"parallel_days": 2})
    started: set[int] = set()

    def kill() -> None:
        started.update(processes_in(world.folder))
        (flow,) = (pid for pid, parent in processes_in(world.folder).items() if parent not in started)
        os.kill(flow, SIGKILL)

    assert world.run_until(BACKFILL, lambda: world.has_scored(DAY), kill) == -SIGKILL
    assert len(started) > 2
    deadline = time.monotonic() + 60  # one that still imports everything ends when it has
    while processes_in(world.folder):
        assert time.monotonic() < deadline, "a worker has outlived its flow"
    monkeypatch.setitem(SETTINGS["monitoring"], "parallel_days", 1)
    assert_fixed(world, undisturbed)


def processes_in(folder: Path) -> dict[int, int]:
    """The processes that work in a folder, each with its parent."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def test_prefect_server_that_is_gone_ends_the_run_and_the_next_one_goes_on(
    world: World, undisturbed: dict[str, bytes], prefect_server: str
) -> None:
    with CuttableProxy(prefect_server) as proxy:
        code = world.run_until(BACKFILL, lambda: world.has_scored(DAY), proxy.cut, proxy.url)
    assert code == 1
    said = (world.folder / SAID).read_text("utf-8")
    assert "the Prefect server cannot be reached" in said
    assert "Traceback" not in said
    assert_fixed(world, undisturbed)
