"""Looks of `aqb watch` at given times, in processes of their own that can be killed at any line of our code."""

import os
import signal
from datetime import datetime
from multiprocessing import get_context

from flows.steps.watch import watch_services
from tasks.alerts.delivery import Clock
from tasks.config.settings import Settings
from tasks.context import Context
from tests.builders.state import set_message_leases
from tests.faults.deadly_line import DeadlyLine

_OURS = (
    *(f"tasks/alerts/{name}.py" for name in ("outbox", "delivery", "unfinished", "channels/slack")),
    *(f"flows/steps/{name}.py" for name in ("watch", "announce")),
)


def look(settings: Settings, now: datetime) -> None:
    """One look in this process, when the leases of those that were killed are over."""
    set_message_leases(settings.state_url)
    with Context(settings) as context:
        watch_services(context, Clock(lambda: now, sleep=lambda seconds: None))


def look_and_die(settings: Settings, now: datetime, line: int, environment: dict[str, str]) -> bool:
    """One look in a process that dies at a line of our code; False if it had fewer to go through."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.fakes.night_watcher"])
    process = context.Process(target=_look_to, args=(settings, now, line, environment), daemon=True)
    process.start()
    process.join()
    return process.exitcode == -signal.SIGKILL


def _look_to(settings: Settings, now: datetime, line: int, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    with DeadlyLine(line, _OURS):
        look(settings, now)
