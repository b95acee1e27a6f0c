"""Compares one test run under the verdicts of two judges: their agreement, and differing scores. Source: SPEC 11."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from scoring.stats.agreement import ALL_AGENTS, SAME_SCORE, Agreement, Pair, agreements
from scoring.stats.run_scores import TOTAL
from scoring.testruns.rubric import Score, ScoredQuery
from scoring.testruns.scoring import ScoredTestRun
from scoring.testruns.summaries import as_float

BothScored = tuple[ScoredTestRun, ScoredTestRun]
"""A test run with the verdicts of each of the two judges."""


@dataclass(frozen=True)
class MetricShift:
    """A metric under the verdicts of two judges: their means (0..5), and their agreement (`bias`: the shift)."""

    rubric: str
    metric: str
    title: str
    before: float
    after: float
    agreement: Agreement


@dataclass(frozen=True)
class MovedQuery:
    """A query of a run whose judged score differs; means over its executions."""

    run: str
    query_id: str
    text: str
    title: str
    before: float
    after: float


def metric_shifts(runs: Sequence[BothScored]) -> list[MetricShift]:
    """Each judged metric and the total, over all runs of a rubric; those without a pair of known scores are omitted."""
    found = []
    for rubric in dict.fromkeys(before.plan.rubric.id for before, _ in runs):
        of_rubric = [pair for pair in runs if pair[0].plan.rubric.id == rubric]
        titles = _titles(of_rubric[0][0])
        pairs = [pair for before, after in of_rubric for pair in _pairs(before, after)]
        for one in agreements(pairs, to_points=False):
            if one.agent_type == ALL_AGENTS:
                own = [pair for pair in pairs if pair.metric == one.metric]
                found.append(MetricShift(rubric, one.metric, titles[one.metric], *_means(own), one))
    return found


def moved_queries(runs: Sequence[BothScored]) -> list[MovedQuery]:
    """The queries with different judged scores, largest difference first."""
    found = []
    for before, after in runs:
        run, titles = before.plan.run.name, _titles(before)
        for old, new in zip(before.queries, after.queries, strict=True):
            pairs = list(_pairs_of_query(before, old, new))
            for metric in dict.fromkeys(pair.metric for pair in pairs if pair.metric != TOTAL):
                means = _means([pair for pair in pairs if pair.metric == metric])
                moved = MovedQuery(run, old.query_id, old.query_text, titles[metric], *means)
                found += [moved] if abs(moved.after - moved.before) > SAME_SCORE else []
    return sorted(found, key=lambda one: (-abs(one.after - one.before), one.run, one.query_id, one.title))


def _titles(scored: ScoredTestRun) -> dict[str, str]:
    judged = (metric for metric in scored.plan.rubric.metrics if metric.judged_by)
    return {metric.name: metric.title for metric in judged} | {TOTAL: "종합 점수"}


def _means(pairs: Sequence[Pair]) -> tuple[float, float]:
    return fmean(pair.label for pair in pairs), fmean(pair.score for pair in pairs)


def _pairs(before: ScoredTestRun, after: ScoredTestRun) -> Iterator[Pair]:
    for old, new in zip(before.queries, after.queries, strict=True):
        yield from _pairs_of_query(before, old, new)


def _pairs_of_query(run: ScoredTestRun, old: ScoredQuery, new: ScoredQuery) -> Iterator[Pair]:
    """The scores of a query that are known under both judges; they are not independent observations.

    Totals are compared only if the same scores are known: a total without a metric is not comparable.
    """
    rubric, cluster = run.plan.rubric, (run.plan.run.identity.sha256, old.query_id)
    know_the_same = True
    for metric in rubric.metrics:
        if metric.judged_by:
            scores = zip(_scores(old, metric.name), _scores(new, metric.name), strict=True)
            both = [(as_float(a.points), as_float(b.points)) for a, b in scores]
            know_the_same &= all((label is None) == (score is None) for label, score in both)
            yield from _known(metric.name, cluster, both)
    if know_the_same:
        totals = (rubric.query_row(query).get(TOTAL) for query in (old, new))
        yield from _known(TOTAL, cluster, [tuple(totals)])


def _scores(query: ScoredQuery, metric: str) -> list[Score]:
    """The scores of a metric: those of the executions, else that of the query."""
    of_executions = [one.scores[metric] for one in query.executions if metric in one.scores]
    return of_executions or [query.scores[metric]]


def _known(metric: str, cluster: tuple[str, str], both: Iterable[tuple[float | None, ...]]) -> Iterator[Pair]:
    for label, score in both:
        if label is not None and score is not None:
            yield Pair(metric, None, cluster, score=float(score), label=float(label))
