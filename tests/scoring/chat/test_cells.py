import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat import cells
from scoring.chat.cells import Instant
from scoring.chat.reading import value_in
from scoring.inputs import UnreadableCell

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HUGE = pytest.param(10**5000, id="5001 digits")  # more than Python writes as text


def micros(*parts: int) -> int:
    return (datetime(*parts, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("written", "expected", "naive"),
    [
        ("2026-02-13T16:44:52Z", micros(2026, 2, 13, 16, 44, 52), False),
        ("2026-02-13 16:44:52 UTC", micros(2026, 2, 13, 16, 44, 52), False),
        ("2026-02-13 16:44:52.123456 UTC", micros(2026, 2, 13, 16, 44, 52, 123456), False),
        ("2026-02-13 16:44:52+00", micros(2026, 2, 13, 16, 44, 52), False),
        ("2026-02-13T16:44:52+09:00", micros(2026, 2, 13, 7, 44, 52), False),
        ("2026-02-13T16:44:52-0330", micros(2026, 2, 13, 20, 14, 52), False),
        ("  2026-02-13t16:44:52z\t", micros(2026, 2, 13, 16, 44, 52), False),
        ("2026-02-13T16:44:52", micros(2026, 2, 13, 16, 44, 52), True),
        ("2026-02-13 16:44", micros(2026, 2, 13, 16, 44), True),
        ("2026-02-13", micros(2026, 2, 13), True),
        ("2026-02-13T16:44:52.5", micros(2026, 2, 13, 16, 44, 52, 500000), True),
        ("2026-02-13T16:44:52.123456999Z", micros(2026, 2, 13, 16, 44, 52, 123456), False),
        ("0001-01-02T00:00:00Z", micros(1, 1, 2), False),
        ("9999-12-30T23:59:59.999999Z", micros(9999, 12, 30, 23, 59, 59, 999999), False),
        ("1969-12-31T23:59:59.999999Z", -1, False),
    ],
)
def test_timestamp_is_one_instant_however_it_is_written(written: str, expected: int, naive: bool) -> None:
    assert cells.instant(written) == Instant(expected, naive)


@pytest.mark.parametrize(
    "value",
    [
        *("어제", "2026-02-30", "2026-13-01T00:00:00Z", "2026-02-13T24:00:00Z", "2026-02-13T16:44:60Z"),
        *(
            "2026-02-13T16:44:52.1234567890Z",
            "2026-02-13T16:44:52+09:60",
            "2026-02-13T16:44:52+15:00",
            "2026-02-13T16:44:52 KST",
            "20260213",
        ),
        *("２０２６-02-13", "2026-02-13Tx", 1770000000, 1.5, True, ["2026-02-13"]),
    ],
)
def test_what_is_no_timestamp_is_refused(value: object) -> None:
    with pytest.raises(UnreadableCell) as refused:
        cells.instant(value)
    assert refused.value.code == "not_a_timestamp"


@pytest.mark.parametrize(
    ("written", "of_excel"),
    [
        *((one, True) for one in ("2026. 3. 9. 13:05", "2026. 3. 9. 오후 1:05", "2026. 3. 9.", "2026.3.9 13:05")),
        *((one, True) for one in ("2026-03-09 1:05", "2026-03-09 오후 1:05:00", "3/9/2026 1:05:00 PM", "2026/03/09")),
        *((one, True) for one in ("44:52.1", "########")),
        *((one, False) for one in ("어제", "2026-02-30", "2026-02-13T16:44:52 KST", "20260213", "1.2.3.4", "16:44:52")),
    ],
)
def test_timestamp_as_excel_saves_it_is_refused_with_what_to_do(written: str, of_excel: bool) -> None:
    with pytest.raises(UnreadableCell) as refused:
        cells.instant(written)
    assert ("Excel로 열지 않은 파일을 다시 내보내" in refused.value.reason) == of_excel


@pytest.mark.parametrize(
    "written",
    [
        *("0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "0001-01-01T23:59:59.999999Z"),
        *("9999-12-31T00:00:00Z", "9999-12-31T23:59:59", "0001-01-01"),
    ],
)
def test_timestamp_that_has_no_date_in_some_zone_is_out_of_range(written: str) -> None:
    with pytest.raises(UnreadableCell) as refused:
        cells.instant(written)
    assert refused.value.code == "timestamp_out_of_range"


@pytest.mark.parametrize("value", [None, "", " \t"])
def test_blank_timestamps_and_numbers_are_null(value: object) -> None:
    assert cells.instant(value) is None
    assert cells.number("input_tokens", value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("5955.0", 5955.0), (" 12 ", 12.0), ("+3", 3.0), ("-4", -4.0), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0)),
        *(("3,506", 3506.0), ("-1,234,567.5", -1_234_567.5), ("12,345", 12345.0)),  # as Excel saves them
        *((7, 7.0), (7.25, 7.25), ("inf", math.inf), ("-Infinity", -math.inf), ("NaN", None), (math.nan, None)),
    ],
)
def test_number_is_one_value_however_it_is_written(value: object, expected: float | None) -> None:
    assert cells.number("input_tokens", value) == expected


@pytest.mark.parametrize(
    "value", ["abc", "1,23", "1,2345", "12,34,567", ",123", "1_000", "0x10", "１２", "1 2", "null", True, [1], {}, HUGE]
)
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(UnreadableCell) as refused:
        cells.number("output_tokens", value)
    assert (refused.value.column, refused.value.code) == ("output_tokens", "not_a_number")
    assert refused.value.reason.startswith("숫자로 읽을 수 없습니다")


@pytest.mark.parametrize("written", ["홍길동 010-1234-5678 hong@mail.test", "900101-1234567", "9001011234567"])
def test_no_reason_quotes_its_cell(written: str) -> None:
    """A column that has slipped holds what a person wrote."""
    reasons = []
    for read in (lambda: cells.number("input_tokens", f"{written}번"), lambda: cells.instant(written)):
        with pytest.raises(UnreadableCell) as refused:
            read()
        reasons.append(refused.value.reason)
    assert not any(part in reason for reason in reasons for part in written.split())


def test_texts_are_kept_as_they_are() -> None:
    assert cells.text("user_input", " 각\u1100\0\r\n ") == " 각\u1100\0\r\n ".encode()
    assert cells.text("user_input", "") == b""
    assert cells.text("user_input", None) is None


@pytest.mark.parametrize("value", [1, 1.5, True, ["a"], {"a": 1}])
def test_text_of_another_type_is_refused_without_its_content(value: object) -> None:
    with pytest.raises(UnreadableCell) as refused:
        cells.text("llm_response", value)
    assert refused.value.code == "not_text"
    assert not any(character in refused.value.reason for character in "1a")


@pytest.mark.parametrize(("value", "named"), [("비밀\udcb0", "0xB0"), ("비밀\ud800", "U+D800")])
def test_broken_text_names_place_and_unit_but_not_the_text(value: str, named: str) -> None:
    with pytest.raises(UnreadableCell) as refused:
        cells.text("user_input", value)
    assert refused.value.code == "broken_encoding"
    assert named in refused.value.reason and "3번째 글자" in refused.value.reason
    assert "비밀" not in refused.value.reason


def test_labels_may_be_integers() -> None:
    assert cells.label("tenant_id", 42) == b"42"
    with pytest.raises(UnreadableCell):
        cells.label("tenant_id", True)


@pytest.mark.parametrize(
    ("metadata", "session"),
    [
        *(({"session_id": "s1", "x_enc_data": "zz"}, "s1"), ('{"session_id": "s1"}', "s1"), ('{"session_id": 5}', 5)),
        *(({}, None), ("{}", None), ("not json", None), ("[1]", None), ("[" * 100_000, None), (None, None), (5, None)),
    ],
)
def test_session_is_read_from_metadata_that_can_be_read(metadata: object, session: object) -> None:
    assert value_in(metadata, ["session_id"]) == session


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)))
def test_every_iso_timestamp_is_read_exactly(moment: datetime) -> None:
    assert cells.instant(moment.isoformat()) == Instant((moment - EPOCH) // timedelta(microseconds=1), naive=False)


@given(st.floats(allow_nan=False))
def test_every_float_is_read_exactly(value: float) -> None:
    assert cells.number("input_tokens", repr(value)) == value
