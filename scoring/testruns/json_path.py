"""Literal paths into a response: `dataUIList[*].uiValue.value.dataKey`, `dataUIList[0].uiValue.formType`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STEP = re.compile(r"\.?([^\s.\[\]'\"*]+)|\[\s*(\*|[0-9]{1,9})\s*\]|\[\s*(?:'([^']+)'|\"([^\"]+)\")\s*\]")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """Steps from the top of a response: a name, an index counted from 0, or None for every item of a list."""

    steps: tuple[str | int | None, ...]

    def __str__(self) -> str:
        parts = (f".{s}" if isinstance(s, str) else f"[{'*' if s is None else s}]" for s in self.steps)
        return "".join(parts).removeprefix(".")

    @classmethod
    def parse(cls, text: str) -> JsonPath | None:
        """The path that `text` writes, with or without a leading `$`; None where it writes none."""
        text = text.strip().removeprefix("$")
        steps: list[str | int | None] = []
        position = 0
        while position < len(text):
            match = _STEP.match(text, position)
            if not match or (position and match.group(1) and not match.group().startswith(".")):
                return None
            name = match.group(1) or match.group(3) or match.group(4)
            place = match.group(2)
            steps.append(name or (None if place == "*" else int(place)))
            position = match.end()
        return cls(tuple(steps)) if steps else None

    def find(self, document: object) -> list[object]:
        """Everything that the path leads to, in order; [] where it leads nowhere."""
        found = [document]
        for step in self.steps:
            found = [item for value in found for item in _step_into(value, step)]
        return found


def _step_into(value: object, step: str | int | None) -> list[object]:
    if isinstance(step, str):
        return [value[step]] if isinstance(value, dict) and step in value else []
    if not isinstance(value, list):
        return []
    if step is None:
        return value
    return [value[step]] if step < len(value) else []
