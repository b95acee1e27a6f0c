"""Intervals, agreement and repeats: published worked examples, and simulation of what 95 % promises."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.stats.intervals import (
    MIN_N_FOR_VERDICT,
    Difference,
    Interval,
    cluster_bootstrap_mean,
    clustered_rate_interval,
    difference_of_days,
    krippendorff_alpha,
    mean_of_clusters,
    mean_of_days,
    mean_of_moments,
    mode_ratio,
    paired_difference,
    pass_hat_k,
    rate_of_moments,
    weighted_kappa,
    wilson_interval,
)

# Boyd et al. 1982, 85 xeromammograms by two radiologists, as in the Stata manual (`kap`).
XEROMAMMOGRAMS = [[21, 12, 0, 0], [4, 17, 1, 0], [3, 9, 15, 2], [0, 0, 0, 1]]
# Agresti 1990, p. 368: 91 couples asked the same question, as in the R package vcd (`SexualFun`).
COUPLES = [[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]]


def ratings(table: list[list[int]]) -> tuple[list[int], list[int]]:
    """The pairs that a confusion matrix counts."""
    pairs = [(a, b) for a, row in enumerate(table) for b, count in enumerate(row) for _ in range(count)]
    return [a for a, _ in pairs], [b for _, b in pairs]


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_table_of_newcombe(successes: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, Statistics in Medicine 17, Table I, method 3."""
    found = wilson_interval(successes, n)
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_no_trials_have_no_interval() -> None:
    assert wilson_interval(0, 0) is None


def test_more_successes_than_trials_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson_interval(3, 2)


@given(n=st.integers(1, 5_000), data=st.data())
def test_rate_stands_in_its_interval_and_the_interval_in_0_to_1(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    found = wilson_interval(successes, n)
    assert found is not None
    assert 0 <= found.low <= successes / n <= found.high <= 1
    mirrored = wilson_interval(n - successes, n)
    assert mirrored is not None
    assert mirrored.low == pytest.approx(1 - found.high)


@pytest.mark.parametrize(
    ("table", "linear", "quadratic"), [(XEROMAMMOGRAMS, 0.5684, 0.6714), (COUPLES, 0.2374, 0.3320)]
)
def test_kappa_gives_the_published_examples(table: list[list[int]], linear: float, quadratic: float) -> None:
    """Published: 0.5684, 0.6714 (Stata), 0.2374 (vcd); the last one is statsmodels' value for Agresti's table."""
    first, second = ratings(table)
    clusters = range(len(first))
    assert weighted_kappa(first, second, clusters, "linear").value == pytest.approx(linear, abs=5e-5)
    assert weighted_kappa(first, second, clusters, "quadratic").value == pytest.approx(quadratic, abs=5e-5)


def test_alpha_gives_the_published_example() -> None:
    """Krippendorff 2011, example C: four people, twelve items, not everybody has judged each."""
    said = (
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    )
    items = [[float(one) for one in item if one != "."] for item in zip(*map(str.split, said), strict=True)]
    found = krippendorff_alpha(items, range(len(items)))
    assert found.value == pytest.approx(0.815, abs=5e-4)
    assert found.value
    assert found.interval
    assert found.interval.low < found.value < found.interval.high <= 1


def test_alpha_is_one_where_all_agree_and_nothing_where_there_is_one_rating_or_one_person() -> None:
    assert krippendorff_alpha([[1, 1, 1], [4, 4], [2]], "abc").value == 1
    assert krippendorff_alpha([[3, 3], [3, 3]], "ab").value is None
    assert krippendorff_alpha([[1], [2]], "ab").value is None
    assert krippendorff_alpha([[1, 2], [2, 1]], "aa").interval is None


@pytest.mark.long
@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_interval_of_kappa_is_close_to_the_large_sample_one(weights: str) -> None:
    """Fleiss, Cohen and Everitt 1969, as statsmodels computes it."""
    from statsmodels.stats.inter_rater import cohens_kappa  # a second of imports, which the other workers do without

    first, second = ratings(COUPLES)
    known = cohens_kappa(np.array(COUPLES), wt=weights)
    found = weighted_kappa(first, second, range(len(first)), weights).interval  # type: ignore[arg-type]
    assert found is not None
    assert found.low == pytest.approx(known.kappa_low, abs=0.03)
    assert found.high == pytest.approx(known.kappa_upp, abs=0.03)


def test_raters_who_use_one_rating_only_have_no_kappa() -> None:
    assert weighted_kappa([5] * 40, [5] * 40, range(40), "linear").value is None


def test_full_agreement_is_a_kappa_of_one() -> None:
    found = weighted_kappa([5, 3, 0] * 20, [5, 3, 0] * 20, range(60), "linear")
    assert (found.value, found.interval) == (1.0, Interval(1.0, 1.0))


def test_kappa_needs_no_whole_numbers() -> None:
    halves = weighted_kappa([2.5, 1.5, 0.5], [2.5, 0.5, 0.5], range(3), "linear")
    wholes = weighted_kappa([5, 3, 1], [5, 1, 1], range(3), "linear")
    assert halves.value == pytest.approx(wholes.value)


def test_repeats_of_a_query_do_not_narrow_the_interval() -> None:
    scores = [5.0, 4.0, 0.0, 3.0, 5.0, 1.0]
    once = cluster_bootstrap_mean(scores, range(6))
    ten_times = cluster_bootstrap_mean(scores * 10, [*range(6)] * 10)
    assert once is not None
    assert ten_times is not None
    assert (ten_times.low, ten_times.high) == pytest.approx((once.low, once.high))


def test_same_values_give_the_same_interval() -> None:
    values = [5.0, 4.0, 0.0, 3.0]
    assert cluster_bootstrap_mean(values, "abcd") == cluster_bootstrap_mean(values, "wxyz")


def test_one_cluster_tells_nothing_of_others() -> None:
    assert cluster_bootstrap_mean([5.0, 3.0], ["q1", "q1"]) is None
    assert cluster_bootstrap_mean([], []) is None
    assert mean_of_moments(1, 3, 30, 900, 90, 9) is None


def test_difference_is_the_candidate_minus_the_base() -> None:
    found = paired_difference([3.0] * 30, [4.0, 3.5] * 15)
    assert found is not None
    assert (found.mean, found.n, found.finding) == (0.75, 30, "better")
    exact = paired_difference([1.61, 1.67, 4.17, 2.19], [4.28, 0.85, 1.68, 3.25])
    assert exact and exact.mean == 0.105  # a sum of floats makes it 0.10499999999999998, shown as 0.10


@pytest.mark.parametrize(
    ("n", "interval", "finding"),
    [
        (MIN_N_FOR_VERDICT, Interval(0.1, 0.2), "better"),
        (MIN_N_FOR_VERDICT, Interval(-0.2, -0.1), "worse"),
        (MIN_N_FOR_VERDICT, Interval(-0.1, 0.1), "unclear"),
        (MIN_N_FOR_VERDICT, Interval(0.0, 0.1), "unclear"),
        (MIN_N_FOR_VERDICT - 1, Interval(0.1, 0.2), "too_few"),
        (1, None, "too_few"),
    ],
)
def test_difference_says_what_it_may(n: int, interval: Interval | None, finding: str) -> None:
    assert Difference(0.0, n, interval).finding == finding


def test_nothing_paired_has_no_difference() -> None:
    assert paired_difference([], []) is None


@pytest.mark.parametrize(
    ("passed", "n", "k", "expected"),
    [
        (3, 3, 3, Fraction(1)),
        (2, 3, 3, Fraction(0)),
        (2, 3, 2, Fraction(1, 3)),
        (2, 3, 1, Fraction(2, 3)),
        (1, 1, 2, None),
    ],
)
def test_pass_hat_k_counts_draws_that_all_pass(passed: int, n: int, k: int, expected: Fraction | None) -> None:
    assert pass_hat_k(passed, n, k) == expected


def test_mode_ratio_is_the_share_of_the_commonest() -> None:
    assert mode_ratio(["VIEW", "ADD", "VIEW"]) == Fraction(2, 3)
    assert mode_ratio(["VIEW", "ADD"]) == Fraction(1, 2)


@pytest.mark.long
def test_wilson_covers_95_of_100() -> None:
    """Exactly, from the binomial probabilities, averaged over rates around the seeds' targets."""
    from scipy.stats import binom

    for n in (30, 100, 300):
        intervals = [wilson_interval(successes, n) for successes in range(n + 1)]
        rates = np.linspace(0.5, 0.98, 49)
        covered = [
            sum(
                binom.pmf(successes, n, rate)
                for successes, found in enumerate(intervals)
                if found and found.low <= rate <= found.high
            )
            for rate in rates
        ]
        assert 0.93 <= np.mean(covered) <= 0.97


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_clusters_of_one_row_are_as_sure_as_rows(passes: list[bool]) -> None:
    found = clustered_rate_interval([*map(int, passes)], [1] * len(passes))
    wilson = wilson_interval(sum(passes), len(passes))
    assert found and wilson
    assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high))


@pytest.mark.parametrize("passed", [0, 40, 89])
def test_repeats_that_always_come_out_the_same_are_as_sure_as_their_queries(passed: int) -> None:
    found = clustered_rate_interval([3] * passed + [0] * (89 - passed), [3] * 89)
    of_queries = wilson_interval(passed, 89)
    assert found and of_queries
    assert (found.low, found.high) == pytest.approx((of_queries.low, of_queries.high), abs=0.001)


def test_repeats_that_differ_within_queries_alone_are_as_sure_as_so_many_rows() -> None:
    found, of_all = clustered_rate_interval([2] * 150, [3] * 150), wilson_interval(300, 450)
    assert found == of_all


@pytest.mark.long
@pytest.mark.parametrize(("queries", "repeats"), [(89, 3), (30, 10), (200, 2)])
@pytest.mark.parametrize("alike", [0.05, 0.3, 0.7, 0.95])
def test_interval_of_a_rate_of_repeated_queries_covers_95_of_100(queries: int, repeats: int, alike: float) -> None:
    """At the targets of the seeds; Wilson's of the executions covers 67 to 88 of 100 where repeats are alike."""
    rng = np.random.default_rng(20260213)
    spread, hits, runs = 1 / alike - 1, 0, 600
    for number in range(runs):
        rate = (0.9, 0.95, 0.98)[number % 3]
        of_query = rng.beta(rate * spread, (1 - rate) * spread, queries)
        found = clustered_rate_interval(rng.binomial(repeats, of_query).tolist(), [repeats] * queries)
        assert found is not None
        hits += found.low <= rate <= found.high
    assert hits / runs >= 0.93


@pytest.mark.long
@pytest.mark.parametrize(("clusters", "runs"), [(30, 250), (400, 500)])
def test_bootstrap_of_clustered_means_covers_95_of_100(clusters: int, runs: int) -> None:
    """Queries of one to five executions that share an effect; 400 clusters take the closed form."""
    rng = np.random.default_rng(20260213)
    hits = 0
    for _ in range(runs):
        sizes = rng.integers(1, 6, clusters)
        owners = np.repeat(np.arange(clusters), sizes)
        values = 3 + rng.normal(0, 1, clusters)[owners] + rng.normal(0, 1, len(owners))
        found = cluster_bootstrap_mean(values.tolist(), owners.tolist())
        assert found is not None
        hits += found.low <= 3 <= found.high
    assert 0.93 <= hits / runs <= 0.97


@pytest.mark.long
def test_interval_of_kappa_covers_95_of_100() -> None:
    """Scores of 0 to 5 with two in five labels a point or two off; the true kappa is that of 200,000 labels."""
    rng = np.random.default_rng(20260213)

    def labelled(n: int) -> tuple[list[int], list[int]]:
        ours = rng.choice(6, n, p=(0.05, 0.05, 0.1, 0.15, 0.25, 0.4))
        off = np.where(rng.random(n) < 0.4, rng.choice([-2, -1, 1, 2], n, p=(0.15, 0.35, 0.35, 0.15)), 0)
        return ours.tolist(), np.clip(ours + off, 0, 5).tolist()

    true = weighted_kappa(*labelled(200_000), [0] * 200_000, "linear").value
    assert true is not None
    runs, hits = 200, 0
    for _ in range(runs):
        found = weighted_kappa(*labelled(80), range(80), "linear").interval
        assert found is not None
        hits += found.low <= true <= found.high
    assert 0.93 <= hits / runs <= 0.97


@given(st.integers(0, 2**32), st.integers(301, 320))
def test_many_clusters_need_not_be_listed(seed: int, clusters: int) -> None:
    rng = np.random.default_rng(seed)
    sums, sizes = rng.integers(0, 3001, clusters), rng.integers(1, 41, clusters)
    listed = mean_of_clusters(sums, sizes)
    totals = (int(part.sum()) for part in (sizes, sums, sums**2, sums * sizes, sizes**2))
    added = mean_of_moments(clusters, *totals)
    assert listed is not None
    assert added is not None
    assert (added.low, added.high) == pytest.approx((listed.low, listed.high))


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 40)), min_size=2, max_size=40))
def test_few_clusters_are_as_sure_as_so_many_days_however_they_are_added(clusters: list[tuple[int, int]]) -> None:
    sums, sizes = zip(*clusters, strict=True)
    parts = (sizes, sums, [one**2 for one in sums], [one * of for one, of in clusters], [of**2 for of in sizes])
    added, listed = mean_of_moments(len(clusters), *map(sum, parts)), mean_of_days(sums, sizes)
    assert added is not None
    assert listed is not None
    assert (added.low, added.high) == pytest.approx((listed.low, listed.high), abs=1e-9)


def test_difference_of_two_rates_is_no_wider_than_rates_can_differ() -> None:
    """Three such days beside three leave almost everything open, but no more than 100 percentage points."""
    found = difference_of_days([0, 0, 100], [100] * 3, [100, 0, 100], [100] * 3, is_rate=True)
    assert found is not None
    assert found.low < -0.9
    assert found.high == 1.0


def test_difference_of_two_days_from_others_is_not_known() -> None:
    many = ([70, 71] * 14, [1] * 28)
    for both in (([60, 61], [1, 1], *many), (*many, [60, 61], [1, 1])):
        assert difference_of_days(*both, is_rate=False) is None


def test_difference_of_days_is_welchs() -> None:
    """As `scipy.stats.ttest_ind(equal_var=False)` of the days, with 7.58 degrees of freedom cut to 7."""
    before, this = [62, 66, 61, 70], [63, 69, 71, 72, 74, 75, 79]
    found = difference_of_days(before, [1] * 4, this, [1] * 7, is_rate=False)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.4741, 13.7402), abs=1e-4)


def test_days_that_are_all_alike_leave_the_degrees_of_freedom_to_the_others() -> None:
    found = difference_of_days([0] * 9, [1] * 9, [5, 20, 45, 80, 125, 180, 245, 320], [1] * 8, is_rate=False)
    assert found is not None  # 7 degrees, which floats compute as 6.999999999999999
    assert found.low == pytest.approx(127.5 - 2.364624 * 39.921799, abs=1e-3)


def of_sessions(failed: Sequence[int], sizes: Sequence[int]) -> Interval:
    """The interval of the failure rate of a day whose sessions have these turns."""
    pairs = [*zip(failed, sizes, strict=True)]
    found = rate_of_moments(
        clusters=len(sizes),
        size=sum(sizes),
        total=sum(failed),
        of_sums=sum(of**2 for of in failed),
        mixed=sum(of * size for of, size in pairs),
        of_sizes=sum(size**2 for size in sizes),
    )
    assert found is not None
    return found


def test_rate_of_sessions_of_one_turn_is_as_sure_as_its_rows() -> None:
    assert of_sessions([1] * 34 + [0] * 300, [1] * 334) == wilson_interval(34, 334)


def test_session_that_repeats_itself_leaves_the_rate_of_its_day_open() -> None:
    """4 of 304 sessions failed, and one with 30 turns, all of them failures: 34 of 334, beside a target of 3 %."""
    looping = of_sessions([1] * 4 + [30] + [0] * 300, [1] * 4 + [30] + [1] * 300)
    apart = of_sessions([1] * 34 + [0] * 300, [1] * 334)
    assert looping.low < 0.03 < apart.low
    assert looping.high > 2 * apart.high


@pytest.mark.long
@pytest.mark.parametrize("looping", [0.0, 0.004])
@pytest.mark.parametrize("alike", [0.0, 0.3])
def test_rate_of_a_day_covers_whatever_its_sessions_have_in_common(alike: float, looping: float) -> None:
    """By rows, 776 turns in sessions of 1.6 on average covered 92 times of 100 if turns of a session are alike (0.3),
    and 86 times if one session of 250 repeats itself.
    """
    rng, days, rate, covered = np.random.default_rng(20260213), 1_000, 0.03, 0
    for _ in range(days):
        sizes = rng.geometric(1 / 1.6, 485 if not looping else 440)
        sizes = np.where(rng.random(len(sizes)) < looping, rng.integers(15, 60, len(sizes)), sizes)
        spread = 1 / alike - 1 if alike else 0
        chance = rng.beta(rate * spread, (1 - rate) * spread, len(sizes)) if alike else np.full(len(sizes), rate)
        found = of_sessions(rng.binomial(sizes, chance).tolist(), sizes.tolist())
        covered += found.low <= rate <= found.high
    assert covered / days >= 0.92


@pytest.mark.long
@pytest.mark.parametrize(("days_before", "days"), [(3, 7), (3, 28), (7, 7), (28, 3)])
def test_unchanged_mean_of_few_days_is_seldom_called_changed(days_before: int, days: int) -> None:
    """Three days beside four weeks once differed in 14 of 100 cases, two in 22; Welch's test is not exact either."""
    rng, runs, changed = np.random.default_rng(20260213), 2_000, 0
    for _ in range(runs):
        sums = [rng.normal(70_000, 1_000, count).round().astype(int).tolist() for count in (days_before, days)]
        found = difference_of_days(sums[0], [1_000] * days_before, sums[1], [1_000] * days, is_rate=False)
        assert found is not None
        changed += not found.low <= 0 <= found.high
    assert changed / runs <= 0.1
