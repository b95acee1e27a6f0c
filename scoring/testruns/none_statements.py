"""Whether an answer says that there is nothing to count: `해당 지원자가 없습니다`.

Source: SPEC 3.3.
"""

import re

from scoring.testruns.no_quantities import BLANK
from scoring.testruns.numbers import numbers_in, plain, truth_numbers

_NONE = re.compile(
    r"(?:(?:[가-힣]자|인원|사람|[0-9]?분|대상|건|명|내역|공고|지원서|이력서?|면접|데이터|결과|합격|탈락|남성|여성|남녀)"
    r"[은는이가도]?|아무도)"
    r"[ ]{0,2}"
    r"(?:(?:현재|아직|전혀|모두|전부|둘 다)[ ]{1,2})?"
    r"(?:없었?(?:습니다|어요?|네요|음|다|으며|으나|고|지만)|없는 (?:것으로|상태|상황)|존재하지 않"
    r"|(?:확인|조회|검색|집계|발견)되지 않(?:습니다|았습니다|았어요|네요))"
    r"|(?:[가-힣]자|인원|사람|대상|지원서)[을를] 찾(?:을 수 없(?:습니다|어요|네요)|지 못했(?:습니다|어요))"
)
# 총 120명 중, 지원자 120명 가운데, 120명의 지원자 중에서: of how many there are none
_WHOLE = re.compile(r"[0-9][0-9,]{0,15}[ ]?(?:명|건|개|분|인)(?:의 [가-힣]{1,10})?[ ]{0,2}(?:중|가운데)")
_LIMITED, _AS_LIMIT = r"(?=[0-9])(?<![0-9.,])[0-9][0-9,.]{0,20}", r"[ ]?[가-힣%]{0,4}[ ]?(?:이상|이하|미만|초과)"
# The same where no people are counted: 학점 4.0점 이상인 지원자는 없습니다
_CONDITION = re.compile(rf"{_LIMITED}(?![0-9,.]|[ ]?(?:명|건|인|분)){_AS_LIMIT}")


def says_none(text: str, *, query: str, truth: str) -> bool:
    """Whether an answer reports that nothing was found: `해당 지원자가 없습니다`.

    If `truth` consists only of zeros, an answer with another number reports it about something else: `총 12명이며
    제외된 지원자는 없습니다`. The limit of the search condition (`90점 이상`) is not such a number. Source: SPEC 3.3.
    """
    text = plain(text)  # 지원자가 **없습니다**
    if not _NONE.search(text):
        return False
    results = _CONDITION.sub(BLANK, _WHOLE.sub(BLANK, text))
    return any(truth_numbers(truth)) or not any(numbers_in(results, query=query, truth=truth))
