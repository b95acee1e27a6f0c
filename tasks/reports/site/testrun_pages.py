"""The pages of test runs: the list, and one page a run. Source: SPEC 3 and 4."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from scoring.figures import goal_figure
from scoring.judging.requests import STATUS_TITLES
from scoring.markdown import percent
from scoring.testruns.page_parts import PageParts
from scoring.testruns.summaries import mean_text
from tasks.reports.site.day_charts import verdict_mark
from tasks.reports.site.pages import Cell, Link, Table, page
from tasks.reports.site.testrun_charts import (
    interval_of,
    latency_charts,
    metric_interval,
    rounds_chart,
    scores_chart,
)
from tasks.reports.site.testrun_tables import PublishedTestRun, Row
from tasks.reports.wording import NOTE_TITLES, NOTHING, cost_text, count_text

_QUERIES_SHOWN = 500


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
            count_text(run.parts.review_count),
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
    executions_of: dict[str, list[Row]] = defaultdict(list)
    for row in executions:
        executions_of[row["query_id"]].append(row)
    queries = sorted(queries, key=_review_order)
    parts, quality = run.parts, run.summary["data_quality"]
    return page(
        "run.html",
        charts=[rounds, scores, *latencies],
        root="../",
        section="runs",
        title=run.name,
        run=run,
        parts=parts,
        files=files,
        intervals={name: interval_of(interval) for name, interval in intervals.items()},
        rounds=rounds,
        scores=scores,
        latencies=latencies,
        targets=_targets(parts),
        consistency=_consistency(run.summary["set"].get("consistency", {}), run.figure_titles),
        sections=[each for each in parts.tables if each.rows and each.title],
        failures=[each for each in parts.tables if each.rows and not each.title],
        knows_review=any("manual_review_reasons" in query["columns"] for query in queries),
        review=[query for query in queries if query["columns"].get("manual_review_reasons")],
        queries=queries[:_QUERIES_SHOWN],
        query_count=len(queries),
        executions_of=executions_of,
        query_metrics=[name for name in run.titles if any(name in query["scores"] for query in queries)],
        judge=_judge(run.summary["judge"]),
        quality=_counts_table(quality, run.code_title),
        notes=_counts_table(quality.get("notes", {}), lambda code: NOTE_TITLES.get(code, code)),
        untrusted=[run.titles[name] for name in run.untrusted if name in run.titles],
    )


def _review_order(query: Row) -> tuple[bool, float]:
    """Those for a person first, then by their mean score."""
    known = [score["score"] for score in query["scores"].values() if score["score"] is not None]
    return not query["columns"].get("manual_review_reasons"), sum(known) / len(known) if known else 0.0


def _means(run: PublishedTestRun) -> str:
    figures = ((title, mean_text(run.summary["set"].get(name, {}))) for name, title in run.titles.items())
    return " · ".join(f"{title} {mean}" for title, mean in figures if mean != NOTHING)


def _targets(parts: PageParts) -> Table:
    """The seed's targets with how sure the rates are."""
    rows: list[list[Cell]] = []
    for title, target in parts.targets:
        figure = goal_figure(target)
        rows.append(
            [
                title,
                figure.value_text,
                figure.interval_text,
                f"{target['passed']:,} / {target['n']:,}",
                figure.target_text,
                verdict_mark(figure, figure.verdict_text),
            ]
        )
    return Table(["목표", "값", "95% 구간", "통과 / 전체", "기준", "판정"], rows)


def _consistency(figures: Mapping[str, Any], titles: Mapping[str, str]) -> Table:
    """What stands behind the consistency score."""
    rows: list[list[Cell]] = [
        [f"{'미채점' if score == 'null' else score + '점'}인 질의", count_text(count)]
        for score, count in figures.get("by_score", {}).items()
    ]
    for code, title in titles.items():
        if (value := figures.get(code)) is not None:
            rows.append([title, count_text(value) if isinstance(value, int) else percent(value)])
    for k, of_k in figures.get("pass_hat_k", {}).items():
        rows.append([f"{k}회 연속 통과할 비율(pass^{k})", f"{percent(of_k['mean'])} (질의 {of_k['n']:,}개)"])
    if (same := figures.get("mode_ratio")) and same["n"]:
        rows.append(["가장 흔한 결과의 비율", f"{percent(same['mean'])} (질의 {same['n']:,}개)"])
    return Table(["항목", "값"], rows)


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


def _counts_table(counts: Mapping[str, Any], title: Callable[[str], str]) -> Table:
    """Codes with their titles and counts, zeros left out."""
    known = ((code, count) for code, count in counts.items() if isinstance(count, int) and count)
    return Table(["항목", "건수"], [[title(code), count_text(count)] for code, count in known])
