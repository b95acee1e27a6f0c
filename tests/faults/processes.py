"""Runs in processes of their own, so that they can be killed.

A fork server has imported everything before: a child starts in milliseconds, not in the seconds of a fresh Python.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import count
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.config.settings import Settings

SAID = "said.txt"
"""What a process writes to its standard error, in the folder where it works."""
CHANGES = "changes.txt"
"""How many changes of files an undisturbed process has made, in the folder where it worked."""
_CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}
PRELOADED = [
    *("flows.nightly", "flows.backfill", "flows.cli.app", "flows.cli.score_testruns", "tests.faults.processes"),
    *("openai", "openpyxl", "slack_sdk"),  # what a night imports when it needs it
    *("prefect.flow_engine", "prefect.task_engine", "fastapi"),  # and what Prefect does
]


@dataclass(frozen=True)
class Work:
    """What a child does: the nightly run that its schedule meant for the night after `last`, or a backfill."""

    kind: str
    settings: Mapping[str, Any]
    first: date
    last: date
    folder: Path
    environment: Mapping[str, str]
    prefect_url: str = ""
    """Another address of the Prefect server than that of the session; what it does not answer is not asked again."""
    dies_at: int = 0
    """Before which change of a file in the folder the process kills itself; 0 is never."""


def started(work: Work) -> ForkServerProcess:
    """A process that does this."""
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_do, args=(work, _server()))  # no daemon: those may not have workers
    process.start()
    return process


def started_command(
    arguments: list[str], folder: Path, environment: Mapping[str, str], dies_at: int = 0
) -> ForkServerProcess:
    """`aqb` with these arguments in a folder, in a process group of its own, as a terminal starts it.

    It kills itself before the change of a file in the folder that has this number; 0 is never.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_command, args=(arguments, folder, {**environment}, _server(), dies_at))
    process.start()
    return process


def _server() -> str:
    """The address of the session's server. A child is told it: the fork server has imported Prefect, which reads its
    settings then, for whichever test came first.
    """
    from prefect.settings import PREFECT_API_URL

    return str(PREFECT_API_URL.value())


def _command(arguments: list[str], folder: Path, environment: Mapping[str, str], server: str, dies_at: int) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    os.setsid()
    os.chdir(folder)
    os.environ.update({"PREFECT_API_URL": server, **environment})
    with Path(SAID).open("ab") as said:
        os.dup2(said.fileno(), sys.stderr.fileno())
    from flows.cli.app import main

    sys.argv = ["aqb", *arguments]
    changes = _count_changes(folder, dies_at)
    try:
        with temporary_settings({PREFECT_API_URL: server}):
            main()
    finally:
        Path(CHANGES).write_text(str(next(changes)))


def _do(work: Work, server: str) -> None:
    from prefect.settings import (
        PREFECT_API_URL,
        PREFECT_CLIENT_MAX_RETRIES,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        temporary_settings,
    )

    from flows.backfill import score_one
    from flows.steps import day, site
    from tasks.config.settings import Settings

    os.chdir(work.folder)
    with Path(SAID).open("ab") as said:
        os.dup2(said.fileno(), sys.stderr.fileno())
    os.environ.update({"PREFECT_API_URL": server, **work.environment})
    changes = _count_changes(work.folder, work.dies_at)
    settings = Settings(**work.settings)
    for step in (day.extract, day.score, day.write, day.summarise, site.build_site, score_one):
        step.task.retry_delay_seconds = [0, 0]
    reached = {PREFECT_API_URL: work.prefect_url or server, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    once = {PREFECT_CLIENT_MAX_RETRIES: 0} if work.prefect_url else {}
    with temporary_settings({**reached, **once}):  # as in `prefect_server`
        _run(work, settings)
    Path(CHANGES).write_text(str(next(changes)))


def _count_changes(folder: Path, dies_at: int) -> Iterator[int]:
    """Counts what is opened for writing, renamed, made or removed in the folder; dies at the one that was chosen."""
    changes, inside = count(), f"{folder}{os.sep}"

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.path.abspath(os.fspath(arguments[0]))  # noqa: PTH100 - `Path` would be seen again
        writes = event != "open" or (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and path.startswith(inside) and next(changes) + 1 == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(see)
    return changes


def _run(work: Work, settings: Settings) -> None:
    from prefect.runtime import flow_run

    from flows.backfill import backfill
    from flows.nightly import nightly
    from flows.runtime.prefect_env import PrefectGoneError, leave_at_once, reaching_prefect
    from scoring.errors import AqbError

    try:
        with reaching_prefect():
            if work.kind == "backfill":
                backfill(work.first, work.last, settings=settings)
            else:
                start = datetime.combine(work.last, time(16), UTC)  # one o'clock of the next day (Asia/Seoul)
                flow_run.FIELDS["scheduled_start_time"] = lambda: start
                nightly(settings)
    except PrefectGoneError as error:
        leave_at_once(error)
    except AqbError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from None
