"""The seed's section 2, rebuilt from rows that were generated with the seed's shares."""

from datetime import date
from functools import cache
from math import inf, sqrt

import polars as pl
import pytest

from scoring.chat.scorer import score_batch
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rubrics.ola_monitoring.evidence import ComparedFigure, Evidence, threshold_evidence
from scoring.rubrics.ola_monitoring.seed_evidence import BUCKETS, METRICS, PRECISIONS, SEED_ROWS
from scoring.stats.intervals import Interval
from tests.samples.chat_rows import generate_chat_rows

ROWS = 12_831


@cache
def scored_rows() -> pl.DataFrame:
    """As many turns as the seed had, with its shares, scored."""
    generated = pl.DataFrame(generate_chat_rows(date(2026, 3, 9), 1, ROWS, seed=3))
    session = pl.col("request_metadata").struct.field("session_id").alias("session_id")
    batch = generated.with_columns(session).with_row_index("line")
    return score_batch(RUBRIC, batch, "Asia/Seoul").scored.with_columns(row_id="row_key")


@cache
def evidence() -> Evidence:
    return threshold_evidence(scored_rows().lazy())


def standard_error(rate: float, *counts: int) -> float:
    """Of a difference of two rates, the seed's and ours."""
    return sqrt(sum(rate * (1 - rate) / n for n in counts))


def test_the_seeds_tables_add_up() -> None:
    for buckets in BUCKETS.values():
        assert abs(sum(bucket.rows for bucket in buckets) - SEED_ROWS) <= 1  # the seed's own tables differ by one
        assert sum(bucket.failed for bucket in buckets) == 689


@pytest.mark.parametrize("place", range(12))
def test_failure_rates_by_tokens_are_the_seeds_within_sampling_error(place: int) -> None:
    one = evidence().buckets[place]
    assert one.rate.value is not None
    allowed = 4 * standard_error(max(one.rate.seed, 0.001), one.rate.n, one.bucket.rows)
    assert one.rate.value == pytest.approx(one.rate.seed, abs=allowed)
    share = one.bucket.rows / SEED_ROWS
    assert one.rate.n / evidence().rows == pytest.approx(share, abs=5 * standard_error(share, ROWS, SEED_ROWS))
    assert one.rate.verdict == "kept"


@pytest.mark.parametrize("name", [metric.column for metric in METRICS])
def test_means_of_good_and_failed_answers_are_the_seeds(name: str) -> None:
    one = next(each for each in evidence().metrics if each.metric.column == name)
    assert one.ok.value == pytest.approx(one.metric.ok, rel=0.06)
    assert one.ok.verdict == "kept"
    if name != "answer_lines":
        assert one.failed.value == pytest.approx(one.metric.failed, rel=0.15, abs=0.025)
        assert one.failed.verdict == "kept"


def test_what_the_seed_counted_otherwise_is_not_judged() -> None:
    lines = next(each for each in evidence().metrics if each.metric.column == "answer_lines")
    assert lines.failed.verdict == "unknown"


def test_failed_answers_have_no_table_so_the_ratio_is_infinite() -> None:
    tables = next(each for each in evidence().metrics if each.metric.column == "answer_has_table")
    assert (tables.ratio, tables.seed_ratio) == (inf, inf)
    assert tables.failed.interval is not None
    assert tables.failed.interval.low == 0


@pytest.mark.parametrize("element", [one.title for one in PRECISIONS if one.column])
def test_precision_of_the_elements_is_the_seeds(element: str) -> None:
    one = next(each for each in evidence().precisions if each.element.title == element)
    assert one.ok_with.value == pytest.approx(one.element.ok_with, abs=0.004)
    assert one.ok_without.value == pytest.approx(one.element.ok_without, abs=0.05)


def test_an_element_that_the_table_does_not_hold_is_unknown() -> None:
    one = next(each for each in evidence().precisions if each.element.column is None)
    assert (one.ok_with.value, one.ok_with.verdict) == (None, "unknown")


def test_every_interval_holds_its_figure() -> None:
    figures = [
        *(figure for one in evidence().metrics for figure in (one.ok, one.failed)),
        *(one.rate for one in evidence().buckets),
        *(figure for one in evidence().precisions for figure in (one.ok_with, one.ok_without)),
    ]
    for figure in figures:
        assert (figure.value is None) == (figure.interval is None)
        if figure.interval and figure.value is not None:
            assert figure.interval.low - 1e-9 <= figure.value <= figure.interval.high + 1e-9


def safe_cut(rows: pl.DataFrame) -> tuple[str, float | None]:
    one = threshold_evidence(rows.lazy()).thresholds[0]
    return one.verdict, one.suggested


def test_failures_above_a_hundred_tokens_are_a_drift_and_move_the_suggestion() -> None:
    assert safe_cut(scored_rows())[0] == "kept"
    long_failure = (pl.col("output_tokens") >= 101) & (pl.int_range(pl.len()) % 200 == 0)
    drifted = scored_rows().with_columns(
        failure_type=pl.when(long_failure).then(pl.lit("too_broad")).otherwise("failure_type"),
        output_tokens=pl.when(long_failure).then(150.0).otherwise("output_tokens"),
    )
    assert safe_cut(drifted) == ("drifted", 151)


def test_few_rows_get_no_verdict() -> None:
    found = threshold_evidence(scored_rows().head(20).lazy())
    assert {one.verdict for one in found.thresholds} == {"too_few"}


def test_no_rows_have_no_figures() -> None:
    found = threshold_evidence(scored_rows().clear().lazy())
    assert (found.rows, found.failure_rate) == (0, None)
    assert {one.ok.value for one in found.metrics} == {None}


def test_the_order_of_rows_does_not_matter() -> None:
    reversed_rows = threshold_evidence(scored_rows().reverse().lazy())
    assert reversed_rows.buckets == evidence().buckets
    assert reversed_rows.thresholds == evidence().thresholds


@pytest.mark.parametrize(
    ("interval", "n", "verdict"),
    [
        (Interval(0.06, 0.2), 100, "drifted"),
        (Interval(0.05, 0.2), 100, "kept"),
        (Interval(0.06, 0.2), 29, "too_few"),
        (None, 100, "too_few"),
    ],
)
def test_a_figure_has_drifted_when_all_of_its_interval_is_far_away(
    interval: Interval | None, n: int, verdict: str
) -> None:
    assert ComparedFigure(seed=0.0, value=0.1, interval=interval, n=n, margin=0.05).verdict == verdict
