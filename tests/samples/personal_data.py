"""Personal data and keys that nobody has, in the forms in which people write them.

Everything is made of a seeded `Random`; a form is a function of it.
"""

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

Form = Callable[[Random], str]

_SPOKEN = dict(zip("0123456789", "공일이삼사오육칠팔구", strict=True))
_SENTENCES = (
    "{}",
    "제 번호는 {} 입니다",
    "'{}' 로 등록된 계좌 조회",
    "이거({}) 맞나요?",
    "문의: {}, 확인 바랍니다",
    "고객 {} 님의 배당 내역",
    "삼성전자 005930 71,200원에 {} 로 연락",
    "LS ELECTRIC(010120) 245,500원 | {} | 주문 20260213-000123",
    "목표가 85,000원, 2026-02-13 09:00 {} 으로 회신",
)


@dataclass(frozen=True)
class Written:
    """A piece of personal data in a sentence: the sentence with it, and the sentence with a gap `{}`."""

    text: str
    sentence: str


def digits(random: Random, count: int) -> str:
    return "".join(random.choices(string.digits, k=count))


def _letters(random: Random, count: int, of: str = string.ascii_letters + string.digits) -> str:
    # A digit at the end, as keys of any length have one somewhere.
    return "".join(random.choices(of, k=count - 1)) + random.choice(string.digits)


def _mobile(random: Random) -> tuple[str, str, str]:
    return random.choice(("010", "010", "010", "011", "016", "019")), str(random.randint(2000, 9999)), digits(random, 4)


def birthday(random: Random) -> date:
    return date(1935, 1, 1) + timedelta(days=random.randrange(80 * 365))


def resident(random: Random, foreign: bool = False) -> tuple[str, str]:
    """Birthday and the other half; born before October 2020, so the last digit is a check digit."""
    born = birthday(random)
    sex = random.choice((1, 2)) + (2 if born.year >= 2000 else 0) + (4 if foreign else 0)
    first = f"{born:%y%m%d}{sex}{digits(random, 5)}"
    total = sum(int(digit) * weight for digit, weight in zip(first, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), strict=True))
    number = first + str((11 - total % 11 + (2 if foreign else 0)) % 10)
    return number[:6], number[6:]


def card(random: Random, start: str, length: int = 16) -> str:
    body = start + digits(random, length - len(start) - 1)
    return next(body + str(last) for last in range(10) if _luhn(body + str(last)))


def _luhn(number: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number))]
    return sum(sum(divmod(one, 10)) for one in doubled) % 10 == 0


def _any_card(random: Random) -> str:
    return card(random, random.choice(("4", "51", "53", "55", "2221", "2500", "2720", "35", "62", "94")))


def _fours(number: str) -> list[str]:
    return [number[place : place + 4] for place in range(0, len(number), 4)]


def full_width(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def circled(text: str) -> str:
    return "".join("⓪①②③④⑤⑥⑦⑧⑨"[int(char)] if char.isdigit() else char for char in text)


def spoken(text: str) -> str:
    return "".join(_SPOKEN.get(char, char) for char in text)


def one_by_one(text: str) -> str:
    return " ".join(char for char in text if char.isdigit())


def _joined(separator: str) -> Form:
    return lambda random: separator.join(_mobile(random))


def _as(change: Callable[[str], str], form: Form) -> Form:
    return lambda random: change(form(random))


def _resident(separator: str, foreign: bool = False) -> Form:
    return lambda random: separator.join(resident(random, foreign))


def _dated_resident(day: str, foreign: bool = False) -> Form:
    def form(random: Random) -> str:
        half = resident(random, foreign)[1]
        first, years = (1900, 100) if half[0] in "1256" else (2000, 20)
        return f"{date(first + random.randrange(years), 5, random.randint(1, 31)):{day}}-{half}"

    return form


def _private_key(random: Random) -> str:
    kind = random.choice(("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "))
    end = random.choice(("\n", "\r\n", "\\n"))
    lines = [_letters(random, 64, f"{string.ascii_letters}{string.digits}+/") for _ in range(3)]
    return end.join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----"])


def _card(separator: str) -> Form:
    return lambda random: separator.join(_fours(_any_card(random)))


def _landline(random: Random) -> str:
    area = random.choice(("02", "031", "032", "051", "053", "062", "064", "070", "0505"))
    return f"{area}{random.choice(('-', ')', '-', ' - '))}{random.randint(200, 9999)}-{digits(random, 4)}"


def _abroad(random: Random) -> str:
    _, middle, last = _mobile(random)
    start = random.choice(("+82 10-", "82-10-", "0082-10-", "(+82)(0)10-", "+82)10-", "+82 10", "+82(0)10"))
    return f"{start}{middle}{'-' if start[-1] == '-' else ''}{last}"


def _mixed(random: Random) -> str:
    first, middle, last = _mobile(random)
    one, other = random.sample((" ", "-", ".", "·", "/", "_", " - "), 2)
    return f"{first}{one}{middle}{other}{last}"


def _service(separator: str = "-") -> Form:
    starts = ("1544", "1566", "1577", "1588", "1599", "1661", "1670", "1877")
    return lambda random: f"{random.choice(starts)}{separator}{digits(random, 4)}"


def _local(random: Random) -> str:
    return random.choice(("kim", "hong.gildong", "a_b", "lee-su", "qa+test")) + digits(random, 3)


def _mail(at: str = "@", dot: str = ".") -> Form:
    hosts = ("naver.com", "gmail.com", "mail.example.co.kr", "x.io")
    return lambda random: f"{_local(random)}{at}{random.choice(hosts).replace('.', dot)}"


def _bank(random: Random) -> str:
    return random.choice(
        ("국민은행", "신한은행", "하나은행", "카카오뱅크", "토스뱅크", "농협", "우체국", "미래에셋증권")
    )


def _account(separator: str) -> Form:
    def form(random: Random) -> str:
        sizes = random.choice(((3, 3, 6), (3, 6, 5), (4, 3, 6), (4, 4, 4), (3, 4, 4, 2)))
        return f"{_bank(random)} {separator.join(digits(random, size) for size in sizes)}"

    return form


def _licence(separator: str) -> Form:
    return lambda random: separator.join(
        (str(random.randint(11, 28)), digits(random, 2), digits(random, 6), digits(random, 2))
    )


def _birth(random: Random) -> str:
    born = birthday(random)
    label = random.choice(("생년월일", "생년월일:", "생일은", "출생일", "DOB:", "birth date:"))
    written = random.choice(("%Y-%m-%d", "%y.%m.%d", "%y%m%d", "%Y%m%d", "%Y년 %m월 %d일", "%Y/%m/%d"))
    return f"{label} {born:{written}}"


PERSONAL_FORMS: Mapping[str, Mapping[str, Form]] = {
    "phone": {
        "010-1234-5678": _joined("-"),
        "bare": _joined(""),
        "a blank": _joined(" "),
        "two blanks": _joined("  "),
        "dots": _joined("."),
        "middle dots": _joined("·"),
        "slashes": _joined("/"),
        "underscores": _joined("_"),
        "odd dashes": _joined("\u2013"),
        "ㅡ for a dash": _joined("ㅡ"),
        "ー for a dash": _joined("ー"),
        "ㆍ for a middle dot": _joined("ㆍ"),
        "‧ for a middle dot": _joined("‧"),
        "invisible signs": _joined("\u200b-"),
        "mixed signs": _mixed,
        "(010)": lambda random: "({}) {}-{}".format(*_mobile(random)),
        "one by one": _as(one_by_one, _joined("")),
        "full-width": _as(full_width, _joined("-")),
        "circled": _as(circled, _joined("-")),
        "spoken": _as(spoken, _joined("-")),
        "+82, 0082": _abroad,
        "partly spoken": lambda random: f"공일공-{digits(random, 4)}-{digits(random, 4)}",
        "landline": _landline,
        "landline, bare": lambda random: (
            f"{random.choice(('02', '031', '070'))}{random.randint(200, 9999)}{digits(random, 4)}"
        ),
        "landline, one by one": _as(one_by_one, _landline),
        "landline, full-width": _as(full_width, _landline),
        "1588-1234": _service(),
        "1588 1234": _service(" "),
        "대표번호 1588.1234": lambda random: f"대표번호 {_service('.')(random)}",
        "over two lines": lambda random: "{}-{}{}{}".format(
            *_mobile(random)[:2], random.choice(("-\n", "\n", "\r\n", "\n-")), digits(random, 4)
        ),
        "over three lines": lambda random: random.choice(("-\n", "\n", "\r\n")).join(_mobile(random)),
    },
    "resident number": {
        "900101-1234567": _resident("-"),
        "bare": _resident(""),
        "a blank": _resident(" "),
        "two blanks": _resident("  "),
        "dots": _resident("."),
        "middle dots": _resident("·"),
        "underscores": _resident("_"),
        "slashes": _resident("/"),
        "blanks and dash": _resident(" - "),
        "odd dashes": _resident("\u2212"),
        "ㅡ for a dash": _resident("ㅡ"),
        "ㆍ for a middle dot": _resident("ㆍ"),
        "19900101-1234567": _dated_resident("%Y%m%d"),
        "1990-01-01-1234567": _dated_resident("%Y-%m-%d"),
        "90.01.01-1234567": _dated_resident("%y.%m.%d"),
        "1990.01.01-5234567": _dated_resident("%Y.%m.%d", foreign=True),
        "one by one": _as(one_by_one, _resident("")),
        "full-width": _as(full_width, _resident("-")),
        "circled": _as(circled, _resident("-")),
        "spoken": _as(spoken, _resident("-")),
        "over two lines": _resident("-\n"),
        "half hidden": lambda random: f"{(half := resident(random))[0]}-{half[1][0]}******",
        "foreigner": _resident("-", foreign=True),
        "foreigner, bare": _resident("", foreign=True),
    },
    "mail": {
        "kim@naver.com": _mail(),
        '"kim lee"@x.kr': lambda random: f'"kim lee{digits(random, 2)}"@x.kr',
        "blanks": _mail(" @ "),
        "blanks everywhere": _mail("@ ", " . "),
        "full-width": _as(full_width, _mail()),
        "。 for a dot": _mail("@", "。"),
        "[at]": _mail("[at]"),
        "(at), (dot)": _mail("(at)", "(dot)"),
        "골뱅이": _mail("골뱅이"),
        "Korean name": lambda random: f"홍길동{digits(random, 2)}@naver.com",
        "Korean domain": lambda random: (
            f"{_local(random)}@{random.choice(('네이버.한국', '한국거래소.kr', '삼성.com'))}"
        ),
    },
    "card": {
        "dashes": _card("-"),
        "blanks": _card(" "),
        "bare": _card(""),
        "two blanks": _card("  "),
        "dots": _card("."),
        "middle dots": _card("·"),
        "slashes": _card("/"),
        "underscores": _card("_"),
        "odd dashes": _card("\u2013"),
        "ㅡ for a dash": _card("ㅡ"),
        "ㆍ for a middle dot": _card("ㆍ"),
        "mixed signs": lambda random: "{}-{} {}.{}".format(*_fours(_any_card(random))),
        "over two lines": lambda random: "{}-{}-\n{}-{}".format(*_fours(_any_card(random))),
        "2-series": lambda random: "-".join(_fours(card(random, str(random.randint(2221, 2720))))),
        "15 digits": lambda random: card(random, random.choice(("34", "37")), 15),
        "one by one": _as(one_by_one, _card("")),
        "full-width": _as(full_width, _card("-")),
        "circled": _as(circled, _card("-")),
        "spoken": _as(spoken, _card("-")),
    },
    "account with a bank": {
        "dashes": _account("-"),
        "blanks": _account(" "),
        "bare": _account(""),
        "bank behind": lambda random: f"{digits(random, random.randint(11, 14))} {_bank(random)}",
        "full-width": _as(full_width, _account("-")),
        "계좌": lambda random: f"계좌번호: {digits(random, random.randint(10, 14))}",
    },
    "passport": {
        "M12345678": lambda random: random.choice("MSRODG") + digits(random, 8),
        "M123A4567": lambda random: f"M{digits(random, 3)}{random.choice(string.ascii_uppercase)}{digits(random, 4)}",
        "a blank": lambda random: f"M {digits(random, 8)}",
        "one by one": lambda random: f"M {one_by_one(digits(random, 8))}",
        "full-width": _as(full_width, lambda random: f"M{digits(random, 8)}"),
        "여권번호": lambda random: f"여권번호 PM {digits(random, 3)} {digits(random, 4)}",
    },
    "driver licence": {
        "dashes": _licence("-"),
        "dots": _licence("."),
        "region": lambda random: f"서울 {digits(random, 2)}-{digits(random, 6)}-{digits(random, 2)}",
        "운전면허, bare": lambda random: f"운전면허번호 {_licence('')(random)}",
        "운전면허, blanks": lambda random: f"운전면허: {_licence(' ')(random)}",
        "full-width": _as(full_width, _licence("-")),
    },
    "API key": {
        "sk-": lambda random: f"sk-{random.choice(('', 'proj-', 'ant-api03-'))}{_letters(random, 40)}",
        "ghp_": lambda random: f"ghp_{_letters(random, 36)}",
        "AKIA": lambda random: f"AKIA{_letters(random, 16, string.ascii_uppercase + string.digits)}",
        "AIza": lambda random: f"AIza{_letters(random, 35)}",
        "xoxb-": lambda random: f"xoxb-{digits(random, 12)}-{_letters(random, 24)}",
        "JWT": lambda random: f"eyJ{_letters(random, 30)}.eyJ{_letters(random, 60)}.{_letters(random, 43)}",
        "Slack webhook": lambda random: (
            f"https://hooks.slack.com/services/T{_letters(random, 8)}/B{_letters(random, 8)}/{_letters(random, 24)}"
        ),
        "api_key=": lambda random: f"api_key={_letters(random, 32)}",
        "?token=": lambda random: f"https://example.com/a?token={_letters(random, 24)}&lang=ko",
        "Bearer": lambda random: f"Authorization: Bearer {_letters(random, 40)}",
        "access_token:": lambda random: f"access_token: {_letters(random, 32, string.ascii_letters)[:-1]}",
        "KakaoAK": lambda random: f"KakaoAK {random.getrandbits(128):032x}",
        "xapp-": lambda random: f"xapp-1-A{digits(random, 8)}-{digits(random, 10)}-{random.getrandbits(128):032x}",
        "private key": _private_key,
        "비밀번호": lambda random: f"비밀번호: {_letters(random, 10)}",
        "비밀번호 1234": lambda random: f"{random.choice(('비밀번호', '비번', '암호'))} {digits(random, 4)}",
        "암호:": lambda random: f"{random.choice(('암호', '패스워드'))}: {_letters(random, 8)}",
        "pw:": lambda random: f"{random.choice(('pw: ', 'PW=', 'pwd: '))}{_letters(random, 7)}!!",
        "비밀번호, short": lambda random: f"비밀번호: {_letters(random, 5)}{digits(random, 1)}",
    },
    "birth date with a label": {
        "생년월일 900101, 1990-01-01, ...": _birth,
        "1990년 1월 2일생": lambda random: f"{birthday(random):%Y년 %m월 %d일}생",
        "900102생": lambda random: f"{birthday(random):%y%m%d}생",
    },
    "IP address": {
        "192.0.2.1": lambda random: ".".join(str(random.randint(1, 255)) for _ in range(4)),
        "2001:db8::1": lambda random: f"2001:db8:{random.randrange(65536):x}::{random.randrange(65536):x}",
    },
}


def personal_texts(kind: str, count: int, seed: int = 0) -> Iterator[tuple[str, Written]]:
    """`count` sentences with data of a kind, form by form."""
    random = Random(f"{kind} {seed}")
    forms = list(PERSONAL_FORMS[kind].items())
    for number in range(count):
        name, form = forms[number % len(forms)]
        sentence = random.choice(_SENTENCES)
        yield name, Written(sentence.format(form(random)), sentence)


def is_hidden(written: Written, shown: str) -> bool:
    """Whether nothing of the data is left: a label stands in the gap, and behind and before it only the sentence."""
    before, _, after = written.sentence.partition("{}")
    if not (shown.startswith(before) and shown.endswith(after)):
        return "[" in shown and not any(sign.isdigit() for sign in shown.replace(before, "").replace(after, ""))
    inside = shown[len(before) : len(shown) - len(after)]
    return "[" in inside and not any(sign.isdigit() for sign in inside) and "@" not in inside
