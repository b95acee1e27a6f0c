"""The seed's section 2, rebuilt from rows that were generated with the seed's shares."""

import re
from datetime import date
from functools import cache
from math import sqrt

import polars as pl
import pytest

from scoring.chat.scorer import score_batch
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rubrics.ola_monitoring.evidence import (
    ComparedFigure,
    Evidence,
    evidence_report,
    threshold_evidence,
)
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


def metric_figures(column: str) -> tuple[ComparedFigure, ...]:
    return next(one.figures for one in evidence().metrics if one.seed.column == column)


def standard_error(rate: float, *counts: int) -> float:
    """Of a difference of two rates, the seed's and ours."""
    return sqrt(sum(rate * (1 - rate) / n for n in counts))


def test_seeds_tables_add_up() -> None:
    for buckets in BUCKETS.values():
        assert abs(sum(bucket.rows for bucket in buckets) - SEED_ROWS) <= 1  # the seed's own tables differ by one
        assert sum(bucket.failed for bucket in buckets) == 689


def test_first_days_are_held_against_the_shares_of_the_seed() -> None:
    none, *few, _, _ = BUCKETS["output_tokens"]
    usual = {rule.id: rule.usual_rate for rule in RUBRIC.alert_rules if rule.usual_rate}
    assert usual == {
        "answer_failed": 689 / SEED_ROWS,
        "llm_blocked": none.rows / SEED_ROWS,
        "very_short_answer": sum(bucket.rows for bucket in few) / SEED_ROWS,
    }


@pytest.mark.long
@pytest.mark.parametrize("place", range(12))
def test_failure_rates_by_tokens_are_the_seeds_within_sampling_error(place: int) -> None:
    bucket = [one for buckets in evidence().buckets.values() for one in buckets][place]
    (rate,) = bucket.figures
    assert rate.value is not None
    allowed = 4 * standard_error(max(rate.seed, 0.001), rate.n, bucket.seed.rows)
    assert rate.value == pytest.approx(rate.seed, abs=allowed)
    share = bucket.seed.rows / SEED_ROWS
    assert rate.n / evidence().rows == pytest.approx(share, abs=5 * standard_error(share, ROWS, SEED_ROWS))
    assert rate.verdict in ("kept", "undecided")


@pytest.mark.parametrize("name", [metric.column for metric in METRICS])
def test_means_of_good_and_failed_answers_are_the_seeds(name: str) -> None:
    ok, failed = metric_figures(name)
    assert ok.value == pytest.approx(ok.seed, rel=0.06)
    assert ok.verdict == "kept"
    if name != "answer_lines":
        assert failed.value == pytest.approx(failed.seed, rel=0.15, abs=0.025)
        assert failed.verdict in ("kept", "undecided")


def test_what_the_seed_counted_otherwise_is_not_judged() -> None:
    _, failed = metric_figures("answer_lines")
    assert failed.verdict == "unknown"


def test_failed_answers_have_no_table_so_the_ratio_is_infinite() -> None:
    _, failed = metric_figures("answer_has_table")
    assert failed.interval is not None
    assert failed.interval.low == 0
    report = evidence_report(scored_rows().lazy(), "")
    assert [one["ratio"] for one in report.values["metrics"] if one["metric"] == "answer_has_table"] == [None]
    assert "| 답변에 표 |" in report.markdown
    assert "| ∞ | ∞ |" in report.markdown
    assert "seed" not in report.markdown
    assert not re.search(r"[0-9]%? – [0-9]", report.markdown)  # intervals read as in every other report


@pytest.mark.parametrize("element", [one.title for one in PRECISIONS if one.column])
def test_precision_of_the_elements_is_the_seeds(element: str) -> None:
    ok_with, ok_without = next(one.figures for one in evidence().precisions if one.seed.title == element)
    assert ok_with.value == pytest.approx(ok_with.seed, abs=0.004)
    assert ok_without.value == pytest.approx(ok_without.seed, abs=0.05)


def test_element_that_the_table_does_not_hold_is_unknown() -> None:
    ok_with, _ = next(one.figures for one in evidence().precisions if one.seed.column is None)
    assert (ok_with.value, ok_with.verdict) == (None, "unknown")


def test_every_interval_holds_its_figure() -> None:
    figures = [figure for one in evidence().metrics for figure in one.figures]
    figures += [figure for one in evidence().precisions for figure in one.figures]
    figures += [figure for buckets in evidence().buckets.values() for one in buckets for figure in one.figures]
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


@pytest.mark.parametrize(("failed", "verdict"), [(0.96, "kept"), (0.95, "undecided"), (0.94, "drifted")])
def test_rate_has_drifted_more_than_five_points_away(failed: float, verdict: str) -> None:
    fails = pl.int_range(pl.len()) < failed * pl.len()
    rows = scored_rows().with_columns(output_tokens=pl.lit(0.0), failure_type=pl.when(fails).then(pl.lit("blocked")))
    without_tokens, *_ = threshold_evidence(rows.lazy()).buckets["output_tokens"]
    (rate,) = without_tokens.figures
    assert rate.value == pytest.approx(failed, abs=1e-3)
    assert (rate.seed, rate.verdict) == (1, verdict)


@pytest.mark.parametrize(("tokens", "verdict"), [(1_166.0, "kept"), (1_167.0, "drifted"), (953.0, "drifted")])
def test_mean_has_drifted_more_than_a_tenth_away(tokens: float, verdict: str) -> None:
    rows = scored_rows().with_columns(output_tokens=pl.lit(tokens), failure_type=pl.lit(None, pl.String))
    ok, _ = next(one.figures for one in threshold_evidence(rows.lazy()).metrics if one.seed.column == "output_tokens")
    assert (ok.seed, ok.value, ok.verdict) == (1_060, tokens, verdict)


def test_few_rows_get_no_verdict() -> None:
    found = threshold_evidence(scored_rows().head(20).lazy())
    assert {one.verdict for one in found.thresholds} == {"too_few"}
    safe = scored_rows().filter(pl.col("output_tokens") > 100)
    verdicts = [safe_cut(safe.head(count))[0] for count in (29, 30, 3_000, 4_000)]
    assert verdicts == ["too_few", "undecided", "undecided", "kept"]


def test_few_rows_do_not_show_that_nothing_has_drifted() -> None:
    failures = pl.int_range(pl.len()) % 10 == 0
    rows = scored_rows().filter(pl.col("answer_has_table")).head(40)
    one_in_ten = rows.with_columns(failure_type=pl.when(failures).then(pl.lit("too_broad")))
    found = {one.title: one.verdict for one in threshold_evidence(one_in_ten.lazy()).thresholds}
    assert found["표: 있을 때 정상 비율"] == "undecided"
    report = evidence_report(scored_rows().head(500).lazy(), "")
    assert "개는 행이 더 모여야 알 수 있습니다(판단 보류)." in report.markdown


def test_no_rows_have_no_figures() -> None:
    found = threshold_evidence(scored_rows().clear().lazy())
    assert (found.rows, found.failed) == (0, 0)
    assert {figure.value for one in found.metrics for figure in one.figures} == {None}


def test_thresholds_that_are_ratios_are_shown_as_such_and_shares_of_rows_in_percent() -> None:
    report = evidence_report(scored_rows().lazy(), "").markdown
    assert "| 토큰 효율 만점의 비율 | 0.200 |" in report
    assert "| 표: 있을 때 정상 비율 | 100.0% |" in report


def test_rows_without_tokens_are_counted_beside_the_buckets_which_do_not_have_them() -> None:
    rows = scored_rows().with_columns(
        input_tokens=pl.when(pl.int_range(pl.len()) >= 7).then("input_tokens"),
        output_tokens=pl.col("output_tokens").fill_null(0),
    )
    report = evidence_report(rows.lazy(), "").markdown
    of_output, of_input = report[report.index("## 출력 토큰 구간별") :].split("## 입력 토큰 구간별")
    assert "어느 구간에도" not in of_output
    assert f"토큰이 기록되지 않은 행 {rows['input_tokens'].null_count()}건은 어느 구간에도 없습니다." in of_input


def test_order_of_rows_does_not_matter() -> None:
    reversed_rows = threshold_evidence(scored_rows().reverse().lazy())
    assert reversed_rows.buckets == evidence().buckets
    assert reversed_rows.thresholds == evidence().thresholds


@pytest.mark.parametrize(
    ("interval", "n", "verdict"),
    [
        (Interval(0.06, 0.2), 100, "drifted"),
        (Interval(0.05, 0.2), 100, "undecided"),
        (Interval(0.01, 0.05), 100, "kept"),
        (Interval(0.06, 0.2), 30, "drifted"),
        (Interval(0.06, 0.2), 29, "too_few"),
        (None, 100, "too_few"),
    ],
)
def test_figure_has_drifted_when_all_of_its_interval_is_far_away(
    interval: Interval | None, n: int, verdict: str
) -> None:
    assert ComparedFigure(seed=0.0, value=0.1, interval=interval, n=n, margin=0.05).verdict == verdict
