import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.alerting.block_kit import MAX_BLOCKS, fallback_text, split
from scoring.alerting.blocks import (
    MAX_TEXT,
    Block,
    bold,
    bullets,
    code,
    context,
    fallback,
    header,
    inert,
    masked_text,
    paragraph,
    plain,
    readable,
)
from scoring.alerting.messages import messages
from scoring.judging.masking import is_invisible
from tests.scoring.alerting.slack_rules import assert_taken_by_slack, inlines, slack_blocks, types

HOSTILE = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="<!channel>@here&*_~`|\n\t\u200b\u202e\u2066\ufeff https://a.kr가나다:", max_size=200),
    st.sampled_from(["<!channel>", "<@U123>", "&lt;!here&gt;", "*굵게* _기울임_ ~취소~ `코드`", "가" * 2_000]),
)


@given(HOSTILE)
def test_text_becomes_one_visible_line_without_an_address(text: str) -> None:
    shown = inert(text)
    assert not any(map(is_invisible, shown))
    assert "\n" not in shown
    assert "://" not in shown
    assert len(shown) <= MAX_TEXT + len("… 외 40,000자")


@given(HOSTILE)
def test_text_that_is_shown_as_it_is_stays_so(text: str) -> None:
    shown = masked_text(text)
    assert masked_text(shown, len(shown)) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("줄\r\n바꿈\u2028과\t탭", "줄 바꿈 과 탭"),
        ("거꾸로\u202e읽히는\u2066글", "거꾸로읽히는글"),
        ("보이지\u200b않는\ufeff글", "보이지않는글"),
        ("사이의 \x1b 글", "사이의 글"),
        ("https://evil.example/a", "https:／／evil.example/a"),
        ("*별* <!channel> `코드`", "*별* <!channel> `코드`"),
        ("", "(빈 텍스트)"),
        (" \u200b ", "(빈 텍스트)"),
        ("전화 010-1234-5678", "전화 [전화번호]"),
    ],
)
def test_text_from_outside_shows_no_invisible_signs_links_or_personal_data(text: str, shown: str) -> None:
    assert masked_text(text) == shown


def test_long_text_says_how_much_is_missing() -> None:
    assert masked_text("가" * 40_000, 120) == "가" * 120 + "… 외 39,880자"
    assert masked_text("가 010-1234-5678 " * 1_000_000, 16).startswith("가 [전화번호] 가 [전화번호… 외 15,")
    assert masked_text("가" * 120, 120) == "가" * 120


def test_number_at_the_cut_is_masked_before_it_is_cut() -> None:
    assert "010" not in masked_text("가" * 115 + " 010-1234-5678", 120)


@given(st.lists(HOSTILE, min_size=1, max_size=4))
def test_fallback_formats_nothing_and_calls_nobody(texts: list[str]) -> None:
    text = fallback_text(fallback(*texts))
    assert not set("<>&*~`@") & set(text)
    assert not re.search(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])", text)
    assert len(text) <= 1_000


def test_name_with_underscores_stays_readable_in_the_fallback() -> None:
    assert fallback_text(fallback("plan_agent_1.csv", "_비밀_")) == "plan_agent_1.csv · ＿비밀＿"


@given(HOSTILE, HOSTILE)
def test_nothing_in_a_message_is_mrkdwn_or_a_mention(first: str, second: str) -> None:
    blocks: list[Block] = [
        *paragraph([bold("무엇  "), plain(masked_text(first))], [code(masked_text(second))]),
        *bullets([[plain(masked_text(second))], [plain(masked_text(first)), plain("\n"), plain(masked_text(second))]]),
        context(masked_text(first), "0f3a"),
    ]
    for message in messages("digest", "warning", ["key"], ["제목", inert(first)], blocks, [second]):
        assert_taken_by_slack(message)
        allowed = {"header", "plain_text", "rich_text", "rich_text_section", "rich_text_list", "text", "context"}
        assert set(types(slack_blocks(message))) <= allowed
        header_text = slack_blocks(message)[0]["text"]
        assert (header_text["emoji"], set("<>&") & set(header_text["text"])) == (False, set())


@given(
    st.lists(st.integers(1, MAX_TEXT), min_size=0, max_size=120),
    st.lists(st.integers(1, MAX_TEXT), min_size=0, max_size=120),
)
def test_large_message_is_split_without_losing_a_sign(lines: list[int], items: list[int]) -> None:
    blocks = paragraph(*([plain(f"{number}" + "가" * length)] for number, length in enumerate(lines)))
    blocks += bullets([[plain(f"{number}" + "나" * length), plain("다")] for number, length in enumerate(items)])
    parts = messages("digest", "warning", ["a", "b"], ["제목"], blocks)
    reported = "".join(inline["text"] for part in parts for inline in inlines(part)).replace("\n", "")
    wanted = "".join(f"{number}" + "가" * length for number, length in enumerate(lines))
    wanted += "".join(f"{number}" + "나" * length + "다" for number, length in enumerate(items))
    assert reported == wanted
    for part in parts:
        assert_taken_by_slack(part)


def many_blocks(count: int) -> list[Block]:
    return [header("제목"), *(block for number in range(count) for block in paragraph([plain(str(number))]))]


def test_fifty_blocks_are_one_message_and_fifty_one_are_two() -> None:
    assert len(split(many_blocks(MAX_BLOCKS - 1))) == 1
    first, second = split(many_blocks(MAX_BLOCKS))
    assert (len(first), len(second)) == (MAX_BLOCKS, 2)


def test_parts_say_which_they_are_and_have_keys_of_their_own() -> None:
    first, second = messages("digest", "critical", ["a|b", "c"], ["알림"], many_blocks(60)[1:], ["까닭"])
    assert (first.keys, second.keys) == (("a|b#1/2", "c#1/2"), ("a|b#2/2", "c#2/2"))
    assert [readable(part.blocks[:1]) for part in (first, second)] == ["알림 (1/2)", "알림 (2/2)"]
    assert [part.text for part in (first, second)] == ["알림 · 까닭 (1/2)", "알림 · 까닭 (2/2)"]


def test_long_header_is_cut_with_room_for_its_number() -> None:
    blocks = [header("가" * 400), *many_blocks(60)[1:]]
    names = [readable(part[:1]) for part in split(blocks)]
    assert [len(name) for name in names] == [150, 150]
    assert names[1].endswith("… (2/2)")


def test_line_longer_than_a_block_is_broken() -> None:
    (block, *others) = paragraph([plain("가" * 900) for _ in range(5)])
    assert len(others) == 2
    assert len(readable([block]).replace("\n", "")) == 1_800


def test_message_can_be_read_on_a_terminal() -> None:
    blocks: list[Block] = [
        header("제목"),
        *paragraph([bold("둘 "), code("x")]),
        *bullets([[plain("가\n나")]]),
        context("끝", "0f3a"),
    ]
    assert readable(blocks) == "제목\n\n둘 `x`\n\n- 가\n  나\n\n(끝 · 실행 0f3a)"
