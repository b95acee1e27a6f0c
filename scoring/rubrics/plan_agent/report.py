"""The markdown report of the execution agent: the seed's template, then what a QA lead asks next. Source: seed 003, 4
and 6; SPEC 3.1."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.markdown import cell, percent, score_text, shortened, table
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.findings import checked_list, insights, slow_limit
from scoring.rubrics.plan_agent.formulas import PlanQuery
from scoring.rubrics.plan_agent.summary import Agreement, PlanSummary, low_scored, slow
from scoring.testruns.band_texts import band_rows
from scoring.testruns.repeats import repeat_line
from scoring.testruns.report_tables import (
    check_pattern_table,
    distribution_table,
    outage_table,
    quality_table,
    query_name,
)
from scoring.testruns.rubric import Options, ScoredExecution

_SHOWN_QUERIES = 20
_SHOWN_SLOW = 10
_REASON_CHARACTERS = 240

QUALITY_TITLES = {
    "failed": "실패한 실행(0점)",
    "empty": "빈 응답(0점)",
    "no_checks": "체크 항목이 없어 채점하지 않은 실행",
    "no_time": "응답 시간이 없어 속도에서 제외한 실행",
    "incomplete_rounds": "일부 라운드에 없는 질의",
    "unchecked_text": "규칙으로 확인하지 못한 기대결과 문장",
}
_ITEM_MEANINGS = {
    **{str(points): f"통과율 {text}" for text, points in band_rows(t.PASS_RATIO_POINTS, maximum=1)},
    str(t.NOTHING_PASSED_POINTS): "통과율 0, 실패, 빈 응답",
}
_SPEED_MEANINGS = {str(points): text for text, points in band_rows(t.SPEED_POINTS, "초")}


def report(name: str, queries: Sequence[PlanQuery], summary: PlanSummary, options: Options) -> str:
    """The whole report of the file `name`."""
    executions = [scored for query in queries for scored in query.executions]
    patterns, causes = summary.check_patterns, summary.outages
    rounds = ", ".join(summary.rounds)
    parts = [
        f"{t.REPORT_TITLE}\n- 데이터: {cell(name)}\n- 총 항목: {len(executions):,}\n- 실행: {rounds}",
        t.REPORT_BASIS,
        f"{t.REPORT_METRICS}\n{_metric_lines(summary)}",
        _metric_notes(summary),
        f"{t.REPORT_NOTES}\n{t.REPORT_SCORES}",
        distribution_table(summary, "accuracy", _ITEM_MEANINGS),
        t.REPORT_SPEEDS,
        distribution_table(summary, "speed", _SPEED_MEANINGS),
        t.REPORT_FAILURES,
        outage_table(causes) if causes else "안정성 0점인 실행이 없습니다.",
        "\n".join([t.REPORT_INSIGHTS, *(f"  - {line}" for line in insights(queries, patterns))]),
        check_pattern_table(patterns) if patterns else "",
        "## 운영 체크리스트",
        "표시([x])는 이상 없음, 빈칸([ ])은 사람이 확인할 항목입니다.",
        checked_list(queries, summary),
        *_low_section([query for query in queries if low_scored(query.executions)], summary),
        *_slow_section([query for query in queries if slow(query.executions)], summary),
        "## 기록된 LLM 점수와의 일치",
        _agreement(summary.agreement),
        "## 데이터 상태",
        f"루브릭 `plan-agent` 버전 {t.VERSION}, 옵션 `value_lookup={options['value_lookup']}`.",
        quality_table(summary.data_quality, QUALITY_TITLES),
        _lookup_note(summary.nested_only_checks, options),
        *_unchecked(queries),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _metric_lines(summary: PlanSummary) -> str:
    means = {**summary.rounds, "세트": summary.set}

    def averages(metric: str) -> str:
        return ", ".join(f"{name}: {score_text(figures[metric]['mean'])}" for name, figures in means.items())

    speeds = ", ".join(f"{name}: {_speed_text(figures['speed'])}" for name, figures in means.items())
    return "\n".join(
        [
            f"1) 의도 충족 — {averages('intent')}",
            f"2) 정확성 — {averages('accuracy')}",
            f"3) 일관성 — {score_text(summary.set['consistency']['mean'])}",
            f"4) 응답 속도 (단일) — {speeds}",
            f"5) 안정성 — {score_text(summary.set['stability']['mean'])}",
        ]
    )


def _speed_text(figures: Mapping[str, Any]) -> str:
    return f"{score_text(figures['latency_s'])}초 / {score_text(figures['speed_band_of_mean'])}"


def _metric_notes(summary: PlanSummary) -> str:
    """How many items and queries stand behind the figures, and the other reading of speed."""
    means = {**summary.rounds, "세트": summary.set}
    counted = ", ".join(f"{name}: {figures['accuracy']['n']:,}건" for name, figures in means.items())
    timed = ", ".join(f"{name}: {figures['speed']['n']:,}건" for name, figures in means.items())
    bands = ", ".join(f"{name}: {score_text(f['speed']['speed_mean_of_bands'])}" for name, f in means.items())
    pairs = summary.set["consistency"]
    stabilities = ", ".join(f"{name}: {score_text(f['stability']['mean'])}" for name, f in summary.rounds.items())
    return "\n".join(
        [
            f"- 의도 충족·정확성에 쓴 항목: {counted}. 두 지표는 같은 체크와 같은 산식을 씁니다.",
            f"- 일관성에 쓴 질의 {pairs['n']:,}개 = 모두 통과 {pairs['both_pass']:,} + 모두 미통과 "
            f"{pairs['both_fail']:,} + 불일치 {pairs['mixed']:,}. 제외: 한 라운드만 실행 {pairs['one_round']:,}개, "
            f"체크 항목 없음 {pairs['no_checks']:,}개.",
            *filter(None, [repeat_line(pairs)]),
            f"- 응답 속도의 점수는 평균 시간을 구간에 넣은 값입니다(시간이 있는 실행 {timed}). "
            f"항목별 구간 점수의 평균으로 읽으면 {bands}입니다.",
            f"- 라운드별 안정성: {stabilities}. 총 가중치 합산은 하지 않습니다.",
        ]
    )


def _low_section(queries: Sequence[PlanQuery], summary: PlanSummary) -> list[str]:
    """Every query with a round below passing, so all that disagree between rounds are among them."""
    if not queries:
        return []
    rows = (
        [
            query.query_id,
            query_name(query.query_text),
            *_by_round(query, summary, _item_text),
            "불일치" if query.scores["consistency"].points == t.INCONSISTENT_POINTS else "",
            _worst_reason(query),
        ]
        for query in queries[:_SHOWN_QUERIES]
    )
    title = f"## 0~{t.LOW_MAX_POINTS}점이 있는 질의 ({len(queries):,}개)"
    header = ["Query ID", "질의", *summary.rounds, "라운드 사이", "가장 낮은 점수의 이유"]
    return [title, table(header, rows), _not_shown(len(queries), _SHOWN_QUERIES)]


def _slow_section(queries: Sequence[PlanQuery], summary: PlanSummary) -> list[str]:
    if not queries:
        return []
    slowest = sorted(queries, key=lambda query: (-(query.latency_s or 0.0), query.query_id))
    rows = (
        [query.query_id, query_name(query.query_text), *_by_round(query, summary, _latency_text)]
        for query in slowest[:_SHOWN_SLOW]
    )
    title = f"## {slow_limit()}를 넘긴 실행이 있는 질의 ({len(queries):,}개)"
    return [title, table(["Query ID", "질의", *summary.rounds], rows), _not_shown(len(queries), _SHOWN_SLOW)]


def _by_round(query: PlanQuery, summary: PlanSummary, text: Any) -> list[str]:
    by_round = {str(scored.execution.round): text(scored) for scored in query.executions}
    return [by_round.get(name, "–") for name in summary.rounds]


def _item_text(scored: ScoredExecution) -> str:
    points = scored.scores["accuracy"].points
    return "미채점" if points is None else f"{points}점"


def _latency_text(scored: ScoredExecution) -> str:
    points = scored.scores["speed"].points
    return "–" if points is None else f"{score_text(scored.latency_s)}초 / {points}점"


def _worst_reason(query: PlanQuery) -> str:
    worst = min(low_scored(query.executions), key=lambda scored: scored.scores["accuracy"].points or 0)
    first, *others = worst.failed_checks or [worst.scores["accuracy"].reason]
    return shortened(first, _REASON_CHARACTERS) + (f" 외 {len(others)}개" if others else "")


def _not_shown(count: int, shown: int) -> str:
    return f"나머지 {count - shown:,}개는 점수표에 있습니다." if count > shown else ""


def _agreement(agreement: Agreement | None) -> str:
    if agreement is None:
        return "입력에 기록된 LLM 점수가 없어 비교하지 않았습니다."
    n, difference = agreement["n"], agreement["mean_difference"]
    sign = "+" if difference > 0 else "-" if difference < 0 else ""
    return (
        f"비교한 항목 {n:,}건 중 완전 일치 {agreement['exact']:,}건({percent(agreement['exact'] / n)}), "
        f"1점 이내 {agreement['within_1']:,}건({percent(agreement['within_1'] / n)}). "
        f"평균 차이(규칙 점수 - LLM 점수)는 {sign}{score_text(abs(difference))}점입니다. "
        "기록된 점수는 규칙 점수를 대신하지 않습니다."
    )


def _lookup_note(count: int, options: Options) -> str:
    direct = options["value_lookup"] == "direct"
    effect = "이 채점에서는 미통과로 셌습니다(value_lookup=direct)" if direct else "이 채점에서는 통과로 셌습니다"
    return (
        f"dataKey·buttonKey가 `value` 바로 아래에는 없고 그 안쪽(예: `nodeDataSet`)에서만 맞는 체크: {count:,}개. "
        f"{effect}. 바로 아래만 보던 예전 리포트와 점수가 다르면 먼저 이 수를 보십시오."
        if count
        else ""
    )


def _unchecked(queries: Sequence[PlanQuery]) -> list[str]:
    rows = [(query.query_id, sentence) for query in queries for _, sentence in query.problems]
    if not rows:
        return []
    shown = ((query_id, shortened(sentence, _REASON_CHARACTERS)) for query_id, sentence in rows[:_SHOWN_QUERIES])
    return [
        "### 규칙으로 확인하지 못한 기대결과",
        table(["Query ID", "문장과 이유"], shown),
        _not_shown(len(rows), _SHOWN_QUERIES),
    ]
