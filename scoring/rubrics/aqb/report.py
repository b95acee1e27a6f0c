"""The report of a test run: what a QA lead reads and forwards, in Korean markdown. Source: seed 000; SPEC 4."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from math import ceil
from typing import Any, cast

from scoring.figures import goal_figure
from scoring.markdown import score_text
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.answers import CLASS_TITLES
from scoring.rubrics.aqb.queries import AqbQuery
from scoring.rubrics.aqb.review import REVIEW_TITLES
from scoring.rubrics.aqb.summary import (
    QUALITY_TITLES,
    AgentFigures,
    AqbSummary,
    FilterCombination,
    judged_scores,
    unjudged,
)
from scoring.rubrics.aqb.tables import METRIC_TITLES
from scoring.rubrics.aqb.thresholds import MAPPING_TITLES, NUMBERS_TITLES, MappingGrade
from scoring.testruns.executions import AGENT_TITLES, AgentType
from scoring.testruns.headline import review_first, score_again, size_text, worst_first
from scoring.testruns.page_parts import AgentTotal, PageParts, PageTable, cause_table, cut_caption
from scoring.testruns.patterns import outages
from scoring.testruns.rubric import Options
from scoring.testruns.summaries import MOST_UNDECIDED, mean_text, repeat_line
from scoring.testruns.totals import partly_scored

_AGENT_TITLES = {agent.value: f"{title} 에이전트" for agent, title in AGENT_TITLES.items()}
SAME_TITLE = "질의마다 가장 흔한 숫자(숫자 없음 포함)로 답한 방의 비율"
SPEED_TITLES = {f"speed_{kind.lower()}": f"응답 속도: {title}" for kind, title in CLASS_TITLES.items()}
_SCORE_TITLES = {**{str(points): f"{points}점" for points in range(t.MAX_POINTS, -1, -1)}, "null": "점수 없음"}
_SLOWEST = 10
_BEST_WITHOUT_TRUTH = t.FILTER_ACCURACY[MappingGrade.EXACT, None].points


_TOOL_NOTES = {
    "partial": "불필요한 도구를 함께 쓴 실행(PARTIAL)",
    "weak": "화면의 열 표시로만 확인한 실행(약한 확인)",
    "unknown": "기대 조건이나 사용한 도구를 알 수 없어 제외한 실행",
}


def report_values(queries: Sequence[AqbQuery], summary: AqbSummary, options: Options) -> dict[str, Any]:
    """The values of `report.md` beside the summary."""
    flagged = worst_first((query for query in queries if query.manual_review_reasons), t.WEIGHTS.lost)
    return {
        "t": t,
        "agents": _AGENT_TITLES,
        "metrics": {**METRIC_TITLES, **SPEED_TITLES},
        "metric_titles": METRIC_TITLES,
        "unjudged": _named(unjudged(queries)),
        "best_without_truth": _BEST_WITHOUT_TRUTH,
        "most_undecided": float(MOST_UNDECIDED),
        "titles_of_rounds": lambda figures: [f"회차 {name}" for name in figures["rounds"]],
        "means_by_round": _means_by_round,
        "means_of": lambda figures: [mean_text(figures["set"][metric]) for metric in METRIC_TITLES],
        "repeat_line": partial(repeat_line, same_title=SAME_TITLE),
        "goal_figure": goal_figure,
        "tool_notes": _TOOL_NOTES,
        "classes": CLASS_TITLES,
        "scores": _SCORE_TITLES,
        "distribution": _distribution(summary),
        "flagged": flagged,
        "review_titles": REVIEW_TITLES,
        "review_reasons": lambda query: ", ".join(REVIEW_TITLES[code] for code in query.manual_review_reasons),
        "evidence": _evidence,
        "mapping": MAPPING_TITLES,
        "outages": outages(execution for query in queries for execution in query.executions),
        "slowest": summary.slowest_filter_combinations[:_SLOWEST],
        "quality_titles": QUALITY_TITLES,
        "weights": ", ".join(f"{METRIC_TITLES[name]} {share}%" for name, share in t.WEIGHTS.percents.items()),
    }


def headline(queries: Sequence[AqbQuery], summary: AqbSummary) -> list[str]:
    """What happened, what matters most, what to do (Korean)."""
    agents = "; ".join(f"{_AGENT_TITLES[agent]} {_total_text(figures)}" for agent, figures in summary.agents.items())
    flagged = worst_first((query for query in queries if query.manual_review_reasons), t.WEIGHTS.lost)
    if again := score_again(chain.from_iterable(judged_scores(queries).values())):
        todo = again
    elif flagged:
        todo = review_first(flagged)
    elif waiting := _named(unjudged(queries)):
        todo = f"판정 모델로 다시 채점해야 {waiting}을 알 수 있습니다."
    else:
        todo = "수기 확인이 필요한 질의가 없습니다."
    return [f"{size_text(queries)} 종합 점수(5점 만점)는 {agents}입니다.", _main_loss(queries, summary), todo]


def limits(query: AqbQuery) -> dict[str, str]:
    """Metric -> why the query cannot reach full points (Korean)."""
    return {"accuracy": f"정답 수치가 없어 최고 {_BEST_WITHOUT_TRUTH}점"} if query.lacks_ground_truth else {}


def _named(metrics: Sequence[str]) -> str:
    """The titles as part of a sentence; each title of a judged metric ends in a consonant (Korean)."""
    return "과 ".join(METRIC_TITLES[metric] for metric in metrics)


def _total_text(figures: AgentFigures) -> str:
    total = figures["weighted_total"]
    if total is None:
        return f"점수 없음({figures['weighted_total_missing']})"
    unknown = [METRIC_TITLES[name] for name in t.WEIGHTS.percents if figures["set"][name]["mean"] is None]
    covers = partly_scored(unknown, figures["weight_coverage"])
    return f"{score_text(total)}점" + (f"({covers})" if covers else "")


def _main_loss(queries: Sequence[AqbQuery], summary: AqbSummary) -> str:
    """The missed targets, the metric with the largest weighted loss of points, why accuracy is unknown."""
    lost = {
        metric: sum(t.WEIGHTS.lost({metric: query.scores[metric].points}) for query in queries)
        for metric in METRIC_TITLES
    }
    worst = max(lost, key=lambda metric: lost[metric])
    of_several = len(summary.agents) > 1
    missed = [
        f"{_AGENT_TITLES[agent] + '의 ' if of_several else ''}{figure.title} {figure.value_text}"
        f"(목표 {figure.target_text})"
        for agent, figures in summary.agents.items()
        for figure in map(goal_figure, figures["targets"].values())
        if figure.verdict == "missed"
    ]
    causes = summary.accuracy_causes if worst == "accuracy" else []
    cause = f"(가장 큰 원인은 '{causes[0].cause}' {causes[0].count:,}건)" if causes else ""
    unanswered = sum(query.unanswered for query in queries)
    accuracies = [figures["set"]["accuracy"]["mean"] for figures in summary.agents.values()]
    parts = [
        *([f"목표에 못 미친 것은 {', '.join(missed)}"] if missed else []),
        *([f"점수를 가장 많이 잃은 지표는 {METRIC_TITLES[worst]}{cause}"] if lost[worst] else []),
        *([f"실패하거나 빈 응답은 {unanswered:,}건"] if unanswered else []),
        *(_unknown_accuracy(queries) if None in accuracies else []),
    ]
    if not parts:
        return "채점한 지표에서는 점수를 잃은 질의가 없습니다."
    first, *others = parts
    return f"{first}{'이고, ' if others else ''}{', '.join(others)}입니다."


def _unknown_accuracy(queries: Sequence[AqbQuery]) -> list[str]:
    """How many queries have no accuracy, and the most frequent reason (Korean)."""
    scores = [query.scores["accuracy"] for query in queries]
    missing = Counter(t.MISSING_TITLES[score.missing] for score in scores if score.missing)
    return [
        f"정확성을 알 수 없는 질의는 {missing.total():,}개(가장 잦은 까닭은 '{title}' {count:,}개)"
        for title, count in missing.most_common(1)
    ]


def _means_by_round(figures: AgentFigures, metric: str) -> list[str]:
    """Speed by class and consistency have no means of rounds."""
    rounds = figures["rounds"].values()
    return [mean_text(of_round.get(metric, {})) for of_round in rounds]


def _distribution(summary: AqbSummary) -> dict[str, list[str]]:
    """Score -> its count by metric, over all rounds; consistency counts queries."""
    counts: dict[str, Counter[str]] = {metric: Counter() for metric in METRIC_TITLES}
    counts["consistency"].update(summary.set["consistency"]["by_score"])
    for of_round in summary.distributions.values():
        for metric, by_score in of_round.items():
            counts[metric].update(by_score)
    return {score: [f"{of[score]:,}" for of in counts.values()] for score in _SCORE_TITLES}


def _evidence(query: AqbQuery) -> str:
    """The metric that best explains the first trigger of a query, with the reason of its score."""
    _, _, named = query.manual_review_reasons[0].partition("_")
    metric = {"total": "accuracy", "": "stability"}.get(named, named)
    return f"{METRIC_TITLES[metric]}: {query.scores[metric].reason}"


def page_parts(summary: Mapping[str, Any]) -> PageParts:
    """The parts of a summary as stored in `summary.json`; a summary of an earlier version may lack some."""
    agents = {_AGENT_TITLES[agent]: cast(AgentFigures, figures) for agent, figures in summary.get("agents", {}).items()}
    return PageParts(
        totals=[
            AgentTotal(
                f"종합 점수 · {title}",
                figures["weighted_total"],
                figures["weight_coverage"],
                figures.get("weighted_total_missing", ""),
            )
            for title, figures in agents.items()
        ],
        notice=_notice(agents.values()),
        review_count=sum(figures["manual_review"] for figures in agents.values()) if agents else None,
        targets=[
            (f"{target['title']} ({title})", target)
            for title, figures in agents.items()
            for target in figures["targets"].values()
        ],
        tables=(
            _chat_sets({title: sets for title, figures in agents.items() if (sets := figures.get("chat_sets"))}),
            _slowest(summary.get("slowest_filter_combinations", [])),
            cause_table(
                "정확성을 잃은 원인, 점수를 많이 잃은 것부터", summary.get("accuracy_causes", ()), "cause", "count"
            ),
            cause_table("실패한 단계", summary.get("failures_by_step", ()), "step", "n"),
        ),
    )


def _notice(agents: Collection[AgentFigures]) -> str:
    """What limits the scores of consistency and accuracy, over all agents; '' if nothing does."""
    provisional = sum(figures.get("set", {}).get("consistency", {}).get("provisional", 0) for figures in agents)
    lacking = sum(figures.get("without_ground_truth", 0) for figures in agents)
    sentences = [
        f"질의 {provisional:,}개는 답변을 비교할 방이 {t.MIN_ROOMS}개에 못 미쳐 일관성이 잠정 점수입니다."
        if provisional
        else "",
        f"정답 수치가 없는 질의 {lacking:,}개는 필터만으로 채점해 정확성이 {_BEST_WITHOUT_TRUTH}점을 넘을 수 없습니다."
        if lacking
        else "",
    ]
    return " ".join(filter(None, sentences))


def _chat_sets(sets: Mapping[str, Mapping[str, Any]]) -> PageTable:
    """By agent; `sets` are the figures of `chat_sets`."""
    counts = ("rooms", "sets", "fewer", "more", "needed")
    return PageTable(
        "방 하나의 메시지 수",
        ["에이전트", "방", "세트", "더 적은 방", "더 많은 방", "필요한 세트"],
        [[title, *(f"{figures[count]:,}" for count in counts)] for title, figures in sets.items()],
        id="chat-sets",
        title=f"대화 세트(메시지 {t.SET_MESSAGES_MIN}~{t.SET_MESSAGES_MAX}개)",
    )


def _slowest(combinations: list[FilterCombination]) -> PageTable:
    return PageTable(
        cut_caption("필터 조합별 평균 응답 시간", len(combinations), _SLOWEST, "느린 것부터"),
        ["함께 쓴 필터", "실행", "평균"],
        [
            [", ".join(each["filters"]), f"{each['n']:,}", f"{score_text(each['mean_s'])}초"]
            for each in combinations[:_SLOWEST]
        ],
        id="slowest",
        title="가장 느린 필터 조합",
    )


_OFFERING = f"{AGENT_TITLES[AgentType.MOVE]}·{AGENT_TITLES[AgentType.PLAN]}"
_COUNTING = AGENT_TITLES[AgentType.APPLICANT_MANAGEMENT]


def _accuracy_criteria() -> list[tuple[str, str]]:
    """The cases of both tables by points: `지원자 관리: 조건 매핑 정확, 수치 정확`."""
    cases: dict[int, list[str]] = {points: [] for points in range(t.MAX_POINTS, -1, -1)}
    for mapping, accuracy in t.DATAKEY_ACCURACY.items():
        cases[accuracy.points].append(f"{_OFFERING}: datakey 매핑 {MAPPING_TITLES[mapping]}")
    for (mapping, numbers), accuracy in t.FILTER_ACCURACY.items():
        expected = "기대 조건 없음" if mapping is MappingGrade.UNKNOWN else f"조건 매핑 {MAPPING_TITLES[mapping]}"
        cases[accuracy.points].append(f"{_COUNTING}: {expected}, {NUMBERS_TITLES[numbers]}")
    return [(str(points), "\n".join(found)) for points, found in cases.items() if found]


def _consistency_criteria() -> list[tuple[str, str]]:
    needed = ceil(t.AGREEING_SHARE * t.MIN_ROOMS)
    rungs = sorted(t.CONSISTENCY_LADDER, reverse=True)
    return [(str(points), text.format(n=t.MIN_ROOMS, k=needed)) for points, text in rungs]


CRITERIA = {
    "semantic": [(str(points), meaning) for points, meaning in t.SEMANTIC_LEVELS.items()],
    "accuracy": _accuracy_criteria(),
    "consistency": _consistency_criteria(),
}
"""The scoring criteria, for people who score by hand. Source: seed 000, 3.1 to 3.3."""
