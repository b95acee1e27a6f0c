"""The tables that BigQuery makes of a day equal those of the local engine: Google's own evaluator on the same rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.chat.erasure import PERSONAL_COLUMNS, session_hash, without_sessions
from scoring.chat.kpis import Measure, Quotient, crosstab_sums, crosstab_table, kpi_sums, kpi_table
from scoring.chat.sql_rows import rejecting_unreadable
from scoring.chat.sql_scores import UNSCORED_BY, staged_schema
from scoring.chat.sql_tables import (
    alert_examples_query,
    cluster_moments_query,
    clusters_query,
    contents_query,
    crosstab_query,
    excluded_query,
    failure_types_query,
    kpis_query,
    outcome_counts_query,
    rejected_query,
    rows_query,
    scores_query,
    worst_of_cells_query,
    worst_rows_query,
)
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.chat.local_engine import ScoredRows
from tests.cases.ola_monitoring.adversarial import Row
from tests.fakes.googlesql import answers_over

pytestmark = pytest.mark.slow

ERASED = "1:b|-"
DAY, EMPTY_DAY = date(2026, 2, 4), date(2020, 1, 1)
PUSHED_DOWN = rejecting_unreadable(RUBRIC)
(MEAN,) = (kpi for kpi in RUBRIC.quotients if kpi.name == "mean_final_score")
IDENTITY = {"rubric": RUBRIC.id, "rubric_version": RUBRIC.version}
few_examples = settings(max_examples=15)
SCORED = st.fixed_dictionaries(
    {
        "score_date": st.just(DAY),
        "tenant_id": st.sampled_from([None, "", "-", "텐넌트"]),
        **{name: st.integers(0, 100) for name in ("q_score", "a_score", "i_score")},
        "final_score": st.integers(0, 1000).map(lambda tenths: tenths / 10),
        "q_tier": st.sampled_from("SABCD"),
        "a_grade": st.sampled_from("ABCDF"),
        "final_grade": st.sampled_from(["STAR", "A", "B", "C", "F"]),
        "failure_type": st.sampled_from([None, "blocked"]),
        "answer_says_no_data": st.booleans(),
        "alert_level": st.sampled_from([None, "warning", "critical"]),
        "output_tokens": st.sampled_from([None, 0.0, 50.0, 500.0]),
    }
)
EXCLUDED = st.fixed_dictionaries(
    {
        "score_date": st.just(DAY),
        "tenant_id": st.sampled_from([None, "", "only excluded"]),
        "alert_level": st.sampled_from([None, "critical"]),
        "output_tokens": st.sampled_from([None, 0.0, 50.0]),
    }
)
_POLARS_TYPES = {
    **dict.fromkeys(("output_tokens", "final_score"), pl.Float64),
    **dict.fromkeys(("q_score", "a_score", "i_score"), pl.Int64),
    "score_date": pl.Date,
    "answer_says_no_data": pl.Boolean,
}


def asked(query: str, day: date = DAY, **tables: tuple[pa.Schema, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The answer for one day, with a session erased; a query names a table as its keyword."""
    erased = f"['{session_hash(ERASED)}']"
    return answers_over(query.replace("@day", f"DATE '{day}'").replace("@erased", erased), tables)


def counted(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Rows without their order. `repr` tells 1 from 1.0 and shows every digit, but also the two zeros of a float."""

    def shown(value: Any) -> Any:
        return str(value) if isinstance(value, datetime) else value + 0.0 if isinstance(value, float) else value

    return Counter(repr({name: shown(value) for name, value in row.items()}) for row in rows)


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    names = rows[0] if rows else SCORED_NAMES
    return pl.DataFrame(rows, schema={name: _POLARS_TYPES.get(name, pl.String) for name in names})


SCORED_NAMES = ("score_date", "tenant_id", "q_score", "a_score", "i_score", "final_score", "q_tier", "a_grade")


@pytest.fixture(scope="module")
def days(local_scores: list[Row]) -> list[date]:
    """The two days with most rows."""
    return [day for day, _ in Counter(row["score_date"] for row in local_scores).most_common(2)]


@pytest.fixture(scope="module")
def local_excluded(local_outcome: ScoredRows) -> list[Row]:
    return [row for frame in local_outcome.excluded_frames() for row in frame.iter_rows(named=True)]


def test_every_row_is_staged_once_with_its_fate(local_outcome: ScoredRows, staged_rows: list[Row]) -> None:
    rejects, exclusions = PUSHED_DOWN.rejects, PUSHED_DOWN.exclusions
    fates = asked(outcome_counts_query("staged"), staged=(staged_schema(RUBRIC), staged_rows))
    by_rule: Counter[int | None] = Counter()
    for fate in fates:  # one for each rule and tenant
        by_rule[fate[UNSCORED_BY.name]] += fate["row_count"]
    counts = local_outcome.counts
    assert (by_rule.pop(None), by_rule.total()) == (counts.scored, counts.excluded + counts.rejected)
    codes = [*(rule.code for rule in rejects), *(rule.code for rule in exclusions)]
    found: Counter[str] = Counter()
    for place, count in by_rule.items():
        assert place is not None
        found[codes[place]] += count
    assert found == local_outcome.rejected_by_code + local_outcome.excluded_by_reason
    assert sum(fate["naive_count"] for fate in fates) == 0


def test_excluded_rows_are_the_same(local_excluded: list[Row], staged_rows: list[Row]) -> None:
    there = asked(excluded_query(PUSHED_DOWN, "staged", ()), staged=(staged_schema(RUBRIC), staged_rows))
    assert any(row["alert_level"] for row in there)
    assert counted(there) == counted(local_excluded)


def test_an_erased_session_leaves_its_scores_and_nothing_of_its_own(
    local_outcome: ScoredRows, staged_rows: list[Row]
) -> None:
    staged = (staged_schema(RUBRIC), staged_rows)
    for query, frames in (
        (scores_query, local_outcome.score_frames()),
        (excluded_query, local_outcome.excluded_frames()),
    ):
        there = asked(query(PUSHED_DOWN, "staged", PERSONAL_COLUMNS), staged=staged)
        left = [without_sessions(frame, {session_hash(ERASED)}) for frame in frames]
        assert counted(there) == counted(row for frame in left for row in frame.iter_rows(named=True))
        assert ERASED not in {row["session_id"] for row in there}


def test_rejected_rows_are_the_same_without_a_line(local_outcome: ScoredRows, staged_rows: list[Row]) -> None:
    query = rejected_query(PUSHED_DOWN, "staged", "bigquery://a.b.c")
    there = asked(query, staged=(staged_schema(RUBRIC), staged_rows))
    expected = {"score_date": DAY, "file": "bigquery://a.b.c", "line": None}
    here = [
        expected | {name: row[name] for name in ("column", "code", "reason")} | {"rubric": RUBRIC.id}
        for frame in local_outcome.rejected_frames()
        for row in frame.iter_rows(named=True)
    ]
    assert counted(there) == counted(here)


def test_kpis_of_a_day_are_the_same_to_the_last_digit(
    days: list[date], local_outcome: ScoredRows, local_scores: list[Row], local_excluded: list[Row]
) -> None:
    here = local_outcome.kpi_tables([EMPTY_DAY]).kpis
    for day in (*days, EMPTY_DAY):
        there = asked(
            kpis_query(RUBRIC, "scores", "excluded"),
            day,
            scores=(RUBRIC.scores_schema, local_scores),
            excluded=(RUBRIC.excluded_schema, local_excluded),
        )
        assert list(there[0]) == RUBRIC.kpis_schema.names
        assert counted(there) == counted(here.filter(pl.col("score_date") == day).to_dicts())


def test_the_cross_table_of_a_day_is_the_same_to_the_last_digit(
    days: list[date], local_outcome: ScoredRows, local_scores: list[Row]
) -> None:
    here = local_outcome.kpi_tables().crosstab
    for day in (*days, EMPTY_DAY):
        there = asked(crosstab_query(RUBRIC, "scores"), day, scores=(RUBRIC.scores_schema, local_scores))
        assert counted(there) == counted(here.filter(pl.col("score_date") == day).to_dicts())


@few_examples
@given(st.lists(SCORED, max_size=12), st.lists(EXCLUDED, max_size=6))
def test_any_sums_are_the_same(scored: list[dict[str, Any]], excluded: list[dict[str, Any]]) -> None:
    totals: list[Measure | Quotient] = [*RUBRIC.measures, *RUBRIC.quotients]
    parts = [kpi_sums(frame(scored), totals, "rows")] if scored else []
    parts += [kpi_sums(frame(excluded), RUBRIC.excluded_measures, "excluded")] if excluded else []
    named = {name: pl.lit(value) for name, value in IDENTITY.items()}
    kpis = kpi_table(parts, RUBRIC.measures, RUBRIC.quotients, [DAY]).with_columns(**named)
    here = kpis.select(RUBRIC.kpis_schema.names).to_dicts()
    scores = (RUBRIC.scores_schema, scored)
    there = asked(kpis_query(RUBRIC, "scores", "excluded"), scores=scores, excluded=(RUBRIC.excluded_schema, excluded))
    assert counted(there) == counted(here)
    if scored:
        crosstab = crosstab_table([crosstab_sums(frame(scored), RUBRIC.crosstab)], RUBRIC.crosstab).to_dicts()
        there = asked(crosstab_query(RUBRIC, "scores"), scores=scores)
        assert counted(there) == counted(row | IDENTITY for row in crosstab)


def test_examples_are_the_worst_rows_of_each_rule_and_tenant(local_scores: list[Row]) -> None:
    scores = (RUBRIC.scores_schema, local_scores)
    of_day = sorted(
        (row for row in local_scores if row["score_date"] == DAY),
        key=lambda row: (row["final_score"], row["timestamp"], row["row_id"]),
    )
    there = asked(alert_examples_query(RUBRIC, "scores", 3), scores=scores)
    assert {row["rule"] for row in there} == {rule for row in of_day for rule in row["alert_rules"]} != set()
    for found in there:
        fired = [row["row_id"] for row in of_day if found["rule"] in row["alert_rules"]]
        by_tenant = [row["row_id"] for row in of_day if row["tenant_id"] == found["tenant_id"]]
        expected = fired if found["tenant_id"] == "*" else [one for one in fired if one in by_tenant]
        assert found["row_ids"] == expected[:3]

    there = asked(worst_rows_query(RUBRIC, "scores", ["row_id", "user_input"], 7), scores=scores)
    assert there == [{name: row[name] for name in ("row_id", "user_input")} for row in of_day[:7]]

    there = asked(worst_of_cells_query(RUBRIC, "scores", 2), scores=scores)
    cells: dict[tuple[str, str], list[str]] = {}
    for row in of_day:
        cells.setdefault((row["q_tier"], row["a_grade"]), []).append(row["row_id"])
    assert sorted(row["row_ids"] for row in there) == sorted(ids[:2] for ids in cells.values())

    two = {row["row_id"]: row["final_score"] for row in of_day[2:4]}
    there = asked(rows_query("scores", ["row_id", "final_score"], [*two, "nobody's"]), scores=scores)
    assert {row["row_id"]: row["final_score"] for row in there} == two

    there = asked(failure_types_query(RUBRIC, "scores"), scores=scores)
    failures = Counter(row["failure_type"] for row in of_day if row["failure_type"])
    assert {row["failure_type"]: row["row_count"] for row in there} == failures
    assert there == sorted(there, key=lambda row: (-row["row_count"], row["failure_type"]))


def test_a_day_is_known_by_its_rows_in_any_order(local_scores: list[Row]) -> None:
    def contents(rows: list[Row]) -> dict[date, tuple[int, int]]:
        found = asked(contents_query("SELECT * FROM scores", "Asia/Seoul"), scores=(RUBRIC.scores_schema, rows))
        days: dict[date, tuple[int, int]] = {}
        for row in found:  # one for each tenant
            count, row_hash = days.get(row["day"], (0, 0))
            days[row["day"]] = count + row["row_count"], row_hash ^ row["row_hash"]
        return days

    rows = [row for row in local_scores if row["score_date"] == DAY]
    (first, *others) = rows
    assert contents(rows[::-1]) == contents(rows)
    assert contents(rows)[DAY][0] == len(rows)
    for changed in (first | {"output_tokens": 7.5}, first | {"tenant_id": "another"}):
        assert contents([changed, *others]) != contents(rows)


def test_sessions_are_summed_and_a_turn_without_one_stands_alone(local_scores: list[Row]) -> None:
    scores = (RUBRIC.scores_schema, local_scores)
    tenths: dict[str, list[int]] = {}
    for row in local_scores:
        if row["score_date"] == DAY:
            name = row["row_id"] if row["session_id"] is None else row["session_id"]
            tenths.setdefault(name, []).append(round(row["final_score"] * 10))
    there = asked(clusters_query("scores", MEAN), scores=scores)
    clusters = {name: (len(found), sum(found)) for name, found in tenths.items()}
    assert {row["cluster"]: (row["size"], row["total"]) for row in there} == clusters

    (moments,) = asked(cluster_moments_query("scores", MEAN), scores=scores)
    added = [(size, total, total**2, total * size, size**2) for size, total in clusters.values()]
    names = ("size", "total", "of_sums", "mixed", "of_sizes")
    assert moments == {"clusters": len(clusters)} | dict(zip(names, map(sum, zip(*added, strict=True)), strict=True))
