"""What the page of a test run draws: means by round, distributions, response times against their bands.

Source: SPEC 3 and 4.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.markdown import percent, score_text
from scoring.rules.bands import Bands, band_rows
from scoring.stats.intervals import Interval, cluster_bootstrap_mean
from scoring.testruns.executions import AGENT_TITLES, AgentType, LatencyClass
from scoring.testruns.rubric import BEST_POINTS, WORST_POINTS
from scoring.testruns.summaries import SCORE_KEYS, mean_text, nearest_rank
from tasks.reports.site.pages import Chart, Table
from tasks.reports.site.testrun_tables import PublishedTestRun, Row
from tasks.reports.wording import NOTHING, count_text, seconds_text

_CLASS_TITLES = {"SINGLE": "단일 도구", "MULTI": "복수 도구"}
_QUANTILES = (5, 25, 50, 75, 95)
_BINS = 44


def metric_intervals(
    run: PublishedTestRun, executions: Sequence[Row], queries: Sequence[Row]
) -> dict[str, Interval | None]:
    """Metric -> how sure its mean is, for all that the summary has."""
    known = (name for name in run.titles if name in run.summary["set"])
    return {name: _metric_interval(run, name, executions, queries) for name in known}


def kept_intervals(kept: Any) -> dict[str, Interval | None] | None:
    """Intervals that were kept as JSON; None where there are none, or they are damaged."""
    try:
        return {name: one and Interval(**one) for name, one in kept.items()}
    except (TypeError, AttributeError):
        return None


def _metric_interval(
    run: PublishedTestRun, metric: str, executions: Sequence[Row], queries: Sequence[Row]
) -> Interval | None:
    """How sure the mean of a metric is, repeats of one query counting as one witness.

    None where the headline is no plain mean of scores (the band of a mean time, rounds of unequal size), and where all
    scores are equal: resampling them would claim a false certainty.
    """
    figures = run.summary["set"][metric]
    per_execution = any(metric in row["scores"] for row in executions)
    rows = [row for row in (executions if per_execution else queries) if metric in row["scores"]]
    known = [(row["scores"][metric]["score"], row["query_id"]) for row in rows]
    known = [(score, query) for score, query in known if score is not None]
    headline = figures.get("mean")
    if (
        headline is None
        or len({score for score, _ in known}) < 2
        or score_text(sum(s for s, _ in known) / len(known)) != score_text(headline)
    ):
        return None
    return cluster_bootstrap_mean([score for score, _ in known], [query for _, query in known])


def rounds_chart(run: PublishedTestRun, intervals: Mapping[str, Interval | None]) -> Chart:
    """The mean of every metric, by round and of the set."""
    rounds, of_set = run.summary["rounds"], run.summary["set"]
    shown = [(name, title) for name, title in run.titles.items() if of_set.get(name, {}).get("mean") is not None]
    return Chart(
        id="rounds",
        kind="rounds",
        title="지표별 평균",
        summary="회차별 평균과 세트 평균(0~5점): "
        + ", ".join(f"{title} {score_text(of_set[name]['mean'])}" for name, title in shown),
        data={
            "metrics": [title for _, title in shown],
            "rounds": list(rounds),
            "means": [
                {
                    "metric": title,
                    "round": round_,
                    "mean": figures[name]["mean"],
                    "shown": score_text(figures[name]["mean"]),
                }
                for round_, figures in rounds.items()
                for name, title in shown
                if name in figures and figures[name]["mean"] is not None
            ],
            "set": [
                {
                    "metric": title,
                    "mean": of_set[name]["mean"],
                    "shown": score_text(of_set[name]["mean"]),
                    **interval_ends(intervals.get(name)),
                }
                for name, title in shown
            ],
        },
        table=Table(
            ["지표", *rounds, "세트", "95% 구간", "n"],
            [
                [
                    title,
                    *(mean_text(figures.get(name, {})) for figures in rounds.values()),
                    mean_text(of_set[name]),
                    interval_of(intervals.get(name)),
                    count_text(of_set[name].get("n")),
                ]
                for name, title in run.titles.items()
                if name in of_set
            ],
        ),
    )


def scores_chart(run: PublishedTestRun) -> Chart:
    """How often each score was given, metric by metric, over all rounds."""
    rounds = run.summary["distributions"]
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for of_round in rounds.values():
        for name, counts in of_round.items():
            counted[name].update(counts)
    named = [(run.titles.get(name, name), counts) for name, counts in counted.items() if counts.total()]
    titles = [*(f"{score}점" for score in SCORE_KEYS[:-1]), "점수 없음"]
    return Chart(
        id="scores",
        kind="scores",
        title="점수 분포",
        summary="지표별로 0~5점이 차지하는 비율. 모든 회차를 합함",
        data={
            "names": titles,
            "metrics": [
                {"metric": title, "counts": [counts[score] for score in SCORE_KEYS]} for title, counts in named
            ],
        },
        table=Table(
            ["지표", "회차", *titles],
            [
                [run.titles.get(name, name), round_, *(count_text(counts.get(score, 0)) for score in SCORE_KEYS)]
                for name in counted
                for round_, of_round in rounds.items()
                if (counts := of_round.get(name))
            ],
        ),
    )


def latency_charts(run: PublishedTestRun, executions: Sequence[Row]) -> list[Chart]:
    """Response times by the bands that score them: a chart for each class and agent whose bands differ.

    The time of a failed execution is that of its failure, not of an answer: it is left out, as in the report.
    """
    groups: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for row in executions:
        if row["latency_s"] is not None and not row["failed"]:
            groups[row["latency_class"], row["agent_type"]].append(row)
    charts = (_latency_chart(run, kind, agent, rows) for (kind, agent), rows in sorted(groups.items(), key=str))
    return [chart for chart in charts if chart]


def _latency_chart(run: PublishedTestRun, kind: str, agent: str | None, rows: Sequence[Row]) -> Chart | None:
    bands = _bands(run, kind, agent)
    if bands is None:
        return None
    times = sorted(row["latency_s"] for row in rows)
    end = _axis_end(times, bands)
    of_agent = f" · {AGENT_TITLES[AgentType(agent)]} 에이전트" if agent else ""
    title = f"응답 시간: {_CLASS_TITLES.get(kind, kind)}{of_agent}"
    counts = Counter(bands.points(seconds) for seconds in times)
    p5, p25, p50, p75, p95 = (nearest_rank(times, share) for share in _QUANTILES)
    beyond = sum(seconds > end for seconds in times)
    counted = f"실패하지 않은 실행 {len(times):,}건"
    more = f" 눈금 밖({seconds_text(end)} 초과) {beyond:,}건은 오른쪽 끝 막대에 있음." if beyond else ""
    return Chart(
        id=f"latency-{kind}-{agent or 'any'}".lower(),
        kind="latency",
        title=title,
        summary=f"{title}. {counted}, 중앙값 {seconds_text(p50)}, 95% 지점 {seconds_text(p95)}. "
        f"바탕은 점수 구간, 막대는 실행 수, 상자는 가운데 절반, 선은 5~95% 지점.{more}",
        note=counted + (f", 눈금 밖 {beyond:,}건은 오른쪽 끝 막대" if beyond else ""),
        data={
            "cuts": [cut for cut, _ in bands.cuts],
            "points": [*(points for _, points in bands.cuts), bands.beyond],
            "end": end,
            "bins": _bins(times, [float(cut) for cut, _ in bands.cuts], end),
            "box": {f"p{share}": min(nearest_rank(times, share), end) for share in _QUANTILES},
            "names": [f"중앙값 {seconds_text(p50)}", f"절반이 {_between(p25, p75)}", f"90%가 {_between(p5, p95)}"],
        },
        table=Table(
            ["구간", "점수", "실행", "비율"],
            [
                [text, f"{points}점", count_text(counts[points]), percent(counts[points] / len(times))]
                for text, points in band_rows(bands, "초")
            ],
        ),
    )


def _axis_end(times: Sequence[float], bands: Bands[int]) -> float:
    """Where the axis ends, in seconds: beyond the bands and nearly all times, not beyond a few that are far off."""
    last = float(bands.cuts[-1][0]) * 1.08
    return max(last, min(times[-1], nearest_rank(times, 95) * 1.5))


def _bins(times: Sequence[float], cuts: Sequence[float], end: float) -> list[dict[str, Any]]:
    """How many executions took how long, in about `_BINS` steps up to the `end`; the last holds all that is longer.

    No step reaches over a cut, and each includes its upper end, as the bands do: what stands in a band is of it.
    """
    edges = [0.0]
    for border in (*(cut for cut in cuts if cut < end), end):
        low = edges[-1]
        steps = max(round((border - low) / end * _BINS), 1)
        edges += [low + (border - low) * number / steps for number in range(1, steps)] + [border]
    counts = Counter(min(bisect_left(edges, seconds, lo=1), len(edges) - 1) for seconds in times)
    return [
        {
            "low": (low := edges[place - 1]),
            "high": (high := edges[place]),
            "n": count,
            "label": f"{_between(low, high)}\n실행 {count:,}건",
        }
        for place, count in sorted(counts.items())
    ]


def _between(low: float, high: float) -> str:
    return f"{score_text(low)}~{seconds_text(high)}"


def _bands(run: PublishedTestRun, kind: str, agent: str | None) -> Bands[int] | None:
    if run.rubric is None or kind not in set(LatencyClass):
        return None
    bands, latency_class = run.rubric.speed_bands, LatencyClass(kind)
    return bands.get((latency_class, AgentType(agent) if agent else None)) or bands.get((latency_class, None))


def interval_of(interval: Interval | None) -> str:
    """`3.21~4.10`."""
    return f"{score_text(interval.low)}~{score_text(min(interval.high, BEST_POINTS))}" if interval else NOTHING


def interval_ends(interval: Interval | None) -> dict[str, float | None]:
    """The ends of an interval within the scores."""
    if interval is None:
        return {"low": None, "high": None}
    return {"low": max(interval.low, WORST_POINTS), "high": min(interval.high, BEST_POINTS)}
