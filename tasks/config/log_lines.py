"""AQB's log lines on standard error: plain, or one JSON document a line with the id of a run or of a request."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

OURS: Final = ("flows", "tasks")
"""The loggers of AQB."""

_PLAIN = logging.Formatter("%(asctime)s.%(msecs)03d | %(levelname)-7s | %(of)s - %(message)s", "%H:%M:%S")
_ids: ContextVar[Mapping[str, str | None]] = ContextVar("ids", default={"run_id": None})  # noqa: B039  (never changed)


@contextmanager
def lines_with(**ids: str) -> Iterator[None]:
    """Adds these ids to every line within the block, also in threads started there."""
    before = _ids.set(ids)
    try:
        yield
    finally:
        _ids.reset(before)


class ToStandardError(logging.Handler):
    """Writes to the current standard error."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self.setFormatter(_JsonLine() if as_json else _PLAIN)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one line; errors of a full or closed pipe are ignored."""
        run_id = _ids.get().get("run_id")
        record.of = f"Run {run_id}" if run_id else record.name  # same format as Prefect's own lines
        try:
            sys.stderr.write(self.format(record) + "\n")
        except OSError:
            self.handleError(record)


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            **_ids.get(),
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__  # its message may quote an input
        return json.dumps(line, ensure_ascii=False)


def send_lines_to(*handlers: logging.Handler) -> None:
    """Sends AQB's log lines to these handlers only. The last call wins."""
    for name in OURS:
        logger = logging.getLogger(name)
        logger.handlers = list(handlers)
        logger.setLevel(logging.INFO)
        logger.propagate = False  # otherwise Prefect's console handler would repeat it
