"""Words and numbers as reports and pages show them, in Korean. Numbers are rounded half away from zero."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.chat.kpis import ALL_TENANTS
from scoring.inputs import Reject
from scoring.markdown import number_text, percent, score_text, shortened
from scoring.stats.intervals import Coefficient, Interval

NOTHING = "–"

EMPTY_TENANT = "(빈 테넌트)"
_TENANT_CHARACTERS = 60
_LINES_SHOWN = 5

MOST_TENANTS = 40
"""Of so many tenants reports and pages have a row each: those with the most rows. Of thousands of rows nobody reads the
others, and they made pages of megabytes."""

# Codes of `TestRunFile.notes`.
NOTE_TITLES = {
    "blank_query_id": "질의 ID가 비어 행 번호를 ID로 쓴 행",
    "formulas_not_calculated": "값이 저장되지 않은 수식 칸(채점할 칸이면 행을 거부함. Excel에서 저장하면 값이 들어감)",
    "hidden_rows": "필터나 사람이 숨긴 행(숨기지 않은 행처럼 채점함)",
    "hidden_sheets": "읽지 않은 숨긴 시트",
    "other_sheets": "테스트 실행이 아니어서 읽지 않은 시트",
    "unknown_agent_type": "알 수 없는 에이전트 유형(파일 이름이나 옵션을 따름)",
    "unknown_latency_class": "SINGLE도 MULTI도 아닌 latencyClass(다른 근거로 정함)",
    "unknown_recorded_score": "숫자가 아닌 LLM 점수(기록된 점수가 없는 것으로 봄)",
}


def lines_of_text(name: str) -> str:
    """What the line of a rejected row is in the file `name` (Korean); '' of a workbook, where it is Excel's row."""
    if name.lower().endswith(".xlsx"):
        return ""
    return "줄은 파일을 텍스트로 볼 때의 번호입니다. 앞에 줄바꿈이 든 칸이 있으면 Excel에서 보이는 행 번호보다 큽니다."


@dataclass(frozen=True)
class RejectCause:
    """Why rows of a test run were rejected; `lines` names the first of them (Korean)."""

    lines: str
    column: str
    reason: str
    rows: int


def reject_causes(rejects: Iterable[Reject]) -> list[RejectCause]:
    """The causes in the order of the file: a column that Excel has spoiled is one, however many rows it costs."""
    places: dict[tuple[str, str], list[str]] = {}
    for one in rejects:
        places.setdefault((one.column or "행 전체", one.reason), []).append(count_text(one.line))
    return [
        RejectCause(
            ", ".join(lines[:_LINES_SHOWN]) + (f" 외 {len(lines) - _LINES_SHOWN:,}행" if lines[_LINES_SHOWN:] else ""),
            column,
            reason,
            len(lines),
        )
        for (column, reason), lines in places.items()
    ]


# Codes of chat rows that could not be read or scored.
REJECTION_TITLES = {
    "broken_encoding": "글자가 깨진 값",
    "broken_quotes": "따옴표가 닫히지 않은 줄",
    "infinite_tokens": "무한대인 토큰 수",
    "negative_tokens": "음수인 토큰 수",
    "not_a_number": "숫자로 읽을 수 없는 토큰 수",
    "not_a_timestamp": "시각으로 읽을 수 없는 값",
    "not_an_object": "JSON 객체가 아닌 줄",
    "not_json": "JSON으로 읽을 수 없는 줄",
    "not_text": "글자가 아닌 값",
    "other_format": "다른 형식의 객체가 있는 줄",
    "reserved_tenant": "쓸 수 없는 테넌트 이름",
    "streamed_chunk": "스트리밍 응답의 조각",
    "timestamp_missing": "빈 시각",
    "timestamp_out_of_range": "범위를 벗어난 시각",
    "wrong_field_count": "열의 수가 머리글과 다른 줄",
}


def count_text(count: int | None) -> str:
    """A count with its thousands apart; None is a dash."""
    return NOTHING if count is None else f"{count:,}"


def counted_rows_text(total: Mapping[str, Any], rejected: int) -> str:
    """What became of the rows of a day: `400행 가운데 63행을 채점하고 337행은 읽지 못해 거부했습니다.`

    `total` is its KPI row of all tenants.
    """
    scored, excluded = total["rows"], total["excluded"]
    why = "(질문이나 답변이 없음)"
    match (bool(scored), bool(excluded), bool(rejected)):
        case (False, False, False):
            return "이날 들어온 행이 없습니다."
        case (True, False, False):
            return f"{scored:,}행을 모두 채점했습니다."
        case (False, True, False):
            return f"{excluded:,}행을 모두 제외했습니다{why}."
        case (False, False, True):
            return f"{rejected:,}행이 들어왔지만 하나도 읽지 못해 거부했습니다."
        case (True, True, False):
            return f"{scored + excluded:,}행 가운데 {scored:,}행을 채점하고 {excluded:,}행을 제외했습니다{why}."
    set_apart = f"{excluded:,}행은 제외했으며{why} " if excluded else ""
    begin = f"{scored + excluded + rejected:,}행 가운데 {scored:,}행을 채점했고, "
    return f"{begin}{set_apart}{rejected:,}행은 읽지 못해 거부했습니다."


def repeated_rows_text(count: int) -> str:
    """The rows that are equal to an earlier one, by what row ids are made of: how many there are."""
    return f"앞의 행과 시각·테넌트·세션·질문·답변 길이가 모두 같은 행이 {count_text(count)}건"


def share_text(count: int, total: int) -> str:
    """A count as a share of a total; a dash where the total is 0."""
    return percent(count / total if total else None)


def counted_share_text(count: int | None, total: int) -> str:
    """`45 (11.3%)`; a dash where the count is not known or the total is 0."""
    return f"{count:,} ({share_text(count, total)})" if count is not None and total else NOTHING


def rules_text(version: str) -> str:
    """The rules that scored something: `채점 기준 버전 1`, behind it the options that were changed."""
    number, *options = version.split("+")
    return f"채점 기준 버전 {number}" + (f" ({', '.join(options)})" if options else "")


def tenant_text(tenant: str | None) -> str:
    """A tenant as people know it; a name is cut where messages cut it, too, or it would push the figures of its row
    out of sight."""
    if tenant is None:
        return "(테넌트 없음)"
    return "전체" if tenant == ALL_TENANTS else shortened(tenant or EMPTY_TENANT, _TENANT_CHARACTERS)


def other_tenants_text(count: int) -> str:
    """The tenants for which a table has no row of their own."""
    return f"그 밖의 테넌트 {count:,}곳"


def kappa_text(agreement: Mapping[str, Any]) -> str:
    """Linear kappa with its interval: `0.62 (0.41~0.80)`; a dash where all scores are one and the same."""
    value, low, high = (agreement[f"linear_{part}"] for part in ("kappa", "low", "high"))
    return coefficient_text(Coefficient(value, None if low is None else Interval(low, high)))


def coefficient_text(one: Coefficient) -> str:
    """A coefficient of agreement with its interval: `0.62 (0.41~0.80)`; a dash where it has no value."""
    if one.value is None:
        return NOTHING
    return number_text(one.value) + between_text(one.interval)


def between_text(interval: Interval | None) -> str:
    """An interval behind its value: ` (0.41~0.80)`, '' for none."""
    return "" if interval is None else f" ({number_text(interval.low)}~{number_text(interval.high)})"


def seconds_text(seconds: float | None) -> str:
    """Seconds with two decimals."""
    return NOTHING if seconds is None else f"{score_text(seconds)}초"


def weights_text(coverage: float | None) -> str:
    """How much of the weights a total has, in the words of the reports: `가중치의 70%만 채점`, `가중치 100%`."""
    is_partial = coverage is not None and coverage < 1
    return f"가중치의 {percent(coverage, 0)}만 채점" if is_partial else f"가중치 {percent(coverage, 0)}"


def cost_text(usd: float | None) -> str:
    """What the judge cost; None where price or usage are unknown."""
    if usd is None:
        return "가격이나 사용량을 몰라 계산하지 못함"
    return f"{score_text(usd, 4)} USD" if usd else "0 USD"
