from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.kpi_figures import kpi_intervals
from scoring.chat.kpis import (
    KPI_KEYS,
    Measure,
    Quotient,
    crosstab_sums,
    crosstab_table,
    kpi_sums,
    kpi_table,
    merged_sums,
)
from scoring.figures import Target
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.arrow_types import empty_frame
from scoring.rules.expressions import Column, Compare, Tenths, Value, points
from tests.builders.kpi_tables import SCORED_COLUMNS

DAY, NEXT = date(2026, 2, 13), date(2026, 2, 14)
QUOTIENTS = RUBRIC.quotients
SCORE = st.fixed_dictionaries(
    {
        "score_date": st.sampled_from([DAY, NEXT]),
        "tenant_id": st.sampled_from([None, "", "-", "a", "텐넌트"]),
        **SCORED_COLUMNS,
    }
)
SCHEMA = empty_frame(RUBRIC.scores_schema).schema


def scores(count: int = 1, **values: object) -> list[dict[str, Any]]:
    ordinary = {
        "score_date": DAY,
        "tenant_id": "a",
        "q_score": 50,
        "a_score": 70,
        "i_score": 60,
        "final_score": 65.0,
        "q_tier": "B",
        "a_grade": "B",
        "final_grade": "A",
        "failure_type": None,
        "answer_says_no_data": False,
        "alert_level": None,
        "output_tokens": 500.0,
    }
    return [ordinary | values] * count


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def sums(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return kpi_sums(frame(rows), (*RUBRIC.measures, *QUOTIENTS), count_as="rows")


def excluded_sums(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return kpi_sums(frame(rows), RUBRIC.excluded_measures, count_as="excluded")


def table(*parts: pl.DataFrame, days: tuple[date, ...] = ()) -> list[dict[str, Any]]:
    return kpi_table(parts, RUBRIC.measures, QUOTIENTS, days).to_dicts()


def kpi(rows: list[dict[str, Any]], tenant: str | None = "*") -> dict[str, Any]:
    (found,) = [row for row in table(sums(rows)) if row["tenant_id"] == tenant]
    return found


@given(st.lists(SCORE, max_size=25), st.lists(SCORE, max_size=25), st.integers(0, 25))
def test_sums_of_parts_are_the_sums_of_the_whole(
    rows: list[dict[str, Any]], excluded: list[dict[str, Any]], cut: int
) -> None:
    whole = table(sums(rows), excluded_sums(excluded))
    parts = [excluded_sums(excluded[:cut]), sums(rows[cut:][::-1]), excluded_sums(excluded[cut:]), sums(rows[:cut])]
    assert table(*parts) == whole
    assert table(merged_sums(parts[:3], KPI_KEYS), parts[3]) == whole


@given(st.lists(SCORE, min_size=1, max_size=25))
def test_all_tenants_together_are_the_star_row(rows: list[dict[str, Any]]) -> None:
    as_one = {row["score_date"]: row for row in table(sums([row | {"tenant_id": "one"} for row in rows]))}
    for row in table(sums(rows)):
        if row["tenant_id"] == "*":
            assert row == as_one[row["score_date"]] | {"tenant_id": "*"}


def test_missing_tenant_is_a_row_of_its_own() -> None:
    rows = [*scores(3, tenant_id=None), *scores(2, tenant_id=""), *scores(1, tenant_id="-")]
    counted = {row["tenant_id"]: row["rows"] for row in table(sums(rows))}
    assert counted == {None: 3, "": 2, "-": 1, "*": 6}


def test_days_stand_apart_and_in_order() -> None:
    rows = [*scores(2, score_date=NEXT), *scores(1)]
    assert [(row["score_date"], row["tenant_id"], row["rows"]) for row in table(sums(rows))] == [
        *((DAY, "*", 1), (DAY, "a", 1), (NEXT, "*", 2), (NEXT, "a", 2))
    ]


def test_without_rows_there_is_a_star_row_without_rates() -> None:
    (row,) = table(days=(DAY,))
    assert (row["score_date"], row["tenant_id"], row["rows"], row["excluded"]) == (DAY, "*", 0, 0)
    unknown = [name for name, value in row.items() if value is None]
    assert unknown == [
        "excluded_rate",
        *("answer_excellent_rate", "answer_excellent_rate_met", "failure_rate", "failure_rate_met"),
        *("gold_mine_rate", "gold_mine_rate_met", "mean_final_score", "mean_final_score_met"),
        *("mean_q_score", "mean_a_score", "mean_i_score", "answer_says_no_data_rate"),
    ]


def test_rows_that_meet_two_rules_are_counted() -> None:
    (star, _) = table(sums(scores(3, output_tokens=0.0, a_score=0) + scores(2, a_score=0)))
    fired = (star["alert_answer_failed"], star["alert_llm_blocked"], star["alerts_answer_failed_and_llm_blocked"])
    assert fired == (5, 3, 3)


def test_excluded_rows_that_meet_a_rule_are_counted_apart_from_scored_ones() -> None:
    blocked, answered = {"output_tokens": 0.0}, {"output_tokens": 9.0}
    (star, _) = table(sums(scores(5, **blocked)), excluded_sums(scores(3, **blocked) + scores(2, **answered)))
    shared = star["alerts_llm_blocked_and_excluded_rate_rising"]
    assert (star["alert_llm_blocked"], star["excluded"], shared) == (8, 5, 3)


def test_excluded_rows_alone_give_a_rate_of_one_and_no_other() -> None:
    (star, tenant) = table(excluded_sums(scores(3, output_tokens=0.0)))
    for row in (star, tenant):
        assert (row["rows"], row["excluded"], row["excluded_rate"]) == (0, 3, 1.0)
        assert (row["failure_rate"], row["failure_rate_met"], row["mean_final_score"]) == (None, None, None)
        assert row["alert_llm_blocked"] == 3


def test_excluded_rows_raise_no_failure_rate_but_their_own() -> None:
    (star, _) = table(sums(scores(9)), excluded_sums(scores(1)))
    assert (star["rows"], star["excluded_rate"], star["failure_rate"]) == (9, 0.1, 0.0)


@pytest.mark.parametrize(
    ("name", "good", "bad", "met"),
    [
        ("answer_excellent_rate", scores(90), scores(10, a_grade="C"), True),
        ("answer_excellent_rate", scores(899), scores(101, a_grade="C"), False),
        ("answer_excellent_rate", scores(9, a_grade="A"), scores(1, a_grade="D"), True),
        ("failure_rate", scores(97), scores(3, a_grade="F"), True),
        ("failure_rate", scores(679), scores(21, a_grade="F"), True),
        ("failure_rate", scores(969), scores(31, a_grade="F"), False),
        ("gold_mine_rate", scores(99), scores(1, q_tier="A", a_grade="D"), True),
        ("gold_mine_rate", scores(297), scores(3, q_tier="S", a_grade="F"), True),
        ("gold_mine_rate", scores(989), scores(11, q_tier="A", a_grade="F"), False),
        ("gold_mine_rate", scores(1), scores(1, q_tier="B", a_grade="F"), True),
        ("mean_final_score", scores(3, final_score=64.9), scores(3, final_score=65.1), True),
        ("mean_final_score", scores(999), scores(1, final_score=64.9), False),
        ("mean_final_score", scores(7, final_score=65.0), scores(1, final_score=65.1), True),
    ],
)
def test_target_is_met_exactly_at_its_edge(name: str, good: Any, bad: Any, met: bool) -> None:
    assert kpi([*good, *bad])[f"{name}_met"] is met


def test_rates_and_means_of_a_day() -> None:
    rows = [
        *scores(1, q_score=81, a_score=90, i_score=71, final_score=83.0, q_tier="S", a_grade="A", final_grade="STAR"),
        *scores(1, q_score=60, a_score=10, i_score=5, final_score=21.3, q_tier="A", a_grade="F", final_grade="C"),
        *scores(2, failure_type="too_short", alert_level="warning", output_tokens=0.0),
    ]
    found = kpi(rows)
    expected = {
        "rows": 4,
        "excluded": 0,
        "excluded_rate": 0.0,
        "answer_excellent_rate": 0.75,
        "failure_rate": 0.25,
        "gold_mine_rate": 0.25,
        "mean_final_score": 58.575,
        "mean_q_score": 60.25,
        "mean_a_score": 60.0,
        "mean_i_score": 49.0,
        "final_grade_star": 1,
        "final_grade_a": 2,
        "final_grade_c": 1,
        "final_grade_f": 0,
        "a_grade_a": 1,
        "a_grade_b": 2,
        "a_grade_f": 1,
        "q_tier_s": 1,
        "q_tier_a": 1,
        "q_tier_b": 2,
        "q_tier_d": 0,
        "failures": 2,
        "critical_rows": 0,
        "warning_rows": 2,
        "alert_llm_blocked": 2,
        "alert_answer_failed": 1,
        "answer_excellent_rate_target": 0.9,
        "failure_rate_target": 0.03,
        "gold_mine_rate_target": 0.01,
        "mean_final_score_target": 65.0,
    }
    assert {name: found[name] for name in expected} == expected


def test_quotients_are_divided_truly() -> None:
    """As Python divides: not by multiplying with a reciprocal, which misses 0.3 = 3 / 10 by a bit."""
    wins = Quotient(
        "wins", points(1, Compare(Column("a_grade"), "=", Value("A")), ""), "", "", target=Target(">=", 0.3)
    )
    mean = Quotient("mean", Tenths(Column("final_score")), "", "", scale=10)
    for total in (3, 7, 10, 49, 93, 187):
        for won in range(0, total + 1, max(1, total // 10)):
            rows = [*scores(won, a_grade="A", final_score=0.7), *scores(total - won, final_score=0.1)]
            (star, _) = kpi_table([kpi_sums(frame(rows), [wins, mean], "rows")], [], [wins, mean]).to_dicts()
            assert (star["wins"], star["mean"]) == (won / total, (7 * won + total - won) / (10 * total))


def test_tenths_of_every_score_are_exact() -> None:
    rows = [row for tenths in range(1001) for row in scores(final_score=tenths / 10)]
    mean = Quotient("mean", Tenths(Column("final_score")), "", "", scale=10)
    (star, _) = kpi_table([kpi_sums(frame(rows), [mean], "rows")], [], [mean]).to_dicts()
    assert star["mean"] == 50.0


def test_measure_counts_rows_that_meet_its_condition() -> None:
    blocked = Measure("blocked", points(1, Compare(Column("output_tokens"), "=", Value(0)), ""), "")
    rows = [*scores(2, output_tokens=0.0), *scores(3, output_tokens=None), *scores(1)]
    assert kpi_sums(frame(rows), [blocked], "rows")["blocked"].to_list() == [2]


def crosstab(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return crosstab_table([crosstab_sums(frame(rows), RUBRIC.crosstab)], RUBRIC.crosstab).to_dicts()


@pytest.mark.parametrize(
    ("count", "total", "pct"),
    [(1, 800, 0.13), (3, 800, 0.38), (1, 3, 33.33), (2, 3, 66.67), (1, 2, 50.0), (1, 1600, 0.06), (9, 1600, 0.56)],
)
def test_shares_round_half_away_from_zero(count: int, total: int, pct: float) -> None:
    found = crosstab([*scores(count, q_tier="S"), *scores(total - count)])
    assert {row["q_tier"]: row["pct"] for row in found}["S"] == pct


@pytest.mark.parametrize(
    ("totals", "mean"),
    [
        ([60, 61], 60.5),
        ([60, 60, 60, 61], 60.3),
        ([60, 61, 61, 61], 60.8),
        ([1, 1, 2], 1.3),
        ([0], 0.0),
        ([100], 100.0),
    ],
)
def test_means_round_half_away_from_zero(totals: list[int], mean: float) -> None:
    (found,) = crosstab([row for total in totals for row in scores(q_score=total, a_score=total)])
    assert (found["avg_q"], found["avg_a"]) == (mean, mean)


def test_cross_table_is_per_day_and_has_no_empty_pairs() -> None:
    rows = [*scores(3), *scores(1, a_grade="F"), *scores(2, score_date=NEXT, q_tier="S", a_grade="A")]
    assert [tuple(row.values())[:5] for row in crosstab(rows)] == [
        (DAY, "B", "B", 3, 75.0),
        (DAY, "B", "F", 1, 25.0),
        (NEXT, "S", "A", 2, 100.0),
    ]
    assert list(crosstab(rows)[0]) == ["score_date", "q_tier", "a_grade", "cnt", "pct", "avg_q", "avg_a"]


def test_no_rows_make_an_empty_cross_table() -> None:
    assert crosstab_table([], RUBRIC.crosstab).columns == [
        "score_date",
        "q_tier",
        "a_grade",
        "cnt",
        "pct",
        "avg_q",
        "avg_a",
    ]


@given(st.lists(SCORE, max_size=30), st.integers(0, 30))
def test_cross_tables_of_parts_are_that_of_the_whole(rows: list[dict[str, Any]], cut: int) -> None:
    parts = [crosstab_sums(frame(part), RUBRIC.crosstab) for part in (rows[cut:][::-1], rows[:cut])]
    assert crosstab_table(parts, RUBRIC.crosstab).to_dicts() == crosstab(rows)
    merged = merged_sums(parts, RUBRIC.crosstab.keys)
    assert crosstab_table([merged], RUBRIC.crosstab).to_dicts() == crosstab(rows)
    for day in (DAY, NEXT):
        counts = [row["cnt"] for row in crosstab(rows) if row["score_date"] == day]
        assert sum(counts) == sum(row["score_date"] == day for row in rows)


def test_intervals_of_a_day_do_not_depend_on_the_days_scored_with_it() -> None:
    rows, busy = 120_000, 70_000  # more than are summed together, of which one day has most
    turns = (
        pl.DataFrame({"turn": pl.int_range(rows, eager=True)})
        .select(
            score_date=pl.when(pl.col("turn") < busy)
            .then(pl.lit(DAY))
            .otherwise(pl.lit(NEXT) + pl.duration(days=pl.col("turn") % 3)),
            tenant_id=pl.format("tenant-{}", pl.col("turn") % 2),
            session_id=pl.when(pl.col("turn") % 5 > 0).then(pl.format("session-{}", pl.col("turn") // 10)),
            row_id=pl.format("row-{}", "turn"),
            final_score=(pl.col("turn") * 7919 % 101).cast(pl.Float64),
            a_grade=pl.lit("F"),
            q_tier=pl.when(pl.col("turn") % 7 < 2).then(pl.lit("A")).otherwise(pl.lit("C")),
            a_score=pl.col("turn") % 29,
        )
        .lazy()
    )
    together = kpi_intervals(turns, QUOTIENTS)
    assert len(together) == 4 * 3
    for day in {day for day, _ in together}:
        alone = kpi_intervals(turns.filter(pl.col("score_date") == day), QUOTIENTS)
        assert alone == {key: found for key, found in together.items() if key[0] == day}


@pytest.mark.parametrize(("least", "low", "high"), [(60, 58.892, 67.108), (94, 92.892, 100.0)])
def test_interval_of_a_mean_of_points_is_in_points(least: int, low: float, high: float) -> None:
    """The mean of four turns is known to 3.182 times 2.582 / 2 points, and is never above the most points."""
    rows = [row for more in (0, 2, 4, 6) for row in scores(final_score=float(least + more))]
    turns = pl.DataFrame(rows).with_columns(session_id=pl.lit(None, pl.String), row_id=pl.int_range(4).cast(pl.String))
    found = kpi_intervals(turns.lazy(), QUOTIENTS)[DAY, "*"]["mean_final_score"]
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.001)
