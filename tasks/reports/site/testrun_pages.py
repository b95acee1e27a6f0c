"""The pages of test runs: the list, and one page a run. Source: SPEC 3 and 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from scoring.figures import goal_figure
from scoring.markdown import percent, score_text
from tasks.reports.site.charts import Cell, Link, Table
from tasks.reports.site.kpis import verdict_mark
from tasks.reports.site.pages import page
from tasks.reports.site.testrun_charts import (
    counts_table,
    interval_of,
    latency_charts,
    metric_interval,
    rounds_chart,
    scores_chart,
)
from tasks.reports.site.testrun_queries import query_metrics, safe_text, shown_queries
from tasks.reports.site.testrun_tables import PublishedTestRun, Row
from tasks.reports.site.wording import AGENT_TITLES, NOTHING, count_text, seconds_text
from tasks.reports.titles import NOTE_TITLES, STATUS_TITLES, cost_text

_QUERIES_SHOWN = 500
_EXAMPLES = 5
_CONSISTENCY_TITLES = {
    "both_pass": "모든 라운드 통과",
    "both_fail": "모든 라운드 미통과",
    "mixed": "라운드마다 엇갈림",
    "one_round": "라운드가 하나라 제외",
    "no_checks": "체크 항목이 없어 제외",
    "ratio_a": "의도 일치율",
    "ratio_b": "화면 구성 일치율",
    "too_few_executions": "실행이 부족해 0점",
    "without_label": "의도 라벨이 없어 미채점",
}


def testrun_list(runs: Sequence[PublishedTestRun], folder: str) -> Table:
    """A line a run, latest first; `folder` is where their pages are."""
    rows: list[list[Cell]] = [
        [
            Link(run.name, folder + quote(run.page)),
            str(run.day),
            f"{run.rubric_id} {run.rubric_version}",
            count_text(run.queries),
            count_text(run.executions),
            _means(run),
            _review_count(run),
        ]
        for run in runs
    ]
    return Table(["파일", "채점일", "루브릭", "질의", "실행", "세트 평균(0~5점)", "수기 확인"], rows)


def testruns_index(runs: Sequence[PublishedTestRun]) -> str:
    """The list of test runs as a page."""
    return page("runs.html", root="../", section="runs", title="테스트 런", runs=testrun_list(runs, ""))


def testrun_page(
    run: PublishedTestRun, executions: Sequence[Row], queries: Sequence[Row], files: Sequence[Link]
) -> str:
    """The page of one run; `files` are the report and the workbook that lie beside it."""
    intervals = {
        name: metric_interval(run, name, executions, queries) for name in run.titles if name in run.summary["set"]
    }
    rounds, scores, latencies = rounds_chart(run, intervals), scores_chart(run), latency_charts(run, executions)
    shown = shown_queries(run, executions, queries)
    summary = run.summary
    return page(
        "run.html",
        charts=[rounds, scores, *latencies],
        root="../",
        section="runs",
        title=run.name,
        run=run,
        files=files,
        cards=_cards(run, intervals),
        rounds=rounds,
        scores=scores,
        latencies=latencies,
        targets=_targets(summary.get("agents", {})),
        consistency=_consistency(summary["set"].get("consistency", {})),
        checks=_checks(summary.get("check_patterns", [])),
        outages=_causes(summary.get("outages", []), "cause", "count"),
        steps=_causes(summary.get("failures_by_step", []), "step", "n"),
        slowest=_slowest(summary.get("slowest_filter_combinations", [])),
        metrics=list(run.titles.items()),
        review=[query for query in shown if query.review],
        knows_review=any("manual_review_reasons" in query["columns"] for query in queries),
        queries=shown[:_QUERIES_SHOWN],
        query_count=len(shown),
        metric_titles=[run.titles[name] for name in query_metrics(run, queries)],
        judge=_judge(summary["judge"]),
        quality=counts_table(["항목", "건수"], summary["data_quality"], run.code_title),
        notes=counts_table(
            ["항목", "건수"], summary["data_quality"].get("notes", {}), lambda code: NOTE_TITLES.get(code, code)
        ),
        notice=summary.get("notice", ""),
        untrusted=[run.titles[name] for name in run.untrusted if name in run.titles],
    )


def _means(run: PublishedTestRun) -> str:
    figures = ((title, run.summary["set"].get(name, {}).get("mean")) for name, title in run.titles.items())
    return " · ".join(f"{title} {score_text(mean)}" for title, mean in figures if mean is not None)


def _review_count(run: PublishedTestRun) -> str:
    agents = run.summary.get("agents", {}).values()
    total = run.summary.get("manual_review")
    if agents:
        return count_text(sum(agent["manual_review"] for agent in agents))
    return count_text(total) if isinstance(total, int) else NOTHING


def _cards(run: PublishedTestRun, intervals: Mapping[str, Any]) -> list[dict[str, str]]:
    """The headline figure of every metric."""
    cards = []
    for name, title in run.titles.items():
        figures = run.summary["set"].get(name)
        if figures is None:
            continue
        coverage = figures.get("weight_coverage")
        cards.append(
            {
                "title": title,
                "value": score_text(figures["mean"]),
                "interval": interval_of(intervals.get(name)),
                "n": f"가중치 {percent(coverage, 0)}" if coverage is not None else f"n {count_text(figures.get('n'))}",
            }
        )
    for agent, figures in run.summary.get("agents", {}).items():
        cards.append(
            {
                "title": f"종합 점수 · {AGENT_TITLES.get(agent, agent)}",
                "value": score_text(figures["weighted_total"]),
                "interval": NOTHING,
                "n": f"가중치 {percent(figures['weight_coverage'], 0)}",
            }
        )
    return cards


def _targets(agents: Mapping[str, Any]) -> Table:
    """The seed's targets with how sure the rates are."""
    rows: list[list[Cell]] = []
    for agent, figures in agents.items():
        for target in figures["targets"].values():
            figure = goal_figure(target)
            rows.append(
                [
                    f"{figure.title} ({AGENT_TITLES.get(agent, agent)})",
                    figure.value_text,
                    figure.interval_text,
                    f"{target['passed']:,} / {target['n']:,}",
                    figure.target_text,
                    verdict_mark(figure, figure.verdict_text),
                ]
            )
    return Table(["목표", "값", "95% 구간", "통과 / 전체", "기준", "판정"], rows)


def _consistency(figures: Mapping[str, Any]) -> Table:
    """What stands behind the consistency score."""
    rows: list[list[Cell]] = [
        [f"{'미채점' if score == 'null' else score + '점'}인 질의", count_text(count)]
        for score, count in figures.get("by_score", {}).items()
    ]
    for code, title in _CONSISTENCY_TITLES.items():
        if (value := figures.get(code)) is not None:
            rows.append([title, count_text(value) if isinstance(value, int) else percent(value)])
    for k, of_k in figures.get("pass_hat_k", {}).items():
        rows.append([f"{k}회 연속 통과할 비율(pass^{k})", f"{percent(of_k['mean'])} (질의 {of_k['n']:,}개)"])
    if (same := figures.get("mode_ratio")) and same["n"]:
        rows.append(["가장 흔한 결과의 비율", f"{percent(same['mean'])} (질의 {same['n']:,}개)"])
    return Table(["항목", "값"], rows)


def _checks(patterns: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        ["체크 대상", "미통과 / 전체", "비율", "가장 흔한 이유", "질의"],
        [
            [
                pattern["key"],
                f"{pattern['failed']:,} / {pattern['asked']:,}",
                percent(pattern["failed"] / pattern["asked"]),
                f"{safe_text(pattern['commonest'])} ({pattern['commonest_count']:,}건)",
                _ids(pattern["query_ids"]),
            ]
            for pattern in patterns
        ],
    )


def _causes(causes: Sequence[Mapping[str, Any]], name: str, count: str) -> Table:
    return Table(
        ["원인", "건수", "질의"],
        [[safe_text(cause[name]), count_text(cause[count]), _ids(cause["query_ids"])] for cause in causes],
    )


def _slowest(combinations: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        ["함께 쓴 필터", "실행", "평균"],
        [
            [", ".join(each["filters"]), count_text(each["n"]), seconds_text(each["mean_s"])]
            for each in combinations[:_EXAMPLES]
        ],
    )


def _judge(judge: Mapping[str, Any]) -> Table:
    return Table(
        ["항목", "값"],
        [
            ["물어볼 질문", count_text(judge["questions"])],
            ["전에 받은 판정을 다시 씀", count_text(judge["cached"])],
            ["이번에 쓴 토큰", count_text(judge["tokens"])],
            ["이번 비용", cost_text(judge["cost"])],
            *([STATUS_TITLES.get(status, status), count_text(count)] for status, count in judge["by_status"].items()),
        ],
    )


def _ids(query_ids: Sequence[str]) -> str:
    more = f" 외 {len(query_ids) - _EXAMPLES}개" if len(query_ids) > _EXAMPLES else ""
    return ", ".join(query_ids[:_EXAMPLES]) + more
