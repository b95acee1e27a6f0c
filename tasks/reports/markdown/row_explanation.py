"""One explained row as Korean text for a terminal: the row, its scores, and the points of each rule."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from scoring.chat.rubric import RowRubric
from scoring.markdown import one_line, score_text, shortened
from scoring.rules.explain import Explanation
from tasks.reports.wording import tenant_text

_ANSWER_CHARACTERS = 400
_POINTS_WIDTH = 6


def explanation_text(rubric: RowRubric, row_id: str, explanation: Explanation, time_zone: str) -> str:
    """The row with its local time, its scores, and every rule with its points; rules that were not met give 0."""
    values = explanation.values
    tenant = one_line(tenant_text(values["tenant_id"]))
    when = values["timestamp"].astimezone(ZoneInfo(time_zone))
    final = rubric.final_scale
    grade = final.grade(values[final.column])
    meaning = " · ".join(filter(None, (grade.title, grade.action)))
    grades = {column: names[values[column]] for column, names in rubric.grade_names.items()}
    lines = [
        f"행 {row_id}   {when:%Y-%m-%d %H:%M:%S} {time_zone}   테넌트 {tenant}",
        f"질문: {one_line(values['user_input'])}",
        f"답변({len(values['llm_response']):,}자): {shortened(one_line(values['llm_response']), _ANSWER_CHARACTERS)}",
        f"토큰: 입력 {_tokens(values['input_tokens'])}, 출력 {_tokens(values['output_tokens'])}",
        f"{final.subject} {score_text(values[rubric.total], 1)}점 = 등급 {grade.sign} ({meaning})",
        " · ".join(
            f"{part.subject} {values[part.column]}점" + (f"({grades[part.grade_column]})" if part.grade_column else "")
            for part in rubric.parts
        ),
        f"실패 유형: {_titled(values[rubric.failure.column], rubric.failure.titles)}"
        f" · 알림: {', '.join(_titled(rule, rubric.rule_titles) for rule in values['alert_rules']) or '없음'}"
        + (f" · {rubric.titles[rubric.cause]}: {_titled(values[rubric.cause], rubric.titles)}" if rubric.cause else ""),
    ]
    scored = (finding for finding in explanation.findings if isinstance(finding.points, int))
    for column, findings in groupby(scored, key=lambda finding: finding.column):
        lines.append(f"  {rubric.titles[column]} {values[column]}점 ({column})")
        lines.extend(f"    {finding.points:>{_POINTS_WIDTH}}  {finding.label}" for finding in findings)
    return "\n".join(lines)


def _titled(code: str | None, titles: Mapping[str, str]) -> str:
    return f"{titles[code]} ({code})" if code else "없음"


def _tokens(count: float | None) -> str:
    return "미측정" if count is None else f"{count:,g}"


def explanation_dict(row_id: str, explanation: Explanation) -> dict[str, Any]:
    """The same for programs: every column and every finding."""
    findings = [vars(finding) for finding in explanation.findings]
    return {"row_id": row_id, **explanation.values, "findings": findings}
