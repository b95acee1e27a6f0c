"""Nightly runs and backfills that are killed (SIGKILL) at random moments, and run once more.

FAULT_KILLS says how often; 2, one of each kind, are enough while working on what runs write, 50 for a change, 1,000
for a release.
FAULT_SEED repeats a series of moments.
"""

import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.builders.chat_rows import DAY
from tests.faults.worlds import (
    BACKFILL,
    IN_FLIGHT,
    NIGHTLY,
    Undisturbed,
    World,
    leftovers,
    outcomes,
    results,
    undisturbed_run,
    world_in,
)

KILLS = int(os.environ.get("FAULT_KILLS", "2"))
SEED = int(os.environ.get("FAULT_SEED", "7"))
BY_CLOCK = 0.25  # the share of kills at a random second; the others are at a random change of a file
KINDS = {NIGHTLY: -(-KILLS // 2), BACKFILL: KILLS // 2}


@pytest.fixture(scope="module", params=[kind for kind, kills in KINDS.items() if kills])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def undisturbed(kind: str, undisturbed_backfill: Undisturbed, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A night with a day to catch up and a test run to judge; or a backfill of three days."""
    if kind == BACKFILL:
        return undisturbed_backfill
    template = tmp_path_factory.mktemp(kind) / "template"
    with world_in(template) as world:
        assert world.run(NIGHTLY, DAY) == 0
        world.receive_test_run()
    return undisturbed_run(kind, template)


@pytest.mark.long
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
    hedged = world.kills + 1  # each run may pay for its slowest question twice
    assert world.judge.paid_twice <= world.kills * IN_FLIGHT + hedged, where
    messages = Counter(world.slack.texts())
    assert messages <= undisturbed.messages, where
