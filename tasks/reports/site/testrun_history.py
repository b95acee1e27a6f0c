"""The runs of one test set over time as a page, and where every agent stands."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from scoring.figures import Verdict
from scoring.markdown import score_text
from scoring.stats.intervals import Interval
from scoring.testruns.change_wording import passed_over_text, standing
from scoring.testruns.scoring import epochs_of
from scoring.testruns.summaries import mean_text
from tasks.reports.site.pages import Cell, Chart, Link, Table, verdict_cell
from tasks.reports.site.testrun_charts import interval_ends, interval_of
from tasks.reports.site.testrun_tables import PublishedTestRun, order_of_runs
from tasks.reports.wording import NOTHING, count_text

RunIntervals = Mapping[tuple[str, str], Mapping[str, Interval | None]]
"""Hash of the file and rubric of a run -> metric -> how sure its mean is."""

_VERDICTS: Mapping[str, Verdict] = {
    "나빠짐": "missed",
    "좋아짐": "met",
    "엇갈림": "undecided",
    "판단 보류": "undecided",
}


def runs_by_set(runs: Sequence[PublishedTestRun]) -> list[list[PublishedTestRun]]:
    """The runs of every test set and rubric in the order in which they ran; the set that ran last comes first."""
    sets: dict[tuple[str, str], list[PublishedTestRun]] = defaultdict(list)
    order = order_of_runs(runs)
    for run in sorted(runs, key=lambda run: (*order(run), run.name, run.sha256)):
        sets[run.test_set, run.rubric_id].append(run)
    return sorted(sets.values(), key=lambda of_set: (*order(of_set[-1]), of_set[-1].name), reverse=True)


def agents_table(runs: Sequence[PublishedTestRun]) -> Table:
    """Every agent and test set with its last run: better, worse or not to be told, and why."""
    rows: list[list[Cell]] = []
    for of_set in runs_by_set(runs):
        last = of_set[-1]
        verdict, why = _standing(of_set)
        rows.append(
            [
                last.agent_title,
                Link(last.name, quote(last.page)),
                _standing_cell(verdict),
                why,
                Link(f"테스트 런 {len(of_set):,}개 보기", quote(last.set_page)),
            ]
        )
    return Table(["에이전트", "최근 테스트 런", "지난 실행보다", "근거", "이력"], rows)


def _standing(runs: Sequence[PublishedTestRun]) -> tuple[str, str]:
    """As `standing` of the last of these runs of a set, which may have been scored before the others came."""
    *earlier, last = runs
    if not last.executions:
        counts = last.summary["counts"]
        return "채점 안 됨", f"행 {counts['rows_in']:,}건 = 제외 {counts['excluded']:,} + 거부 {counts['rejected']:,}"
    if last.summary.get("change") or not earlier:
        return standing(last.summary)
    before = earlier[-1]
    return "비교 안 함", f"지난 실행({before.name}, {before.when_text})이 나중에 채점되어 비교하지 않음"


def _standing_cell(verdict: str, why: str = "") -> Cell:
    return verdict_cell(verdict, _VERDICTS[verdict], why) if verdict in _VERDICTS else verdict


def values_of_set(runs: Sequence[PublishedTestRun], intervals: RunIntervals) -> dict[str, Any]:
    """What the page of one test set shows; `runs` in the order in which they ran."""
    last = runs[-1]
    charts = [
        chart for metric, title in last.titles.items() if (chart := _history_chart(runs, metric, title, intervals))
    ]
    verdict, why = _standing(runs)
    return {
        "charts": charts,
        "title": f"{last.agent_title} 테스트 세트",
        "last": last,
        "verdict": verdict,
        "why": why,
        "passed_over": passed_over_text(change) if (change := last.summary.get("change")) else "",
        "history": charts,
        "has_bands": any(_has_band(chart.data["points"]) for chart in charts),
        "runs": _runs_table(runs),
    }


def _history_chart(runs: Sequence[PublishedTestRun], metric: str, title: str, intervals: RunIntervals) -> Chart | None:
    """One metric over the runs. The line breaks where the rules, the judge or what is expected of all queries changed:
    those means are not alike."""
    points: list[dict[str, Any]] = []
    rows: list[list[Cell]] = []
    segment = 0
    for order, run in enumerate(runs):
        segment += bool(order) and (_judged_by(run) != _judged_by(runs[order - 1]) or _expects_otherwise(run))
        figures = run.means.get(metric, {})
        interval = intervals.get((run.sha256, run.rubric_id), {}).get(metric)
        rows.append([Link(run.name, quote(run.page)), run.when_text, mean_text(figures), interval_of(interval)])
        if (mean := figures.get("mean")) is not None:
            points.append(
                {
                    "order": order,
                    "value": mean,
                    **interval_ends(interval),
                    "segment": segment,
                    "href": quote(run.page),
                    "label": f"{run.name}\n{run.when_text}\n{score_text(mean)}"
                    + (f" (95% 구간 {interval_of(interval)})" if interval else ""),
                }
            )
    if not points:
        return None
    return Chart(
        id=f"history-{metric}",
        kind="history",
        title=title,
        summary=f"{title}의 테스트 런별 평균(0~5점){'과 95% 구간' if _has_band(points) else ''}. "
        f"마지막 값 {score_text(points[-1]['value'])}",
        data={"days": _days(runs), "points": points},
        table=Table(["파일", "테스트 일시", "평균", "95% 구간"], rows),
    )


def _days(runs: Sequence[PublishedTestRun]) -> list[str]:
    """The day of each run as charts of days write it (`3/2`), from the second one of a day on with its number there."""
    seen: Counter[str] = Counter()
    days = []
    for run in runs:
        day = "/".join(part.lstrip("0") for part in run.when[5:10].split("-"))
        seen[run.when[:10]] += 1
        days.append(day if seen[run.when[:10]] == 1 else f"{day} ({seen[run.when[:10]]})")
    return days


def _has_band(points: Sequence[Mapping[str, Any]]) -> bool:
    return any(point["low"] is not None for point in points)


def _judged_by(run: PublishedTestRun) -> tuple[str, str]:
    return run.rubric_version, json.dumps(epochs_of(run.summary), sort_keys=True)


def _expects_otherwise(run: PublishedTestRun) -> bool:
    """Whether the run expects something else of every query than the run before it."""
    change = run.summary.get("change") or {}
    return bool(change.get("expected_otherwise")) and not change["paired"]


def _runs_table(runs: Sequence[PublishedTestRun]) -> Table:
    """A line a run, the last first."""
    rows: list[list[Cell]] = []
    for place, run in reversed([*enumerate(runs, start=1)]):
        verdict, why = _standing(runs[:place])
        means = [mean_text(run.means.get(metric, {})) for metric in runs[-1].titles]
        rows.append(
            [
                Link(run.name, quote(run.page)),
                run.when_text,
                count_text(run.queries),
                *(mean or NOTHING for mean in means),
                _standing_cell(verdict, why),
            ]
        )
    return Table(["파일", "테스트 일시", "질의", *runs[-1].titles.values(), "지난 실행보다"], rows)
