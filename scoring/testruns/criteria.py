"""Checks written as key and value, or as JSON: `@check` pairs, objects of the same keys, `accuracyChecks`."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from scoring.testruns.cells import number
from scoring.testruns.checks import (
    CHECK_KEYS,
    OPS,
    Condition,
    EntryCheck,
    EntryGroup,
    Item,
    MessageCheck,
    NumberCheck,
    PathCheck,
    Source,
)
from scoring.testruns.executions import LatencyClass
from scoring.testruns.json_path import JsonPath
from scoring.testruns.numbers import numbers_in
from scoring.testruns.text_match import pattern_problem

SCHEMA_VERSION = "aqb.v1"

_KEYS = {key.casefold(): key for key in CHECK_KEYS}


@dataclass(frozen=True, slots=True)
class Problem:
    """A text that means to be a check and cannot be one, with the reason (Korean)."""

    text: str
    reason: str


@dataclass(slots=True)
class Criteria:
    """What one JSON value of an expected result asks for; fields as in `ExpectedResult`."""

    items: list[Item] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    intent_rubric: str = ""
    latency_class: LatencyClass | None = None

    def add(self, check: Item | Problem) -> None:
        if isinstance(check, Problem):
            self.problems.append(check)
        else:
            self.items.append(check)


def parse_criteria(document: object) -> Criteria:
    """Read an object of check keys, criteria (`schemaVersion` aqb.v1), or a list of either or of path
    checks."""
    criteria = Criteria()
    for part in document if isinstance(document, list) else [document]:
        if not isinstance(part, dict):
            criteria.problems.append(Problem(_text(part), "객체가 아님"))
        elif "path" in part:
            criteria.add(path_check(part))
        else:
            _add_object(criteria, part)
    return criteria


def declared_check(key: str, value: object, source: Source, text: str) -> Item | Problem:
    """The check that one key of `CHECK_KEYS` (in any case) and its value ask for."""
    name = _KEYS.get(key.casefold())
    if name is None:
        return Problem(text, f"알 수 없는 키: {key} (쓸 수 있는 키: {', '.join(CHECK_KEYS)})")
    if not isinstance(value, str | int | float) or (isinstance(value, str) and not value.strip()):
        return Problem(text, "값이 비어 있거나 글자, 숫자, 참/거짓이 아님")
    if name == "assistantMessageContains":
        return MessageCheck(text, source, (str(value),))
    if name == "numberContains":
        numbers = numbers_in(str(value))
        return NumberCheck(text, source, numbers) if numbers else Problem(text, "값에 숫자가 없음")
    return EntryGroup(EntryCheck(text, source, (Condition(name, (value,)),)))


def path_check(part: Mapping[str, object]) -> PathCheck | Problem:
    """The check of one `{path, op, value, weight}`; `op` defaults to eq with a value, to exists without."""
    text = _text(part)
    path = JsonPath.parse(part["path"]) if isinstance(part["path"], str) else None
    if path is None:
        return Problem(text, "path를 읽을 수 없음 (예: dataUIList[*].uiValue.formType)")
    written = str(part.get("op") or ("eq" if "value" in part else "exists")).strip().casefold()
    op = next((known for known in OPS if known == written), None)
    if op is None:
        return Problem(text, f"알 수 없는 op: {written} (쓸 수 있는 op: {', '.join(OPS)})")
    weight = _weight(part.get("weight", 1))
    if weight is None:
        return Problem(text, "weight가 0보다 큰 수가 아님")
    value = part.get("value")
    reason = "value가 없음" if "value" not in part and op != "exists" else ""
    if op == "in" and not isinstance(value, list):
        reason = "op이 in이면 value는 목록이어야 함"
    elif op == "regex":
        reason = pattern_problem(value) if isinstance(value, str) else "op이 regex이면 value는 글자여야 함"
    return Problem(text, reason) if reason else PathCheck(text, "json", path, op, value, weight)


def _add_object(criteria: Criteria, part: Mapping[str, object]) -> None:
    for key, value in part.items():
        if key == "accuracyChecks":
            _add_accuracy_checks(criteria, value)
        elif key == "intentRubric":
            criteria.intent_rubric = value.strip() if isinstance(value, str) else _text(value)
        elif key == "meta":
            word = value.get("latencyClass") if isinstance(value, dict) else None
            criteria.latency_class = LatencyClass.named(word)
        elif key == "schemaVersion":
            if value != SCHEMA_VERSION:
                criteria.problems.append(Problem(f"schemaVersion: {_text(value)}", f"{SCHEMA_VERSION}이 아님"))
        elif key.casefold() in _KEYS:
            for one in value if isinstance(value, list) else [value]:
                criteria.add(declared_check(key, one, "json", f"{key}: {_text(one)}"))
        else:
            criteria.prose.append(f"{key}: {_text(value)}")


def _add_accuracy_checks(criteria: Criteria, checks: object) -> None:
    if not isinstance(checks, list):
        criteria.problems.append(Problem(_text(checks), "accuracyChecks가 목록이 아님"))
        return
    for check in checks:
        if isinstance(check, dict) and "path" in check:
            criteria.add(path_check(check))
        else:
            criteria.problems.append(Problem(_text(check), "accuracyChecks의 항목에 path가 없음"))


def _weight(value: object) -> Fraction | None:
    exact = number(value)
    return Fraction(exact) if exact is not None and exact > 0 else None


def _text(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(깊게 중첩된 값)"
