"""Evaluates checks against a response: which passed, which failed and why."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias
from urllib.parse import unquote

from scoring.rules.arrow_types import matches
from scoring.stats.exact import exact_sum
from scoring.testruns.cells import folded, given, same, unfilled
from scoring.testruns.checks import (
    PAGE_KEY,
    VALUE_KEYS,
    Check,
    Condition,
    EntryCheck,
    EntryGroup,
    Item,
    MessageCheck,
    NumberCheck,
    PathCheck,
)
from scoring.testruns.executions import ParsedExecution
from scoring.testruns.ground_truth import says_none
from scoring.testruns.numbers import Quantity, compare_quantities, number_text, quantities_in, quantity_text
from scoring.testruns.raw_json import JsonObject, RawResponse
from scoring.testruns.tool_usage import button_url, filters_of, leads_to, scalars, url_contains

ValueLookup: TypeAlias = Literal["nested", "direct"]
_SHOWN = 5
_FOLLOWS = "앞 조건에 맞는 항목이 없어"
_UNFILLED = ", 기대 결과의 자리 표시를 채우지 않음"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check. `key` is what it inspects: `formType`, `assistantMessage`, the last step of a path.

    `expected` is the expected value, equal for all checks that ask the same question. `reason` and `cause` (Korean) are
    '' if it passed; the cause is equal for all checks that fail in the same way (`기대 SELECT, 실제 ACTION`).
    `follows`: it failed because no entry meets the opener of its group, whose failure is the cause. `only_nested`: it
    passes if `dataKey` and `buttonKey` are searched anywhere inside `value`, and fails on the literal path, whichever
    of the two was asked for.
    """

    text: str
    weight: Fraction
    passed: bool
    reason: str
    key: str
    expected: str
    cause: str = ""
    follows: bool = False
    only_nested: bool = False


def evaluate(
    items: Iterable[Item], response: RawResponse, *, value_lookup: ValueLookup = "nested"
) -> tuple[CheckResult, ...]:
    """Evaluates all checks of `items`, in order, followers directly after their opener.

    Source: seed 003, 2-2; seed 004, 정확성.
    """
    return tuple(result for item in items for result in _results(item, response, value_lookup))


def are_unseen(reading: ParsedExecution, results: Iterable[CheckResult]) -> bool:
    """Whether checks look at more than the message of an answer whose Raw JSON the file does not have."""
    is_text_alone = reading.answered and not given(reading.execution.raw_json)
    return is_text_alone and any(result.key != "assistantMessage" for result in results)


def without_followers(reason: str) -> str:
    """The reason of a score without the checks that only failed because no entry met their opener."""
    return "; ".join(part for part in reason.split("; ") if not part.startswith(_FOLLOWS))


def pass_ratio(results: Sequence[CheckResult]) -> Fraction | None:
    """The weight of the passed checks divided by the weight of all; None without checks."""
    total = exact_sum(result.weight for result in results)
    return exact_sum(result.weight for result in results if result.passed) / total if total else None


def _results(item: Item, response: RawResponse, lookup: ValueLookup) -> Iterator[CheckResult]:
    match item:
        case EntryGroup():
            yield from _group_results(item, response, lookup)
        case MessageCheck():
            reason = _message_reason(item, response)
            yield _result(item, reason, cause=reason)
        case NumberCheck():
            reason = _number_reason(item, response)
            yield _result(item, reason, cause=reason)
        case PathCheck():
            yield _result(item, *_path_reason(item, response))


def _result(
    check: Check, reason: str, cause: str = "", *, follows: bool = False, only_nested: bool = False
) -> CheckResult:
    unmeetable = _UNFILLED if reason and unfilled(check.text) else ""
    return CheckResult(
        text=check.text,
        weight=check.weight,
        passed=not reason,
        reason=reason + unmeetable,
        key=_key(check),
        expected=_expected(check),
        cause=cause + unmeetable,
        follows=follows,
        only_nested=only_nested,
    )


def _key(check: Check) -> str:
    match check:
        case EntryCheck():
            return "+".join(condition.key for condition in check.conditions)
        case MessageCheck() | NumberCheck():
            return "assistantMessage"
    names = [step for step in check.path.steps if isinstance(step, str)]
    return names[-1].replace("]", "") if names else "path"


def _expected(check: Check) -> str:
    match check:
        case EntryCheck():
            return "+".join("|".join(sorted(map(_shown, condition.values))) for condition in check.conditions)
        case MessageCheck():
            return ("|" if check.any_of else "&").join(sorted(map(folded, check.keywords)))
        case NumberCheck():
            return "&".join(map(number_text, sorted(check.numbers)))
    return f"{check.path} {check.op} {'|'.join(sorted(map(_shown, _wanted(check))))}"


def _wanted(check: PathCheck) -> Sequence[object]:
    """The values that satisfy a check: the list of an `in`, else the single value."""
    return check.value if check.op == "in" and isinstance(check.value, list) else [check.value]


def _message_reason(check: MessageCheck, response: RawResponse) -> str:
    message = folded(response.assistant_message)
    missing = [keyword for keyword in check.keywords if folded(keyword) not in message]
    if not missing or (check.any_of and len(missing) < len(check.keywords)):
        return ""
    return f"답변에 {_listed(missing)} 언급이 없음"


def _number_reason(check: NumberCheck, response: RawResponse) -> str:
    stated = quantities_in(response.assistant_message)
    missing = compare_quantities([Quantity(number) for number in check.numbers], stated).missing
    if any(one.value == 0 for one in missing):
        truth = ", ".join(map(number_text, check.numbers))
        none = says_none(response.assistant_message, query="", truth=truth)
        missing = tuple(one for one in missing if one.value or not none)
    return f"답변에 없는 수: {', '.join(map(quantity_text, missing))}" if missing else ""


def _path_reason(check: PathCheck, response: RawResponse) -> tuple[str, str]:
    """Why it fails and the cause; both are '' if it passes."""
    found = check.path.find(response.document)
    if check.op == "exists":
        there = any(_is_something(value) for value in found)
        if there == (check.value is not False):
            return "", ""
        return f"{check.path}에 값이 {'있음' if there else '없음'}", f"값이 {'있음' if there else '없음'}"
    if any(_holds(check, value) for value in found):
        return "", ""
    wanted = _wanted(check)
    reason = f"{check.path}: {_listed(wanted)} 조건({check.op})에 맞는 값이 없음{_actual(found)}"
    return reason, _pair(wanted, found)


def _is_something(value: object) -> bool:
    if isinstance(value, dict | list):
        return bool(value)
    return value is False or given(value) is not None


def _holds(check: PathCheck, value: object) -> bool:
    expected = check.value
    match check.op:
        case "contains" if isinstance(value, str):
            return isinstance(expected, str | int | float) and folded(str(expected)) in folded(value)
        case "contains" if isinstance(value, list):
            return any(_equal(expected, item) for item in value)
        case "contains":
            return isinstance(value, dict) and isinstance(expected, str) and expected in value
        case "in":
            return isinstance(expected, list) and any(_equal(choice, value) for choice in expected)
        case "regex":
            scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
            return scalar and matches(str(expected), str(value))
    return _equal(expected, value)


def _equal(expected: object, actual: object) -> bool:
    if same(expected, actual):
        return True
    try:
        return isinstance(expected, dict | list | None) and expected == actual
    except RecursionError:
        return False


def _group_results(group: EntryGroup, response: RawResponse, lookup: ValueLookup) -> Iterator[CheckResult]:
    nested, best = _best_entry(group, response, "nested")
    searches = any(c.key in VALUE_KEYS for check in group.checks for c in check.conditions)
    direct, best_direct = _best_entry(group, response, "direct") if searches else (nested, best)
    passed, entry = (direct, best_direct) if lookup == "direct" else (nested, best)
    for place, check in enumerate(group.checks):
        follower = place > 0
        reason, cause = ("", "") if passed[place] else _entry_reason(check, follower, entry, response, lookup)
        follows = follower and bool(reason) and entry is None
        yield _result(check, reason, cause, follows=follows, only_nested=nested[place] and not direct[place])


def _best_entry(
    group: EntryGroup, response: RawResponse, lookup: ValueLookup
) -> tuple[Sequence[bool], JsonObject | None]:
    """The checks that pass on the entry with the most passed checks, among those that match the opener."""
    best: tuple[Sequence[bool], JsonObject | None] = ([False] * len(group.checks), None)
    for ui_value in response.ui_values:
        passed = [all(_meets(c, ui_value, lookup) for c in check.conditions) for check in group.checks]
        if passed[0] and sum(passed) > sum(best[0]):
            best = (passed, ui_value)
    return best


def _meets(condition: Condition, ui_value: JsonObject, lookup: ValueLookup) -> bool:
    found = _values_of(condition.key, ui_value, lookup)
    if condition.key == "buttonUrlContains":
        return any(url_contains(str(value), str(url)) for value in condition.values for url in found)
    if condition.key == PAGE_KEY:
        return any(leads_to(str(value), str(url)) for value in condition.values for url in found)
    return any(same(value, actual) for value in condition.values for actual in found)


def _values_of(key: str, ui_value: JsonObject, lookup: ValueLookup) -> Sequence[object]:
    if key in VALUE_KEYS:
        value = ui_value.get("value")
        if lookup == "nested":
            offered = (button_url(url).datakeys for _, url in scalars(ui_value, "buttonUrl"))
            of_urls = sorted(frozenset[str]().union(*offered)) if key == "dataKey" else []
            return [*(text for _, text in scalars(value, key)), *of_urls]
        return [value[key]] if isinstance(value, dict) and key in value else []
    if key == "filterType":
        return sorted(filters_of(ui_value), key=str)
    if key == "buttonUrlContains":
        url = ui_value.get("buttonUrl")
        return [url, unquote(url)] if isinstance(url, str) else []
    if key == PAGE_KEY:
        return [url for _, url in scalars(ui_value, "buttonUrl")]
    value = ui_value.get(key)
    if key == "setting" and isinstance(value, dict | list):
        return [*(text for _, text in scalars(value)), *(value if isinstance(value, list) else ())]
    return [value] if key in ui_value else []


def _entry_reason(
    check: EntryCheck, follower: bool, entry: JsonObject | None, response: RawResponse, lookup: ValueLookup
) -> tuple[str, str]:
    """Why it fails and the cause; `entry` is the entry of the group, None if no entry meets the opener."""
    wanted = ", ".join(f"{c.key}={' 또는 '.join(map(str, c.values))}" for c in check.conditions)
    if follower and entry is None:
        return f"{_FOLLOWS} {wanted}도 실패", "앞 조건에 맞는 항목이 없음"
    entries = response.ui_values if entry is None else [entry]
    found = [value for c in check.conditions for ui in entries for value in _values_of(c.key, ui, lookup)]
    where = "해당 항목의 값이 다름" if follower else "맞는 항목이 없음"
    cause = _pair([value for c in check.conditions for value in c.values], found)
    return f"{wanted}: {where}{_actual(found)}", cause if entries else f"{cause}(화면 항목이 없음)"


def _pair(wanted: Sequence[object], found: Sequence[object]) -> str:
    """The expected and the offered value, in an order that is independent of the order of the entries."""
    offered = sorted({_shown(value) for value in found if value is not None})
    more = f" 외 {len(offered) - _SHOWN}개" if len(offered) > _SHOWN else ""
    return f"기대 {' 또는 '.join(map(_shown, wanted))}, 실제 {', '.join(offered[:_SHOWN]) or '없음'}{more}"


def _actual(found: Sequence[object]) -> str:
    offered = [value for value in found if value is not None]
    return f" (실제: {_listed(offered)})" if offered else " (실제: 없음)"


def _listed(values: Sequence[object]) -> str:
    texts = dict.fromkeys(map(_shown, values))
    more = f" 외 {len(texts) - _SHOWN}개" if len(texts) > _SHOWN else ""
    return ", ".join(f'"{text}"' for text in list(texts)[:_SHOWN]) + more


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return f"{len(value)}개짜리 {'객체' if isinstance(value, dict) else '목록'}"
    if value is None:
        return "없음"
    return str(value).lower() if isinstance(value, bool) else str(value)[:80]
