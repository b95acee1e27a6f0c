"""What a reader of a test-run report should know beside the scores: the input file, and what the judge was asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.judging.requests import STATUS_TITLES
from scoring.markdown import table
from scoring.testruns.rubric import AnyTestRunRubric
from scoring.testruns.testrun import TestRunFile
from tasks.reports.titles import NOTE_TITLES, cost_text

_REJECTS_SHOWN = 20
_LINES_SHOWN = 20


def trust_section(untrusted: Sequence[str], rubric: AnyTestRunRubric) -> str:
    """The part of the report about metrics that people's labels do not bear out, '' without any. Korean."""
    if not untrusted:
        return ""
    titles = ", ".join(metric.title for metric in rubric.metrics if metric.name in untrusted)
    return (
        f"## 신뢰 전 지표\n\n{titles}: 사람의 라벨과 일치하는 정도가 기준에 못 미칩니다(`aqb agreement`). "
        "점수만 보고 판단하지 마십시오."
    )


def judge_section(judge: Mapping[str, Any]) -> str:
    """The part of the report about the judge: questions by what became of them, tokens and cost. Korean."""
    rows = [(STATUS_TITLES[status], f"{count:,}") for status, count in judge["by_status"].items()]
    return "\n\n".join(
        [
            "## 판정 모델",
            f"질문 {judge['questions']:,}건 가운데 {judge['cached']:,}건은 전에 받은 판정을 다시 썼습니다. "
            f"이번에 쓴 토큰 {judge['tokens']:,}개, 비용 {cost_text(judge['cost'])}.",
            table(["질문의 결과", "건수"], rows),
        ]
    )


def input_section(run: TestRunFile) -> str:
    """The part of the report about the input file, in Korean."""
    counts = run.counts
    lines = [
        "## 입력 파일",
        f"행 {counts.rows_in:,}건 = 채점 {counts.scored:,} + 제외 {counts.excluded:,} + 거부 {counts.rejected:,}. "
        f"문항 {len(run.queries):,}개, 실행 {counts.executions:,}회.",
    ]
    if run.excluded_lines:
        shown = ", ".join(map(str, run.excluded_lines[:_LINES_SHOWN]))
        more = f" 외 {len(run.excluded_lines) - _LINES_SHOWN:,}건" if len(run.excluded_lines) > _LINES_SHOWN else ""
        lines.append(f"실행한 회차가 없어 제외한 행: {shown}{more}")
    if run.notes:
        lines.append("\n".join(f"- {NOTE_TITLES[code]}: {count:,}건" for code, count in run.notes.items()))
    if run.rejects:
        refused = run.rejects[:_REJECTS_SHOWN]
        lines.append(table(["줄", "열", "거부한 까닭"], ([row.line, row.column, row.reason] for row in refused)))
    if len(run.rejects) > _REJECTS_SHOWN:
        lines.append(f"그 밖에 {len(run.rejects) - _REJECTS_SHOWN:,}건은 `rejected.parquet`에 있습니다.")
    return "\n\n".join(lines) + "\n"
