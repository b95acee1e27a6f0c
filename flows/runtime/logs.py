"""Log lines of AQB: the steps of a run, each with the run's id and without texts of people.

They go to the Prefect server, which shows them with the flow run. On standard error they are plain lines in a
deployment, or with `log_format = "json"` one JSON document a line, everywhere. A command on a terminal prints its own
results, so it prints no plain log lines except in Python's development mode.
"""

import logging
import sys
from collections.abc import Iterable
from typing import Literal

from prefect.context import FlowRunContext, TaskRunContext
from prefect.logging.handlers import APILogHandler
from prefect.runtime import deployment

from tasks.config.log_lines import ToStandardError, send_lines_to

_log = logging.getLogger(__name__)


def configure_logs(log_format: Literal["plain", "json"]) -> None:
    """Configures the destinations of log lines; called when a flow starts. The last call counts."""
    to_standard_error = log_format == "json" or deployment.id or sys.flags.dev_mode
    send_lines_to(_ToPrefect(), *([ToStandardError(as_json=log_format == "json")] if to_standard_error else []))


def warn(problems: Iterable[str]) -> None:
    """Logs problems that did not stop the run, each once."""
    for problem in dict.fromkeys(problems):
        _log.warning("%s", problem)


class _ToPrefect(APILogHandler):
    def emit(self, record: logging.LogRecord) -> None:
        if FlowRunContext.get() or TaskRunContext.get():
            super().emit(record)
