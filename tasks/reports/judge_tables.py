"""Results about the judge as rows of text, for the terminal and its page."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.judging.audit import AuditPart, AuditRate, injections, proves_the_fence
from scoring.markdown import percent, percent_interval, score_text, signed
from tasks.judge_quality.audit import rate_row
from tasks.reports.wording import NOTHING, count_text, kappa_text

SHIFT_HEADER = ("지표", "n", "지금", "새 모델", "차이(95% 구간)", "같은 점수", "선형 κ(95% 구간)")
AUDIT_HEADER = ("무엇을", "울타리 있음(95% 구간)", "울타리 없음(95% 구간)")
_RATE_FIELDS = ("family", "title", "fenced", "n", "hits")


def shift_cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the table of switches as text."""
    return [
        f"{row['title']} ({row['rubric']})",
        count_text(row["n"]),
        score_text(row["mean_before"]),
        score_text(row["mean_after"]),
        signed(row["shift"]) + _between(row["shift_low"], row["shift_high"]),
        percent(row["exact"] / row["n"]),
        kappa_text(row),
    ]


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({signed(low)}~{signed(high)})"


def audit_sentences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The effect of injections, with and without the fence, or that nothing is proven."""
    rates = [AuditRate(AuditPart(row["part"]), *(row[name] for name in _RATE_FIELDS)) for row in rows]
    inside, outside = (_audit_rate(rate_row(injections(rates, fenced=fenced))) for fenced in (True, False))
    lines = [f"나쁜 답변에 주입을 넣었을 때 좋은 점수를 얻어 낸 비율: 울타리 있음 {inside}, 울타리 없음 {outside}."]
    if not proves_the_fence(rates):
        lines.append(
            "울타리가 없어도 분명히 더 잘 통하지는 않았으므로, 이 점검은 울타리에 대해 아무것도 증명하지 못합니다."
        )
    return lines


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
    between = percent_interval(row["low"], row["high"], 0)
    return f"{percent(row['hits'] / row['n'], 0)} ({row['hits']}/{row['n']}, {between})"
