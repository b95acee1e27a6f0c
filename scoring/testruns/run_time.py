"""The time of a test run: from its rows, else from the date in its file name."""

import re
from collections.abc import Iterable
from datetime import datetime

from scoring.testruns.executions import Execution

_DATE = r"(20[0-9]{2})[-./_]?([0-9]{2})[-./_]?([0-9]{2})"
_TIME = re.compile(rf"\s*{_DATE}(?:[T\s]+([0-9]{{1,2}}):([0-9]{{2}})(?::([0-9]{{2}}))?)?")
_IN_NAME = re.compile(rf"(?<![0-9]){_DATE}(?![0-9])")


def run_time(executions: Iterable[Execution], file_name: str) -> str:
    """The start of the first execution, to the second, as written: `2026-02-24T02:20:40`; the date alone if the time is
    unknown, '' if both are.

    No zone is applied: a test run is ordered among the others of its team, whose files use the same notation.
    """
    times = [found for one in executions if (found := _moment(_TIME.match(one.executed_at)))]
    named = (_moment(match) for match in _IN_NAME.finditer(file_name))
    return min(times, default="") or next(filter(None, named), "")


def _moment(match: re.Match[str] | None) -> str:
    """The matched date or time in ISO form, '' if it is not a calendar date."""
    parts = [int(part) for part in match.groups() if part is not None] if match else []
    try:
        found = datetime(*parts) if parts else None  # type: ignore[arg-type]  # noqa: DTZ001  as it is written
    except ValueError:
        return ""
    if found is None:
        return ""
    return found.date().isoformat() if len(parts) == 3 else found.isoformat(timespec="seconds")
