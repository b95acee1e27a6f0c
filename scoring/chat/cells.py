"""Parses one cell of a chat row from text or JSON: the value to score, or the reason why it cannot be read."""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from scoring.chat.reading import UTC_ZONE
from scoring.inputs import UnreadableCell, ungrouped

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)
_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{0,9}))?)?)?"
    r"(?: ?(?:([Zz]|UTC)|([+-])(0[0-9]|1[0-4])(?::?([0-5][0-9]))?))?"
)
# Timestamps that Excel saved as CSV: date and time in the local format, minutes and seconds only, ####.
_OF_EXCEL = re.compile(
    r"[0-9]{1,4}(?:-|/|\. ?)[0-9]{1,2}(?:-|/|\. ?)[0-9]{1,4}\.?"
    r"(?: (?:오전 |오후 )?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: [AP]M)?)?"
    r"|[0-9]{2}:[0-9]{2}\.[0-9]|#+"
)
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
FIRST_SECOND, SECOND_AFTER_LAST = -62_135_510_400, 253_402_214_400
"""The years 0001 to 9999 without a day at each end, in seconds since 1970: an instant has a local date in every zone.
"""


class Instant(NamedTuple):
    """Microseconds since 1970 in UTC; `naive` if the text had no zone."""

    microseconds: int
    naive: bool


def number(column: str, value: object) -> float | None:
    """A token count; NULL for a missing value, a blank text and NaN. Negative and infinite values pass.

    A text may have thousands separators (`3,506`), which Excel saves for a number with that format.
    """
    if isinstance(value, str):
        value = ungrouped(value.strip()) or None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise not_a_number(column)
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise not_a_number(column)
    try:
        parsed = float(value)
    except OverflowError:
        raise not_a_number(column) from None
    return None if math.isnan(parsed) else parsed


def instant(value: object, naive_zone: ZoneInfo | None = None) -> Instant | None:
    """A timestamp in ISO 8601 or in BigQuery's format (`2026-02-13 16:44:52.12 UTC`); NULL for a blank.

    A fraction is truncated to microseconds; a date without a time is its midnight. Without a zone it is in `naive_zone`
    (None: UTC), and marked as naive. A number is refused: its unit is unknown. An `Instant` is returned unchanged.
    """
    if isinstance(value, Instant):
        return _in_calendar(value)
    if isinstance(value, str):
        value = value.strip() or None
    if value is None:
        return None
    match = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise _no_instant_of_file(value)
    *parts, fraction, utc, sign, ahead_h, ahead_min = match.groups("0")
    year, month, day, hour, minute, second = map(int, parts)
    microsecond = int(fraction[:6].ljust(6, "0"))
    try:
        local = datetime(year, month, day, hour, minute, second, microsecond, UTC)
    except ValueError:
        raise _no_instant_of_file(value) from None
    ahead = timedelta(hours=int(ahead_h), minutes=int(ahead_min))
    naive = sign == utc == "0"
    microseconds = (local - _EPOCH + (ahead if sign == "-" else -ahead)) // _MICROSECOND
    if naive and naive_zone:
        microseconds = in_zone(microseconds, naive_zone)
    return _in_calendar(Instant(microseconds, naive))


def _in_calendar(found: Instant) -> Instant:
    if not FIRST_SECOND <= found.microseconds // 1_000_000 < SECOND_AFTER_LAST:
        raise timestamp_out_of_range()
    return found


def microseconds_of(moment: datetime) -> int:
    """Microseconds since 1970 of an instant with a zone."""
    return (moment - _EPOCH) // _MICROSECOND


def in_zone(microseconds: int, zone: ZoneInfo) -> int:
    """Converts a local time to an instant, both as microseconds since 1970."""
    return microseconds_of(_EPOCH.replace(tzinfo=zone) + timedelta(microseconds=microseconds))


def text(column: str, value: object) -> bytes | None:
    """One of the two texts in UTF-8, unchanged; NULL is distinct from the empty text.

    An `UnreadableCell` passed as a value is raised.
    """
    if value is None:
        return None
    if isinstance(value, UnreadableCell):
        raise value
    if not isinstance(value, str):
        raise UnreadableCell(column, "not_text", f"글자가 아니라 {_kind(value)}입니다.")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        unit = ord(value[error.start])
        # An invalid byte was decoded to 0xDC00 + byte; any other surrogate was in the JSON itself.
        is_byte = 0xDC80 <= unit <= 0xDCFF
        found = f"바이트 0x{unit - 0xDC00:02X}" if is_byte else f"짝 없는 서로게이트 U+{unit:04X}"
        reason = f"글자로 읽을 수 없는 것이 있습니다: {error.start + 1}번째 글자, {found}."
        raise UnreadableCell(column, "broken_encoding", reason) from None


def label(column: str, value: object) -> bytes | None:
    """A tenant or session: text, or an integer that some exports write instead."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return text(column, value)


def other_zone(name: str) -> ZoneInfo | None:
    """The zone of timestamps without one, unless it is UTC."""
    return None if name == UTC_ZONE else ZoneInfo(name)


def timestamp_out_of_range() -> UnreadableCell:
    """The reason for rejecting a timestamp that has no local date in some zone."""
    reason = "0001-01-02부터 9999-12-30까지를 벗어납니다."
    return UnreadableCell("timestamp", "timestamp_out_of_range", reason)


# No reason quotes its cell: if columns have shifted, it contains a person's text. No reason names the column either,
# because its name in the file may differ.
def not_a_number(column: str) -> UnreadableCell:
    """The reason for rejecting a number that cannot be read."""
    return UnreadableCell(column, "not_a_number", "숫자로 읽을 수 없습니다.")


def not_an_instant(hint: str = "") -> UnreadableCell:
    """The reason for rejecting a timestamp that cannot be read; the hint shows the format."""
    return UnreadableCell("timestamp", "not_a_timestamp", f"시각으로 읽을 수 없습니다.{hint}")


def _no_instant_of_file(value: object) -> UnreadableCell:
    hint = ""
    if not isinstance(value, str):
        hint = " 2026-02-13T09:30:00+09:00처럼 적은 글자여야 합니다."
    elif _DIGITS.fullmatch(value):
        hint = " 숫자뿐이면 초인지 밀리초인지 알 수 없습니다. 2026-02-13T09:30:00+09:00처럼 적어야 합니다."
    elif _OF_EXCEL.fullmatch(value) and not _INSTANT.fullmatch(value):
        hint = (
            " Excel이 바꾸어 저장한 시각으로 보입니다. Excel로 열지 않은 파일을 다시 내보내 쓰거나, "
            "Excel에서는 이 열을 텍스트로 가져와 저장하세요."
        )
    return not_an_instant(hint)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "참·거짓 값"
    return {int: "숫자", float: "숫자", list: "목록", dict: "객체"}.get(type(value), type(value).__name__)
