"""One explained row as text for a terminal, in Korean: what it is, what it scored, and which rule gave what."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from scoring.chat.rubric import RowRubric
from scoring.markdown import score_text, shortened
from scoring.rules.explain import Explanation, Finding
from tasks.chat.queries import FAILURE_TITLES

_ANSWER_CHARACTERS = 400
_POINTS_WIDTH = 6


def explanation_text(rubric: RowRubric, row_id: str, explanation: Explanation, time_zone: str) -> str:
    """The row with its local time, its scores, and every rule with its points; rules that were not met give 0."""
    values = explanation.values
    when = values["timestamp"].astimezone(ZoneInfo(time_zone))
    label = rubric.grade_labels[values["final_grade"]]
    titles = {definition.name: definition.title for definition in rubric.definitions}
    alert_titles = {rule.id: rule.title for rule in rubric.alert_rules}
    lines = [
        f"행 {row_id}   {when:%Y-%m-%d %H:%M:%S} {time_zone}   테넌트 {values['tenant_id'] or '(없음)'}",
        f"질문: {_one_line(values['user_input'])}",
        f"답변({values['answer_length']:,}자): {shortened(_one_line(values['llm_response']), _ANSWER_CHARACTERS)}",
        f"토큰: 입력 {_tokens(values['input_tokens'])}, 출력 {_tokens(values['output_tokens'])}",
        f"종합 {score_text(values['final_score'], 1)}점 = 등급 {label.sign} ({label.label} · {label.action})",
        f"질문 {values['q_score']}점({values['q_tier']}) · 답변 {values['a_score']}점({values['a_grade']})"
        f" · 상호작용 {values['i_score']}점",
        f"실패 유형: {_titled(values['failure_type'], FAILURE_TITLES)}"
        f" · 알림: {', '.join(_titled(rule, alert_titles) for rule in values['alert_rules']) or '없음'}"
        f" · 원인 태그: {values['cause'] or '없음'}",
    ]
    scored = (finding for finding in explanation.findings if isinstance(finding.points, int))
    for column, findings in groupby(scored, key=lambda finding: finding.column):
        lines.append(f"  {titles[column]} {values[column]}점  [{column}]")
        lines.extend(_finding_line(finding) for finding in findings)
    return "\n".join(lines)


def _finding_line(finding: Finding) -> str:
    return f"    {finding.points:>{_POINTS_WIDTH}}  {finding.label}"


def _titled(code: str | None, titles: Mapping[str, str]) -> str:
    return f"{code}({titles[code]})" if code else "없음"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tokens(count: float | None) -> str:
    return "NULL" if count is None else f"{count:,g}"


def explanation_dict(row_id: str, explanation: Explanation) -> dict[str, Any]:
    """The same for programs: every column and every finding."""
    findings = [vars(finding) for finding in explanation.findings]
    return {"row_id": row_id, **explanation.values, "findings": findings}
