"""The cost of a child process: CPU seconds of all its threads, wall time in seconds, and peak memory."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import flows  # noqa: F401 - says how many threads Polars gets; the children inherit it, as under the command line

PYTHON = sys.executable
AQB = Path(PYTHON).with_name("aqb")
_ROOT = Path(__file__).resolve().parent.parent
_NO_MODULES_KEPT = "PYTHONDONTWRITEBYTECODE"  # each child would compile all modules again, as no installation does


class Cost(NamedTuple):
    """`cpu_s` user and system seconds of the whole process; `peak_mb` resident memory, 1 MB = 1,000,000 bytes.

    `wall_s` from its start to its end. `printed` is the JSON document that the child printed, NULL without one.
    """

    cpu_s: float
    wall_s: float
    peak_mb: float
    printed: Any = None


def job(name: str, *arguments: str | Path) -> Cost:
    """The cost of one job of `benchmarks.jobs`."""
    return cost_of([PYTHON, "-m", "benchmarks.jobs", name, *map(str, arguments)])


def work(name: str, *arguments: str | Path) -> Cost:
    """The same for a job that reports its CPU seconds itself: those of its work, without start and preparation."""
    cost = job(name, *arguments)
    return cost._replace(cpu_s=cost.printed["cpu_s"])


def input_file(kind: str, *sizes: int) -> str:
    """The path of an input of `benchmarks.inputs`, made by a child: its memory would otherwise count for later
    children.
    """
    path: str = job("made", kind, *map(str, sizes)).printed["path"]
    return path


def cost_of(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Cost:
    """Runs a command to its end. Raises CalledProcessError when it fails."""
    began = time.monotonic()
    inherited = {name: value for name, value in os.environ.items() if name != _NO_MODULES_KEPT}
    with subprocess.Popen(  # noqa: S603 - our own
        command, cwd=_ROOT, env={**inherited, **(environment or {})}, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.monotonic() - began
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    kilobyte = 1 if sys.platform == "darwin" else 1024
    document = json.loads(printed) if printed.startswith("{") else None
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * kilobyte / 1e6, document)


def interleaved(rounds: int, contestants: Mapping[str, Callable[[], Cost]]) -> dict[str, Cost]:
    """The best times and the highest peak memory of each contestant, run in turns."""
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            costs[name].append(run())
    return {
        name: Cost(
            min(cost.cpu_s for cost in runs),
            min(cost.wall_s for cost in runs),
            max(cost.peak_mb for cost in runs),
            runs[-1].printed,
        )
        for name, runs in costs.items()
    }
