"""Personal data in texts that a URL, a page or JSON has escaped, as Raw JSON and copied pages have it."""

import json
from collections.abc import Callable
from html import escape
from urllib.parse import quote

import pytest

from scoring.judging.masking import masked
from tests.scoring.judging.test_masking import HARMLESS, PERSONAL

ESCAPED: dict[str, Callable[[str], str]] = {
    "percent": lambda sign: f"%{ord(sign):02X}",
    "percent, twice": lambda sign: f"%25{ord(sign):02x}",
    "decimal": lambda sign: f"&#{ord(sign)};",
    "hexadecimal": lambda sign: f"&#x{ord(sign):X};",
    "decimal, twice": lambda sign: f"&amp;#{ord(sign)};",
    "JSON": lambda sign: f"\\u{ord(sign):04x}",
    "JSON in JSON": lambda sign: f"\\\\u{ord(sign):04x}",
}


def escaped(text: str, sign: Callable[[str], str]) -> str:
    """The text with all ASCII signs that are no letter or digit escaped."""
    return "".join(sign(one) if one.isascii() and not one.isalnum() else one for one in text)


@pytest.mark.parametrize("written", ESCAPED)
@pytest.mark.parametrize(("text", "label"), PERSONAL)
def test_escaped_data_is_replaced_by_its_kind(text: str, label: str, written: str) -> None:
    shown = masked(f"연락은 {escaped(text, ESCAPED[written])}(으)로")
    assert shown == f"연락은 {label}(으)로"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://x.io/?email=hong%40naver.com&lang=ko", "https://x.io/?email=[이메일]&lang=ko"),
        ("%ED%99%8D%EA%B8%B8%EB%8F%99%40naver.com", "[이메일]"),
        ("hong&commat;naver&period;com", "[이메일]"),
        ("hong&#64naver.com", "[이메일]"),
        ("hong\ufe6bnaver\u2024com", "[이메일]"),
        ("\U0001d421ong＠naver.com", "[이메일]"),
        ("010&hyphen;1234&#x2010;5678", "[전화번호]"),
        ("&#48;1&#48;-1234-567&#56;", "[전화번호]"),
        ("010&shy;1234&ZeroWidthSpace;5678", "[전화번호]"),
        ("tel%3A01012345678", "tel%3A[전화번호]"),
        ("%EC%A0%84%ED%99%94010-1234-5678", "%EC%A0%84%ED%99%94[전화번호]"),
        ('{"phone":"\\n01012345678\\n"}', '{"phone":"\\n[전화번호]\\n"}'),
        (r"010\/1234\/5678", "[전화번호]"),
        ("할인 50%010-1234-5678", "할인 50%[전화번호]"),
        ("&#1114111; &#1114112; &#x110000; 010-1234-5678", "&#1114111; &#1114112; &#x110000; [전화번호]"),  # no signs
    ],
)
def test_data_beside_and_in_escapes_is_masked_alone(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize("text", ["010&#45;1234&#45;5678", "hong%40naver.com", "hong\\u0040naver.com"])
def test_escaped_data_on_the_edge_of_a_part_is_masked_as_a_whole(text: str) -> None:
    whole = f"가나 {text} 다라"
    label = masked(text)
    for edge in range(4, 3 + len(text)):
        assert masked(whole, end=edge) == f"가나 {label}"
        assert masked(whole, start=edge) == f"{label} 다라"


CONDITION = '[{"filterType":"RESUME_PERIOD","value":["2025-01-01","2025-12-31"]},{"planId":20250001234}]'


@pytest.mark.parametrize(
    "text",
    [
        *HARMLESS,
        *(
            "20%30%40%50%60",
            "등락 5%40.5 대 3%20.1",
            "수익률 12%34567890",
            "5%40.com",
            "&#8361;1,234,567",
            "R&D; 12-34",
        ),
        *("005930&nbsp;71,200원", "010120&#10;1234567주", "2026&#45;02&#45;13", "1,234&#44;567원"),
        f"/agent/setting?condition={quote(CONDITION)}&columnVisibility={quote('genderFlag,resumeNo')}",
    ],
)
@pytest.mark.parametrize("written", [str, json.dumps, escape])
def test_escapes_without_personal_data_stay(text: str, written: Callable[[str], str]) -> None:
    assert masked(written(text)) == written(text)
