"""Each prefix, name and label that masking knows: one that got lost would let through what it names."""

import pytest

from scoring.judging.masking import masked

SERVICE_NUMBERS = "1522 1544 1566 1577 1588 1599 1600 1644 1661 1666 1668 1670 1688 1800 1811 1833 1855 1877 1899"
REGIONS = "서울 부산 경기 강원 충북 충남 전북 전남 경북 경남 제주 대구 인천 광주 대전 울산"
BANKS = "하나은행 케이뱅크 농협 신협 수협 새마을금고 우체국 증권 토스 카카오페이"
KEY_LABELS = (
    "Authorization:",
    "인증키:",
    "인증 키 =",
    "API 키:",
    "API키는",
    "비밀번호:",
    "토큰:",
    "token: bearer",
    "secret: basic",
)
BIRTH_LABELS = ("출생일자", "출생일", "출생연월일:", "birthday", "birthdate:", "birth date", "dob")


@pytest.mark.parametrize("start", SERVICE_NUMBERS.split())
def test_service_number_is_masked(start: str) -> None:
    assert masked(f"{start}-1234") == "[전화번호]"


@pytest.mark.parametrize("label", ["전화", "고객센터", "문의", "연락처", "번호", "tel", "phone:"])
def test_service_number_with_a_dot_is_masked_behind_a_label(label: str) -> None:
    assert masked(f"{label} 1588.1234") == f"{label} [전화번호]"


@pytest.mark.parametrize("label", ["tel", "hp", "phone"])
@pytest.mark.parametrize("number", ["01012345678", "0212345678"])
def test_phone_number_is_masked_right_behind_its_label(label: str, number: str) -> None:
    assert masked(f"{label}{number}") == f"{label}[전화번호]"


@pytest.mark.parametrize(
    "text", ["010-1234-\n5678", "010\n1234-5678", "8 2 1 0 1 2 3 4 5 6 7 8", "0 1 1 1 2 3 4 5 6 7"]
)
def test_phone_number_is_masked_across_lines_and_digit_by_digit(text: str) -> None:
    assert masked(text) == "[전화번호]"


@pytest.mark.parametrize("bank", BANKS.split())
def test_account_is_masked_behind_the_name_of_a_bank(bank: str) -> None:
    assert masked(f"{bank} 110123456789") == f"{bank} [계좌번호]"


@pytest.mark.parametrize("region", REGIONS.split())
def test_driving_licence_is_masked_behind_its_region(region: str) -> None:
    assert masked(f"{region} 12-123456-78") == f"{region} [운전면허번호]"


@pytest.mark.parametrize(
    "key",
    [
        *("pk_live_abcdefghijklmnop", "rk-abcdefghijklmnop", "gho_abcdefghijklmnopqrst", "ASIAIOSFODNN7EXAMPLE"),
        *("github_pat_abcdefghijklmnopqrst", "AIzaabcdefghijklmnopqrstuvwxyz1234", "ya29.abcdefghijklmnopqrst"),
        *("glpat-abcdefghijklmnop", "hf_abcdefghijklmnopqrst", "npm_abcdefghijklmnopqrst"),
        "SG.abcdefghijklmnop.abcdefghijklmnop",
    ],
)
def test_key_is_masked_by_its_prefix(key: str) -> None:
    assert masked(key) == "[인증키]"


@pytest.mark.parametrize("label", KEY_LABELS)
def test_key_is_masked_behind_a_label(label: str) -> None:
    assert masked(f"{label} abcd1234") == f"{label} [인증키]"


@pytest.mark.parametrize("text", ["주민번호 90/01/01 1234567", "주민등록번호: 900101 1 234567", "rrn 90 01 01 1******"])
def test_resident_number_is_masked_behind_a_label_however_it_is_parted(text: str) -> None:
    label = text[: text.index("9")]
    assert masked(text) == f"{label}[주민등록번호]"


@pytest.mark.parametrize("label", BIRTH_LABELS)
def test_birthday_is_masked_behind_a_label(label: str) -> None:
    assert masked(f"{label} 1990-01-01") == f"{label} [생년월일]"


@pytest.mark.parametrize(
    "host", ["naver. net", "naver. org", "naver. co. kr", "naver 점 com", "naver닷com", "naver(점)com"]
)
def test_address_of_mail_is_masked_whose_dots_are_written_otherwise(host: str) -> None:
    assert masked(f"hong@{host}") == "[이메일]"
    assert masked(f"hong[골뱅이]{host}") == "[이메일]"


@pytest.mark.parametrize(
    "text",
    [
        *("1600-1800", "M20260213", "1.2.3.4.5", "1588 1234원", "1588 1234배", "94111111111111111"),
        *("input token: 12345678", "total_token: 12345678", "secret: undefined", "password: unknown"),
        "550e840a-0505-1234-5678-446655440000",
        *("8210\n2023\n2024", "1,010\n2023\n2024", "0.011\n1234\n5678"),  # a column of figures
    ],
)
def test_years_dates_versions_amounts_words_and_ids_are_no_personal_data(text: str) -> None:
    assert masked(f"값 {text} 입니다") == f"값 {text} 입니다"
