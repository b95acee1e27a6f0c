"""Results about the judge as Korean text: two models side by side, and the audit."""

from dataclasses import asdict
from typing import Any

from scoring.alerting.blocks import masked_text
from scoring.judging.audit import proves_the_fence
from scoring.judging.requests import STATUS_TITLES
from scoring.markdown import score_text, table
from tasks.judge_quality.audit import Audit, rate_row
from tasks.judge_quality.switch import Switch, shift_row
from tasks.reports.judge_tables import AUDIT_HEADER, SHIFT_HEADER, audit_cells, audit_sentences, shift_cells
from tasks.reports.wording import cost_text, count_text

_SHOWN_QUERIES, _QUERY_CHARACTERS = 20, 80


def switch_markdown(switch: Switch) -> str:
    """Two models side by side, and the settings for the new one."""
    lines = [
        f"# 판정 모델: {switch.before} → {switch.after}",
        "",
        f"질문 {count_text(switch.questions)}개에 두 모델이 답한 판정으로 같은 실행을 채점했습니다. "
        f"새로 물은 비용: {cost_text(switch.usd)}.",
        "",
        table(SHIFT_HEADER, [shift_cells(shift_row(one)) for one in switch.shifts]),
        "",
    ]
    for model, statuses in switch.unanswered.items():
        if statuses:
            counted = ", ".join(f"{STATUS_TITLES[code]} {count:,}개" for code, count in statuses.items())
            lines += [f"{model}의 판정이 없는 질문: {counted}. 두 모델의 점수가 모두 있는 것만 비교합니다.", ""]
    if switch.moved:
        queries = [
            (
                masked_text(one.text, _QUERY_CHARACTERS),
                one.title,
                score_text(one.before),
                score_text(one.after),
                one.run,
            )
            for one in switch.moved[:_SHOWN_QUERIES]
        ]
        moved = {(one.run, one.query_id) for one in switch.moved}  # a query has a line for each of its metrics
        lines += [f"## 점수가 달라진 질의 {count_text(len(moved))}개", ""]
        lines += [table(("질의", "지표", "지금", "새 모델", "실행"), queries), ""]
        if len(switch.moved) > _SHOWN_QUERIES:
            rest = len(switch.moved) - _SHOWN_QUERIES
            lines += [f"많이 달라진 것부터 {_SHOWN_QUERIES}줄만 실었습니다. 그 밖에 {rest:,}줄이 있습니다.", ""]
    return "\n".join([*lines, *_what_to_set(switch)])


def _what_to_set(switch: Switch) -> list[str]:
    return [
        "## 바꾸려면",
        "",
        "```toml",
        "[judge]",
        f'model = "{switch.after}"',
        "```",
        "",
        "설정은 그대로 두었습니다. 바꾼 뒤의 점수는 앞의 점수와 비교하지 않고, 지표의 신뢰는 사람의 라벨로 다시 "
        "재야 합니다(aqb agreement). 여기서 물은 판정은 저장되어 다시 돈이 들지 않습니다.",
    ]


def switch_dict(switch: Switch) -> dict[str, Any]:
    """The same for programs."""
    names = ("before", "after", "questions", "unanswered", "usd")
    return {
        **{name: getattr(switch, name) for name in names},
        "epochs": list(switch.epochs),
        "metrics": [shift_row(one) for one in switch.shifts],
        "moved": [asdict(one) for one in switch.moved],
    }


def audit_markdown(audit: Audit) -> str:
    """The audit: its conclusion, then every rate."""
    rows = [rate_row(rate) for rate in audit.rates]
    lines = [
        f"# 판정 모델 점검: {audit.model}",
        "",
        *audit_sentences(rows),
        f"질문 {count_text(audit.questions)}개를 물었고, 판정이 없는 질문은 {count_text(audit.unanswered)}개입니다. "
        f"비용: {cost_text(audit.usd)}.",
        "",
        table(AUDIT_HEADER, audit_cells(rows)),
    ]
    return "\n".join(lines)


def audit_dict(audit: Audit) -> dict[str, Any]:
    """The same for programs."""
    names = ("model", "models_answered", "epochs", "questions", "unanswered", "usd")
    rates = [rate_row(rate) for rate in audit.rates]
    found = {name: getattr(audit, name) for name in names}
    return found | {"proves_the_fence": proves_the_fence(audit.rates), "rates": rates}
