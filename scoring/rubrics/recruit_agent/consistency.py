"""Whether repeated executions of a query give the same intents and visible content. Source: seed 004, 일관성."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scoring.judging.requests import STATUS_TITLES
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.rubrics.recruit_agent.intent import Intent
from scoring.stats.exact import rounded
from scoring.stats.intervals import mode_ratio
from scoring.testruns.executions import ParsedExecution
from scoring.testruns.raw_json import JsonObject, part_of
from scoring.testruns.rubric import Score
from scoring.testruns.tool_usage import filters_of


@dataclass(frozen=True)
class Consistency:
    """The score and its two halves; None if there is too little to compare, `ratio_a` also if a label is missing."""

    score: Score
    ratio_a: Fraction | None
    ratio_b: Fraction | None


def signature(reading: ParsedExecution) -> str:
    """The visible content as canonical JSON of the seed's key fields of every entry, independent of their order.

    `EMPTY` without entries and for a failed execution.
    """
    if reading.failure or not reading.response.ui_entries:
        return t.EMPTY_SIGNATURE
    return "[" + ",".join(sorted(_entry_signature(entry) for entry in reading.response.ui_entries)) + "]"


def consistency(intents: Sequence[Intent], signatures: Sequence[str]) -> Consistency:
    """((ratioA + ratioB) / 2) * 5 over the executions of one query; with fewer than two the seed gives 0.

    NULL if the judge gave no label for one of them: the status is the reason.
    """
    n = len(signatures)
    if n < t.MIN_EXECUTIONS:
        reason = (
            f"실행이 {n}건이라 반복을 비교할 수 없어 {t.TOO_FEW_EXECUTIONS_POINTS}점({t.MIN_EXECUTIONS}건 이상 필요)"
        )
        return Consistency(Score(t.TOO_FEW_EXECUTIONS_POINTS, reason), None, None)
    ratio_b = mode_ratio(signatures)
    seen = f"화면 구성 일치 {_share(ratio_b, n)}"
    labels = [intent.label for intent in intents if intent.label is not None]
    if len(labels) < n:
        missing = next(intent.missing for intent in intents if intent.label is None)
        why = STATUS_TITLES[missing]
        reason = f"의도 라벨을 판정받지 못한 실행 {n - len(labels)}건이 있어 채점하지 않음({why}), {seen}"
        return Consistency(Score(None, reason, missing), None, ratio_b)
    ratio_a = mode_ratio(labels)
    points = (ratio_a + ratio_b) / 2 * t.MAX_POINTS
    by_count = sorted(Counter(labels).items(), key=lambda one: (-one[1], one[0]))
    listed = ", ".join(f"{label} {count}건" for label, count in by_count)
    reason = f"의도 일치 {_share(ratio_a, n)}({listed}), {seen}으로 {rounded(points, 2)}점"
    return Consistency(Score(points, reason), ratio_a, ratio_b)


def _entry_signature(entry: JsonObject) -> str:
    ui_value = part_of(entry, "uiValue")
    value = part_of(ui_value, "value")
    fields = {
        **{key: ui_value.get(key) for key in t.SIGNATURE_KEYS},
        **{f"value.{key}": value.get(key) for key in t.SIGNATURE_VALUE_KEYS},
        "filterType": sorted(filters_of(ui_value)) or None,
    }
    known = {key: field for key, field in fields.items() if field is not None}
    try:
        return json.dumps(known, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return '"너무 깊은 값"'


def _share(ratio: Fraction, n: int) -> str:
    return f"{n}건 중 {int(ratio * n)}건"
