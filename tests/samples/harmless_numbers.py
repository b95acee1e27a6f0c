"""Numbers that are nobody's: stock codes, prices, dates and ids. Everything is made of a seeded `Random`."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from random import Random

from tests.samples.personal_data import Form, birthday, digits, resident

_HARMLESS_SENTENCES = ("{}", "{} 알려줘", "값은 {} 입니다", "종목 {}, 확인 바랍니다", "| {} | 1.25% |")


def _code(random: Random) -> str:
    """A stock code; every third looks like a birthday."""
    return random.choice(
        (f"{random.randrange(100000):05}0", f"{random.randrange(100000):05}0", f"{birthday(random):%y%m%d}")
    )


def _price(random: Random) -> str:
    return f"{random.randrange(100, 2_000_000):,}"


def _instant(random: Random) -> datetime:
    return datetime(2020, 10, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(6 * 365 * 86_400))


_PRICES_LIKE_PHONES = ("1544", "1566", "1577", "1588", "1599", "1661", "1670", "1877")

HARMLESS_FORMS: Mapping[str, Mapping[str, Form]] = {
    "stock codes": {
        "code and name": lambda random: f"하늘전자({_code(random)})",
        "code and price": lambda random: f"{_code(random)} {_price(random)}원",
        "code and bare prices": lambda random: (
            f"{_code(random)} {random.randint(1000, 9999)} {random.randint(1000, 9999)}"
        ),
        "code, bare prices and won": lambda random: (
            f"{_code(random)} {random.choice(_PRICES_LIKE_PHONES)} {random.randint(1000, 9999)}원"
        ),
        "ISIN": lambda random: f"KR7{_code(random)}00{random.randrange(10)}",
    },
    "prices": {
        "won": lambda random: f"{_price(random)}원",
        "range": lambda random: f"{_price(random)}~{_price(random)}원",
        "index": lambda random: f"{random.randrange(200_000, 400_000) / 100:,.2f}",
        "percent": lambda random: f"{random.uniform(-30, 30):+.2f}%",
        "won and percent": lambda random: f"{_price(random)}원 ({random.uniform(-30, 30):+.2f}%)",
        "bare prices": lambda random: " ".join(random.sample(_PRICES_LIKE_PHONES, 3)),
        "rate of exchange": lambda random: f"유로 {random.choice(_PRICES_LIKE_PHONES)}.{digits(random, 4)}",
        "prices, line by line": lambda random: f"{random.choice(_PRICES_LIKE_PHONES)}\n{random.randint(1000, 9999)}\n",
        "amount": lambda random: f"{random.randrange(10**6, 10**12)}원",
    },
    "dates": {
        "2026-02-13": lambda random: f"{_instant(random):%Y-%m-%d}",
        "2026-02-13 16:44:52": lambda random: f"{_instant(random):%Y-%m-%d %H:%M:%S}",
        "ISO 8601": lambda random: _instant(random).isoformat(),
        "2026.02.13.": lambda random: f"{_instant(random):%Y.%m.%d.}",
        "2026년 2월 13일": lambda random: f"{_instant(random):%Y년 %m월 %d일}",
        "20260213": lambda random: f"{_instant(random):%Y%m%d}",
        "range": lambda random: f"{_instant(random):%Y-%m-%d} ~ {_instant(random):%Y-%m-%d}",
        "years": lambda random: "2022 2023 2024 2025",
        "a date and a volume": lambda random: f"{birthday(random):%Y.%m.%d} {random.randint(10**6, 10**7 - 1)}주",
    },
    "ids": {
        "UUID": lambda random: "-".join(f"{random.getrandbits(4 * size):0{size}x}" for size in (8, 4, 4, 4, 12)),
        "20260213-000123": lambda random: f"{_instant(random):%Y%m%d}-{digits(random, 6)}",
        "20260213-1234567": lambda random: f"{_instant(random):%Y%m%d}-{digits(random, 7)}",
        "ORD-2026-000123": lambda random: f"ORD-{random.randint(2020, 2030)}-{digits(random, 6)}",
        "filing": lambda random: f"{_instant(random):%Y%m%d}{digits(random, 6)}",
        "16 digits from a date": lambda random: f"{_instant(random):%Y%m%d}{digits(random, 8)}",
        "12 digits": lambda random: str(random.randrange(10**11, 10**12)),
        "milliseconds": lambda random: str(int(_instant(random).timestamp() * 1000) + random.randrange(1000)),
        "seconds": lambda random: str(int(_instant(random).timestamp())),
        "법인등록번호": lambda random: f"법인등록번호 {'-'.join(resident(random))}",
        "EVAL-2026-0001": lambda random: f"EVAL-2026-{digits(random, 4)}",
    },
}


def harmless_texts(kind: str, count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """`count` sentences with numbers that are nobody's, form by form."""
    random = Random(f"{kind} {seed}")
    forms = list(HARMLESS_FORMS[kind].items())
    for number in range(count):
        name, form = forms[number % len(forms)]
        yield name, random.choice(_HARMLESS_SENTENCES).format(form(random))
