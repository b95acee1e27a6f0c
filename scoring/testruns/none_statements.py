"""Statements that there is nothing to count, or not that many: `해당 지원자가 없습니다`, `3명이 아닙니다`.

Source: SPEC 3.3.
"""

import re
from collections.abc import Iterator

# 없습니다, 없어 표시할 목록이, but not 없습니까, 없다면, 없어서 or 없는 것으로 보이지 않습니다
_ABSENT = (
    r"(?:없었?(?:습니다|어요|네요|음|답니다|으며|으나|고(?!요)|지만|다(?![가-힣])|어(?![ 가-힣])"
    r"|어서?[ ](?:목록|결과|표시)|다(?:고[ ]나|는[ ]결과))"
    r"|없는[ ](?:(?:것으로|걸로)(?![^.!?\n]{0,15}(?:않|아니|수[ ]없))|상태|상황)|존재하지[ ]않|안[ ]계[시십세]"
    r"|(?:(?:확인|조회|검색|집계|발견)되|나오)지[ ]않(?:습니다|았습니다|았어요|네요)"
    r"|찾을[ ]수가?[ ]없었?(?:습니다|어요|네요)|찾지[ ]못했(?:습니다|어요))"
)
_WHEN = r"(?:(?:현재|아직|전혀|모두|전부|둘[ ]다|하나도|따로|별도로)[ ]{1,2})?"
_NONE_OF = re.compile(
    r"(?<![0-9A-Za-z가-힣])(?P<what>[0-9A-Za-z가-힣]{1,20}?)[은는이가을를도]?[ ]{0,2}(?:[:|][ ]{0,2})?"
    rf"{_WHEN}{_ABSENT}"
)
# 없습니다., 현재 기준 없습니다
_NONE_AT_ALL = re.compile(rf"[^0-9A-Za-z가-힣]*(?:(?:네|현재|아직|기준)[ ,]{{1,2}}){{0,2}}{_ABSENT}[^0-9A-Za-z가-힣]*")
_COUNTED = re.compile(
    r"(?:자|인원|사람|국인|분|대상|(?<!조)건|명|내역|지원서|이력서?|면접|데이터|결과|합격|탈락|남성|여성|남녀|아무"
    r"|해당[ ]?사항)$"
)
# `일치하는 항목이 없습니다` names what was looked for as 항목.
_MATCHING = re.compile(r"(?:일치하는|해당하는|맞는|만족하는)[ ]$")
POSTINGS_ASKED_FOR = re.compile(r"공고[가는의를도]?[ ]?(?:총[ ]?)?(?:수|개수|몇|얼마|있|목록|알려|보여)")
# The question had no result, or not the one it asks for: an error, a missing permission, a posting of no such name.
# 오류가 있으면 문의해 주세요 is a disclaimer.
_FAILED = re.compile(
    r"(?:(?:오류|에러)(?![ ]없이)|실패(?!한[ ](?:지원자|공고|인원))|(?:시간|제한을|한도)[ ]?초과"
    r"|문제가[ ](?:있어|발생|생)|권한[이을]?[ ](?:없|부족|필요|확인)"
    r"|(?:불러오|로드되|연결되|접속되|접근하|처리하)지[ ](?:못|않)"
    r"|(?:접근[ ]가능한|필요한[ ]데이터|적용할[ ]수[ ]있는)(?=[^.!?\n]{0,20}없))"
    r"(?![^.!?\n]{0,20}(?:[으하되생이라다]면|경우|[ ]시[ ,에는]|[을될할][ ]수[ ]?도?[ ]?있|의심|신고|여부|제외))"
    r"|(?:필터|코드|공고명?)[가를이]?[ ](?:없어|찾지|찾을[ ]수)|공고명?[와과][ ]일치"
)
# 제외된 지원자, 그 외 조건에 맞는 지원자: others than those asked about
_OTHERS = re.compile(
    r"(?P<word>제외된|누락된|중복|추가|나머지|다른|더[ ]이상|[그이][ ]?외)[에된]?[ ](?:[가-힣]{1,5}[ ]){0,2}$"
)
# 지원자는 있지만 합격자는 없습니다
_THERE_ARE = re.compile(r"(?:[가-힣]자|인원|사람)[은는이가도][ ](?:있|많)(?:으나|지만|으며|고|습니다|어요|네요)")
_UNCERTAIN = (
    r"인지[^.!?,\n]{0,20}(?:수[ ]없|어렵|못|불분명)"
    r"|이?라고[ ](?:단정|확신|확정|말|할|보기)[^.!?,\n]{0,10}(?:없|어렵|못)"
    r"|으?로[ ](?:추정|예상|보이)[^.!?\n]{0,40}할[ ]수[ ]없|으?로[ ](?:표시될|나올|나왔을|보일)[ ]수[ ]있"
)
# 12건의 오류가 발생하여 집계하지 못했습니다, but neither 12명이며 비율은 nor 12명의 연봉은 집계하지 못했습니다
_UNCOUNTED = (
    r"(?:[을를은는이가도]?[ ]?|(?:의[ ]|[ ]?)(?:오류|에러|문제|실패|정보를|데이터를)[^.!?,():;|\n]{0,40}?)"
    r"(?:(?:집계|조회|계산|산출)(?:하지[ ]못[했합함]|할[ ]수[ ]없[습어었음])"
    r"|(?:불러|가져)(?:오지[ ]못[했합함]|올[ ]수[ ]없[습어었음]))"
)
# Behind a number that is not the answer: 3명이 아니라 5명, 12명은 없습니다, 1명도 확인되지 않습니다
DENIED = re.compile(
    r"[이가은는]?[ ]?(?:아니|아닌|아닙|아님|잘못된)|[은이도][ ]없|도[ ](?:안[ ]계|찾을[ ]수|[가-힣]{1,8}지[ ](?:않|못))"
    rf"|{_UNCERTAIN}|{_UNCOUNTED}"
)


def states_none(text: str, *, query: str, mixed: bool) -> bool:
    """Whether an answer says that nothing was found, be it of what the query asks for or of nothing in particular.

    An error, a missing permission or an unknown posting is no such statement, unless the query asks for these. `mixed`:
    something else was found, so that people who are there say nothing about those who are not.
    """
    said = _NONE_AT_ALL.fullmatch(text) or any(what_is_absent(text, query=query, mixed=mixed))
    return bool(said) and all(failed.group() in query for failed in _FAILED.finditer(text))


def what_is_absent(text: str, *, query: str = "", mixed: bool = False) -> Iterator[str]:
    """What there is none of, by the statements of a text that may answer the query."""
    for found in _NONE_OF.finditer(text):
        what, before = found["what"], text[max(0, found.start() - 60) : found.start()]
        others = _OTHERS.search(before)
        is_rest = mixed and others and others["word"] == "나머지"  # A 공고 10명, 나머지 공고에는 없습니다
        if not _may_be_counted(what, before, query) or (others and others["word"] not in query and not is_rest):
            continue
        if mixed or what in query or not _THERE_ARE.search(before):
            yield what


def _may_be_counted(what: str, before: str, query: str) -> bool:
    """Whether that of which there is none is what the query counts. A posting rather is a condition of it."""
    if what.endswith("공고"):
        return bool(POSTINGS_ASKED_FOR.search(query))
    return bool(_COUNTED.search(before[-3:] + what) or _MATCHING.search(before) or (len(what) > 1 and what in query))
