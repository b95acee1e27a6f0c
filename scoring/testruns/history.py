"""Groups test runs into test sets, and compares a run with the previous one of its set.

A test set is identified by its queries, not by its file name: teams rename files, and occasionally add a query. A run
belongs to the set of the run with which it shares most queries (by text, by id if a file has no text), at least half of
the union of both. The set keeps the name from its first run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from scoring.stats.comparison import Comparison, MetricChange
from scoring.stats.outages import NO_EXECUTIONS, Failures
from scoring.stats.pairing import question_key
from scoring.stats.run_scores import expect_otherwise

LEAST_SHARED = Fraction(1, 2)
OTHER_RULES = "채점 기준의 버전이나 옵션이 다름"
_OTHER_EXPECTATIONS = "질의의 절반 넘게 기대 결과가 이번 실행과 다름"
_NAME_DIGITS = 16
_WORST = 5


@dataclass(frozen=True)
class KnownRun:
    """A run in the history of test runs, by the hash of its file.

    `when` it ran or was scored, `keys` are those of its queries. `before` is the hash of the run that was the latest of
    its set when it was scored, '' for none. `failures` are its failed executions. `rules` is the rubric's version with
    its options; `expected`: key of a query -> fingerprint of its expectation, if known.
    """

    sha256: str
    when: str
    test_set: str
    keys: frozenset[str]
    before: str = ""
    name: str = ""
    failures: Failures = NO_EXECUTIONS
    rules: str = ""
    expected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunPlace:
    """The test set of a run, and its comparison with the previous run (`change_figures`), None for the first.

    `nearest` (`nearest_figures`) is then the earlier run with most of the same queries, too few for one set.
    """

    test_set: str
    change: Mapping[str, Any] | None = None
    nearest: Mapping[str, Any] | None = None


def query_keys(queries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Query id -> its key in any file: its text without blanks, case and punctuation, else its id.

    Several queries with the same text are numbered.
    """
    seen: dict[str, int] = {}
    keys = {}
    for query_id, text in queries:
        key = question_key(text) or query_id
        seen[key] = seen.get(key, 0) + 1
        keys[query_id] = key if seen[key] == 1 else f"{key} #{seen[key]}"
    return keys


def new_set(sha256: str) -> str:
    """The name of a new set, from the file of its first run."""
    return sha256[:_NAME_DIGITS]


def set_of_run(run: KnownRun, others: Sequence[KnownRun]) -> str:
    """The set of the run: that of the `others` of its rubric and agent with most queries in common, else its own."""

    def shared(other: KnownRun) -> Fraction:
        return Fraction(len(run.keys & other.keys), len(run.keys | other.keys) or 1)

    alike = [other for other in others if shared(other) >= LEAST_SHARED]
    closest = max(alike, key=lambda other: (shared(other), other.when, other.sha256), default=None)
    return closest.test_set if closest else run.test_set


def nearest_figures(run: KnownRun, others: Iterable[KnownRun], test_set: str) -> dict[str, Any] | None:
    """The earlier run of another set with most common queries, as JSON with the share of the union; else None."""
    earlier = [one for one in others if one.test_set != test_set and one.when <= run.when and run.keys & one.keys]
    closest = max(earlier, key=lambda one: (len(run.keys & one.keys), one.when, one.sha256), default=None)
    if closest is None:
        return None
    shared, both = len(run.keys & closest.keys), len(run.keys | closest.keys)
    return {"name": closest.name, "when": closest.when, "shared": shared, "queries": both}


def runs_before(run: KnownRun, others: Iterable[KnownRun], test_set: str) -> list[KnownRun]:
    """The runs of the set before this one, in the order in which they ran.

    Runs of the same time are included: they were scored before it, except those that followed when it is scored again.
    """
    of_set = [one for one in others if one.test_set == test_set]
    befores = {one.sha256: one.before for one in of_set}
    later, orders = _following(run.sha256, befores), orders_of_scoring(befores)
    earlier = [one for one in of_set if one.when < run.when or (one.when == run.when and one.sha256 not in later)]
    return sorted(earlier, key=lambda one: (one.when, orders[one.sha256], one.sha256))


def base_among(run: KnownRun, earlier: Sequence[KnownRun]) -> KnownRun | None:
    """The run to compare with: the latest earlier one without an outage that was scored by the same rules and mostly
    for the same expectations, else the latest one without an outage, else the latest one.
    """
    fit = [one for one in earlier if not one.failures.is_outage] or earlier
    latest = fit[-1] if fit else None
    return next((one for one in reversed(fit) if not _scored_otherwise(one, run)), latest)


def _scored_otherwise(before: KnownRun, run: KnownRun) -> str:
    """What the scores of two runs measured differently (Korean); '' if they measured the same."""
    if before.rules != run.rules:
        return OTHER_RULES
    both = before.expected.keys() & run.expected.keys()
    otherwise = sum(expect_otherwise(before.expected[key], run.expected[key]) for key in both)
    return _OTHER_EXPECTATIONS if 2 * otherwise > len(both) else ""


def passed_over_since(run: KnownRun, before: KnownRun, earlier: Sequence[KnownRun]) -> list[dict[str, Any]]:
    """The runs between `before` and the run as JSON, latest last; `why` (Korean) is '' for those with an outage."""
    return [
        {
            "name": one.name,
            "sha256": one.sha256,
            "when": one.when,
            **asdict(one.failures),
            "why": "" if one.failures.is_outage else _scored_otherwise(one, run),
        }
        for one in earlier[earlier.index(before) + 1 :]
    ]


def compared_with(summary: Mapping[str, Any]) -> str:
    """The hash of the run that the run of a `summary.json` was compared with, '' for none."""
    sha256: str = (summary.get("change") or {}).get("sha256", "")
    return sha256


def before_of(summary: Mapping[str, Any]) -> str:
    """The hash of the run before the run of a `summary.json`, whether or not it was fit for a comparison."""
    passed_over = (summary.get("change") or {}).get("passed_over")
    return passed_over[-1]["sha256"] if passed_over else compared_with(summary)


def orders_of_scoring(befores: Mapping[str, str]) -> dict[str, int]:
    """How many runs precede each run, by the hash of each run's predecessor: files without a time are ordered within a
    day by the order in which they were scored.

    Files that were scored again on another day may precede one another: of these each precedes all.
    """
    orders: dict[str, int] = {}
    for sha256 in befores:
        path: dict[str, int] = {}
        while sha256 and sha256 not in orders and sha256 not in path:
            path[sha256] = len(path)
            sha256 = befores.get(sha256, "")
        if sha256 in path:
            circle = [*path][path[sha256] :]
            orders |= dict.fromkeys(circle, len(circle))
        for one in reversed(path):
            before = befores.get(one, "")
            orders.setdefault(one, orders[before] + 1 if before else 0)
    return orders


def _following(sha256: str, befores: Mapping[str, str]) -> set[str]:
    """The runs that a run precedes."""
    after: dict[str, list[str]] = {}
    for one, before in befores.items():
        after.setdefault(before, []).append(one)
    found, left = set[str](), [sha256]
    while left:
        new = [one for one in after.get(left.pop(), ()) if one not in found]
        found.update(new)
        left += new
    return found


def change_figures(
    comparison: Comparison, before: KnownRun, obstacle: str = "", passed_over: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The comparison with the previous run as JSON, for report, message and page.

    `obstacle` (Korean) is why there is no conclusion although there are differences, such as another version of the
    rules. `passed_over` are the runs since then that are unfit for a comparison (`passed_over_since`).
    """
    return {
        "name": comparison.base.name,
        "sha256": before.sha256,
        "when": before.when,
        "paired": comparison.paired,
        "reworded": len(comparison.reworded),
        "other_rounds": comparison.other_rounds,
        "expected_otherwise": len(comparison.expected_otherwise),
        "only_before": len(comparison.only_base),
        "only_now": len(comparison.only_candidate),
        "obstacle": obstacle,
        "outage": {"run": comparison.outage, **asdict(comparison.outage_failures)} if comparison.outage else None,
        "more_failed": comparison.more_failed
        and {
            "run": comparison.more_failed,
            "before": asdict(comparison.base.failures),
            "now": asdict(comparison.candidate.failures),
        },
        "passed_over": list(passed_over),
        **decided_figures(comparison),
        "groups": group_figures(comparison),
        "same": comparison.is_same,
        **comparison.counts,
        "worse_ids": [one.query_id for one in comparison.worse],
        "better_ids": [one.query_id for one in comparison.better],
        "worst": [{"text": one.text, "change": one.change} for one in comparison.worse[:_WORST] if not one.by_time],
    }


def decided_figures(comparison: Comparison) -> dict[str, list[dict[str, Any]]]:
    """The changes of metrics (points) and rates (0 to 1) as JSON, without those that no two queries have in common;
    none of either if a run had an outage or no query is compared.
    """
    is_compared = comparison.paired and not comparison.outage

    def figures(changes: Sequence[MetricChange]) -> list[dict[str, Any]]:
        shown = (one for one in changes if one.difference or one.withheld or one.of_two_judges)
        return list(map(metric_figures, shown)) if is_compared else []

    return {"metrics": figures(comparison.metrics), "rates": figures(comparison.rates)}


def group_figures(comparison: Comparison) -> dict[str, Any]:
    """The change of one metric by group as JSON, {} without groups; `cause`: the group that explains a loss."""
    by = comparison.grouped_by
    if by is None or not comparison.groups:
        return {}
    cause = comparison.cause
    return {
        "metric": by.metric,
        "title": by.title,
        "cause": cause and asdict(cause),
        "rows": [asdict(one) for one in comparison.groups],
    }


def metric_figures(change: MetricChange) -> dict[str, Any]:
    """The change of a metric or a rate as JSON."""
    difference = change.difference
    interval = difference.interval if difference else None
    return {
        "metric": change.metric,
        "title": change.title,
        "before": change.base,
        "now": change.candidate,
        "difference": difference.mean if difference else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "n": difference.n if difference else 0,
        "finding": change.finding,
        "of_repeats": change.of_repeats,
        "withheld": change.withheld,
        "of_two_judges": change.of_two_judges,
        "part_of": change.part_of,
    }
