"""The value of one cell of a spreadsheet, or of one scalar of JSON."""

import json
import math
import re
from datetime import date, datetime, time
from decimal import Decimal

from scoring.headers import bare_name

_MISSING = frozenset({"", "-", "nan", "none", "null"})
# Without blanks, in lower case.
_ALL_IS_WELL = frozenset(
    {
        *(
            "정상",
            "성공",
            "완료",
            "통과",
            "정상응답",
            "정상완료",
            "정상처리",
            "처리완료",
            "응답완료",
            "이상없음",
            "오류없음",
            "에러없음",
            "해당없음",
        ),
        *("ok", "okay", "success", "succeeded", "completed", "done", "pass", "passed", "200", "200ok"),
        *("n/a", "na", "noerror"),
    }
)
_NO_ERROR = frozenset({"없음", "no", "n", "false", "undefined", "{}", "[]"})
_NOT_MEASURED = frozenset({"없음", "미측정", "측정불가", "측정안됨", "n/a", "na"})
_SCALAR = (bool, int, float, str)  # a tuple: a union would be made anew for every comparison
_TRUTHS = {"true": True, "y": True, "1": True, "false": False, "n": False, "0": False}
_SECONDS = re.compile(r"((?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})(?:\.[0-9]+)?)\s*(?:초|s|sec)?")
_TIMED_OUT = re.compile(r"(?:응답)?(?:타임아웃|시간초과)|timed?-?out", re.IGNORECASE)
_NAME = r"[가-힣A-Za-z_][가-힣A-Za-z0-9_ ]{0,30}"
# `{planId}` of a URL path is meant; in a question braces around Korean are not.
_PLACEHOLDER = re.compile(rf"\$\s?{_NAME}\$|\$\{{{_NAME}\}}|\{{\{{\s?{_NAME}\}}\}}|\{{[가-힣][가-힣0-9_ ]{{0,30}}\}}")
_CUT = re.compile(r"…\(잘림: 전체 [0-9,]{1,15}자\)$")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?")


def cell_text(value: object) -> str:
    """The text of a cell of a workbook or a table, as in a CSV file; a date without the 0:00 that workbooks store."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return str(value)


def given(value: object) -> str | None:
    """The text of a cell without invisible characters around it; None for a blank, `nan`, `None`, `null` and `-`.

    Zero-width characters, which copying from pages and chats adds, are ignored in ids and statuses. False and empty
    lists or objects are empty values too: `"error": false` reports no error.

    Source: seed 000, 5.1 (the wide layout).
    """
    if value is None or value is False or value == [] or value == {}:
        return None
    text = bare_name(str(value))
    return None if text.casefold() in _MISSING else text


def cut_mark(characters: int) -> str:
    """The suffix of a text that was cut after so many characters, the maximum of an Excel cell."""
    return f"…(잘림: 전체 {characters:,}자)"


def is_cut(text: str) -> bool:
    """Whether a cell ends with a `cut_mark`: its full content is unknown."""
    return text.endswith("자)") and _CUT.search(text[-40:]) is not None


def says_timeout(text: str) -> bool:
    """Whether a cell for a time reports a timeout."""
    return _TIMED_OUT.fullmatch(folded(text)) is not None


def says_not_measured(text: str) -> bool:
    """Whether a cell for a number says that there is no measurement."""
    return folded(text).casefold() in _NOT_MEASURED


def says_all_is_well(text: str) -> bool:
    """Whether a status or an error reports no problem: `정상`, `OK`, `N/A`."""
    return folded(text).casefold() in _ALL_IS_WELL


def reported_error(value: object) -> str:
    """The error that a cell or field reports; '' for none, such as `없음`, `N/A`, `false`, `정상` and the code 0.

    An object or a list, shown as JSON, reports one if any part does: `{"code": 0, "message": "success"}` does not.
    """
    if isinstance(value, dict | list):
        within = value.values() if isinstance(value, dict) else value
        return json.dumps(value, ensure_ascii=False) if any(map(reported_error, within)) else ""
    text = given(value) or ""
    none = says_all_is_well(text) or folded(text).casefold() in _NO_ERROR or number(text) == 0
    return "" if none else text


def seconds(value: object) -> float | None:
    """A duration in seconds; None unless `value` is a finite number from 0, or the text of one (`7.6초`, `1,234.5`)."""
    if isinstance(value, str):
        match = _SECONDS.fullmatch(value.strip())
        value = float(match.group(1).replace(",", "")) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        duration = float(value)
    except OverflowError:
        return None
    return duration if math.isfinite(duration) and duration >= 0 else None


def truth(value: object) -> bool | None:
    """True for `true`, `"true"`, `Y` and 1, False for their opposites in any case, None for everything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | str):
        return _TRUTHS.get(str(value).strip().casefold())
    return None


def number(value: object) -> Decimal | None:
    """The exact value of a JSON number, or of a text that consists of a plain number; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return Decimal(value.strip()) if _PLAIN_NUMBER.fullmatch(value.strip()) else None
    return Decimal(str(value)) if isinstance(value, int) or math.isfinite(value) else None


def same(expected: object, actual: object) -> bool:
    """Whether two scalars are equal: booleans as booleans, numbers as numbers, anything else as trimmed text.

    Two values are compared as numbers if at least one is a JSON number, so the text `"01"` differs from the text `"1"`.
    Lists and objects are not scalars and equal nothing.
    """
    if not isinstance(expected, _SCALAR) or not isinstance(actual, _SCALAR):
        return False
    expected_truth, actual_truth = truth(expected), truth(actual)
    if expected_truth is not None and actual_truth is not None:
        return expected_truth == actual_truth
    if not (isinstance(expected, str) and isinstance(actual, str)):
        expected_number = number(expected)
        return expected_number is not None and expected_number == number(actual)
    return expected.strip() == actual.strip()


def folded(text: str) -> str:
    """`text` without white space, otherwise unchanged: `지원서 인쇄` is found in `지원서인쇄`."""
    return "".join(text.split())


def encodable(text: str) -> bool:
    """Whether a table can store `text`: it contains no lone surrogate and no byte that is not part of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def unfilled(text: str) -> str:
    """The first placeholder of a text that nobody has filled in, such as `$공고명$`; '' if there is none."""
    found = _PLACEHOLDER.search(text)
    return found[0] if found else ""
