"""The texts about a run of the execution agent: the seed's template, its operating check list filled in from the
scores, the first sentences, and insight lines, each a count. Source: seed 003, 4 and 6; SPEC 3.1 and 10.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from scoring.markdown import cell, examples, percent, score_text, shortened
from scoring.rubrics.plan_agent import thresholds as t
from scoring.rubrics.plan_agent.formulas import PlanExecution, PlanQuery, both_pass
from scoring.rubrics.plan_agent.summary import PlanSummary, low_scored, slow
from scoring.rules.bands import band_rows
from scoring.stats.exact import Exact
from scoring.testruns.headline import main_cause, mean_name, query_name, size_text, worst_first
from scoring.testruns.patterns import CheckPattern, Outage, check_patterns, main_causes, outages
from scoring.testruns.rubric import Options, ScoredExecution
from scoring.testruns.summaries import repeat_line

_SHOWN_PATTERNS = 3
_SHOWN_QUERIES = 3
_CAUSE_CHARACTERS = 160
_REASON_CHARACTERS = 240

QUALITY_TITLES = {
    "failed": "실패한 실행(0점)",
    "empty": "빈 응답(0점)",
    "no_checks": "체크 항목이 없어 채점하지 않은 실행",
    "no_time": "응답 시간이 없어 속도에서 제외한 실행",
    "incomplete_rounds": "일부 회차에 없는 질의",
    "unchecked_text": "규칙으로 확인하지 못한 기대결과 문장",
    "tools_not_shown": "Raw JSON이 없어 정확성을 알 수 없는 실행",
}
SAME_TITLE = "질의마다 회차 점수 가운데 가장 흔한 것의 비율"
_ITEM_MEANINGS = {
    **{str(points): f"통과율 {text}" for text, points in band_rows(t.PASS_RATIO_POINTS, maximum=1)},
    str(t.NOTHING_PASSED_POINTS): "통과율 0, 실패, 빈 응답",
}
CRITERIA = {
    "intent": tuple(_ITEM_MEANINGS.items()),
    "accuracy": tuple(_ITEM_MEANINGS.items()),
    "consistency": (
        (str(t.CONSISTENT_POINTS), f"회차가 모두 {t.PASS_MIN_POINTS}점 이상이거나 모두 {t.PASS_MIN_POINTS}점 미만"),
        (str(t.INCONSISTENT_POINTS), "회차마다 엇갈림"),
    ),
}
"""The scoring criteria, for people who score by hand."""
_SPEED_MEANINGS = {str(points): text for text, points in band_rows(t.SPEED_POINTS, "초")}


def report_values(queries: Sequence[PlanQuery], summary: PlanSummary, options: Options) -> dict[str, Any]:
    """The values of `report.md` beside the summary."""
    figures = {**summary.rounds, "세트": summary.set}

    def each(text: Callable[[Mapping[str, Any]], str], rounds: Mapping[str, Any] = figures) -> str:
        return ", ".join(f"{name}: {text(of_round)}" for name, of_round in rounds.items())

    return {
        "t": t,
        "executions": [scored for query in queries for scored in query.executions],
        "means": lambda metric, name="mean": each(lambda one: score_text(one[metric][name])),
        "counts": lambda metric: each(lambda one: f"{one[metric]['n']:,}건"),
        "speeds": each(lambda one: _speed_text(one["speed"])),
        "zeros": zeros_text(summary),
        "stabilities": each(lambda one: score_text(one["stability"]["mean"]), summary.rounds),
        "pairs": summary.set["consistency"],
        "repeat_line": repeat_line(summary.set["consistency"], SAME_TITLE),
        "item_meanings": _ITEM_MEANINGS,
        "speed_meanings": _SPEED_MEANINGS,
        "insights": insights(queries, summary.check_patterns),
        "checked_list": checked_list(queries, summary),
        "low": lowest_queries(queries),
        "late": slowest_queries(queries),
        "slow_limit": slow_limit(),
        "by_round": lambda query, metric: _by_round(query, summary, metric),
        "worst_reason": _worst_reason,
        "quality_titles": QUALITY_TITLES,
    }


def _speed_text(figures: Mapping[str, Any]) -> str:
    return f"{score_text(figures['latency_s'])}초 / {score_text(figures['speed_band_of_mean'])}"


def _by_round(query: PlanQuery, summary: PlanSummary, metric: str) -> list[str]:
    by_round = {str(scored.execution.round): _text(scored, metric) for scored in query.executions}
    return [by_round.get(name, "–") for name in summary.rounds]


def _text(scored: ScoredExecution, metric: str) -> str:
    points = scored.scores[metric].points
    if metric == "speed":
        return "–" if points is None else f"{score_text(scored.latency_s)}초 / {points}점"
    return "점수 없음" if points is None else f"{points}점"


def _worst_reason(query: PlanQuery) -> str:
    """The first cause of the lowest execution, and the number of other causes in all low executions."""
    worst_first = sorted(low_scored(query.executions), key=lambda scored: scored.scores["accuracy"].points or 0)
    causes = (main_causes(scored.checks) or [scored.scores["accuracy"].reason] for scored in worst_first)
    first, *others = dict.fromkeys(cause for of_one in causes for cause in of_one)
    return shortened(first, _REASON_CHARACTERS) + (f" 외 {len(others)}가지" if others else "")


def headline(queries: Sequence[PlanQuery], summary: PlanSummary) -> list[str]:
    """What happened, what matters most, what to do (Korean)."""
    return [
        f"{size_text(queries)} {_scored(queries, summary)}.",
        main_cause(summary.check_patterns, _without_answer(queries), queries),
        _to_do(queries, summary),
    ]


def _without_answer(queries: Sequence[PlanQuery]) -> list[Outage]:
    """Why executions failed or are empty; failed checks of executions with an answer do not count."""
    return outages(one for query in queries for one in query.executions if one.unanswered)


def _scored(queries: Sequence[PlanQuery], summary: PlanSummary) -> str:
    """Accuracy with its n if some executions have none, and consistency or why it is unknown."""
    pairs, accuracy = summary.set["consistency"], summary.set["accuracy"]
    if accuracy["mean"] is None:
        if unseen := summary.data_quality["tools_not_shown"]:
            return f"Raw JSON이 없는 실행 {unseen:,}건이 있어 정확성은 알 수 없습니다"
        return "기대결과에 체크 항목이 없어 정확성은 알 수 없습니다"
    executions = sum(len(query.executions) for query in queries)
    n = f", 채점한 실행 {accuracy['n']:,}건" if accuracy["n"] < executions else ""
    known = f"정확성은 {mean_name(summary)} {score_text(accuracy['mean'])}점(5점 만점{n})"
    if not pairs["n"]:
        why = "회차가 하나뿐이라" if len(summary.rounds) < t.MIN_ROUNDS else "회차를 비교할 질의가 없어"
        return f"{known}이며, {why} 일관성은 알 수 없습니다"
    return (
        f"{known}입니다: 비교한 질의 {pairs['n']:,}개 중 모두 통과 {pairs['both_pass']:,}, "
        f"모두 미통과 {pairs['both_fail']:,}, 회차마다 엇갈림 {pairs['mixed']:,}"
    )


def _to_do(queries: Sequence[PlanQuery], summary: PlanSummary) -> str:
    if summary.set["accuracy"]["mean"] is None:
        missing = "Raw JSON을 넣어" if summary.data_quality["tools_not_shown"] else "기대결과에 체크 항목을 적어"
        return f"{missing} 다시 채점하세요."
    if low := lowest_queries(queries):
        return _look_at("정확성", low)
    if late := [query for query in slowest_queries(queries) if _too_slow(query)]:
        return _look_at("응답 속도", late)
    if not summary.set["consistency"]["n"]:
        return f"{t.LOW_MAX_POINTS}점 이하를 받은 질의는 없습니다. 같은 질의를 한 회차 더 실행해 일관성을 확인하세요."
    return f"{t.LOW_MAX_POINTS}점 이하를 받은 질의가 없어 확인할 것이 없습니다."


def _look_at(metric: str, low: Sequence[PlanQuery]) -> str:
    return f"{metric}에서 {t.LOW_MAX_POINTS}점 이하를 받은 질의 {len(low):,}개를 '{query_name(low[0])}'부터 확인하세요."


def _too_slow(query: PlanQuery) -> bool:
    points = (scored.scores["speed"].points for scored in query.executions)
    return any(score is not None and score <= t.LOW_MAX_POINTS for score in points)


def slowest_queries(queries: Sequence[PlanQuery]) -> list[PlanQuery]:
    """The queries with an execution of 3 points or less for its time, longest mean time first."""
    late = [query for query in queries if slow(query.executions)]
    return sorted(late, key=lambda query: (-(query.latency_s or 0.0), query.query_id))


def lowest_queries(queries: Sequence[PlanQuery]) -> list[PlanQuery]:
    """The queries with an execution of 0, 1 or 2 points, largest loss of points first."""
    return worst_first((query for query in queries if low_scored(query.executions)), points_lost)


def points_lost(scores: Mapping[str, Exact | None]) -> Exact:
    """The points that a query's answers lose in accuracy: the other metrics follow it, or do not judge answers."""
    accuracy = scores.get("accuracy")
    return 0 if accuracy is None else t.MAX_POINTS - accuracy


def checked_list(queries: Sequence[PlanQuery], summary: PlanSummary) -> str:
    """The five lines: ticked if nothing needs a person, each with its figure."""
    executions = [scored for query in queries for scored in query.executions]
    lines = [
        (t.CHECK_ROUNDS, *_rounds(queries, summary)),
        (t.CHECK_RECORDED, *_recorded(len(executions), summary)),
        (t.CHECK_LOW_SCORES, *_low_scores(executions)),
        (t.CHECK_SLOW, *_slow_line(executions)),
        (t.CHECK_FAILURES, *_failures(executions, summary)),
    ]
    return "\n".join(f"- [{'x' if fine else ' '}] {text} — {figure}" for text, fine, figure in lines)


def _rounds(queries: Sequence[PlanQuery], summary: PlanSummary) -> tuple[bool, str]:
    names, count = ", ".join(summary.rounds), len(summary.rounds)
    incomplete = [query_name(query) for query in queries if len(query.executions) < count]
    if incomplete:
        shown = cell(examples(incomplete))
        return False, f"질의 {len(queries):,}개 중 {len(incomplete):,}개가 {names} 가운데 일부에 없음({shown})"
    if count < t.MIN_ROUNDS:
        return False, f"회차가 {names} 하나뿐이라 비교할 것이 없음"
    return True, f"모든 질의({len(queries):,}개)가 회차 {names}에서 실행됨"


def _recorded(executions: int, summary: PlanSummary) -> tuple[bool, str]:
    missing, unscored = executions - summary.recorded_scores, summary.data_quality["no_checks"]
    figure = f"LLM 점수 미기록 {missing:,}건 / 전체 {executions:,}건, 기록 여부와 관계없이 모두 같은 규칙으로 채점"
    return not unscored, figure + (f", 체크 항목이 없어 채점하지 못한 실행 {unscored:,}건" if unscored else "")


def _low_scores(executions: Sequence[PlanExecution]) -> tuple[bool, str]:
    low = low_scored(executions)
    scored = sum(one.scores["accuracy"].points is not None for one in executions)
    if not low:
        return True, f"0~{t.LOW_MAX_POINTS}점 0건 / 채점 {scored:,}건"
    unanswered = sum(one.unanswered for one in low)
    top = ", ".join(f"{cell(p.key)}({_cause(p)}) {p.failed:,}건" for p in check_patterns(low)[:_SHOWN_PATTERNS])
    return False, (
        f"채점 {scored:,}건 중 0~{t.LOW_MAX_POINTS}점 {len(low):,}건({percent(len(low) / scored)}), "
        f"실패·빈 응답 {unanswered:,}건, "
        f"이 구간에서 미통과가 많은 체크: {top or '없음'}"
    )


def _slow_line(executions: Sequence[PlanExecution]) -> tuple[bool, str]:
    late = slow(executions)
    timed = sum(scored.scores["speed"].points is not None for scored in executions)
    if not late:
        return True, f"{slow_limit()}를 넘긴 실행 0건 / 응답 시간이 있는 실행 {timed:,}건"
    points = Counter(scored.scores["speed"].points for scored in late)
    bands = ", ".join(f"{score}점 {points[score]:,}건" for score in range(t.SLOW_MAX_POINTS, -1, -1))
    categories = Counter(scored.execution.category or "카테고리 없음" for scored in late).most_common(_SHOWN_PATTERNS)
    top = ", ".join(f"{cell(category)} {count:,}건" for category, count in sorted(categories, key=lambda c: -c[1]))
    return False, f"{_late_text(late, timed)}: {bands}. 카테고리: {top}"


def _late_text(late: Sequence[PlanExecution], timed: int) -> str:
    """`응답 시간이 있는 실행 119건 중 8초를 넘긴 실행 91건(76.5%)`."""
    return (
        f"응답 시간이 있는 실행 {timed:,}건 중 {slow_limit()}를 넘긴 실행 {len(late):,}건({percent(len(late) / timed)})"
    )


def zeros_text(summary: PlanSummary) -> str:
    """What has 0 points for stability (Korean), '' if nothing has."""
    unanswered = summary.data_quality["failed"] + summary.data_quality["empty"]
    answered = summary.failures - unanswered
    without_answer, without_pass = (
        f"실패하거나 빈 응답 {unanswered:,}건",
        f"통과한 체크가 하나도 없는 응답 {answered:,}건",
    )
    if unanswered and answered:
        return f"{without_answer}뿐 아니라 {without_pass}도 0점입니다."
    if unanswered or answered:
        return f"{without_answer if unanswered else without_pass}이 0점입니다."
    return ""


def _failures(executions: Sequence[PlanExecution], summary: PlanSummary) -> tuple[bool, str]:
    failures = summary.failures
    unanswered = summary.data_quality["failed"] + summary.data_quality["empty"]
    rate = Fraction(failures, len(executions)) if executions else Fraction(0)
    limit = percent(float(t.FAILURE_RATE_LIMIT))
    return rate < t.FAILURE_RATE_LIMIT, (
        f"안정성 0점 {failures:,}건 / {len(executions):,}건({percent(float(rate))}, 기준 {limit} 미만): "
        f"실패·빈 응답 {unanswered:,}건, 통과한 체크가 없는 응답 {failures - unanswered:,}건"
    )


def insights(queries: Sequence[PlanQuery], patterns: Sequence[CheckPattern]) -> list[str]:
    """One markdown line per finding, most important first; a single line if there is none."""
    lines = [
        *map(_check_line, patterns[:_SHOWN_PATTERNS]),
        *_failing_queries(queries),
        *_mixed_queries(queries),
        *_slow_queries(queries),
    ]
    if lines:
        return lines
    asked = sum(len(scored.checks) for query in queries for scored in query.executions)
    return [f"{'모든 체크를 통과했고' if asked else '확인한 체크가 없고'} 느린 응답도 없습니다."]


def slow_limit() -> str:
    """The longest time that is not slow, in words (`8초`)."""
    fast = [cut for cut, points in t.SPEED_POINTS.cuts if points > t.SLOW_MAX_POINTS]
    return f"{fast[-1]:g}초"


def _check_line(pattern: CheckPattern) -> str:
    followers = f", 뒤따르는 체크 {pattern.followers:,}개도 함께 미통과" if pattern.followers else ""
    return (
        f"{cell(pattern.key)}: {_cause(pattern)} {pattern.failed:,}건(같은 체크 {pattern.asked:,}개 중 "
        f"{percent(pattern.failed / pattern.asked)}, 질의 {len(pattern.query_ids):,}개){followers}"
    )


def _cause(pattern: CheckPattern) -> str:
    return cell(shortened(pattern.cause, _CAUSE_CHARACTERS))


def _failing_queries(queries: Sequence[PlanQuery]) -> list[str]:
    consistent = [query for query in queries if query.scores["consistency"].points == t.CONSISTENT_POINTS]
    failing = worst_first((query for query in consistent if not both_pass(query)), points_lost)
    if not failing:
        return []
    return [f"모든 회차에서 {t.PASS_MIN_POINTS}점 미만인 질의 {len(failing):,}개: {_names(failing)}"]


def _mixed_queries(queries: Sequence[PlanQuery]) -> list[str]:
    mixed = [query for query in queries if query.scores["consistency"].points == t.INCONSISTENT_POINTS]
    return [f"회차 사이에 통과와 미통과가 갈린 질의 {len(mixed):,}개: {_names(mixed)}"] if mixed else []


def _slow_queries(queries: Sequence[PlanQuery]) -> list[str]:
    executions = [scored for query in queries for scored in query.executions]
    timed = sum(scored.scores["speed"].points is not None for scored in executions)
    late = slow(executions)
    if not late:
        return []
    slowest = max(queries, key=lambda query: query.latency_s or 0.0)
    always = sum(len(slow(query.executions)) == len(query.executions) for query in queries)
    return [
        f"{_late_text(late, timed)}, 모든 회차가 느린 질의 {always:,}개. "
        f"평균이 가장 느린 질의: {cell(query_name(slowest))} ({score_text(slowest.latency_s)}초)"
    ]


def _names(queries: Sequence[PlanQuery]) -> str:
    return examples([cell(query_name(query)) for query in queries], _SHOWN_QUERIES)
