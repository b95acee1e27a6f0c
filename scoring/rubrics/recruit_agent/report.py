"""The markdown report of a recruiting agent: what a QA lead reads first. Source: seed 004; SPEC 3.2 and 4."""

from collections.abc import Sequence

from scoring.markdown import cell, percent, score_text, shortened, table
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.rubrics.recruit_agent.formulas import EXECUTION_METRICS, METRICS, RecruitQuery
from scoring.rubrics.recruit_agent.summary import RecruitSummary
from scoring.testruns.band_texts import band_rows
from scoring.testruns.repeats import repeat_line
from scoring.testruns.report_tables import (
    check_pattern_table,
    distribution_table,
    outage_table,
    problem_table,
    quality_table,
    query_name,
)
from scoring.testruns.rubric import Metric, Options

_SHOWN_QUERIES = 20
_SHOWN_LOWEST = 10
_REASON_CHARACTERS = 240

QUALITY_TITLES = {
    "failed": "실패한 실행",
    "empty": "빈 응답",
    "not_evaluable": f"확인할 체크가 없어 정확성이 {t.NOT_EVALUABLE_POINTS}점인 실행",
    "no_time": f"응답 시간이 없어 속도가 {t.NO_TIME_POINTS}점인 실행",
    "too_few_executions": f"실행이 {t.MIN_EXECUTIONS}건 미만이라 일관성이 {t.TOO_FEW_EXECUTIONS_POINTS}점인 질의",
    "unchecked_text": "체크로 읽지 못한 기대결과 문장",
    "intent_no_judge": "판정 모델을 쓰지 않아 의도를 채점하지 않은 실행",
    "intent_refused": "판정 모델이 거절한 실행",
    "intent_invalid": "판정 모델의 답이 형식에 맞지 않은 실행",
    "intent_failed": "판정 호출이 실패한 실행",
    "intent_over_budget": "예산을 넘겨 판정하지 못한 실행",
}
_WEIGHT_TITLES = {
    "intent": "의도 충족",
    "consistency": "일관성",
    "accuracy": "정확성",
    "speed": "응답 속도",
    "stability": "안정성",
}
_MEANINGS = {
    "intent": {str(verdict.points): f"{word}: {verdict.meaning}" for word, verdict in t.INTENT_VERDICTS.items()},
    "accuracy": {
        **{str(points): f"통과율 {text}" for text, points in band_rows(t.PASS_RATIO_POINTS, maximum=1)},
        str(t.NOTHING_PASSED_POINTS): "통과율 0, 실패, 체크 없음",
    },
    "speed_single": {str(points): text for text, points in band_rows(t.SPEED_SINGLE_POINTS, "초")},
    "speed_multi": {str(points): text for text, points in band_rows(t.SPEED_MULTI_POINTS, "초")},
}


def report(name: str, queries: Sequence[RecruitQuery], summary: RecruitSummary, options: Options) -> str:
    """The whole report of the file `name`."""
    executions = [scored for query in queries for scored in query.executions]
    patterns, causes = summary.check_patterns, summary.outages
    unchecked = problem_table(queries, ["Query ID", "문장과 이유"], _REASON_CHARACTERS, _SHOWN_QUERIES)
    parts = [
        f"# 채용 에이전트 스코어링 리포트\n- 데이터: {cell(name)}\n"
        f"- 질의 {len(queries):,}개, 실행 {len(executions):,}건 ({', '.join(summary.rounds)})\n"
        f"- 루브릭 `recruit-agent` 버전 {t.VERSION}, 옵션 `weighted_total={options['weighted_total']}`",
        f"> {summary.notice}" if summary.notice else "",
        "## 지표별 점수",
        _metric_table(summary),
        _total_note(summary),
        "## 분포",
        *(part for metric in METRICS if metric.name in _MEANINGS for part in _distribution(summary, metric)),
        *_verdicts(summary),
        "## 실패와 빈 응답",
        outage_table(causes) if causes else "실패하거나 빈 응답이 없습니다.",
        "## 통과하지 못한 체크",
        check_pattern_table(patterns) if patterns else "통과하지 못한 체크가 없습니다.",
        "## 종합 점수가 낮은 질의" if options["weighted_total"] == "on" else "## 정확성이 낮은 질의",
        _lowest(queries, options),
        *_manual_review(queries),
        "## 데이터 상태",
        quality_table(summary.data_quality, QUALITY_TITLES),
        *(["### 체크로 읽지 못한 기대결과", unchecked] if unchecked else []),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _metric_table(summary: RecruitSummary) -> str:
    rows = [
        [
            metric.title,
            *(score_text(figures[metric.name]["mean"]) for figures in summary.rounds.values()),
            score_text(summary.set[metric.name]["mean"]),
            f"{summary.set[metric.name]['n']:,}건",
        ]
        if metric.per_execution
        else [
            metric.title,
            *("" for _ in summary.rounds),
            score_text(summary.set[metric.name]["mean"]),
            f"질의 {summary.set[metric.name]['n']:,}개",
        ]
        for metric in METRICS
    ]
    return table(["지표", *summary.rounds, "세트", "n"], rows)


def _total_note(summary: RecruitSummary) -> str:
    pairs = summary.set["consistency"]
    halves = " / ".join("–" if pairs[half] is None else percent(pairs[half]) for half in ("ratio_a", "ratio_b"))
    lines = [f"- 일관성의 두 축: 의도 일치율 / 화면 구성 일치율 {halves}", *filter(None, [repeat_line(pairs)])]
    if "weighted_total" in summary.set:
        total = summary.set["weighted_total"]
        weights = ", ".join(f"{_WEIGHT_TITLES[name]} {share}%" for name, share in t.WEIGHTS.percents.items())
        lines.append(
            f"- 종합 점수 {score_text(total['mean'])} (가중치의 {percent(total['weight_coverage'], 0)}를 채점함). "
            f"가중치: {weights}. 채점하지 못한 지표의 가중치는 나머지에 나누었습니다."
        )
    return "\n".join(lines)


def _distribution(summary: RecruitSummary, metric: Metric) -> list[str]:
    scored = any(set(figures[metric.name]) - {"null"} for figures in summary.distributions.values())
    return [f"### {metric.title}", distribution_table(summary, metric.name, _MEANINGS[metric.name])] if scored else []


def _verdicts(summary: RecruitSummary) -> list[str]:
    if not any(summary.intent_verdicts.values()):
        return []
    verdicts = ", ".join(f"{word} {count:,}건" for word, count in summary.intent_verdicts.items() if count)
    labels = ", ".join(f"{label} {count:,}건" for label, count in summary.intent_labels.items() if count)
    return [f"- 의도 판정: {cell(verdicts)}\n- 의도 라벨: {cell(labels)}"]


def _lowest(queries: Sequence[RecruitQuery], options: Options) -> str:
    key = _total if options["weighted_total"] == "on" else _accuracy
    rows = (
        [
            query.query_id,
            query_name(query.query_text),
            *([score_text(query.total.points)] if options["weighted_total"] == "on" else []),
            *(score_text(_float(query, name)) for name in (*EXECUTION_METRICS, "consistency")),
            shortened(_worst_reason(query), _REASON_CHARACTERS),
        ]
        for query in sorted(queries, key=key)[:_SHOWN_LOWEST]
    )
    total = ["종합"] if options["weighted_total"] == "on" else []
    return table(["Query ID", "질의", *total, *(metric.title for metric in METRICS), "정확성이 가장 낮은 실행"], rows)


def _total(query: RecruitQuery) -> tuple[float, str]:
    return query.total.points or 0.0, query.query_id


def _accuracy(query: RecruitQuery) -> tuple[float, str]:
    return _float(query, "accuracy") or 0.0, query.query_id


def _float(query: RecruitQuery, metric: str) -> float | None:
    points = query.scores[metric].points
    return None if points is None else float(points)


def _worst_reason(query: RecruitQuery) -> str:
    scored = min(query.executions, key=lambda scored: scored.scores["accuracy"].points or 0)
    return f"{scored.execution.round} {scored.scores['accuracy'].reason}"


def _manual_review(queries: Sequence[RecruitQuery]) -> list[str]:
    flagged = [query for query in queries if query.manual_review_reasons]
    if not flagged:
        return []
    rows = (
        [
            query.query_id,
            query_name(query.query_text),
            ", ".join(QUALITY_TITLES[code] for code in query.manual_review_reasons),
        ]
        for query in flagged[:_SHOWN_QUERIES]
    )
    return [f"## 수기 확인 대상 ({len(flagged):,}개)", table(["Query ID", "질의", "까닭"], rows)]
