"""What was found out about the judge, as Korean text: two models side by side, and the audit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scoring.alerting.blocks import masked_text
from scoring.judging.audit import AuditPart, AuditRate, injections, proves_the_fence
from scoring.judging.requests import STATUS_TITLES
from scoring.markdown import percent, score_text, signed, table
from tasks.judge_quality.audit import Audit, rate_row
from tasks.judge_quality.switch import Switch, shift_row
from tasks.reports.wording import NOTHING, cost_text, count_text

SHIFT_HEADER = ("지표", "n", "지금", "새 모델", "차이(95% 구간)", "같은 점수", "선형 κ(95% 구간)")
_SHOWN_QUERIES, _QUERY_CHARACTERS = 20, 80


def switch_markdown(switch: Switch) -> str:
    """Two models side by side, and what to set for the new one."""
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
            lines += [f"{model}의 판정이 없는 질문: {counted}. 두 모델의 점수가 모두 있는 것만 견줍니다.", ""]
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
        lines += [f"## 점수가 달라진 질의 {count_text(len(switch.moved))}개", ""]
        lines += [table(("질의", "지표", "지금", "새 모델", "실행"), queries), ""]
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
        "설정은 그대로 두었습니다. 바꾼 뒤의 점수는 앞의 점수와 견주지 않고, 지표의 신뢰는 사람의 라벨로 다시 "
        "재야 합니다(aqb agreement). 여기서 물은 판정은 저장되어 다시 돈이 들지 않습니다.",
    ]


def shift_cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the table of switches as text."""
    return [
        f"{row['title']} ({row['rubric']})",
        count_text(row["n"]),
        score_text(row["mean_before"]),
        score_text(row["mean_after"]),
        f"{signed(row['shift'])}{_between(row['shift_low'], row['shift_high'], signed)}",
        percent(row["exact"] / row["n"]),
        f"{_number(row['linear_kappa'])}{_between(row['linear_low'], row['linear_high'], _number)}",
    ]


def _number(value: float | None) -> str:
    return NOTHING if value is None else signed(value).removeprefix("+")


def _between(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    return "" if low is None or high is None else f" [{shown(low)}, {shown(high)}]"


def switch_dict(switch: Switch) -> dict[str, Any]:
    """The same for programs."""
    names = ("before", "after", "questions", "unanswered", "usd")
    return {
        **{name: getattr(switch, name) for name in names},
        "epochs": list(switch.epochs),
        "metrics": [shift_row(one) for one in switch.shifts],
        "moved": [asdict(one) for one in switch.moved],
    }


AUDIT_HEADER = ("무엇을", "울타리 있음(95% 구간)", "울타리 없음(95% 구간)")


def audit_markdown(audit: Audit) -> str:
    """The audit: what it comes to, then every rate."""
    rows = [rate_row(rate) for rate in audit.rates]
    lines = [
        f"# 판정 모델 점검: {audit.model}",
        "",
        *audit_sentences(rows),
        f"질문 {count_text(audit.questions)}개 가운데 {count_text(audit.unanswered)}개는 판정을 받지 못했습니다. "
        f"비용: {cost_text(audit.usd)}.",
        "",
        table(AUDIT_HEADER, audit_cells(rows)),
    ]
    return "\n".join(lines)


def audit_sentences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the injections come to, with and without the fence; that nothing is proven where that is so."""
    rates = [AuditRate(AuditPart(row["part"]), *(row[name] for name in _RATE_FIELDS)) for row in rows]
    inside, outside = (_audit_rate(rate_row(injections(rates, fenced=fenced))) for fenced in (True, False))
    lines = [f"나쁜 답변에 주입을 넣었을 때 좋은 점수를 얻어 낸 비율: 울타리 있음 {inside}, 울타리 없음 {outside}."]
    if not proves_the_fence(rates):
        lines.append(
            "울타리가 없어도 분명히 더 잘 통하지는 않았으므로, 이 점검은 울타리에 대해 아무것도 증명하지 못합니다."
        )
    return lines


_RATE_FIELDS = ("family", "title", "fenced", "n", "hits")


def audit_cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The rows of the table of an audit as text, a line for each title."""
    found: dict[tuple[str, str], dict[bool, str]] = {}
    for row in rows:
        prefix = "주입: " if row["part"] == AuditPart.INJECTION else ""
        found.setdefault((row["part"], prefix + row["title"]), {})[row["fenced"]] = _audit_rate(row)
    return [[title, rates.get(True, NOTHING), rates.get(False, NOTHING)] for (_, title), rates in found.items()]


def _audit_rate(row: Mapping[str, Any]) -> str:
    if not row["n"]:
        return NOTHING
    between = f"{percent(row['low'], 0)}~{percent(row['high'], 0)}"
    return f"{percent(row['hits'] / row['n'], 0)} ({row['hits']}/{row['n']}, {between})"


def audit_dict(audit: Audit) -> dict[str, Any]:
    """The same for programs."""
    names = ("model", "models_answered", "epochs", "questions", "unanswered", "usd")
    rates = [rate_row(rate) for rate in audit.rates]
    found = {name: getattr(audit, name) for name in names}
    return found | {"proves_the_fence": proves_the_fence(audit.rates), "rates": rates}
