"""Nightly runs and backfills that are killed (SIGKILL) at random moments, and run once more.

FAULT_KILLS says how often; 2, one of each kind, are enough while working, 50 for a change, 1,000 for a release.
FAULT_SEED repeats a series of moments.
"""

import os
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders.chat_rows import DAY
from tests.faults.processes import CHANGES
from tests.faults.worlds import BACKFILL, NIGHTLY, World, leftovers, outcomes, results, world_in

KILLS = int(os.environ.get("FAULT_KILLS", "2"))
SEED = int(os.environ.get("FAULT_SEED", "7"))
BY_CLOCK = 0.25  # the share of kills at a random second; the others are at a random change of a file
KINDS = {NIGHTLY: -(-KILLS // 2), BACKFILL: KILLS // 2}


@dataclass(frozen=True)
class Undisturbed:
    """What a run leaves when nobody kills it, how long it takes, how often it changes a file.

    `template` is the world before it.
    """

    template: Path
    results: dict[str, bytes]
    messages: Counter[str]
    seconds: float
    changes: int


@pytest.fixture(scope="module", params=[kind for kind, kills in KINDS.items() if kills])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def undisturbed(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A night with a day to catch up and a test run to judge; or a backfill of three days."""
    template = tmp_path_factory.mktemp(kind) / "template"
    with world_in(template) as world:
        if kind == NIGHTLY:
            assert world.run(NIGHTLY, DAY) == 0
            world.receive_test_run()
    with world_in(template.with_name("undisturbed"), template) as world:
        began = time.monotonic()
        world.run(kind)
        seconds = time.monotonic() - began
        assert set(outcomes(world)) == {"completed"}
        changes = int((world.folder / CHANGES).read_text())
        return Undisturbed(template, results(world), Counter(world.slack.texts()), seconds, changes)


def test_whatever_moment_a_run_is_killed_the_next_one_makes_it_whole(
    kind: str, undisturbed: Undisturbed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(f"{SEED} {kind}")
    kills, total, died, asked_twice, began = 0, 0, 0, 0, time.monotonic()
    while kills < KINDS[kind]:
        total += 1
        with world_in(tmp_path / str(total), undisturbed.template) as world:
            for _ in range(min(draw.choice([1, 1, 1, 2, 3]), KINDS[kind] - kills)):
                if draw.random() < BY_CLOCK:
                    world.run_and_kill(kind, draw.uniform(0, undisturbed.seconds))
                else:
                    world.run_and_die(kind, draw.randint(1, undisturbed.changes))
            died += outcomes(world)["running"]
            world.run(kind)
            _check(world, undisturbed, f"world {total} of seed {SEED}, {kind}, {world.kills} kills")
            kills += world.kills
            asked_twice += world.judge.paid_twice
    seconds = time.monotonic() - began
    figures = (
        f"{kind} ({undisturbed.changes} changes of files): {kills} kills in {total} worlds, {died} runs of the ledger"
        f" died; every table whole after the rerun, {asked_twice} questions in flight were paid again; {seconds:.0f} s"
    )
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")


def _check(world: World, undisturbed: Undisturbed, where: str) -> None:
    found = results(world)
    assert found.keys() == undisturbed.results.keys(), where
    assert [name for name, content in found.items() if content != undisturbed.results[name]] == [], where
    assert leftovers(world) == [], where
    assert world.judge.paid_twice <= world.kills * world.judge.peak_in_flight, where
    messages = Counter(world.slack.texts())
    assert messages <= undisturbed.messages, where
