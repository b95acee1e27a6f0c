"""The cost of the flows, and Prefect's share of it: one night, and a backfill of a year.

The same command runs with Prefect, whose server is already running, and without (`benchmarks.without_prefect`).
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.children import AQB, PYTHON, Cost, cost_of, interleaved
from benchmarks.inputs import FIRST_DAY, ROUNDS, days_file, write_run_file
from benchmarks.judge import server as judge_server
from benchmarks.report import Scale, table
from tasks.warehouse.tables import SCORES

ROWS_A_DAY = 535  # as many as the seed's production has (seed 002)
_RUN_FILES, _QUERIES = 3, 131  # as many answers as the longest file of the testers has, in two rounds
_JUDGE_RPM = 3000
_WITHOUT = (PYTHON, "-m", "benchmarks.without_prefect")
_ONE_PROCESS = {"AQB_MONITORING__PARALLEL_DAYS": "1"}
_ABOUT_SHARES = "Its import is part of that. Both write the same score tables."
_HEADER = ("", "s", "CPU s", "CPU s of its server")


class Server(NamedTuple):
    """A Prefect server: its address, and the CPU seconds that it has used so far."""

    url: str
    cpu_s: Callable[[], float]


def nightly(scale: Scale) -> str:
    """A night of many rows: without test runs, and with those of three testers, each answer judged."""
    lines, shares = [], []
    with tempfile.TemporaryDirectory() as folder, prefect_server(Path(folder) / "prefect") as server:
        plain, whole, served = _night(scale, Path(folder) / "chat", server, {})
        lines += [_line("`aqb nightly`", whole, served), _line("the same without Prefect", plain)]
        shares.append(_share(whole, plain))
        with judge_server(_JUDGE_RPM, 0, {}) as url:
            judge = {"AQB_JUDGE__ENABLED": "true", "AQB_JUDGE__RPM": str(_JUDGE_RPM), "AQB_JUDGE__TPM": "0"}
            judge |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "bench"}
            plain, whole, served = _night(scale, Path(folder) / "runs", server, judge)
        lines += [
            _line(f"`aqb nightly` with {_RUN_FILES} test runs of {ROUNDS * _QUERIES} judged answers", whole, served),
            _line("the same without Prefect", plain),
        ]
        shares.append(f"With test runs: {_share(whole, plain)}")
    return table(
        f"Nightly: one day of {scale.rows_of_night:,} rows, with alerts, ledger, report and site",
        _HEADER,
        lines,
        " ".join([*shares, _ABOUT_SHARES]),
    )


def _night(scale: Scale, folder: Path, server: Server, more: Mapping[str, str]) -> tuple[Cost, Cost, float]:
    """The cost of a night with and without Prefect, and the CPU seconds of its server; with test runs if there is a
    judge.
    """
    source = days_file(1, scale.rows_of_night)
    command = ("nightly", "--date", str(FIRST_DAY), "--json")
    served = []

    def made(run: str) -> str:
        shutil.rmtree(folder / run, ignore_errors=True)
        for file in range(_RUN_FILES if more else 0):
            write_run_file(folder / run / "inbox" / f"resume_agent_{file}.csv", file, _QUERIES)
        return str(folder / run)

    def with_prefect() -> Cost:
        before = server.cpu_s()
        cost = cost_of([AQB, *command], {**_environment(source, made("with"), server), **more})
        served.append(server.cpu_s() - before)
        return cost

    def without() -> Cost:
        return cost_of([*_WITHOUT, *command], {**_environment(source, made("without")), **more})

    costs = interleaved(scale.rounds, {"with": with_prefect, "without": without})
    _check_same_scores(folder, days=1)
    return costs["without"], costs["with"], min(served)


def backfill(scale: Scale) -> str:
    """A year of usual days, and again when everything is up to date."""
    source = days_file(scale.days, ROWS_A_DAY)
    last = FIRST_DAY + timedelta(days=scale.days - 1)
    command = ("backfill", "--from", str(FIRST_DAY), "--to", str(last), "--json")
    with tempfile.TemporaryDirectory() as folder, prefect_server(Path(folder) / "prefect") as server:
        environment = _environment(source, f"{folder}/with", server)
        before = server.cpu_s()
        whole = cost_of([AQB, *command], environment | _ONE_PROCESS)
        served = server.cpu_s() - before
        again = cost_of([AQB, *command], environment)
        plain = cost_of([*_WITHOUT, *command], _environment(source, f"{folder}/without"))
        _check_same_scores(Path(folder), scale.days)
        shutil.rmtree(f"{folder}/with")
        before = server.cpu_s()
        shared = cost_of([AQB, *command], environment)
        shared_served = server.cpu_s() - before
        _check_same_scores(Path(folder), scale.days)
    return table(
        f"Backfill: {scale.days} days of {ROWS_A_DAY} rows from one file of {source.stat().st_size / 1e6:,.0f} MB",
        _HEADER,
        [
            _line("`aqb backfill` in one process", whole, served),
            _line("the same without Prefect", plain),
            _line("`aqb backfill` as it is: worker processes where they are worth it", shared, shared_served),
            _line("`aqb backfill` again: up to date", again),
        ],
        f"{scale.days / whole.wall_s:.1f} days a second, and "
        f"{1000 * (whole.cpu_s - plain.cpu_s) / scale.days:.0f} ms of CPU a day for Prefect. "
        f"{_share(whole, plain)} {_ABOUT_SHARES}",
    )


def _line(title: str, cost: Cost, server_cpu_s: float | None = None) -> Sequence[str]:
    return title, f"{cost.wall_s:.1f}", f"{cost.cpu_s:.1f}", "" if server_cpu_s is None else f"{server_cpu_s:.1f}"


def _share(whole: Cost, plain: Cost) -> str:
    wall_s, cpu_s = whole.wall_s - plain.wall_s, whole.cpu_s - plain.cpu_s
    return (
        f"Prefect's share is {wall_s:.1f} s ({wall_s / whole.wall_s:.0%}) and, beside its server, {cpu_s:.1f} CPU s "
        f"({cpu_s / whole.cpu_s:.0%})."
    )


def _check_same_scores(folder: Path, days: int) -> None:
    """Raises AssertionError when the two commands have not written the same days, byte by byte."""
    tables = [
        {path.name: path.read_bytes() for path in (folder / run / "warehouse" / SCORES).glob("*.parquet")}
        for run in ("with", "without")
    ]
    assert len(tables[0]) == days
    assert tables[0] == tables[1]


def _environment(source: Path, folder: str, server: Server | None = None) -> dict[str, str]:
    """The environment of a run: its rows, its output folders, and no notifications."""
    own = {
        "AQB_MONITORING__SOURCE": str(source),
        "AQB_WAREHOUSE": f"{folder}/warehouse",
        "AQB_REPORTS": f"{folder}/reports",
        "AQB_STATE_URL": f"sqlite:///{folder}/state.db",
        "AQB_TEST_RUNS__INBOX": f"{folder}/inbox",
        "AQB_TEST_RUNS__QUIET_S": "0",
        "SLACK_WEBHOOK_URL": "",
    }
    return own | ({"PREFECT_API_URL": server.url} if server else {})


@contextmanager
def prefect_server(home: Path) -> Iterator[Server]:
    """A separate Prefect server, running and migrated."""
    from flows.runtime.prefect_env import prepare_prefect

    os.environ["PREFECT_HOME"] = str(home)
    prepare_prefect(str(home))
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import PREFECT_API_URL
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        url = str(PREFECT_API_URL.value())
        process = SubprocessASGIServer(urlsplit(url).port).server_process  # the existing one
        assert process
        yield Server(url, lambda: _cpu_s(process.pid))


def _cpu_s(pid: int) -> float:
    """CPU seconds of a running process. Only Linux reports them; elsewhere NaN."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
