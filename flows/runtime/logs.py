"""Log lines of our own: what a run does, step by step, each with the run's id and none with a text of people.

They go to the Prefect server, which shows them with the flow run. On standard error they are plain lines where a
deployment runs, or with `log_format = "json"` one JSON document a line, wherever. A command on a terminal says itself
what it has done, so it prints no plain lines beside that.
"""

import json
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal

from prefect.context import FlowRunContext, TaskRunContext
from prefect.logging.handlers import APILogHandler
from prefect.runtime import deployment

_log = logging.getLogger(__name__)
_OURS = ("flows", "tasks")
_PLAIN = logging.Formatter("%(asctime)s.%(msecs)03d | %(levelname)-7s | Run %(run_id)s - %(message)s", "%H:%M:%S")
_run_id: ContextVar[str | None] = ContextVar("run_id", default=None)


@contextmanager
def lines_of_run(run_id: str) -> Iterator[None]:
    """Every line within the block carries this run id."""
    before = _run_id.set(run_id)
    try:
        yield
    finally:
        _run_id.reset(before)


def configure_logs(log_format: Literal["plain", "json"]) -> None:
    """Sends our lines where they belong; to be called when a flow starts. The last call counts."""
    handlers: list[logging.Handler] = [_ToPrefect()]
    if log_format == "json" or deployment.id:
        handlers.append(_ToStandardError())
        handlers[-1].setFormatter(_PLAIN if log_format == "plain" else _JsonLine())
    for name in _OURS:
        logger = logging.getLogger(name)
        logger.handlers = handlers
        logger.setLevel(logging.INFO)
        logger.propagate = False  # Prefect's console would say it again


def warn(problems: Iterable[str]) -> None:
    """What a person should look at although the run went on."""
    for problem in problems:
        _log.warning("%s", problem)


class _ToPrefect(APILogHandler):
    def emit(self, record: logging.LogRecord) -> None:
        if FlowRunContext.get() or TaskRunContext.get():
            super().emit(record)


class _ToStandardError(logging.Handler):
    """Writes to what is standard error at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        record.run_id = _run_id.get()
        try:
            sys.stderr.write(self.format(record) + "\n")
        except OSError:
            self.handleError(record)  # a full or closed pipe does not stop a run


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "run_id": getattr(record, "run_id", None),
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__  # its message may quote an input
        return json.dumps(line, ensure_ascii=False)
