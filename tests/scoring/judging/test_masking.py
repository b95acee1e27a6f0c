import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.judging.masking import is_invisible, masked

PERSONAL = [
    *[(text, "[주민등록번호]") for text in ("900101-1234567", "9001011234567", "900101 - 2234567", "050505-4******")],
    *[(text, "[외국인등록번호]") for text in ("900101-5234567", "9001017234567", "000229-8234567")],
    *[
        (text, "[전화번호]")
        for text in (
            *("010-1234-5678", "01012345678", "010 1234 5678", "010.1234.5678", "011-123-4567", "+82 10-1234-5678"),
            *("82-10-1234-5678", "+82(0)10-1234-5678", "02-123-4567", "02)1234-5678", "0212345678", "031-123-4567"),
            *("064 1234 5678", "070-1234-5678", "0505-123-4567", "010 - 1234 - 5678", "010/1234/5678"),
        )
    ],
    *[(text, "[이메일]") for text in ("kim@naver.com", "Kim.Min-su+hr@mail.example.co.kr", "a_b%c@x.io")],
    *[(text, "[카드번호]") for text in ("4111 1111 1111 1111", "9410-1234-5678-9012", "4111111111111111")],
    *[(text, "[카드번호]") for text in ("3782 822463 10005", "378282246310005")],
    *[(text, "[계좌번호]") for text in ("110-123-456789", "123456-01-123456", "1002-123-456789", "301-1234-5678-91")],
    *[(text, "[계좌번호]") for text in ("3333-01-1234567", "123-456789-01-234")],
    *[(text, "[여권번호]") for text in ("M12345678", "M123A4567", "s87654321")],
]
HARMLESS = [
    *("2026-02-13", "2026-02-13 16:44:52", "2026-02-13T16:44:52+09:00", "2026-02-13-164452", "16:44"),
    *("1,234,567원", "12.5%", "0.0212345678", "3.01012345678", "2만 917명", "2022 2023 2024 2025", "1588-1234"),
    *("550e8400-e29b-41d4-a716-446655440000", "EVAL-2026-0001", "planId=123456", "1234567890123", "9013011234567"),
    *("4111111111111112", "AM12345678", "M1234567", "@멘션", "kim@localhost", "Q-12-34-56"),
]


@pytest.mark.parametrize(("text", "label"), PERSONAL)
def test_personal_data_is_replaced_by_its_kind(text: str, label: str) -> None:
    assert masked(text) == label
    assert masked(f"연락은 {text}(으)로, 감사합니다") == f"연락은 {label}(으)로, 감사합니다"
    assert masked(f"값:{text}.") == f"값:{label}."


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_nobodys_stays(text: str) -> None:
    assert masked(f"값 {text} 입니다") == f"값 {text} 입니다"


@pytest.mark.parametrize("text", ["국민은행 12345678901", "계좌: 12345678901234", "카카오뱅크로 3333011234567"])
def test_digits_after_the_name_of_a_bank_are_an_account(text: str) -> None:
    words = text.rstrip("0123456789")
    assert masked(text) == f"{words}[계좌번호]"


@pytest.mark.parametrize(
    "text",
    [
        "０１０-１２３４-５６７８",
        "010\u20131234\u20145678",
        "010\u200b-1234\u2060-5678",
        "0\u00ad10-12\ufeff34-5678",
        "010\u30001234\u30005678",
        "٠١٠-1234-5678",
        "010\u2212" + "1234\u22125678",
    ],
)
def test_a_disguised_number_is_seen(text: str) -> None:
    assert masked(f"제 번호는 {text} 예요 🙂") == "제 번호는 [전화번호] 예요 🙂"


def test_several_are_replaced_each_by_its_own_kind() -> None:
    text = "김민수(900101-1234567), 010-1234-5678, kim@naver.com, 신한 110-123-456789"
    assert masked(text) == "김민수([주민등록번호]), [전화번호], [이메일], 신한 [계좌번호]"


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@given(st.text(), st.sampled_from([text for text, _ in PERSONAL]), st.text())
def test_no_text_around_it_lets_a_number_through_whole(before: str, secret: str, after: str) -> None:
    assert f" {secret} " not in masked(f"{before} {secret} {after}")


@given(st.text(alphabet=st.characters(categories=["L", "P", "S", "Zs"])))
def test_a_text_without_digits_and_at_signs_stays(text: str) -> None:
    assert masked(text) == text or "@" in text or "＠" in text


LONG_RUNS = [
    *(
        "-",
        "1-",
        "a.",
        "a@",
        "@",
        "1",
        "0 ",
        "01",
        "010-",
        "a-1",
        "+8",
        "계좌 ",
        "계좌1",
        "190-",
        "a.b@c.",
        "1.",
        "x@y.",
    ),
    *("9", "4111 ", "90010", "%+", "０", "–1", "\u200b1", "m1"),
]


@pytest.mark.parametrize("run", LONG_RUNS)
def test_masking_takes_time_in_proportion_to_the_length(run: str) -> None:
    def seconds(characters: int) -> float:
        text = "1" + (run * characters)[:characters]
        began = time.process_time()
        masked(text)
        return time.process_time() - began

    seconds(1_000)
    assert seconds(300_000) < 40 * max(seconds(30_000), 0.001)  # a hundred times as long, were it quadratic


@pytest.mark.parametrize("char", ["\u200b", "\u202e", "\u2066", "\u3164", "\U000e0041", "\ufe00", "\U000e0100", "\x00"])
def test_invisible_signs_are_known(char: str) -> None:
    assert is_invisible(char)


@pytest.mark.parametrize("char", ["가", "a", " ", "🙂", "\ufe0f", "…", "\u0301"])
def test_visible_signs_are_not_taken_for_invisible(char: str) -> None:
    assert not is_invisible(char)
