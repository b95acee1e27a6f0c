"""The report of a test run: what a QA lead reads and forwards, in Korean markdown. Source: seed 000; SPEC 4."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from scoring.figures import goal_figure
from scoring.markdown import cell, example_ids, percent, score_text, shortened, table
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.answers import CLASS_TITLES
from scoring.rubrics.aqb.queries import AqbQuery
from scoring.rubrics.aqb.review import REVIEW_TITLES
from scoring.rubrics.aqb.summary import QUALITY_TITLES, AgentFigures, AqbSummary, FilterCombination, no_judge
from scoring.rubrics.aqb.tables import METRIC_TITLES
from scoring.rubrics.aqb.thresholds import MAPPING_TITLES
from scoring.testruns.executions import AGENT_TITLES, AgentType, LatencyClass
from scoring.testruns.page_parts import AgentTotal, PageParts, PageTable, cause_table
from scoring.testruns.patterns import outages
from scoring.testruns.repeats import repeat_line
from scoring.testruns.report_tables import outage_table, problem_table, quality_table, query_name
from scoring.testruns.rubric import Options

_AGENT_TITLES = {agent.value: f"{title} 에이전트" for agent, title in AGENT_TITLES.items()}
_SPEED_TITLES = {f"speed_{kind.lower()}": f"응답 속도: {title}" for kind, title in CLASS_TITLES.items()}
_METRIC_ROWS = {**METRIC_TITLES, **_SPEED_TITLES}
_SCORE_TITLES = {**{str(points): f"{points}점" for points in range(t.MAX_POINTS, -1, -1)}, "null": "미채점"}
_SECONDS = ("mean_s", "p50_s", "p95_s")
_REASON_CHARACTERS = 200
_REVIEWED_QUERIES = 100
_SLOWEST = 10
_SLOWEST_ON_PAGE = 5


def report(name: str, queries: Sequence[AqbQuery], summary: AqbSummary, options: Options) -> str:
    """The whole report of one file."""
    agents = summary.agents
    parts = [
        f"# 에이전트 품질 평가 리포트 — {cell(name)}",
        _overview(agents),
        _notice(summary),
        *(part for agent, figures in agents.items() for part in _agent_parts(agent, figures)),
        "## 점수 분포",
        "응답 수이며, 일관성은 질의 수입니다.",
        _distribution(summary),
        "## 수기 확인이 필요한 질의",
        *_manual_review(queries, summary),
        *_mapping_parts(queries, summary),
        "## 안정성",
        *_failures(queries, summary),
        "## 데이터 상태",
        "해당 문제가 하나라도 있는 질의의 수입니다.",
        quality_table(summary.data_quality, QUALITY_TITLES),
        problem_table(queries, ["질의 id", "채점에 쓸 수 없었던 기대 조건"], _REASON_CHARACTERS),
        "## 산출 기준",
        _basis(options),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _overview(agents: Mapping[str, AgentFigures]) -> str:
    return table(
        ["에이전트", "종합 점수", "반영 가중치", "질의", "응답", "수기 확인"],
        (
            [
                _AGENT_TITLES[agent],
                score_text(figures["weighted_total"]),
                percent(figures["weight_coverage"], 0),
                f"{figures['queries']:,}",
                f"{figures['executions']:,}",
                f"{figures['manual_review']:,}",
            ]
            for agent, figures in agents.items()
        ),
    )


def _notice(summary: AqbSummary) -> str:
    if not no_judge(summary):
        return ""
    return (
        "> 판정 모델 없이 채점했습니다. 규칙으로 정할 수 없는 의도 충족과 결론 비교(일관성)는 비워 두었고, "
        "종합 점수는 나머지 지표의 가중치만으로 계산했습니다. 실패하거나 빈 응답은 판정 없이 0점이라 점수 분포에 "
        "나오지만, 그 0점만으로 의도 충족의 평균을 내지는 않았습니다."
    )


def _agent_parts(agent: str, figures: AgentFigures) -> list[str]:
    return [
        f"## {_AGENT_TITLES[agent]}",
        "### 지표별 점수",
        _metrics(figures),
        repeat_line(figures["set"]["consistency"]),
        "### 목표 달성",
        _targets(figures["targets"]),
        "### 응답 시간",
        _latency(figures),
    ]


def _metrics(figures: AgentFigures) -> str:
    """A line per metric: final mean, its weight, the means of the rounds."""
    rounds = figures["rounds"]
    rows = []
    for metric, title in _METRIC_ROWS.items():
        final = figures["set"][metric]
        weight = f"{t.WEIGHTS.percents[metric]}%" if metric in t.WEIGHTS.percents else "–"
        by_round = [
            score_text(of_round[metric]["mean"] if metric in of_round else None) for of_round in rounds.values()
        ]
        rows.append([title, score_text(final["mean"]), weight, f"{final['n']:,}", *by_round])
    total = score_text(figures["weighted_total"])
    coverage = f"{percent(figures['weight_coverage'], 0)} 반영"
    rows.append(["종합 점수", total, coverage, "–", *("–" for _ in rounds)])
    return table(["지표", "최종", "가중치", "n", *(f"회차 {name}" for name in rounds)], rows)


def _targets(targets: Mapping[str, Any]) -> str:
    rows = table(
        ["목표", "결과", "95% 구간", "목표치", "판정", "통과 / n"],
        (
            [
                figure.title,
                figure.value_text,
                figure.interval_text,
                figure.target_text,
                figure.verdict_text,
                f"{rate['passed']:,} / {rate['n']:,}",
            ]
            for rate in targets.values()
            for figure in (goal_figure(rate),)
        ),
    )
    wait, tools = targets["chat_wait_rate"], targets["tool_accuracy_rate"]
    notes = []
    if wait["questions"]:
        notes.append(
            f"- 단일 호출 응답 {wait['questions']:,}건 가운데 {t.SINGLE_MEAN_MAX_S}초 이내는 "
            f"{percent(wait['questions_rate'])}, 채팅당 평균 대기 시간은 {score_text(wait['mean_wait_s'], 1)}초입니다."
        )
    tool_notes = {
        "partial": "불필요한 도구를 함께 쓴 응답(PARTIAL)",
        "weak": "화면의 열 표시로만 확인한 응답(약한 확인)",
        "unknown": "기대 조건을 알 수 없어 제외한 응답",
    }
    notes += [f"- 도구 사용 정확도: {title} {tools[code]:,}건." for code, title in tool_notes.items() if tools[code]]
    return "\n\n".join(filter(None, (rows, "\n".join(notes))))


def _latency(figures: AgentFigures) -> str:
    if not figures["latency"]:
        return "응답 시간이 기록된 응답이 없습니다."
    rows = (
        [CLASS_TITLES[LatencyClass(kind)], f"{of_class['n']:,}", *(score_text(of_class[name]) for name in _SECONDS)]
        for kind, of_class in figures["latency"].items()
    )
    return (
        table(["구분", "응답", "평균(초)", "p50(초)", "p95(초)"], rows)
        + "\n\n목표가 정해지지 않은 기준선 측정값입니다."
    )


def _distribution(summary: AqbSummary) -> str:
    """Score by metric, over all rounds; consistency counts queries."""
    counts: dict[str, Counter[str]] = {metric: Counter() for metric in METRIC_TITLES}
    counts["consistency"].update(summary.set["consistency"]["by_score"])
    for of_round in summary.distributions.values():
        for metric, by_score in of_round.items():
            counts[metric].update(by_score)
    rows = ([title, *(f"{of[score]:,}" for of in counts.values())] for score, title in _SCORE_TITLES.items())
    return table(["점수", *METRIC_TITLES.values()], rows)


def _manual_review(queries: Sequence[AqbQuery], summary: AqbSummary) -> Iterable[str]:
    flagged = [query for query in queries if query.manual_review_reasons]
    if not flagged:
        yield "수기 확인이 필요한 질의가 없습니다."
        return
    yield table(
        ["까닭", "질의"],
        ([REVIEW_TITLES[code], f"{count:,}"] for code, count in summary.manual_review.items()),
    )
    yield table(
        ["질의 id", "질의", "종합", "까닭", "근거"],
        (_review_row(query) for query in sorted(flagged, key=_total_first)[:_REVIEWED_QUERIES]),
    )
    if (more := len(flagged) - _REVIEWED_QUERIES) > 0:
        yield f"종합 점수가 낮은 {_REVIEWED_QUERIES}개만 실었습니다. 나머지 {more:,}개는 점수 표에 있습니다."


def _total_first(query: AqbQuery) -> tuple[float, str]:
    return (query.total.points or 0.0, query.query_id)


def _review_row(query: AqbQuery) -> list[object]:
    reasons = query.manual_review_reasons
    evidence = query.scores[_evidence_metric(reasons[0])].reason
    return [
        query.query_id,
        query_name(query.query_text),
        score_text(query.total.points),
        ", ".join(REVIEW_TITLES[reason] for reason in reasons),
        shortened(evidence, _REASON_CHARACTERS),
    ]


def _evidence_metric(reason: str) -> str:
    """The metric whose reason explains a trigger best."""
    metric = reason.partition("_")[2]
    return {"total": "accuracy", "": "stability"}.get(metric, metric)


def _mapping_parts(queries: Sequence[AqbQuery], summary: AqbSummary) -> Iterable[str]:
    agents = summary.agents
    yield "## 조건 매핑"
    yield table(
        ["에이전트", *MAPPING_TITLES.values()],
        (
            [_AGENT_TITLES[agent], *(f"{figures['mapping'][grade]:,}" for grade in MAPPING_TITLES)]
            for agent, figures in agents.items()
        ),
    )
    if summary.slowest_filter_combinations:
        yield "### 가장 느린 필터 조합"
        yield table(
            ["필터", "응답", "평균(초)"],
            (
                [" + ".join(combination["filters"]), f"{combination['n']:,}", score_text(combination["mean_s"])]
                for combination in summary.slowest_filter_combinations[:_SLOWEST]
            ),
        )
    if summary.uncovered_filters:
        yield f"### 기대 조건에 나오지 않은 필터 {len(summary.uncovered_filters)}개"
        yield cell(", ".join(summary.uncovered_filters))


def _failures(queries: Sequence[AqbQuery], summary: AqbSummary) -> Iterable[str]:
    failures = summary.failures_by_step
    if not failures:
        yield "실패하거나 빈 응답이 없습니다."
        return
    rows = ([failure["step"], f"{failure['n']:,}", example_ids(failure["query_ids"])] for failure in failures)
    yield table(["실패한 단계", "응답", "질의 예"], rows)
    yield outage_table(outages(execution for query in queries for execution in query.executions))


def _basis(options: Options) -> str:
    weights = ", ".join(f"{METRIC_TITLES[name]} {share}%" for name, share in t.WEIGHTS.percents.items())
    return "\n".join(
        (
            "- 질의별 점수를 회차마다 평균하고, 회차 평균을 다시 평균해 최종 점수를 냅니다.",
            f"- 종합 점수의 가중치: {weights}. 채점하지 못한 지표의 가중치는 빼고 다시 나눕니다.",
            f"- 정답 수치의 허용 오차: ±{options['tolerance_percent']}%. TTFT는 종합 점수에 넣지 않습니다.",
            "- 실패한 응답은 응답 시간 통계에서 빠지고, 응답 속도 점수는 0점입니다.",
        )
    )


def page_parts(summary: Mapping[str, Any]) -> PageParts:
    """The parts of a summary as `summary.json` holds it; one of an earlier version may lack some."""
    agents = {
        AGENT_TITLES[AgentType(agent)]: cast(AgentFigures, figures)
        for agent, figures in summary.get("agents", {}).items()
    }
    return PageParts(
        totals=[
            AgentTotal(f"종합 점수 · {title}", figures["weighted_total"], figures["weight_coverage"])
            for title, figures in agents.items()
        ],
        review_count=sum(figures["manual_review"] for figures in agents.values()) if agents else None,
        targets=[
            (f"{target['title']} ({title})", target)
            for title, figures in agents.items()
            for target in figures["targets"].values()
        ],
        tables=(
            _slowest(summary.get("slowest_filter_combinations", [])),
            cause_table("실패한 단계", summary.get("failures_by_step", ()), "step", "n"),
        ),
    )


def _slowest(combinations: list[FilterCombination]) -> PageTable:
    return PageTable(
        "필터 조합별 평균 응답 시간",
        ["함께 쓴 필터", "실행", "평균"],
        [
            [", ".join(each["filters"]), f"{each['n']:,}", f"{score_text(each['mean_s'])}초"]
            for each in combinations[:_SLOWEST_ON_PAGE]
        ],
        id="slowest",
        title="가장 느린 필터 조합",
    )
