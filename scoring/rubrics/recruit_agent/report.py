"""The markdown report of a recruiting agent: what a QA lead reads first. Source: seed 004; SPEC 3.2 and 4."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.markdown import score_text
from scoring.rubrics.recruit_agent import thresholds as t
from scoring.rubrics.recruit_agent.formulas import METRICS, RecruitQuery
from scoring.rubrics.recruit_agent.summary import RecruitSummary
from scoring.rules.bands import Bands, band_rows
from scoring.stats.exact import Exact, mean
from scoring.testruns.headline import look_first, main_cause, mean_name, score_again, size_text, worst_first
from scoring.testruns.patterns import main_causes
from scoring.testruns.rubric import Metric, Options
from scoring.testruns.summaries import as_float, mean_text, repeat_line, undecided_text
from scoring.testruns.totals import total_clause

QUALITY_TITLES = {
    "failed": "실패한 실행",
    "empty": "빈 응답",
    "not_evaluable": f"확인할 체크가 없어 정확성이 {t.NOT_EVALUABLE_POINTS}점인 실행",
    "no_time": f"응답 시간이 없어 속도가 {t.NO_TIME_POINTS}점인 실행",
    "too_few_executions": f"실행이 {t.MIN_EXECUTIONS}건 미만이라 일관성이 {t.TOO_FEW_EXECUTIONS_POINTS}점인 질의",
    "unchecked_text": "체크로 읽지 못한 기대결과 문장",
    "tools_not_shown": "Raw JSON이 없어 정확성을 알 수 없는 실행",
    "intent_no_judge": "판정 모델을 쓰지 않아 의도를 채점하지 않은 실행",
    "intent_refused": "판정 모델이 답을 거절한 실행",
    "intent_invalid": "판정 모델의 답이 형식에 맞지 않은 실행",
    "intent_failed": "판정 호출이 실패한 실행",
    "intent_over_budget": "판정 예산이 다해 판정하지 못한 실행",
}
_WEIGHT_TITLES = {
    "intent": "의도 충족",
    "consistency": "일관성",
    "accuracy": "정확성",
    "speed": "응답 속도",
    "stability": "안정성",
}


def _speed_meanings(bands: Bands[int]) -> dict[str, str]:
    meanings = {str(points): text for text, points in band_rows(bands, "초")}
    return meanings | {str(t.NO_TIME_POINTS): f"{meanings[str(t.NO_TIME_POINTS)]}, 응답 시간 없음"}


_MEANINGS = {
    "intent": {str(verdict.points): f"{word}: {verdict.meaning}" for word, verdict in t.INTENT_VERDICTS.items()},
    "accuracy": {
        **{str(points): f"통과율 {text}" for text, points in band_rows(t.PASS_RATIO_POINTS, maximum=1)},
        str(t.NOTHING_PASSED_POINTS): "통과율 0, 실패, 체크 없음",
    },
    "speed_single": _speed_meanings(t.SPEED_SINGLE_POINTS),
    "speed_multi": _speed_meanings(t.SPEED_MULTI_POINTS),
}
CRITERIA = {
    "intent": tuple(_MEANINGS["intent"].items()),
    "accuracy": tuple(_MEANINGS["accuracy"].items()),
    "consistency": (
        (str(t.MAX_POINTS), "모든 실행의 의도와 화면 구성이 같음"),
        (f"0~{t.MAX_POINTS}", f"(의도 일치율 + 화면 구성 일치율) / 2 × {t.MAX_POINTS}"),
        (str(t.TOO_FEW_EXECUTIONS_POINTS), f"실행이 {t.MIN_EXECUTIONS}건 미만"),
    ),
}
"""The scoring criteria, for people who score by hand."""


def report_values(queries: Sequence[RecruitQuery], summary: RecruitSummary, options: Options) -> dict[str, Any]:
    """The values of `report.md` beside the summary."""
    lowest = worst_first(queries, points_lost)
    return {
        "t": t,
        "metrics": METRICS,
        "executions": [scored for query in queries for scored in query.executions],
        "means_by_round": lambda metric: _means_by_round(summary, metric),
        "repeat_line": repeat_line(summary.set["consistency"]),
        "weights": ", ".join(f"{_WEIGHT_TITLES[name]} {share}%" for name, share in t.WEIGHTS.percents.items()),
        "distributions": [
            (metric, _MEANINGS[metric.name])
            for metric in METRICS
            if metric.name in _MEANINGS
            and any(set(figures[metric.name]) - {"null"} for figures in summary.distributions.values())
        ],
        "verdicts": ", ".join(f"{word} {count:,}건" for word, count in summary.intent_verdicts.items() if count),
        "labels": ", ".join(f"{label} {count:,}건" for label, count in summary.intent_labels.items() if count),
        "lowest": [query for query in lowest if points_lost(query.points)],
        "points": lambda query: [score_text(as_float(query.scores[metric.name].points)) for metric in METRICS],
        "worst_reason": _worst_reason,
        "flagged": [query for query in lowest if query.manual_review_reasons],
        "review_reasons": lambda query: ", ".join(QUALITY_TITLES[code] for code in query.manual_review_reasons),
        "quality_titles": QUALITY_TITLES,
    }


def headline(queries: Sequence[RecruitQuery], summary: RecruitSummary) -> list[str]:
    """What happened, what matters most, what to do (Korean)."""
    total = summary.set.get("weighted_total")
    told = [total_clause(total, _unknown(summary))] if total else []
    if not total or total["mean"] is None:
        told.insert(0, f"정확성은 {mean_name(summary)} {mean_text(summary.set['accuracy'])}점(5점 만점)")
    if undecided := undecided_text(summary.set["intent"]):
        told.append(f"의도 충족은 {undecided}")
    return [
        f"{size_text(queries)} {', '.join(told)}입니다.",
        main_cause(summary.check_patterns, summary.outages, queries),
        score_again(one.scores["intent"] for query in queries for one in query.executions)
        or look_first(queries, points_lost),
    ]


def _unknown(summary: RecruitSummary) -> list[str]:
    """The titles of the weighted metrics that are missing in the total."""
    known = {name for name, figures in summary.set.items() if figures["mean"] is not None}
    if known & {"speed_single", "speed_multi"}:
        known.add("speed")
    return [title for name, title in _WEIGHT_TITLES.items() if name not in known]


def points_lost(scores: Mapping[str, Exact | None]) -> Exact:
    """The weighted points that a query loses, by its scores; a table of an earlier version may lack some."""
    return t.WEIGHTS.lost({**scores, "speed": mean((scores.get("speed_single"), scores.get("speed_multi")))})


def _means_by_round(summary: RecruitSummary, metric: Metric) -> list[str]:
    if not metric.per_execution:
        return [""] * len(summary.rounds)
    return [mean_text(figures[metric.name]) for figures in summary.rounds.values()]


def _worst_reason(query: RecruitQuery) -> str:
    """Why the worst execution lost accuracy: that nothing was answered comes before the checks that fail on it."""
    scored = min(query.executions, key=lambda scored: scored.scores["accuracy"].points or 0)
    unanswered = scored.scores["stability"].reason if scored.unanswered else ""
    causes = unanswered or "; ".join(main_causes(scored.checks)) or scored.scores["accuracy"].reason
    return f"{scored.execution.round} {causes}"
