"""A small world for runs to be killed in: chat rows of some days, test runs to be judged, a judge, a Slack."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from signal import SIGKILL
from typing import Any

import polars as pl

from tasks.state.run_ledger import RunLedger
from tests.builders.chat_rows import DAY, best, plain, refused, write_rows
from tests.builders.state import opened
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.fakes.slack_server import FakeSlack
from tests.faults.processes import CHANGES, Work, started

BACKFILL, NIGHTLY = "backfill", "nightly"
SAMPLE = Path("tasks/samples/inbox/resume_agent_sample.xlsx").resolve()
LAST = DAY + timedelta(days=2)
IN_FLIGHT = 8
SETTINGS: dict[str, Any] = {
    "warehouse": "warehouse",
    "reports": "reports",
    "state_url": "sqlite:///state.db",
    "monitoring": {"source": "source", "keep_text": "all"},
    "test_runs": {"inbox": "inbox", "quiet_s": 0},
    "judge": {"enabled": True, "rpm": 0, "tpm": 0, "max_in_flight": IN_FLIGHT},
}


@dataclass
class World:
    """A working folder with what stands outside of it. `kills` counts those that its runs have met."""

    folder: Path
    judge: FakeOpenAI
    slack: FakeSlack
    kills: int = 0

    def receive_test_run(self) -> None:
        """A test run with questions for the judge arrives in the inbox."""
        shutil.copy(SAMPLE, self.folder / "inbox")

    def work(self, kind: str, last: date = LAST, prefect_url: str = "", dies_at: int = 0) -> Work:
        """What is to be done in this world, up to this day."""
        environment = {
            "OPENAI_BASE_URL": self.judge.url,
            "OPENAI_API_KEY": "sk-nobody",
            "SLACK_WEBHOOK_URL": self.slack.webhook(),
        }
        return Work(kind, SETTINGS, DAY, last, self.folder, environment, prefect_url, dies_at)

    def run(self, kind: str, last: date = LAST) -> int | None:
        """Does it to its end; the exit code."""
        process = started(self.work(kind, last))
        process.join()
        return process.exitcode

    def run_until(
        self, kind: str, happened: Callable[[], bool], then: Callable[[], None], prefect_url: str = ""
    ) -> int:
        """Does it to its end; what is to be done when something has happened is done in the middle. The exit code."""
        process = started(self.work(kind, prefect_url=prefect_url))
        while not happened():
            process.join(0.01)
            assert process.exitcode is None, "the run ended before it happened"
        then()
        process.join()
        assert process.exitcode is not None
        return process.exitcode

    def has_scored(self, day: date) -> bool:
        """Whether the table of the scores has the day."""
        return (self.folder / "warehouse" / "monitoring_scores" / f"{day}.parquet").exists()

    def run_and_kill(self, kind: str, after_s: float) -> None:
        """Does it until it is killed, unless it has ended before."""
        process = started(self.work(kind))
        process.join(after_s)
        process.kill()
        process.join()
        self.kills += process.exitcode == -SIGKILL

    def run_and_die(self, kind: str, change: int) -> None:
        """Does it up to one of the changes that it makes to files, unless it has fewer to make."""
        process = started(self.work(kind, dies_at=change))
        process.join()
        self.kills += process.exitcode == -SIGKILL


@contextmanager
def world_in(folder: Path, template: Path | None = None) -> Iterator[World]:
    """A new world, or the copy of one whose last run has ended."""
    if template:
        shutil.copytree(template, folder)
    else:
        _fill(folder)
    with FakeOpenAI(Behaviour(latency_s=0.02)) as judge, FakeSlack() as slack:
        yield World(folder, judge, slack)


@dataclass(frozen=True)
class Undisturbed:
    """What a run leaves when nobody disturbs it, how long it takes, how often it changes a file.

    `template` is the world before it.
    """

    template: Path
    results: dict[str, bytes]
    messages: Counter[str]
    seconds: float
    changes: int


def undisturbed_run(kind: str, template: Path) -> Undisturbed:
    """Does it once in a copy of a world."""
    with world_in(template.with_name("undisturbed"), template) as world:
        began = time.monotonic()
        world.run(kind)
        seconds = time.monotonic() - began
        assert set(outcomes(world)) == {"completed"}
        changes = int((world.folder / CHANGES).read_text())
        return Undisturbed(template, results(world), Counter(world.slack.texts()), seconds, changes)


def _fill(folder: Path) -> None:
    """Rows of three days in two files, with what is refused, excluded and rejected, and an empty inbox."""
    rows = [
        make(number * 24 * 60 + turn) for number in range(3) for turn, make in enumerate([best, plain, refused] * 3)
    ]
    odd = [plain(24 * 60 * number + 99, **change) for number in range(3) for change in _ODDITIES]
    write_rows(folder / "source" / "a.jsonl", rows[::2] + odd)
    pl.DataFrame(rows[1::2]).write_parquet(folder / "source" / "b.parquet")
    (folder / "inbox").mkdir()


_ODDITIES: tuple[dict[str, Any], ...] = ({"llm_response": None}, {"output_tokens": -1.0}, {"tenant_id": None})


def results(world: World) -> dict[str, bytes]:
    """What the runs have made: every table but `runs`, and the reports that tell of no run.

    What judging took (calls, tokens, seconds) differs from run to run and is left out.
    """
    found = {}
    for path in sorted(world.folder.rglob("*")):
        name = path.relative_to(world.folder).as_posix()
        if path.is_file() and name.startswith(_RESULTS) and not name.endswith(_TELLS_OF_RUNS):
            found[name] = _without_judging(path)
    return found


def leftovers(world: World) -> list[str]:
    """Temporary files and folders that nobody has removed."""
    paths = [path for top in ("warehouse", "reports") for path in (world.folder / top).rglob("*")]
    staged = [path for path in paths if ".staging" in path.parts and path.name != ".staging" and path.suffix != ".lock"]
    return [str(path) for path in paths if path.name.endswith(".unfinished")] + list(map(str, staged))


def outcomes(world: World) -> Counter[str]:
    """How the runs ended, as the ledger knows it."""
    with opened(RunLedger, f"sqlite:///{world.folder}/state.db") as ledger:
        return Counter(run.outcome for run in ledger.last(1000))


_TABLES = ("alerts", "judgements", "monitoring_", "rejected", "test_run_")
_RESULTS = (*(f"warehouse/{table}" for table in _TABLES), "reports/monitoring-", "reports/test-runs/")
_TELLS_OF_RUNS = (".html", "/report.md", "/summary.json")
_JUDGING = ("latency_s", "attempts", "tokens_in", "tokens_out", "tokens_cached", "cost_usd")


def _without_judging(path: Path) -> bytes:
    """The bytes of a file; of what the judge was asked, and of summaries that count it, those of the values."""
    if "judgements" in path.as_posix():
        return pl.read_parquet(path).drop(_JUDGING).write_json().encode()
    if "test_run_summaries" in path.as_posix():
        rows = pl.read_parquet(path).to_dicts()
        return repr([row | {"summary": json.loads(row["summary"]) | {"judge": None}} for row in rows]).encode()
    return path.read_bytes()
