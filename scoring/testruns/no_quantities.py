"""Parts of a Korean text whose digits state no quantity: dates, times, ordinals, list markers, links, offers, periods.

Source: seed 000, 2.2 and 2.3; SPEC 3.3.
"""

import re
from functools import partial

# Digits that state no quantity. Every pattern is bounded, so that time grows with the length of the text only.
BLANK = " # "  # a sign between the neighbours, lest `3, 4` become a thousand or `2만` meet a stranger
_DASH = r"[ ]{0,2}[~–-][ ]{0,2}"
_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_CLOCK = r"(?:2[0-4]|[01]?[0-9]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?Z?"
# 2월 - 5.2% and 2024년 - 3.8점 have a value behind the dash, no date
_UNTIL = (
    rf"(?:{_DASH}(?:{_MONTH}[-./]{_DAY}(?![0-9]|[ ]?(?:[%명건개점원배]|퍼센트))|{_MONTH}월(?:[ ]?{_DAY}일)?|{_DAY}일))?"
)
_SMALL_LIST = r"[0-9]{1,3}(?:[ ]?[~·/,-][0-9]{1,3}){0,4}"
_LINKS = r"\]\([^()\s]{1,4000}\)|https?://[^\s)]{1,4000}"
_DATES_TIMES_ORDINALS = (
    # 2026-02-03, 2026. 2. 3., with a clock time, up to a second date
    rf"{_YEAR}[ ]?[-./][ ]?{_MONTH}[ ]?[-./][ ]?{_DAY}(?![0-9])(?:T{_CLOCK})?{_UNTIL}",
    # 26/2/3; 26.02.03 and version numbers
    rf"[0-9]{{2}}/{_MONTH}/{_DAY}(?![0-9])|[0-9]{{1,4}}(?:\.[0-9]{{1,4}}){{2,4}}(?![0-9])",
    # 2026년 2월 3일, 26년 2월, 24년 상반기, 2026년
    rf"(?:{_YEAR}|[0-9]{{2}}(?=년[ ]?{_MONTH}월|년도|년[ ]?[상하]반기|년[ ]?[1-4]분기))년도?"
    rf"(?:[ ]?{_MONTH}월(?:[ ]?{_DAY}일)?)?{_UNTIL}",
    # 2023~2025년 (but 2000~2050만원), 2026-02, 2026.02, 20260203
    rf"{_YEAR}{_DASH}{_YEAR}(?![0-9]|[ ]?[만천명건개점원])년?|{_YEAR}(?:[-/]{_MONTH}|\.(?:0[1-9]|1[0-2]))(?![0-9.,])",
    rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?![0-9])",
    # 2월 3일, 1~3월; 02/03 (but 3/5명 and 12/15 (80%) are ratios)
    rf"(?:{_MONTH}{_DASH})?{_MONTH}월(?:[ ]?{_DAY}일)?{_UNTIL}",
    rf"{_MONTH}/{_DAY}(?![0-9/.,]|[ ]?(?:명|건|개|점|%|\([0-9.]{{1,6}}[ ]?%)){_UNTIL}",
    # 14:30; 오후 3시, 9~18시 30분 (3시간 is a duration)
    rf"{_CLOCK}(?![0-9:])",
    rf"(?:[0-9]{{1,2}}{_DASH})?[0-9]{{1,2}}시(?!간)(?:[ ]?[0-9]{{1,2}}분(?:[ ]?[0-9]{{1,2}}초)?)?",
    # 1차, 1~2차, 2번째, 3회차, 1위, 2분기, 3학년, 2단계
    rf"{_SMALL_LIST}[ ]?(?:차(?![이례])|번째|째|회차|순위|위(?!원)|분기|학년|학기|등급|단계)",
    r"[0-9]{1,4}(?:st|nd|rd|th)(?![a-z])",
)
# 정답 12/15, 합격률: 12/15
_RATIO = re.compile(
    r"((?:[율률]|정답|통과|합격|성공|달성|완료|점수)(?:[은는이가])?[ :]{0,3}[0-9]{1,2})/(?=[0-9]{1,2}(?![0-9/]))"
)
# A day of the week, a word or a sign may stand in front; half a number may not.
_NO_QUANTITY = re.compile(
    rf"(?=[0-9제\]h])(?:{_LINKS}|(?<![가-힣])제[ ]?[0-9]{{1,4}}[ ]?(?:회|차|기|호|조|항|장|번|부)"
    rf"|(?<![0-9A-Za-z])(?<![0-9][.,])(?:{'|'.join(_DATES_TIMES_ORDINALS)}))"
)
_MARKER_AT_LINE_START = re.compile(
    r"^([ \t]{0,20}(?:[-*•·▪>#|]{1,6}[ \t]{1,4})?)\(?[0-9]{1,2}(?:\)|\.(?![0-9]))(?=[ \t]{0,20}\S)",
    re.MULTILINE,
)
_MARKER_INSIDE = re.compile(r"(\([^()\n]{0,400}\))|(?<![^\s])[0-9]{1,2}\)(?=\s)")
# An offer or a request: …볼까요?, …원하시나요?, …안내해 드릴 수 있습니다, …선택해 주세요
_OFFERED = (
    r"(?:까요|[나가]요(?=[\s]?[?？])|시겠(?:어요|습니까)|드릴(?:게요|[ ]수[도는]?[ ]?있(?:습니다|어요|음))"
    r"|(?:주|하|보)세요|주십시오|바랍니다)"
)
_OFFER = re.compile(rf"{_OFFERED}[^0-9가-힣A-Za-z]*$")
_OFFER_IN_PARENTHESES = re.compile(r"\([^()\n]{0,400}까요\s?[?？]?\s?\)")
# A result may stand in the sentence of an offer: 45.5점이며, 집계되었는데, 52.1%입니다 더 볼까요?
_SENTENCE_END = re.compile(
    r"(?<=[.!?？。])(?![0-9]|(?<=[0-9]\.)[ ][0-9]{1,2}(?![0-9가-힣%]))|\n"  # 2026. 3. 15. is one date
    r"|(?<=[명건개점원%](?:이며|인데|이고)[, ])|(?<=(?:으며|는데|으니)[ ,])"
    r"|(?<=[했았었됐였]고,)|(?<=이니[ ,])"
    r"|(?<=니다)(?=[^ 가-힣0-9A-Za-z.,])|(?<=으로,)|(?<=이지만,)|(?<=니다만,)|(?<=니다[ ,;~])|(?<=[어에예네]요[ ,;~])"
)
# People and cases that an offer mentions were counted (138명(1.41%)도 볼까요?), unless it proposes their number
_COUNTED_IN_OFFER = re.compile(
    r"(?P<proposed>(?:상위|하위|최근|최대|다음|처음|예|예를[ ]들어|예시)[ :]{1,2})?"
    r"(?P<counted>(?<![0-9.,])[0-9](?:[0-9,]|[ ]?[만천백][ ]?(?=[0-9명건])){0,15}[ ]?[명건]"
    r"(?![단수]|씩|까지|단위|처럼|[을만]?[ ]더[ ]|만[ ]|[ ]?(?:이상|이하|이내|미만|초과))(?:[ ]?\([0-9.]{1,6}[ ]?%\))?)"
    r"|[0-9][0-9,.]{0,20}"
)
_DIGITS = re.compile(r"[0-9][0-9,.]{0,20}")
_COUNT = r"[0-9]{1,6}(?:\.[0-9]{1,2})?"
_UNIT = r"(?:일|주일?|개월|년)"
_LENGTH = rf"{_COUNT}(?:(?:[ ]?{_UNIT})?{_DASH}{_COUNT})?[ ]?{_UNIT}(?:간|치|여)?"
_RESTATED = r"[ ]?\([^()\n]{0,400}\)"
_PERIOD = re.compile(
    rf"(?=[0-9최지])(?:(?P<lead>(?:최근|지난)[ ]?(?:약[ ]?)?){_LENGTH}"
    rf"(?P<restated>(?:{_RESTATED})?(?:[ ]?기준{_RESTATED})?)"
    rf"|(?<![0-9.,]){_LENGTH}(?P<between>(?:{_RESTATED}|\))?[ ]?(?:기준(?:{_RESTATED})?|(?=이내|동안))))"
)
# 직전 1년, 조회 기간: 1년, 기간 필터(1년), 최근 24시간, 24시간 이내, 1년간 지원자는 3명, 1년 내, 오늘부터 1년 전까지
_NOT_AVERAGE = r"(?<![0-9.,])(?<!평균[ ])(?<!총[ ])(?<!약[ ])"
_HOURS = rf"{_COUNT}[ ]?(?:시간|달)(?:간|치)?"
_PERIOD_WITHOUT_RECENT = re.compile(
    rf"(?:(?:직전|과거)|(?:조회|검색|기본|집계)[ ]?기간[은이]?|기간[ ]필터)[ ]?[:(]?[ ]?(?:{_LENGTH}|{_HOURS})"
    rf"|(?:최근|지난)[ ]?{_HOURS}|{_NOT_AVERAGE}{_HOURS}(?=[ ]?(?:이내|동안|기준))"
    rf"|{_NOT_AVERAGE}{_COUNT}[ ]?(?:{_UNIT}|시간)"
    r"(?:간(?=[ ][^.!?\n]{0,60}[0-9][ ]?[명건])|(?=[ ]?(?:내[ ,에]|전까지)))"
)
_LENGTH_INSIDE = re.compile(rf"(?<![0-9.,]){_LENGTH}")


def without_times_and_labels(text: str) -> str:
    """The text without dates, times of day, ordinals (1차), list markers, and links."""
    text = _NO_QUANTITY.sub(BLANK, _RATIO.sub(rf"\1{BLANK}", text))
    text = _MARKER_AT_LINE_START.sub(r"\1 ", text)
    return _MARKER_INSIDE.sub(lambda match: match.group(1) or BLANK, text)


def without_offers(text: str, *, but_counted: bool = False) -> str:
    """The text without the numbers of sentences that offer a next step or ask for one ("…까요?", "…주세요"), and
    without offers in parentheses.

    A result in the sentence before its offer remains, as do with `but_counted` the people and cases of an offer.
    """
    text = _OFFER_IN_PARENTHESES.sub(" ", text)
    sentences = _SENTENCE_END.split(text)
    if not any(map(_OFFER.search, sentences)):
        return text
    left = _counted if but_counted else partial(_DIGITS.sub, BLANK)
    return "\n".join(left(sentence) if _OFFER.search(sentence) else sentence for sentence in sentences)


def _counted(offer: str) -> str:
    return _COUNTED_IN_OFFER.sub(
        lambda found: found.group() if found["counted"] and not found["proposed"] else BLANK, offer
    )


def without_periods(text: str, *, asked_for: bool) -> str:
    """The text without durations after 최근 or 지난, or before 기준, 이내 or 동안, and parentheses that repeat them.

    Unless a duration is `asked_for`, those are left out, too, that are periods by other words: 직전 1년, 1년간.
    """
    text = _PERIOD.sub(_blanked_period, text)
    return text if asked_for else _PERIOD_WITHOUT_RECENT.sub(BLANK, text)


def _blanked_period(match: re.Match[str]) -> str:
    around = "".join(match[name] or "" for name in ("lead", "restated", "between"))
    return f"{BLANK}{_LENGTH_INSIDE.sub(BLANK, around)}"
