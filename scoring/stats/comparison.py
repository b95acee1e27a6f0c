"""Compares two scored test runs query by query, with intervals of the differences.

Queries are paired by their question; a query's score is the mean of its executions, and a difference is candidate minus
base. Only queries that both runs scored count. The interval resamples queries. A query is worse or better only if one
of its scores moved by more than the measurement noise. Near the edge of a band a response time moves the score of one
execution by a point, and so the query's mean by a point divided by its number of executions.

The scores of the answers decide the direction. Metrics of the repeats alone, such as consistency, and response times
make no query better whose answers got worse (failing every time is consistent, too). If the runs answered a query in
different rounds, only their common rounds count, and no metric computed over all rounds: a second round may be harder
than the first. If one of the runs had an outage, nothing is compared: its scores measure the servers.

Source: SPEC 9 (`aqb compare`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scoring.errors import UsageError
from scoring.stats.agreement import SAME_SCORE
from scoring.stats.exact import exact, exact_sum
from scoring.stats.group_changes import GroupChange, MeasuredQuery, changes_by_group, explanation
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Difference, Finding, paired_difference
from scoring.stats.outages import Failures, Side, more_failed, outage_of
from scoring.stats.pairing import paired_queries
from scoring.stats.rates import Rate
from scoring.stats.run_scores import TOTAL, QueryScores, TestRunScores, of_same_rounds, rounds_differ

FINDING_TITLES: Mapping[Finding, str] = {
    "better": "좋아짐",
    "worse": "나빠짐",
    "unclear": "판단 보류(우연과 구별되지 않음)",
    "too_few": f"판단 보류(질의 {MIN_N_FOR_VERDICT}개 미만)",
    "hollow": "판단 보류(답변이 나빠진 질의가 더 많음)",
}
"""What can be concluded from a difference, in Korean."""


@dataclass(frozen=True)
class MetricChange:
    """One metric over the `n` queries that both runs scored; `difference` is None if there are none.

    A `withheld` metric is not compared: where many queries are undecided, the remaining ones are those that were easy
    to decide. Neither is the total if only one of the two runs withholds a metric, nor a metric `of_two_judges`: its
    difference may be that of the judges.

    A rate is compared the same way, with shares from 0 to 1 instead of points, and as the metric that it is `part_of`
    ('' for none, and for metrics). A metric `of_repeats` is computed from a query's repeats, not from an answer; it
    `is_hollow` if the answers of more queries got worse than better: failing every time is consistent, too.
    """

    metric: str
    title: str
    base: float | None = None
    candidate: float | None = None
    difference: Difference | None = None
    withheld: bool = False
    of_two_judges: bool = False
    part_of: str = ""
    of_repeats: bool = False
    is_hollow: bool = False

    @property
    def finding(self) -> Finding | None:
        """The conclusion; None if nothing is compared."""
        if self.difference is None:
            return None
        found = self.difference.finding
        return "hollow" if found == "better" and self.is_hollow else found


@dataclass(frozen=True)
class ScoreChange:
    """One score of a query that moved beyond its noise; `reason` is the reason of the lower score (Korean)."""

    metric: str
    title: str
    base: float
    candidate: float
    reason: str


@dataclass(frozen=True)
class QueryChange:
    """One query with the scores that `moved`, by its id in the candidate and in the base.

    `change` is the change of the total. Without a total it is the mean change over all metrics of the answers that both
    runs scored (changes within the noise count as 0), or over the metrics of the repeats if no answer's score moved.
    `direction` is 1 for better and -1 for worse: the direction of the answers, whatever the total; else of the repeats,
    else of the response times (`by_time`). `against_time` says that the response times moved the other way.
    """

    query_id: str
    base_id: str
    text: str
    change: float
    direction: int
    moved: tuple[ScoreChange, ...]
    base: Mapping[str, float | None]
    candidate: Mapping[str, float | None]
    by_time: bool
    against_time: bool


@dataclass(frozen=True)
class Comparison:
    """How the queries and metrics of two runs differ.

    `worse` and `better` begin with the largest change and end with the changes in response times alone. `only_*` are
    the ids of queries that the other run does not have, `reworded` those with different questions in the two runs,
    `expected_otherwise` those with different expectations. None of these is compared, except the last if the comparison
    is `across_expectations`.

    `within_noise` counts the queries that moved only within the noise of their measures, `same` those with equal
    scores. `groups` show the change of the metric `grouped_by`, by the candidate's groups. `outage` is the run that had
    one; then no query and no metric is compared. `rates` are shown and decide nothing. `other_rounds` counts the pairs
    whose runs have different rounds.
    """

    base: TestRunScores
    candidate: TestRunScores
    metrics: tuple[MetricChange, ...]
    worse: tuple[QueryChange, ...]
    better: tuple[QueryChange, ...]
    paired: int
    within_noise: int
    same: int
    only_base: tuple[str, ...]
    only_candidate: tuple[str, ...]
    reworded: tuple[str, ...]
    expected_otherwise: tuple[str, ...]
    across_expectations: bool
    grouped_by: MetricChange | None
    groups: tuple[GroupChange, ...]
    outage: Side | None
    rates: tuple[MetricChange, ...]
    other_rounds: int

    @property
    def outage_failures(self) -> Failures:
        """The failed executions of the run that had an outage."""
        return (self.base if self.outage == "base" else self.candidate).failures

    @property
    def more_failed(self) -> Side | None:
        """The run with significantly more failed executions, though too few for an outage; None if no query is
        compared.
        """
        return None if self.outage else more_failed(self.base.failures, self.candidate.failures)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of worse and of better queries, each also for response times alone and against the response
        times.
        """
        return {
            "worse": len(self.worse),
            "better": len(self.better),
            "slower": sum(one.by_time for one in self.worse),
            "faster": sum(one.by_time for one in self.better),
            "worse_but_faster": sum(one.against_time for one in self.worse),
            "better_but_slower": sum(one.against_time for one in self.better),
        }

    @property
    def cause(self) -> GroupChange | None:
        """The group that explains why the metric of the groups got significantly worse."""
        by = self.grouped_by
        return explanation(self.groups) if by and by.finding == "worse" else None

    @property
    def is_same(self) -> bool:
        """Whether all scores of all queries are equal."""
        return self.same == self.paired and any(one.difference for one in self.metrics)

    @property
    def is_same_file(self) -> bool:
        """Whether both runs scored the same results file."""
        return self.base.sha256 == self.candidate.sha256 != ""

    @property
    def versions_differ(self) -> bool:
        """Whether the rules changed too, so that a difference may not be due to the agent."""
        return self.base.rubric_version != self.candidate.rubric_version


def compare_testruns(
    base: TestRunScores,
    candidate: TestRunScores,
    titles: Mapping[str, str],
    noise: Mapping[str, int] | None = None,
    of_repeats: Collection[str] = (),
    rates: Sequence[Rate] = (),
    *,
    across_expectations: bool = False,
) -> Comparison:
    """Compares two runs of one rubric; `titles` are the metrics to compare, in order.

    `noise`: metric -> by how many points an execution's score may move without a reason; 0 for others. `of_repeats` are
    the metrics computed from a query's repeats, not from an answer. `across_expectations` also compares queries for
    which the runs have different expectations, such as two versions of one file that differ in nothing else.

    Raises:
        UsageError: the runs were scored by different rubrics.
    """
    if base.rubric != candidate.rubric:
        raise UsageError(
            f"the runs were scored by different rubrics: {base.rubric} and {candidate.rubric}",
            fix="score both files with the same --rubric",
        )
    of_two_judges = {name for name in titles if base.epochs.get(name) != candidate.epochs.get(name)}
    # If only one run has no verdicts of a metric (the judge's budget was used up), its totals do not include it.
    withheld = base.withheld | candidate.withheld | ({TOTAL} if base.withheld ^ candidate.withheld else set())
    comparable = {name: title for name, title in titles.items() if name not in of_two_judges | (withheld & {TOTAL})}
    queries = paired_queries(base.queries, candidate.queries)
    pairs = [ids for ids in queries.pairs if across_expectations or ids not in queries.expect_otherwise]
    outage = outage_of(base.failures, candidate.failures)
    compared = [] if outage else pairs
    of_all = [(base.queries[one], candidate.queries[other]) for one, other in compared]
    of_both = [of_same_rounds(before, after) for before, after in of_all]
    of_queries = [
        _query_change(ids, scores, comparable, noise or {}, of_repeats)
        for ids, scores in zip(compared, of_both, strict=True)
    ]
    changes = [change for change in of_queries if change and change.moved]
    balance = sum(one.direction for one in changes if not one.by_time)
    of_metrics = (
        _metric_change(name, title, of_both, withheld=name in withheld, of_two_judges=name in of_two_judges)
        for name, title in titles.items()
    )
    metrics = tuple(
        replace(one, of_repeats=True, is_hollow=balance < 0) if one.metric in of_repeats else one for one in of_metrics
    )
    grouped_by = _deciding(metrics)
    return Comparison(
        base=base,
        candidate=candidate,
        metrics=metrics,
        worse=tuple(sorted((one for one in changes if one.direction < 0), key=_largest_first)),
        better=tuple(sorted((one for one in changes if one.direction > 0), key=_largest_first)),
        paired=len(pairs),
        within_noise=sum(change is not None and not change.moved for change in of_queries),
        same=sum(_same_scores(before, after, titles) for before, after in of_both),
        only_base=queries.only_base,
        only_candidate=queries.only_candidate,
        reworded=queries.reworded,
        expected_otherwise=tuple(query_id for _, query_id in queries.expect_otherwise),
        across_expectations=across_expectations,
        grouped_by=grouped_by,
        groups=changes_by_group(_measured(grouped_by.metric, of_both)) if grouped_by else (),
        outage=outage,
        rates=tuple(_rate_changes(rates, withheld, of_two_judges, of_both)),
        other_rounds=sum(rounds_differ(before, after) for before, after in of_all),
    )


def most_moved(metrics: Iterable[MetricChange]) -> MetricChange | None:
    """The metric with the largest difference, the first of equal ones, a metric of repeats only if no other moved; None
    if none did.
    """
    moved = [one for one in metrics if one.difference and abs(one.difference.mean) > SAME_SCORE]
    moved = [one for one in moved if not one.of_repeats] or moved
    return max(moved, key=lambda one: abs(one.difference.mean) if one.difference else 0, default=None)


def _deciding(metrics: Sequence[MetricChange]) -> MetricChange | None:
    """The metric with the largest significant loss, else the largest significant gain, else the total, else the one
    that moved most.
    """
    for finding in ("worse", "better"):
        sure = [one for one in metrics if one.metric != TOTAL and one.finding == finding]
        if sure:
            return most_moved(sure)
    totals = [one for one in metrics if one.metric == TOTAL and one.difference]
    return totals[0] if totals else most_moved(metrics)


def _measured(name: str, pairs: Iterable[tuple[QueryScores, QueryScores]]) -> list[MeasuredQuery]:
    """The scores of a metric for the queries where both runs have one."""
    return [
        MeasuredQuery(after.groups, old, new)
        for before, after in pairs
        if (old := before.scores.get(name)) is not None and (new := after.scores.get(name)) is not None
    ]


def _rate_changes(
    rates: Iterable[Rate],
    withheld: Collection[str],
    of_two_judges: Collection[str],
    pairs: Iterable[tuple[QueryScores, QueryScores]],
) -> Iterator[MetricChange]:
    """The change of each rate; the difference is None if no query has the rate or its metric cannot be compared."""
    shares = [(replace(before, scores=before.rates), replace(after, scores=after.rates)) for before, after in pairs]
    for rate in rates:
        is_known = bool(_measured(rate.name, shares))
        of_rate, of_judges = (is_known and rate.metric in names for names in (withheld, of_two_judges))
        change = _metric_change(rate.name, rate.title, shares, withheld=of_rate, of_two_judges=of_judges)
        yield replace(change, part_of=rate.metric)


def _metric_change(
    name: str, title: str, pairs: Iterable[tuple[QueryScores, QueryScores]], *, withheld: bool, of_two_judges: bool
) -> MetricChange:
    """The change of a metric; the difference is None if it cannot be compared."""
    if withheld or of_two_judges:
        return MetricChange(name, title, withheld=not of_two_judges, of_two_judges=of_two_judges)
    known = _measured(name, pairs)
    if not known:
        return MetricChange(name, title)
    of_base, of_candidate = [query.base for query in known], [query.candidate for query in known]
    base, candidate = (float(exact_sum(map(exact, scores)) / len(known)) for scores in (of_base, of_candidate))
    return MetricChange(name, title, base, candidate, paired_difference(of_base, of_candidate))


def _query_change(
    ids: tuple[str, str],
    scores: tuple[QueryScores, QueryScores],
    titles: Mapping[str, str],
    noise: Mapping[str, int],
    of_repeats: Collection[str],
) -> QueryChange | None:
    """How one query changed; None if all scores that both runs have are equal."""
    before, after = scores
    known = {
        name: (old, new)
        for name in titles
        if (old := before.scores.get(name)) is not None and (new := after.scores.get(name)) is not None
    }
    if all(abs(new - old) <= SAME_SCORE for old, new in known.values()):
        return None
    executions = min(before.executions, after.executions)
    moved = tuple(
        ScoreChange(name, titles[name], old, new, _reason(name, *((after, before) if new < old else (before, after))))
        for name, (old, new) in known.items()
        if name != TOTAL and abs(new - old) > noise.get(name, 0) / executions + SAME_SCORE
    )
    of_total = known.pop(TOTAL, None)
    change = of_total[1] - of_total[0] if of_total else _mean_change(moved, known, of_repeats)
    times = [one for one in moved if noise.get(one.metric)]
    repeats = [one for one in moved if one.metric in of_repeats]
    answers = [one for one in moved if one not in times and one not in repeats]
    direction = _direction(answers or repeats or times, change)
    by_time = not answers and not repeats
    against_time = not by_time and any((one.candidate - one.base) * direction < 0 for one in times)
    return QueryChange(
        query_id=ids[1],
        base_id=ids[0],
        text=after.text,
        change=change,
        direction=direction,
        moved=moved,
        base=before.scores,
        candidate=after.scores,
        by_time=by_time,
        against_time=against_time,
    )


def _reason(name: str, lower: QueryScores, other: QueryScores) -> str:
    """The reason of the lower score: of the round that lost most against the other run, if rounds are known."""
    lost = [
        (theirs.points - mine.points, one, mine.reason)
        for one, scores in lower.rounds.items()
        if (mine := scores.get(name)) and (theirs := other.rounds.get(one, {}).get(name))
        if mine.points is not None and theirs.points is not None and theirs.points > mine.points
    ]
    if not lost:
        return lower.reasons.get(name, "")
    _, round_, reason = max(lost, key=lambda one: one[0])
    return f"{round_} {reason}"


def _direction(deciding: Iterable[ScoreChange], change: float) -> int:
    """1 if all deciding scores rose, -1 if all fell; if they disagree, the sign of the query's change."""
    signs = {1 if one.candidate > one.base else -1 for one in deciding}
    if len(signs) == 1:
        return signs.pop()
    return 0 if abs(change) <= SAME_SCORE else 1 if change > 0 else -1


def _same_scores(before: QueryScores, after: QueryScores, names: Iterable[str]) -> bool:
    both = [(before.scores.get(name), after.scores.get(name)) for name in names]
    return all(old is new if old is None or new is None else abs(new - old) <= SAME_SCORE for old, new in both)


def _mean_change(moved: Sequence[ScoreChange], known: Collection[str], of_repeats: Collection[str]) -> float:
    """The mean change of the answers' scores, or of the repeats' if no answer's score moved."""
    answers = [one for one in moved if one.metric not in of_repeats]
    like = [name for name in known if (name in of_repeats) != bool(answers)]
    return sum(one.candidate - one.base for one in answers or moved) / max(len(like), 1)


def _largest_first(change: QueryChange) -> tuple[bool, float, str]:
    return (change.by_time, -change.change * change.direction, change.query_id)
