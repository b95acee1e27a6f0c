"""The tools that an execution used: data keys, filters, columns, and linked pages."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qs, unquote

from scoring.testruns.cells import folded, given
from scoring.testruns.executions import ParsedExecution
from scoring.testruns.filter_names import split_names
from scoring.testruns.raw_json import JsonObject

PERIOD_FILTER = "RESUME_PERIOD"
_NAMING_KEYS = ("dataKey", "filterType", "buttonUrl")

_ORIGIN = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//[^/?#]*")
_PARAMETER_OF_PATH = re.compile(r"\$?\{[^{}/]*\}|:[A-Za-z_][A-Za-z0-9_]*")
_NEXT_URL = re.compile(r"[\s,;|\"']+(?=/|https?://)")
_CODE = re.compile(r"[A-Za-z0-9_]+(?:[.:-]+[A-Za-z0-9_]+)*")
_LETTER = re.compile(r"[A-Za-z_]")
_LABEL = re.compile(r"\b(?:data_?key|n/a)(?![A-Za-z0-9_])", re.IGNORECASE)
_REMARK = re.compile(r"\((?![^()]*(?:또는|혹은))[^()]*[가-힣][^()]*\)")
EITHER = re.compile(r"또는|혹은|(?<=\s)or(?=\s)", re.IGNORECASE)
"""What stands between things of which one is wanted."""


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """The tools that an execution, a `uiValue` or a URL used, as codes. `filters` include the period filter; `urls` are
    complete, `url_paths` decoded, without host and parameters, both in order of appearance.

    Source: seed 000, 2.3 (사용한 도구).
    """

    datakeys: frozenset[str] = frozenset()
    filters: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    urls: tuple[str, ...] = ()
    url_paths: tuple[str, ...] = ()


def tool_usage_of(reading: ParsedExecution) -> ToolUsage:
    """The tools in the `uiValue`s of a response, and in its cells `buttonUrl`, `감지된 필터` and `사용 datakey`.

    The period filter is a precondition of every request to the applicant agent: it is included in `filters`, and the
    rubric ignores it. Source: seed 000, 2.4.
    """
    execution = reading.execution
    named = [pair for ui_value in reading.response.ui_values for pair in scalars(ui_value, *_NAMING_KEYS)]
    named += [("buttonUrl", url) for url in _listed_urls(execution.button_url)]
    detected = (name.strip("[]\"' ") for name in split_names(execution.detected_filters))
    named += [("filterType", execution.filter_names.code(name) or name) for name in detected if name]
    named += [("dataKey", datakey) for datakey in listed_datakeys(execution.used_datakeys)]
    return _used(named)


def shows_tools(reading: ParsedExecution, fields: frozenset[str]) -> bool:
    """Whether the file can show tools of a kind that the execution used: in a column of `fields`, those of
    `TOOL_COLUMNS` that hold the kind, or in the Raw JSON of its answer.
    """
    execution = reading.execution
    shown = execution.tool_columns & fields
    if shown == {"raw_json"}:
        return bool(given(execution.raw_json)) or not reading.answered
    return bool(shown)


def filters_of(ui_value: JsonObject) -> frozenset[str]:
    """The filters of one `uiValue`: every `filterType` in it, and those of its button's URL."""
    return _used(scalars(ui_value, *_NAMING_KEYS)).filters


def _used(named: Iterable[tuple[str, str]]) -> ToolUsage:
    """The tools that the values of `_NAMING_KEYS` name together."""
    values: dict[str, list[str]] = {key: [] for key in _NAMING_KEYS}
    for key, value in named:
        values[key].append(value)
    urls = list(map(button_url, values["buttonUrl"]))
    return ToolUsage(
        datakeys=frozenset(values["dataKey"]).union(*(url.datakeys for url in urls)),
        filters=frozenset(values["filterType"]).union(*(url.filters for url in urls)),
        columns=frozenset[str]().union(*(url.columns for url in urls)),
        urls=tuple(dict.fromkeys(values["buttonUrl"])),
        url_paths=tuple(dict.fromkeys(path for url in urls for path in url.url_paths)),
    )


def scalars(value: object, *wanted: str) -> Iterator[tuple[str, str]]:
    """Every key (or the `wanted` ones) with a text or number, at any depth, in order, as trimmed text.

    An option with the `optionValueFieldName` F is a key F with the option's value.
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


@lru_cache(maxsize=1024)  # the rounds of a query lead to the same page
def button_url(url: str) -> ToolUsage:
    """The tools in a URL: its path, `dataKey`s, the filters of `condition` and the columns of `columnVisibility`, both
    URL-encoded JSON lists. A missing or invalid part is empty.
    """
    parameters = parse_qs(url.partition("?")[2].partition("#")[0])
    conditions = [item for text in parameters.get("condition", []) for item in _json_list(text)]
    filters = [item.get("filterType") for item in conditions if isinstance(item, dict)]
    columns = [item for text in parameters.get("columnVisibility", []) for item in _json_list(text)]
    path = _path(url)
    return ToolUsage(
        datakeys=frozenset(filter(None, map(str.strip, parameters.get("dataKey", [])))),
        filters=frozenset(name.strip() for name in filters if isinstance(name, str) and name.strip()),
        columns=frozenset(column for column in columns if isinstance(column, str)),
        urls=(url,),
        url_paths=(path,) if path else (),
    )


def _listed_urls(cell: str) -> list[str]:
    """The URLs of a cell, one or several: one a line, separated by commas, or a JSON list."""
    text = given(cell) or ""
    parts = _NEXT_URL.split(text[1:-1] if text.startswith("[") else text)
    urls = [part.strip(",;|\"' ") for part in parts if part.startswith(("/", "http"))]
    return urls or ([text] if text else [])


def listed_datakeys(text: str) -> list[str]:
    """The data keys of a cell, separated by anything that is no code, without labels, remarks, list numbers, `N/A`."""
    codes = _CODE.findall(_REMARK.sub(" ", _LABEL.sub(" ", text))) if given(text) else []
    return list(filter(_LETTER.search, codes)) or codes


def alternative_datakeys(text: str) -> list[list[str]]:
    """The data keys that a cell expects; of those with `또는` between them any one is wanted."""
    wanted: list[list[str]] = []
    for part in EITHER.split(text):
        keys = listed_datakeys(part)
        if wanted and keys:
            wanted[-1].append(keys.pop(0))
        wanted += [[key] for key in keys]
    return wanted


def same_page(expected: str, used: str) -> bool:
    """Whether two URLs lead to the same page: the paths agree part by part, and a placeholder like `{planId}`,
    `${planId}` or `:planId` of the expected path matches any one part.

    Source: seed 000, 3.1 (이동 에이전트: 정확한 URL).
    """
    wanted, actual = _parts(expected), _parts(used)
    return len(wanted) == len(actual) and all(
        _PARAMETER_OF_PATH.fullmatch(want) or want == have for want, have in zip(wanted, actual, strict=True)
    )


def leads_to(expected: str, used: str) -> bool:
    """Whether a URL leads to the expected page, with the datakeys of the expected URL."""
    return same_page(expected, used) and button_url(expected).datakeys <= button_url(used).datakeys


def url_contains(part: str, url: str) -> bool:
    """Whether a URL has `part` in its path or parameters, encoded or not, white space aside."""
    return any(folded(part) in folded(form) for form in (url, unquote(url)))


def _path(url: str) -> str:
    return unquote(re.split(r"[?#]", _ORIGIN.sub("", url.strip()), maxsplit=1)[0])


def _parts(url: str) -> list[str]:
    return [part for part in _path(url).split("/") if part]


def _json_list(text: str) -> list[object]:
    """The list in a parameter; some pages encode it twice. Invalid text is an empty list."""
    for candidate in (text, unquote(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, list) else [value]
    return []
