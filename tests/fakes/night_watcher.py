"""Looks of `aqb watch` at given times, in processes of their own that can be killed at any line of our code."""

import os
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from multiprocessing import get_context
from types import FrameType
from typing import Any

from flows.steps.watch import watch
from tasks.alerts.delivery import Clock
from tasks.config.settings import Settings
from tasks.context import Context

_OURS = (
    *(f"tasks/alerts/{name}.py" for name in ("outbox", "delivery", "unfinished", "channels/slack")),
    *(f"flows/steps/{name}.py" for name in ("watch", "announce")),
)


def look(settings: Settings, now: datetime) -> None:
    """One look in this process."""
    with Context(settings) as context:
        watch(context, Clock(lambda: now, sleep=lambda seconds: None))


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
    sys.settrace(_dying_at(line))
    look(settings, now)


def _dying_at(line: int) -> Callable[[FrameType, str, Any], Any]:
    lines = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(_OURS):
            return None
        if event == "line":
            lines += 1
            if lines == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return count

    return count
