"""Executions of a test run as rubrics get them, and figures of their summaries."""

import json
from collections.abc import Mapping
from typing import Any

from scoring.testruns.executions import Execution, Round


def run(round_: str = "1/1", raw: object = None, **fields: Any) -> Execution:
    """An execution that answered in three seconds; `raw` is its Raw JSON, or what that says besides."""
    parsed = Round.parse(round_)
    assert parsed is not None
    text = raw if isinstance(raw, str) else json.dumps({"assistantMessage": "안내", "responseTimeSec": 3} | (raw or {}))  # type: ignore[operator]
    return Execution(**{"query_id": "Q-1", "round": parsed, "raw_json": text, **fields})


def passing(passed: int, asked: int, round_: str = "1/1", **fields: Any) -> Execution:
    """An execution whose answer says `passed` of the `asked` words that are expected."""
    words = [f"낱말{number}끝" for number in range(asked)]
    expected = "\n".join(f"@check assistantMessageContains={word}" for word in words)
    raw = {"assistantMessage": "안내 " + " ".join(words[:passed]), "responseTimeSec": fields.pop("seconds", 3)}
    return run(round_, raw, expected_text=expected, **fields)


def mean_and_n(figures: Mapping[str, Any]) -> tuple[Any, Any]:
    """A mean and of how many scores it is."""
    return figures["mean"], figures["n"]
