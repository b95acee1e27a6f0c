"""Accuracy of one answer: the right tools, and the numbers of the ground truth.

Source: seed 000, 2.3 and 3.3; SPEC 3.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.grades import MappingGrade, NumbersGrade, ToolVerdict
from scoring.rubrics.aqb.tool_use import ToolUse
from scoring.testruns.cells import given
from scoring.testruns.executions import AgentType, Reading
from scoring.testruns.numbers import compare_numbers, number_text, numbers_in
from scoring.testruns.rubric import Score

_SHOWN_NUMBERS = 6


@dataclass(frozen=True, slots=True)
class Numbers:
    """How the numbers of an answer meet the ground truth; `text` names them (Korean)."""

    grade: NumbersGrade
    text: str


def numbers_of(reading: Reading, tolerance: Fraction) -> Numbers | None:
    """The numbers of an answer against its ground truth, None where there is none (or it states no number).

    A failed or empty answer states no number. `tolerance` is relative: 1/100 for 1 %. Source: seed 000, 3.3.
    """
    execution = reading.execution
    query = execution.query_text
    expected = ground_truth_numbers(execution.ground_truth, query)
    if not expected:
        return None
    message = reading.response.assistant_message if reading.answered else ""
    stated = numbers_in(message, query=query)
    if not stated and _repeats_query(execution.ground_truth, query):
        stated = numbers_in(message)  # 맞아? 네, 3명입니다
    compared = compare_numbers(expected, stated, tolerance)
    grade = NumbersGrade(compared.grade)
    if grade is NumbersGrade.EXACT:
        return Numbers(grade, f"정답 수치 일치: {listed_numbers(expected)}")
    found = f"정답 {listed_numbers(compared.missing)}, 답변 {listed_numbers(stated) or '숫자 없음'}"
    allowed = f"±{number_text(tolerance * 100)}%"
    if grade is NumbersGrade.WITHIN:
        return Numbers(grade, f"수치가 허용 오차 {allowed} 이내: {found}")
    return Numbers(grade, f"수치 불일치: {found}")


@lru_cache(maxsize=1024)  # every execution of a query carries the same
def ground_truth_numbers(ground_truth: str, query: str) -> tuple[Fraction, ...]:
    """The numbers that must be answered. A number of the query counts only where the ground truth has no other."""
    text = given(ground_truth) or ""
    return numbers_in(text, query=query) or numbers_in(text)


def _repeats_query(ground_truth: str, query: str) -> bool:
    """Whether all numbers of the ground truth stand in the query: then those of an answer may stand there, too."""
    return not numbers_in(given(ground_truth) or "", query=query)


def accuracy_of(reading: Reading, use: ToolUse, numbers: Numbers | None) -> tuple[Score, ToolVerdict | None]:
    """Points from 0 to 5, and the verdict on the tools used; NULL where nobody can tell.

    A failed or empty answer earns 0 wherever an answer could have earned points.
    """
    if use.unmapped:
        return Score(None, use.text(), use.unknown_because), None
    grade = numbers.grade if numbers else None
    if reading.execution.agent_type is AgentType.APPLICANT_MANAGEMENT:
        row = t.FILTER_ACCURACY.get((use.grade, grade))
        evidence = numbers.text if numbers else "정답 수치가 없어 필터만으로 채점"
        reason = f"{use.text()}; {evidence}"
    else:
        row, reason = t.DATAKEY_ACCURACY.get(use.grade), use.text()
    if row is None:
        return Score(None, use.text(), use.unknown_because), None
    if not reading.answered:
        failed = ToolVerdict.FAIL if use.grade is not MappingGrade.UNKNOWN else None
        return Score(t.UNANSWERED_POINTS, f"응답 실패: {reading.failure or reading.emptiness}"), failed
    return Score(row.points, reason), row.tools


def listed_numbers(numbers: Sequence[Fraction]) -> str:
    """The first numbers as people write them."""
    more = f" 외 {len(numbers) - _SHOWN_NUMBERS}개" if len(numbers) > _SHOWN_NUMBERS else ""
    return ", ".join(map(number_text, numbers[:_SHOWN_NUMBERS])) + more
