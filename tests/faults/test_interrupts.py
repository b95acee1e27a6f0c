"""Ctrl-C in commands that ask a judge or score many days. A terminal sends it to every process that it has started."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import polars as pl
import pytest

from tasks.judge.timing import Timing
from tests.builders.cases import portion
from tests.builders.chat_rows import DAY, plain, write_rows
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.faults.processes import SAID, started_command
from tests.faults.worlds import SAMPLE

pytestmark = pytest.mark.long

SCORE = ["score", str(SAMPLE), "--judge", "--out", "out/of/this"]
INBOX = ["test-runs"]
DAYS = 60
PATIENCE_S = 60.0


@contextmanager
def running(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> Iterator[ForkServerProcess]:
    """A command in a folder and a process group of its own; no process of it outlives the block."""
    places = {"AQB_STATE_URL": "sqlite:///state.db", "AQB_WAREHOUSE": "warehouse", "AQB_REPORTS": "reports"}
    process = started_command(arguments, folder, {**places, **environment})
    try:
        yield process
    finally:
        for left in group_of(process):
            os.kill(left, signal.SIGKILL)


def group_of(process: ForkServerProcess) -> list[int]:
    """The processes of its session that are not only waiting to be forgotten."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = path.read_text().partition(" (")
        except OSError:
            continue
        state, _, _, session = rest.rpartition(") ")[2].split()[:4]
        if int(session) == process.pid and state != "Z":
            found.append(int(pid))
    return found


def wait_until(happened: Callable[[], bool], process: ForkServerProcess) -> None:
    while not happened():
        process.join(0.01)
        assert process.exitcode is None or happened(), "it ended before"


def press_ctrl_c(process: ForkServerProcess) -> None:
    assert process.pid
    os.killpg(process.pid, signal.SIGINT)


def said(folder: Path) -> str:
    return (folder / SAID).read_text() if (folder / SAID).exists() else ""


def press_ctrl_c_again_while_it_ends(process: ForkServerProcess, folder: Path) -> None:
    press_ctrl_c(process)
    wait_until(lambda: "stopped: nothing is half written" in said(folder), process)
    with suppress(ProcessLookupError):  # it has ended within the moment
        press_ctrl_c(process)


def kill(process: ForkServerProcess, _folder: Path) -> None:
    process.kill()


def stored(folder: Path) -> int:
    """How many verdicts are kept."""
    with closing(sqlite3.connect(folder / "state.db")) as database:
        (count,) = database.execute("SELECT count(*) FROM verdicts WHERE status = 'ok'").fetchone()
    return int(count)


def asking(server: FakeOpenAI, folder: Path) -> dict[str, str]:
    """The settings of a run that gets a ticket for another question while it waits for answers."""
    (folder / "inbox").mkdir()
    (folder / "inbox" / SAMPLE.name).write_bytes(SAMPLE.read_bytes())
    return {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-nobody",
        "SLACK_WEBHOOK_URL": "",
        "AQB_JUDGE__ENABLED": "true",
        "AQB_JUDGE__RPM": "600",
        "AQB_JUDGE__TPM": "0",
        "AQB_TEST_RUNS__INBOX": "inbox",
        "AQB_TEST_RUNS__QUIET_S": "0",
    }


@pytest.mark.parametrize("arguments", [SCORE, INBOX])
def test_ctrl_c_keeps_every_answer_that_is_paid_for_and_asks_nothing_more(tmp_path: Path, arguments: list[str]) -> None:
    with FakeOpenAI(Behaviour(latency_s=1.0, spread=0)) as server:
        with running(arguments, tmp_path, asking(server, tmp_path)) as process:
            wait_until(lambda: server.paid.total() >= 5, process)
            press_ctrl_c(process)
            process.join()
            assert (process.exitcode, group_of(process)) == (130, [])
        assert server.in_flight == 0
        assert 5 <= len(server.paid) == stored(tmp_path) < 20
    assert "answers in flight; Ctrl-C once more ends at once" in said(tmp_path)
    assert "stopped: nothing is half written" in said(tmp_path)
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "warehouse").rglob("*.parquet*")) == []


def test_second_ctrl_c_waits_for_no_answer_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    with FakeOpenAI(Behaviour(latency_s=60)) as server, running(SCORE, tmp_path, asking(server, tmp_path)) as process:
        wait_until(lambda: server.in_flight >= 5, process)
        press_ctrl_c(process)
        wait_until(lambda: "once more" in said(tmp_path), process)
        press_ctrl_c(process)
        process.join(0.8 * Timing().grace_s)  # with one Ctrl-C it would wait all of that
        assert (process.exitcode, group_of(process)) == (130, [])
    assert not (tmp_path / "out").exists()


def test_workers_of_a_backfill_leave_ctrl_c_to_the_command(tmp_path: Path) -> None:
    write_rows(tmp_path / "source" / "rows.jsonl", [plain(24 * 60 * number) for number in range(8)])
    environment = {"AQB_MONITORING__SOURCE": "source", "AQB_MONITORING__PARALLEL_DAYS": "2"}
    scores = tmp_path / "warehouse" / "monitoring_scores"
    arguments = ["backfill", "--from", str(DAY), "--to", str(DAY + timedelta(days=7))]
    with running(arguments, tmp_path, environment) as process:
        wait_until(lambda: len([*scores.glob("[0-9]*.parquet")]) >= 1, process)
        for worker in {*group_of(process)} - {process.pid}:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGINT)
        process.join(PATIENCE_S)
        assert process.exitcode == 0
    assert "Traceback" not in said(tmp_path), said(tmp_path)
    assert len([*scores.glob("[0-9]*.parquet")]) == 8


@pytest.mark.parametrize(
    ("end", "exit_code"), portion([(press_ctrl_c_again_while_it_ends, 130), (kill, -signal.SIGKILL)])
)
def test_end_of_a_backfill_is_that_of_its_workers_and_server_and_every_table_is_whole(
    tmp_path: Path, end: Callable[[ForkServerProcess, Path], None], exit_code: int
) -> None:
    write_rows(tmp_path / "source" / "rows.jsonl", [plain(24 * 60 * number) for number in range(DAYS)])
    environment = {"AQB_MONITORING__SOURCE": "source", "AQB_MONITORING__PARALLEL_DAYS": "2"}
    scores = tmp_path / "warehouse" / "monitoring_scores"
    arguments = ["backfill", "--from", str(DAY), "--to", str(DAY + timedelta(days=DAYS - 1))]
    with running(arguments, tmp_path, environment) as process:
        wait_until(lambda: len([*scores.glob("[0-9]*.parquet")]) >= 2, process)
        end(process, tmp_path)
        process.join(PATIENCE_S)
        assert process.exitcode == exit_code
        given_up = time.monotonic() + PATIENCE_S
        while group_of(process) and time.monotonic() < given_up:  # what was told to end may still be going
            time.sleep(0.1)  # it needs the processor
        assert group_of(process) == []
    assert "Traceback" not in said(tmp_path), said(tmp_path)
    whole = list(scores.glob("[0-9]*.parquet"))
    assert 2 <= len(whole) < DAYS
    assert {pl.read_parquet(path).height for path in whole} == {1}
