"""The filters of the applicant-management agent: maps the names of test authors to codes."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scoring.testruns.cells import given

FILTER_CODES: Mapping[str, str] = MappingProxyType(
    {
        "지원서 제출 여부": "RESUME_SUBMIT",
        "지원서 제출": "RESUME_SUBMIT",
        "지원서 등록 구분": "RESUME_CREATE_CODE",
        "과거 지원 이력": "RESUME_APPLY_COUNT",
        "특이지원자": "MARKING_APPLICANT",
        "열람 여부": "READ_STATUS",
        "관리자 업로드 파일": "MANAGER_UPLOAD_FILE",
        "지원 경로": "APPLY_CHANNEL",
        "국적": "NATIONALITY",
        "병역": "MILITARY",
        "장애": "HANDICAP",
        "보훈": "PATRIOT",
        "최종학력": "FINAL_ACADEMY_CODE",
        "졸업 구분": "GRADUATION_TYPE",
        "고등학교명": "HIGH_SCHOOL_NAME",
        "대학교명": "COLLEGE_NAME",
        "대학원명": "GRADUATE_SCHOOL_NAME",
        "대학교 전공명": "COLLEGE_MAJOR_NAME",
        "대학원 전공명": "GRADUATE_SCHOOL_MAJOR_NAME",
        "학점": "MAJOR_SCORE",
        "경력기준": "CAREER_CRITERIA",
        "경력기간": "CAREER_PERIOD",
        "총경력": "CAREER_PERIOD",
        "프로젝트": "PROJECT",
        "외국어 활용": "FOREIGN_LANGUAGE_SKILL",
        "해외경험": "OVERSEAS_EXPERIENCE",
        "교육이수": "EDUCATION",
        "봉사활동": "VOLUNTEER",
        "최종 합격 여부": "FINAL_PASS_APPLY_SECTOR",
        "전형유형": "SCREENING_TYPE",
        "전형 결과": "SCREENING_RESULT",
        "스크리닝 종합 결과": "RESUME_SCREENING_FINAL_RESULT",
        "지원서 커트라인": "TALENT_SCREENING_CUTLINE",
        "역량검사 커트라인": "FIT_SCREENING_CUTLINE",
        "최종 평가자": "FINAL_VALUER",
        "일반 평가자": "GENERAL_VALUER",
        "응시 현황": "EXAM_STATUS",
        "공고": "RECRUIT_NOTICE",
        "공고명": "RECRUIT_NOTICE",
        "채용공고명": "RECRUIT_NOTICE",
        "역량 종합 등급": "ACC_TEST_RESULT_RANK_GRADE",
        "역량등급": "ACC_TEST_RESULT_RANK_GRADE",
        "역량 종합 등수": "ACC_TEST_RESULT_RANK_TOTAL",
        "역량등수": "ACC_TEST_RESULT_RANK_TOTAL",
        "역량 종합 등수(분야내)": "ACC_TEST_RESULT_RANK_GROUP",
        "응답 신뢰성": "ACC_TEST_RESPONSE_RELIABILITY",
        "핵심 종합 등급": "NCS_TEST_RESULT_RANK_GRADE",
        "핵심 종합 점수": "NCS_TEST_RESULT_MT_SCORE",
        "핵심 종합 등수": "NCS_TEST_RESULT_RANK_TOTAL",
        "핵심 종합 등수(분야 내)": "NCS_TEST_RESULT_RANK_GROUP",
        "응답 신뢰성(NCS)": "NCS_RESPONSE_RELIABILITY",
        "다음 전형 참석": "NEXT_SCREENING_ATTENDANCE",
        "면접 참석 회신": "INTERVIEW_ATTENDANCE",
        "전형 안내": "SCREENING_GUIDANCE",
        "합격자 발표": "PASS_ANNOUNCEMENT",
        "SMS 발송 시도": "SMS_SEND_STATUS",
        "기간": "RESUME_PERIOD",
        "자격증": "LICENSE",
        "학교명": "COLLEGE_NAME",
        "전공명": "COLLEGE_MAJOR_NAME",
    }
)

_SPACE = re.compile(r"\s+")
# A separator counts outside parentheses only; an unclosed parenthesis holds nothing together.
_NAME = re.compile(r"(?:\([^()]*\)|[^+,;|\n])+")
_PARENTHESIS = re.compile(r"\(([^()]*)\)")
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


@dataclass(frozen=True, slots=True)
class ExpectedFilters:
    """The expectation of a `기대 필터/열` cell. With any `unmapped` name the mapping is unknown.

    `columns` are grid columns, a weak check: a page shows many of them by default.
    """

    filters: frozenset[str]
    columns: frozenset[str]
    unmapped: tuple[str, ...]


class FilterNames:
    """The names of filters and their codes: a team's `own` names, then the common ones."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        names = {**FILTER_CODES, **(own or {})}
        self._codes = frozenset(names.values())
        self._code_of_key = {_key(name): code for name, code in names.items()}
        self._name_of_code = {code: name for name, code in reversed(names.items())}

    def title(self, code: str) -> str:
        """A code with its first name: `지원 경로(APPLY_CHANNEL)`; a code without a name is unchanged."""
        return f"{self._name_of_code[code]}({code})" if code in self._name_of_code else code

    def expected(self, text: str) -> ExpectedFilters:
        """The filters and columns that a cell names (`전형유형 + 전형 결과`, `성별 (genderFlag)`).

        Each name is looked up whole, then without its parenthesis; blanks and case do not matter, and a code
        of the table is its own name. What is left is a column when an ASCII name stands in
        parentheses. A blank cell expects nothing.

        Source: seed 000, 2.3 (사용을 기대한 도구).
        """
        filters, columns, unmapped = set(), set(), []
        for name in split_names(text):
            column = _PARENTHESIS.search(name)
            if code := self.code(name):
                filters.add(code)
            elif column and _COLUMN.fullmatch(inside := column.group(1).strip()):
                columns.add(inside)
            else:
                unmapped.append(name)
        return ExpectedFilters(frozenset(filters), frozenset(columns), tuple(unmapped))

    def code(self, name: str) -> str | None:
        """The code of one filter, given by its Korean name, with a remark in parentheses, or by its code."""
        key = _SPACE.sub("", name)
        bare = _PARENTHESIS.sub("", key)
        inside = _PARENTHESIS.findall(key)
        written = next((code for code in (key, bare, *inside) if code in self._codes), None)
        return self._code_of_key.get(_key(name)) or self._code_of_key.get(_key(bare)) or written


def _key(name: str) -> str:
    return _SPACE.sub("", name).casefold()


COMMON_FILTERS = FilterNames()


def split_names(text: str) -> tuple[str, ...]:
    """The names of a cell, split at `+`, `,`, `;` and `|` outside parentheses; () for a blank cell.

    Full-width characters and decomposed Hangul (macOS) are normalised.
    """
    if not given(text):
        return ()
    names = (name.strip() for name in _NAME.findall(unicodedata.normalize("NFKC", text)))
    return tuple(name for name in names if name)
