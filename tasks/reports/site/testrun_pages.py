"""The pages of test runs: the list, and one page a run. Source: SPEC 3 and 4."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from scoring.figures import goal_figure
from scoring.judging.masking import masked
from scoring.judging.requests import STATUS_TITLES
from scoring.markdown import percent, score_text, shortened
from scoring.stats.intervals import Interval
from scoring.stats.run_scores import TOTAL, TOTAL_TITLE
from scoring.testruns.change_wording import alone_text, change_parts, moved_ids, moved_queries
from scoring.testruns.page_parts import AgentTotal, PageParts, PageTable, Queries
from scoring.testruns.summaries import mean_text
from tasks.reports.site.pages import Cell, Link, Links, Table, page, verdict_cell
from tasks.reports.site.testrun_charts import (
    interval_of,
    latency_charts,
    rounds_chart,
    scores_chart,
)
from tasks.reports.site.testrun_history import agents_table
from tasks.reports.site.testrun_queries import query_links, review_order, shown_queries
from tasks.reports.site.testrun_tables import RUN_FILES, PublishedTestRun, Row
from tasks.reports.wording import NOTE_TITLES, NOTHING, cost_text, count_text, rules_text, weights_text

_LINKS_SEEN, _LINKS_SHOWN = 2, 20
_MOVED_SHOWN = 200
_EXAMPLE_CHARACTERS = 80


def testrun_list(runs: Sequence[PublishedTestRun], folder: str) -> Table:
    """A line a run, latest first; `folder` is where their pages are."""
    rows: list[list[Cell]] = [
        [
            Link(run.name, folder + quote(run.page)),
            run.when_text,
            f"{run.rubric_title}, {rules_text(run.rubric_version)}",
            count_text(run.queries),
            count_text(run.executions),
            _means(run),
            count_text(run.parts.review_count),
        ]
        for run in runs
    ]
    return Table(["파일", "테스트 일시", "채점 기준", "질의", "실행", "세트 평균(0~5점)", "수기 확인"], rows)


def testruns_index(runs: Sequence[PublishedTestRun]) -> str:
    """Where every agent stands, and the list of test runs, as a page."""
    return page(
        "runs.html",
        root="../",
        section="runs",
        title="테스트 런",
        agents=agents_table(runs),
        runs=testrun_list(runs, ""),
    )


def file_links(folder: str, names: Sequence[str]) -> list[Link]:
    """Links to the files of a report folder, whose name the address has."""
    return [Link(RUN_FILES[name], quote(f"{folder}/{name}")) for name in names]


def testrun_values(
    run: PublishedTestRun,
    executions: Sequence[Row],
    queries: Sequence[Row],
    intervals: Mapping[str, Interval | None],
    files: Sequence[Link],
    before: str = "",
) -> dict[str, Any]:
    """What the page of one run shows; `files` are the report and the workbook that lie beside it.

    `intervals` are those of `metric_intervals`, `before` is the page of the run that it is compared with, '' for none.
    """
    change = run.summary.get("change")
    rounds, scores, latencies = rounds_chart(run, intervals), scores_chart(run), latency_charts(run, executions)
    executions_of: dict[str, list[Row]] = defaultdict(list)
    for row in executions:
        executions_of[row["query_id"]].append(row)
    shown = shown_queries(run, queries, executions_of)
    links = query_links(queries, shown)
    parts, quality = run.parts, run.summary["data_quality"]
    return {
        "charts": [rounds, scores, *latencies],
        "title": run.name,
        "run": run,
        "parts": parts,
        "files": files,
        "intervals": {name: interval_of(interval) for name, interval in intervals.items()},
        "rounds": rounds,
        "scores": scores,
        "latencies": latencies,
        "targets": _targets(parts),
        "consistency": _consistency(run.summary["set"].get("consistency", {}), run.figure_titles),
        "headline": run.summary.get("headline", ()),
        "change": change,
        **change_parts(change),
        "moved": _moved(change, links) if change else (),
        "alone": alone_text(run.summary),
        "before": before,
        "sections": [_with_links(each, links) for each in parts.tables if each.rows and each.title],
        "failures": [_with_links(each, links) for each in parts.tables if each.rows and not each.title],
        "knows_review": any("manual_review_reasons" in query["columns"] for query in queries),
        "review": sorted(
            (query for query in queries if query["columns"].get("manual_review_reasons")), key=review_order(run)
        ),
        "links": links,
        "queries": shown,
        "judge": _judge(run.summary["judge"]),
        "quality": _counts_table(quality, run.code_title),
        "lint": _lint(run.summary.get("lint", ()), links),
        "notes": _counts_table(quality.get("notes", {}), lambda code: NOTE_TITLES.get(code, code)),
        "untrusted": [run.titles[name] for name in run.untrusted if name in run.titles],
    }


@dataclass(frozen=True)
class _Section(Table):
    """A table of the rubric as the page shows it."""

    caption: str
    id: str
    title: str


@dataclass(frozen=True)
class _Moved:
    """The queries that moved in one way: how many there are, links to the first, and how many `more`."""

    kind: str
    text: str
    queries: Sequence[Link]
    more: int


def _moved(change: Mapping[str, Any], links: Mapping[str, Link]) -> list[_Moved]:
    ids = moved_ids(change)
    return [
        _Moved(
            kind,
            text,
            [links.get(query_id, Link(query_id, "")) for query_id in ids[kind][:_MOVED_SHOWN]],
            max(len(ids[kind]) - _MOVED_SHOWN, 0),
        )
        for kind, text in moved_queries(change).items()
    ]


def _with_links(part: PageTable, links: Mapping[str, Link]) -> _Section:
    """A table of the rubric, its queries by their text with a link to where they stand."""
    rows = [[_linked(each, links) if isinstance(each, Queries) else each for each in row] for row in part.rows]
    return _Section(part.header, rows, part.caption, part.id, part.title)


def _linked(queries: Queries, links: Mapping[str, Link]) -> Links:
    found = [links.get(query_id, Link(query_id, "")) for query_id in queries.ids]
    return Links(found[:_LINKS_SEEN], found[_LINKS_SEEN:_LINKS_SHOWN], len(found[_LINKS_SHOWN:]))


def _lint(findings: Sequence[Mapping[str, Any]], links: Mapping[str, Link]) -> Table:
    """What is wrong with the questions and expected results of the test set, what most queries have first."""
    rows: list[list[Cell]] = [
        [
            one["title"],
            count_text(len(one["query_ids"])),
            shortened(masked(one["example"]), _EXAMPLE_CHARACTERS),
            _linked(Queries(tuple(one["query_ids"])), links),
        ]
        for one in findings
    ]
    return Table(["점검", "질의 수", "예", "질의"], rows)


def _means(run: PublishedTestRun) -> str:
    """The totals, with how much of the weights they have where that is not all, then the mean of each metric."""
    totals = run.parts.totals
    names = [TOTAL_TITLE] if len(totals) == 1 else [one.title for one in totals]
    figures = [(name, _total_text(one)) for name, one in zip(names, totals, strict=True)]
    of_metrics = [(name, title) for name, title in run.titles.items() if name != TOTAL or not totals]
    figures += [(title, mean_text(run.means.get(name, {}))) for name, title in of_metrics]
    return " · ".join(f"{title} {mean}" for title, mean in figures if mean != NOTHING)


def _total_text(one: AgentTotal) -> str:
    is_partial = one.total is not None and one.coverage is not None and one.coverage < 1
    return score_text(one.total) + (f"({weights_text(one.coverage)})" if is_partial else "")


def _targets(parts: PageParts) -> Table:
    """The seed's targets with how sure the rates are."""
    rows: list[list[Cell]] = []
    for title, target in parts.targets:
        figure = goal_figure(target)
        rows.append(
            [
                title,
                figure.value_text,
                verdict_cell(figure.judged_text, figure.verdict),
                figure.target_text,
                figure.interval_text,
                f"{target['passed']:,} / {figure.n_text}",
            ]
        )
    return Table(["목표", "값", "판단", "목표치", "95% 구간", "통과 / 전체"], rows)


def _consistency(figures: Mapping[str, Any], titles: Mapping[str, str]) -> Table:
    """What stands behind the consistency score."""
    rows: list[list[Cell]] = [
        ["점수 없는 질의" if score == "null" else f"{score}점인 질의", count_text(count)]
        for score, count in figures.get("by_score", {}).items()
    ]
    for code, title in titles.items():
        if isinstance(value := figures.get(code), int | float):
            rows.append([title, count_text(value) if isinstance(value, int) else percent(value)])
    passes = f"통과(정확성 {figures['pass_at']}점 이상)" if "pass_at" in figures else "통과"
    for k, of_k in figures.get("pass_hat_k", {}).items():
        title = f"한 번 실행해 {passes}할 비율" if k == "1" else f"{k}번 실행해 모두 통과할 비율"
        rows.append([f"{title}(pass^{k})", f"{percent(of_k['mean'])} (질의 {of_k['n']:,}개)"])
    if (same := figures.get("mode_ratio")) and same["n"]:
        rows.append([titles.get("mode_ratio", "mode_ratio"), f"{percent(same['mean'])} (질의 {same['n']:,}개)"])
    return Table(["항목", "값"], rows)


def _judge(judge: Mapping[str, Any]) -> Table:
    """What was asked of the judge; no row where there was nothing to ask."""
    if not judge["questions"]:
        return Table([], [])
    unknown = judge.get("without_usage", 0)  # folders of earlier versions do not have it
    return Table(
        ["항목", "값"],
        [
            ["물어볼 질문", count_text(judge["questions"])],
            ["전에 받은 판정을 다시 씀", count_text(judge["cached"])],
            ["이번에 쓴 토큰", count_text(judge["tokens"])],
            ["이번 비용", cost_text(judge["cost"])],
            *([["사용량을 알 수 없어 토큰과 비용에 넣지 못한 답", count_text(unknown)]] if unknown else []),
            *([STATUS_TITLES.get(status, status), count_text(count)] for status, count in judge["by_status"].items()),
        ],
    )


def _counts_table(counts: Mapping[str, Any], title: Callable[[str], str]) -> Table:
    """Codes with their titles and counts, zeros left out."""
    known = ((code, count) for code, count in counts.items() if isinstance(count, int) and count)
    return Table(["항목", "건수"], [[title(code), count_text(count)] for code, count in known])
