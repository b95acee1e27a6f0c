"""A small world for runs to be killed in: chat rows of some days, test runs to be judged, a judge, a Slack."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

from scoring.days import days_between
from tasks.run_ledger import RunLedger
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.fakes.slack_server import FakeSlack
from tests.faults.processes import Work, started
from tests.tasks.made_rows import DAY, best, plain, refused, write_rows

BACKFILL, NIGHTLY = "backfill", "nightly"
SAMPLE = Path("tasks/samples/inbox/resume_agent_sample.xlsx").resolve()
LAST = DAY + timedelta(days=3)
DAYS = days_between(DAY, LAST)
SETTINGS: dict[str, Any] = {
    "warehouse": "warehouse",
    "reports": "reports",
    "state_url": "sqlite:///state.db",
    "monitoring": {"source": "source", "keep_text": "all"},
    "test_runs": {"inbox": "inbox", "quiet_s": 0},
    "judge": {"enabled": True, "rpm": 0, "tpm": 0},
}


@dataclass
class World:
    """A working folder with what stands outside of it. `kills` are those that its runs have met."""

    folder: Path
    judge: FakeOpenAI
    slack: FakeSlack
    kills: int = 0
    in_flight: list[int] = field(default_factory=list)

    def work(self, kind: str, settings: dict[str, Any] | None = None) -> Work:
        """What is to be done in this world."""
        environment = {
            "OPENAI_BASE_URL": self.judge.url,
            "OPENAI_API_KEY": "sk-nobody",
            "SLACK_WEBHOOK_URL": self.slack.webhook(),
        }
        return Work(kind, settings or SETTINGS, DAY, LAST, self.folder, environment)

    def run(self, kind: str) -> int | None:
        """Does it to its end; the exit code."""
        process = started(self.work(kind))
        process.join()
        return process.exitcode

    def run_and_kill(self, kind: str, after_s: float) -> bool:
        """Does it until it is killed; whether it was still at work."""
        process = started(self.work(kind))
        process.join(after_s)
        working = process.exitcode is None
        self.in_flight.append(self.judge.in_flight)
        process.kill()
        process.join()
        self.kills += working
        return working


@contextmanager
def world_in(folder: Path, template: Path | None = None) -> Iterator[World]:
    """A new world, or the copy of one whose last run has ended."""
    if template:
        shutil.copytree(template, folder)
    else:
        _fill(folder)
    with FakeOpenAI(Behaviour(latency_s=0.02)) as judge, FakeSlack() as slack:
        yield World(folder, judge, slack)


def _fill(folder: Path) -> None:
    """Rows of four days in two files, with what is refused and excluded, and a test run in the inbox."""
    rows = [make(number * 24 * 60 + turn) for number in range(4) for turn, make in enumerate([best, plain, refused] * 9)]
    odd = [plain(24 * 60 * number + 99, **change) for number in range(4) for change in _ODDITIES]
    write_rows(folder / "source" / "a.jsonl", rows[::2] + odd)
    pl.DataFrame(rows[1::2]).write_parquet(folder / "source" / "b.parquet")
    (folder / "inbox").mkdir()
    shutil.copy(SAMPLE, folder / "inbox")


_ODDITIES: tuple[dict[str, Any], ...] = ({"llm_response": None}, {"output_tokens": -1.0}, {"tenant_id": None})


def results(world: World) -> dict[str, bytes]:
    """What the runs have made: every table but `runs`, every report; without what judging has cost this time."""
    found = {}
    for path in sorted(world.folder.rglob("*")):
        name = path.relative_to(world.folder).as_posix()
        if path.is_file() and name.startswith(("warehouse/", "reports/")) and not _stands_apart(name):
            found[name] = _without_cost(path)
    return found


def leftovers(world: World) -> list[str]:
    """Temporary files and folders that nobody has removed."""
    paths = [path for top in ("warehouse", "reports") for path in (world.folder / top).rglob("*")]
    staged = [path for path in paths if ".staging" in path.parts and path.name != ".staging" and path.suffix != ".lock"]
    return [str(path) for path in paths if path.name.endswith(".unfinished")] + list(map(str, staged))


def outcomes(world: World) -> Counter[str]:
    """How the runs ended, as the ledger knows it."""
    with closing(RunLedger(f"sqlite:///{world.folder}/state.db")) as ledger:
        return Counter(run.outcome for run in ledger.last(1000))


def _stands_apart(name: str) -> bool:
    return name.startswith(("warehouse/runs/", "warehouse/.staging/", "reports/site/"))


def _without_cost(path: Path) -> bytes:
    """The bytes of a file; of a test run's summary what does not depend on how often the judge was asked."""
    if path.name == "summary.json":
        return json.dumps(json.loads(path.read_text("utf-8")) | {"judge": None}).encode()
    return path.read_bytes()


def in_folder(world: World) -> None:
    os.chdir(world.folder)
