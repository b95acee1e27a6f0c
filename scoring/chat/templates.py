"""The template of a question: its text with numbers replaced by placeholders, for a stock bot also stock names and
codes.

The same question about two companies has one template, so that frequent questions are grouped. There is no list of
companies. A stock name is assumed to be one of these:

    the word right before a stock code
    the word attached to or right before 주가, 목표주가, 종목코드 and the like
    the first word of a question that goes on to ask for a topic (실적, 배당, 살까)
    a word joined to such a name by 와 or 과

A question of a single word without a topic is a bare name or a
typing error, as is one of nothing but ㅋㅋ, and all of these have one template. Words such as 최근 or 국내 are never
names. Errors merge two templates or split one; row counts stay right.

Source: SPEC 1.5.
"""

import re
from functools import lru_cache
from unicodedata import normalize

STOCK, CODE, NUMBER, WORD = "{종목}", "{종목코드}", "{숫자}", "{낱말}"

MAX_TEXT = 300
"""The number of characters of a question that are used; later characters do not distinguish templates."""

_CODE = re.compile(r"(?<![0-9])\(? ?[0-9]{6} ?\)?(?![0-9]|,[0-9]|\.[0-9]|원|주(?!가)|만|억|달러)")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_ENDING = re.compile(r"[?？!.,~…ㅋㅎㅠㅜ^ ]+$")
_PRICE = "목표주가|목표가|주가|종목코드|시가총액|시총"
_TOPIC = re.compile(
    rf"{_PRICE}|실적|재무|배당|뉴스|공시|전망|분석|부채비율|매출|영업이익|순이익|PER|PBR|ROE|EPS|BPS|호재|악재|매수|매도"
)
_DEAL = re.compile("사도|사야|살까|팔아도|팔아야|팔까")
_GLUED = re.compile(rf"^([0-9A-Za-z가-힣&.]{{2,30}}?)({_PRICE})")
_PERIOD = re.compile(r"[0-9]+(?:년|월|일|분기|개월)")
_PAIRED = re.compile(r"[와과]|이?랑|하고")
_PARTICLE = re.compile(r"(?:은|는|이|가|을|를|의|와|과|도|에|이?랑|하고|에서|에게)$")
_COMMON = re.compile(
    r"(?:최근|오늘|어제|내일|현재|지금|이번|올해|작년|내년|전월|요즘|향후|앞으로|국내|해외|미국|한국|코스피|코스닥|나스닥|KOSPI|KOSDAQ|ETF|"
    r"주식|종목|기업|회사|시장|증시|업종|반도체|관련|관련주|애널리스트|구체적인|전체|모든|무엇을|뭘|뭐|다른|어떤|어느|무슨|좋은|높은|낮은|가장|저|이|그|내|제|"
    r"[가-힣]+적으로|[0-9]+(?:년|월|일|분기|개월)?)(?:의|은|는|이|가|에|에서)?"
)


def question_template(text: str, *, stocks: bool) -> str:
    """The template of a question; '' for one without a letter or digit. It groups equal questions.

    `stocks`: whether stock names and codes are replaced; for other bots an order number would be mistaken for a code.
    """
    return _template(text[:MAX_TEXT], stocks)


@lru_cache(maxsize=4096)
def _template(text: str, stocks: bool) -> str:
    """Cached: questions are repeated, and a row with an alert is processed on each of the seven days after it."""
    text = normalize("NFC", text)
    words = _ENDING.sub("", _CODE.sub(f" {CODE} ", text) if stocks else text).split()
    if not words:
        return WORD if any(map(str.isalpha, text)) else ""
    if len(words) == 1 and not words[0].startswith("{") and not (stocks and _TOPIC.search(words[0])):
        return NUMBER if _NUMBER.fullmatch(words[0]) else WORD
    shown = " ".join(_named(words) if stocks else words)
    return _ENDING.sub("", _NUMBER.sub(NUMBER, shown))


def literal_parts(template: str) -> list[str]:
    """The words of a template that every question of it contains (in NFC, in its first `MAX_TEXT` characters)."""
    return [part for part in re.split(r"\{[^{}]*\}|\s+", template) if part]


def _named(words: list[str]) -> list[str]:
    """The words with stock names as placeholders, consecutive names as one; attached words are separated."""
    found: list[str] = []
    pairs = False
    for place, word in enumerate(words):
        before_code = words[place + 1 : place + 2] == [CODE]
        glued = _GLUED.match(word)
        is_name = before_code or pairs or _is_first_name(words, place)
        pairs = False
        if word == CODE:
            pairs = bool(place + 1 < len(words) and _PAIRED.fullmatch(words[place + 1]))
            found.append(word)
        elif glued and not _COMMON.fullmatch(glued[1]) and not _TOPIC.match(word):
            found += [*([STOCK] if found[-1:] != [STOCK] else []), word[glued.end(1) :]]
        elif is_name and not _COMMON.fullmatch(word) and not _TOPIC.match(word):
            pairs = not before_code and bool(re.search(rf"(?:{_PAIRED.pattern})$", word))
            found += [STOCK] if found[-1:] != [STOCK] else []
        elif found and found[-1] == CODE and _PARTICLE.fullmatch(word):
            pairs = bool(_PAIRED.fullmatch(word))
        else:
            found.append(word)
    return found


def _is_first_name(words: list[str], place: int) -> bool:
    """Whether a word is right before a price word, or is the first word (after a period of time, if any) of a question
    about a topic.
    """
    following = words[place + 1 :]
    if following and re.match(_PRICE, following[0]):
        return True
    return (
        all(map(_PERIOD.fullmatch, words[:place]))
        and following[:1] != ["관련"]
        and any(_TOPIC.search(word) or _DEAL.match(word) for word in following)
    )
