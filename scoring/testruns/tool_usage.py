"""Which tools an execution used: data keys, filters, columns, the pages it links to."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, unquote

from scoring.testruns.cells import given
from scoring.testruns.executions import Reading
from scoring.testruns.filter_names import filter_code, split_names
from scoring.testruns.raw_json import JsonObject

PERIOD_FILTER = "RESUME_PERIOD"

_ORIGIN = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//[^/?#]*")
_PARAMETER_OF_PATH = re.compile(r"\{[^{}/]*\}|:[A-Za-z_][A-Za-z0-9_]*")
_CODE = re.compile(r"[A-Za-z0-9_.:-]+")


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """What an execution used, as codes. `filters` hold the period filter too; `url_paths` are
    decoded, without host and parameters, in order of appearance.

    Source: seed 000, 2.3 (사용한 도구).
    """

    datakeys: frozenset[str]
    filters: frozenset[str]
    columns: frozenset[str]
    url_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ButtonUrl:
    """The parts of a `buttonUrl` that name tools; a part that is missing or broken is empty."""

    path: str
    datakeys: tuple[str, ...]
    filters: tuple[str, ...]
    columns: tuple[str, ...]


def tool_usage_of(reading: Reading) -> ToolUsage:
    """What the `uiValue`s of a response used, joined with its numbered `buttonUrl` and
    `감지된 필터` cells of the wide layout.

    The period filter is a precondition of every request to the applicant agent: it stands in
    `filters` and is left to the rubric to ignore. Source: seed 000, 2.4.
    """
    execution = reading.execution
    datakeys, filters, urls = set(), set(), []
    for ui_value in reading.response.ui_values:
        for key, value in scalars(ui_value, "dataKey", "filterType", "buttonUrl"):
            if key == "dataKey":
                datakeys.add(value)
            elif key == "filterType":
                filters.add(value)
            else:
                urls.append(button_url(value))
    if given(execution.button_url):
        urls.append(button_url(execution.button_url))
    for url in urls:
        datakeys.update(url.datakeys)
        filters.update(url.filters)
    detected = (name.strip("[]\"' ") for name in split_names(execution.detected_filters))
    filters.update(filter_code(name) or name for name in detected if name)
    return ToolUsage(
        datakeys=frozenset(datakeys),
        filters=frozenset(filters),
        columns=frozenset(column for url in urls for column in url.columns),
        url_paths=tuple(dict.fromkeys(url.path for url in urls if url.path)),
    )


def scalars(value: object, *wanted: str) -> Iterator[tuple[str, str]]:
    """Every key (or those `wanted`) whose value is a text or number, at any depth, in order, as trimmed text.

    An option whose `optionValueFieldName` is F stands for a key F with the option's value.
    """
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            stack.extend(reversed(current))
        elif isinstance(current, dict):
            field = current.get("optionValueFieldName")
            inner = []
            for key, item in current.items():
                if isinstance(item, (dict, list)):
                    inner.append(item)
                    continue
                name = field if key == "optionValue" and isinstance(field, str) else key
                if wanted and name not in wanted:
                    continue
                if isinstance(item, str | int | float) and not isinstance(item, bool) and (text := str(item).strip()):
                    yield name, text
            stack.extend(reversed(inner))


def filters_of(ui_value: JsonObject) -> frozenset[str]:
    """The filters of one `uiValue`: every `filterType` in it, and those of its button's URL."""
    found: set[str] = set()
    for key, text in scalars(ui_value, "filterType", "buttonUrl"):
        if key == "filterType":
            found.add(text)
        else:
            found.update(button_url(text).filters)
    return frozenset(found)


@lru_cache(maxsize=1024)  # the rounds of a query lead to the same page
def button_url(url: str) -> ButtonUrl:
    """The tools that a URL names: its path, `dataKey`s, the filters of `condition` and the
    columns of `columnVisibility`, both URL-encoded JSON lists."""
    parameters: dict[str, list[str]] = {}
    for name, value in parse_qsl(url.partition("?")[2].partition("#")[0], keep_blank_values=True):
        parameters.setdefault(name, []).append(value)
    conditions = [item for text in parameters.get("condition", []) for item in _json_list(text)]
    filters = [item.get("filterType") for item in conditions if isinstance(item, dict)]
    columns = [item for text in parameters.get("columnVisibility", []) for item in _json_list(text)]
    return ButtonUrl(
        path=_path(url),
        datakeys=tuple(filter(None, map(str.strip, parameters.get("dataKey", [])))),
        filters=tuple(name.strip() for name in filters if isinstance(name, str) and name.strip()),
        columns=tuple(column for column in columns if isinstance(column, str)),
    )


def expected_datakeys(text: str) -> frozenset[str]:
    """The data keys of a `기대 datakey` cell, separated by anything that is no part of a code."""
    return frozenset(_CODE.findall(text)) if given(text) else frozenset()


def same_page(expected: str, used: str) -> bool:
    """Whether two URLs lead to the same page: the paths agree part by part, and a part like
    `{planId}` or `:planId` of the expected one matches any one part.

    Source: seed 000, 3.1 (이동 에이전트: 정확한 URL).
    """
    wanted, actual = _parts(expected), _parts(used)
    return len(wanted) == len(actual) and all(
        _PARAMETER_OF_PATH.fullmatch(want) or want == have for want, have in zip(wanted, actual, strict=True)
    )


def _path(url: str) -> str:
    return unquote(re.split(r"[?#]", _ORIGIN.sub("", url.strip()), maxsplit=1)[0])


def _parts(url: str) -> list[str]:
    return [part for part in _path(url).split("/") if part]


def _json_list(text: str) -> list[object]:
    """The list in a parameter; some pages encode it twice. Broken text is an empty list."""
    for candidate in (text, unquote(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, list) else [value]
    return []
