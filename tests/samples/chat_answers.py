"""What the stock chatbot answers: refusals, short replies and markdown reports with tables."""

import functools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain
from typing import Any, Final, NamedTuple

from tests.samples.chat_questions import COMPANIES, PHRASES, Company
from tests.samples.draws import between, pick, rotated, stream

CHARACTERS_PER_TOKEN: Final = 2.015  # 2,136 characters to 1,060 tokens. Source: seed 002, 2.1 (M2, M3)

_ANSWERS: Final[Mapping[str, Any]] = PHRASES["answers"]
REFUSALS: Final[Mapping[str, str]] = _ANSWERS["refusals"]

# How many of a thousand full answers open with which blocks, and what may follow: the blocks decide which
# elements (table, formatted number, date) an answer has. Source: seed 002, 2.1 (M9 to M11)
_PROSE: Final = ("business", "strengths", "risks", "outlook", "checkpoints", "summary")
_ALL: Final = (
    "finance",
    *_PROSE[:3],
    "news",
    "target",
    *_PROSE[3:],
    "ratios",
    "quarters",
    "dividend",
    "peers",
)
_FORMS: Final[tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...]] = (
    (722, ("price",), _ALL),
    (120, ("price", "caveat"), _ALL),
    (24, ("finance",), ("quarters", "ratios", *_PROSE)),
    (38, ("ratios", "news"), ("peers", *_PROSE)),
    (16, ("quote", "news"), _PROSE),
    (77, ("news",), _PROSE),
    (3, (), _PROSE),
)
_FORM_OF: Final = tuple((lead, rest) for parts, lead, rest in _FORMS for _ in range(parts))
_UNBOLD_SHARE: Final = 0.02  # of full answers. Source, with the next: seed 002, 2.1 (M12)
_LIMITED_BOLD_SHARE: Final = 0.8
_MARKET_SHARE: Final = 0.22  # of full answers, so that a quarter of all name KOSPI or KOSDAQ. Source: seed 002, 2.4
_QUOTED_SHARE: Final = 0.15  # of the broad questions' refusals: the model sometimes puts "> " before them


def answer(rng: random.Random, kind: str, day: date, company: Company, topic: str, tokens: int) -> str:
    """The text of one answer: the fixed text of its kind, or about 2.015 characters for each of `tokens`.

    `kind` is a failure type, or `brief`, `limited`, `full`. Source: seed 002, 2.1 to 2.4 and 5.2 (5).
    """
    if kind in REFUSALS:
        quoted = kind == "too_broad" and rng.random() < _QUOTED_SHARE
        return ("> " if quoted else "") + REFUSALS[kind]
    if kind == "too_short":
        return _about(company, pick(rng, _ANSWERS["short"]))
    size = int(tokens * CHARACTERS_PER_TOKEN)
    if kind == "full":
        return _full(rng, day, company, topic, size)
    lines = (_about(company, line) for line in rotated(rng, tuple(_ANSWERS[kind])))
    if kind == "brief":
        return _until(size, _about(company, _ANSWERS["brief_opening"]), lines, "\n")
    title = f"{company.name}({company.code}) {_ANSWERS['titles']['limited']}"
    return _until(size, f"**{title}**\n" if rng.random() < _LIMITED_BOLD_SHARE else f"{title}\n", lines, "\n")


def _about(company: Company, sentence: str) -> str:
    return sentence.format(n=company.name, c=company.code, k=company.market)


def _full(rng: random.Random, day: date, company: Company, topic: str, size: int) -> str:
    lead, rest = pick(rng, _FORM_OF)
    order = dict.fromkeys(((topic,) if topic in rest else ()) + rotated(rng, rest))
    peer = pick(rng, COMPANIES)
    market = f", {company.market}" if rng.random() < _MARKET_SHARE else ""
    title = f"**{company.name}({company.code}{market}) {_ANSWERS['titles'][topic]}**\n\n---"
    blocks = company_blocks(day, company)
    opening = "\n\n".join([title, *(blocks[name] for name in lead)])
    more = chain((blocks[name] for name in order), _peer_blocks(day, peer, (*lead, *order)))
    text = _until(size, opening, more, "\n\n")
    return text.replace("**", "") if rng.random() < _UNBOLD_SHARE else text


def _peer_blocks(day: date, peer: Company, names: Sequence[str]) -> Iterator[str]:
    yield f"---\n\n**{_ANSWERS['titles']['peer']}: {peer.name}({peer.code})**"
    yield from (company_blocks(day, peer)[name] for name in names)


def _until(size: int, first: str, parts: Iterable[str], joint: str) -> str:
    """`first` and as many of `parts`, in their order, as bring the text nearest to `size` characters."""
    length = len(first)
    kept = [first]
    for part in parts:
        if length + len(part) / 2 > size:
            break
        kept.append(part)
        length += len(joint) + len(part)
    return joint.join(kept)


class _Listing(NamedTuple):
    """A company on a day: what its tables are about. `price` in won."""

    company: Company
    day: date
    price: int


@functools.lru_cache(maxsize=2 * len(COMPANIES))
def company_blocks(day: date, company: Company) -> dict[str, str]:
    """Every block of answers about `company` on `day`, by name: all who ask on a day read the same figures.

    Drawn from a stream of its own, so that it does not matter who asks first.
    """
    rng = stream(f"{company.code}/{day.isoformat()}")
    listing = _Listing(company, day, price=1_500 + int(company.code) % 2_971 * 50)
    blocks = {name: render(rng, listing) for name, render in _FIGURES.items()}
    for name, prose in _ANSWERS["prose"].items():
        chosen = rotated(rng, tuple(prose["sentences"]))[:5]
        blocks[name] = "\n".join([prose["heading"], *("- " + _about(company, each) for each in chosen)])
    return blocks


def _table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    ruled = (columns, ["-" * width for width in widths], *rows)
    return "\n".join([heading, *(f"| {' | '.join(map(str.ljust, row, widths))} |" for row in ruled)])


def _trading_days(day: date) -> list[date]:
    """The five weekdays before `day`, latest first."""
    before = (day - timedelta(days=offset) for offset in range(1, 8))
    return [each for each in before if each.weekday() < 5]


def _price(rng: random.Random, listing: _Listing) -> str:
    rows = []
    for day in _trading_days(listing.day):
        low = listing.price * between(rng, 93, 98) // 100
        high = listing.price * between(rng, 102, 107) // 100
        cells = (between(rng, low, high), high, low, between(rng, low, high), between(rng, 20_000, 9_000_000))
        rows.append([day.isoformat(), *(f"{cell:,}" for cell in cells)])
    table = _table("### 최근 주가 동향", ("날짜", "시가", "고가", "저가", "종가", "거래량"), rows)
    change, volume = (rng.random() - 0.5) * 20, between(rng, -40, 60)
    return f"{table}\n\n- 종가는 5거래일 동안 {change:+.1f}%, 거래량은 그 전보다 {volume:+d}% 변했습니다."


def _finance(rng: random.Random, listing: _Listing) -> str:
    years = range(listing.day.year - 5, listing.day.year)
    sales = [between(rng, 1_200, 60_000) for _ in years]
    rows = [["매출액", *(f"{each:,}" for each in sales)]]
    for label, low, high in (("영업이익", -4, 18), ("순이익", -6, 14)):
        rows.append([label, *(f"{each * between(rng, low, high) // 100:,}" for each in sales)])
    for label, top in (("부채비율(%)", 260), ("ROE(%)", 24)):
        rows.append([label, *(f"{rng.random() * top:.2f}" for _ in years)])
    return _table("### 연간 재무 현황 (단위: 억 원)", ("구분", *(f"{year}년" for year in years)), rows)


def _quarters(rng: random.Random, listing: _Listing) -> str:
    rows = []
    for quarter in (1, 2, 3, 4):
        sales, profit, net = between(rng, 1_000, 15_000), between(rng, -300, 2_000), between(rng, -400, 1_600)
        growth = f"{(rng.random() - 0.3) * 40:.1f}%"
        rows.append([f"{listing.day.year - 1}년 {quarter}분기", f"{sales:,}", f"{profit:,}", f"{net:,}", growth])
    columns = ("분기", "매출액", "영업이익", "순이익", "전년 동기 대비 매출")
    return _table("### 분기별 실적 (단위: 억 원)", columns, rows)


def _target(rng: random.Random, listing: _Listing) -> str:
    rows = []
    for _ in range(4):
        published = listing.day - timedelta(days=between(rng, 3, 60))
        target = listing.price * between(rng, 102, 140) // 5_000 * 50
        broker = f"{pick(rng, COMPANIES).name[:2]}증권"
        rows.append([published.isoformat(), broker, pick(rng, ("매수", "매수", "중립")), f"{target:,}원"])
    return _table("### 증권사 목표주가", ("제시일", "증권사", "투자의견", "목표주가"), rows)


def _dividend(rng: random.Random, listing: _Listing) -> str:
    rows = []
    for back in (1, 2, 3):
        won, ratio, payout = between(rng, 2, 60) * 50, rng.random() * 6, rng.random() * 60
        rows.append([f"{listing.day.year - back}년", f"{won:,}원", f"{ratio:.2f}%", f"{payout:.1f}%"])
    return _table("### 배당 현황", ("결산 연도", "주당 배당금", "배당수익률", "배당 성향"), rows)


def _ratios(rng: random.Random, listing: _Listing) -> str:
    tops = (("PER(배)", 50), ("PBR(배)", 4), ("ROE(%)", 20), ("영업이익률(%)", 25), ("부채비율(%)", 250))
    rows = [[label, *(f"{rng.random() * top:.2f}" for _ in range(4))] for label, top in tops]
    columns = ("지표", listing.company.name, "3년 평균", "업종 평균", "업종 상위 10% 기준")
    return _table("### 업종 평균과의 비교", columns, rows)


def _peers(rng: random.Random, listing: _Listing) -> str:
    rows = []
    for rank in range(1, 6):
        peer = pick(rng, COMPANIES)
        rows.append([str(rank), peer.code, peer.name, *(f"{rng.random() * top:.1f}" for top in (40, 4, 20))])
    columns = ("순위", "종목코드", "종목명", "PER(배)", "PBR(배)", "영업이익률(%)")
    return _table("### 함께 거론되는 종목", columns, rows)


def _quote(rng: random.Random, listing: _Listing) -> str:
    turnover = between(rng, 3, 900)
    return f"### 현재 주가\n- 직전 종가는 **{listing.price:,}원**이며 거래대금은 약 {turnover}억 원입니다."


def _news(rng: random.Random, listing: _Listing) -> str:
    lines = []
    for sentence in rotated(rng, tuple(_ANSWERS["news"]))[:4]:
        told = sentence.format(n=listing.company.name, r=between(rng, 3, 48))
        published = listing.day - timedelta(days=between(rng, 1, 40))
        lines.append(f"- {told} ({pick(rng, _ANSWERS['outlets'])}, {published.isoformat()})")
    return "\n".join(["### 주요 뉴스와 이슈", *lines])


_FIGURES: Final[dict[str, Callable[[random.Random, _Listing], str]]] = {
    "price": _price,
    "finance": _finance,
    "quarters": _quarters,
    "target": _target,
    "dividend": _dividend,
    "ratios": _ratios,
    "peers": _peers,
    "quote": _quote,
    "news": _news,
}
