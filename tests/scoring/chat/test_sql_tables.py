"""The tables that BigQuery makes of a day equal those of the local engine: Google's own evaluator on the same rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import score
from scoring.catalog import row_rubric_of_text
from scoring.chat.kpi_figures import figure_fields, intervals_of_moments, kpi_intervals, of_stored_rows
from scoring.chat.kpis import Measure, Quotient, crosstab_sums, crosstab_table, kpi_sums, kpi_table
from scoring.chat.sql_tables import (
    contents_query,
    crosstab_query,
    fired_columns,
    fired_rows_query,
    kpis_query,
    moments_query,
    rows_query,
    value_counts_query,
    worst_rows_query,
)
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.arrow_types import empty_frame
from scoring.rules.explain import evaluate
from scoring.rules.expressions import Definition
from tasks.chat.local_engine import ScoredRows
from tests.builders.chat_rows import plain
from tests.builders.kpi_tables import SCORED_COLUMNS
from tests.builders.rubric_files import STARTERS
from tests.cases.ola_monitoring.adversarial import Row
from tests.fakes.googlesql import answers_of_days, in_any_order

pytestmark = pytest.mark.long

DAY, EMPTY_DAY = date(2026, 2, 4), date(2020, 1, 1)
KPIS = of_stored_rows(RUBRIC.quotients)
FIGURES = [field.name for field in figure_fields(RUBRIC.quotients)]
IDENTITY = {"rubric": RUBRIC.id, "rubric_version": RUBRIC.version}
SCORED = st.fixed_dictionaries(
    {
        "tenant_id": st.sampled_from([None, "", "-", "텐넌트"]),
        **SCORED_COLUMNS,
    }
)
EXCLUDED = st.fixed_dictionaries(
    {
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


Table = tuple[pa.Schema, Sequence[Mapping[str, Any]]]


def asked(query: str, **tables: Table) -> list[dict[str, Any]]:
    """The answer for a day; a query names a table as its keyword."""
    ((_, answer),) = asked_of_each([DAY], query, **tables)
    return answer


def asked_of_each(days: list[date], query: str, **tables: Table) -> Iterable[tuple[date, list[dict[str, Any]]]]:
    """The answers for these days."""
    return zip(days, answers_of_days(query, days, tables), strict=True)


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    names = rows[0] if rows else SCORED_NAMES
    return pl.DataFrame(rows, schema={name: _POLARS_TYPES.get(name, pl.String) for name in names})


SCORED_NAMES = ("score_date", "tenant_id", "q_score", "a_score", "i_score", "final_score", "q_tier", "a_grade")


@pytest.fixture(scope="module")
def days(local_scores: list[Row]) -> list[date]:
    """The two days with most rows."""
    return [day for day, _ in Counter(row["score_date"] for row in local_scores).most_common(2)]


def test_kpis_of_a_day_are_the_same_to_the_last_digit(
    days: list[date], local_outcome: ScoredRows, local_scores: list[Row], local_excluded: list[Row]
) -> None:
    here = local_outcome.kpis(days=[EMPTY_DAY]).drop(FIGURES)
    tables = {"scores": (RUBRIC.scores_schema, local_scores), "excluded": (RUBRIC.excluded_schema, local_excluded)}
    for day, there in asked_of_each([*days, EMPTY_DAY], kpis_query(RUBRIC, "scores", "excluded"), **tables):
        assert list(there[0]) == [name for name in RUBRIC.kpis_schema.names if name not in FIGURES]
        assert in_any_order(there) == in_any_order(here.filter(pl.col("score_date") == day).to_dicts())


def test_cross_table_of_a_day_is_the_same_to_the_last_digit(
    days: list[date], local_outcome: ScoredRows, local_scores: list[Row]
) -> None:
    here = local_outcome.crosstab()
    scores = (RUBRIC.scores_schema, local_scores)
    for day, there in asked_of_each([*days, EMPTY_DAY], crosstab_query(RUBRIC, "scores"), scores=scores):
        assert in_any_order(there) == in_any_order(here.filter(pl.col("score_date") == day).to_dicts())


@settings(max_examples=3)  # of eight days each, the first one of none that has rows
@given(st.lists(st.tuples(st.lists(SCORED, max_size=12), st.lists(EXCLUDED, max_size=6)), min_size=8, max_size=8))
def test_any_sums_are_the_same(drawn: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]) -> None:
    days = [DAY + timedelta(days=number) for number in range(len(drawn))]
    scored = [{"score_date": day, **row} for day, (rows, _) in zip(days, drawn, strict=True) for row in rows]
    excluded = [{"score_date": day, **row} for day, (_, rows) in zip(days, drawn, strict=True) for row in rows]
    totals: list[Measure | Quotient] = [*RUBRIC.measures, *RUBRIC.quotients]
    parts = [kpi_sums(frame(scored), totals, "rows")] if scored else []
    parts += [kpi_sums(frame(excluded), RUBRIC.excluded_measures, "excluded")] if excluded else []
    named = {name: pl.lit(value) for name, value in IDENTITY.items()}
    kpis = kpi_table(parts, RUBRIC.measures, RUBRIC.quotients, days).with_columns(**named)
    here = kpis.select(name for name in RUBRIC.kpis_schema.names if name not in FIGURES)
    tables = {
        "scores": (RUBRIC.scores_schema, with_alert_rules(scored, RUBRIC.definitions)),
        "excluded": (RUBRIC.excluded_schema, with_alert_rules(excluded, RUBRIC.excluded_definitions)),
    }
    for day, there in asked_of_each(days, kpis_query(RUBRIC, "scores", "excluded"), **tables):
        assert in_any_order(there) == in_any_order(here.filter(score_date=day).to_dicts())
    if scored:
        crosstab = crosstab_table([crosstab_sums(frame(scored), RUBRIC.crosstab)], RUBRIC.crosstab)
        for day, there in asked_of_each(days, crosstab_query(RUBRIC, "scores"), scores=tables["scores"]):
            found = crosstab.filter(score_date=day)
            assert in_any_order(there) == in_any_order(row | IDENTITY for row in found.to_dicts())


def with_alert_rules(rows: list[Row], definitions: Iterable[Definition]) -> list[Row]:
    """The rows with the rules that they list in a table."""
    (rules,) = (one.expression for one in definitions if one.name == "alert_rules")
    return [row | {"alert_rules": evaluate(rules, row)} for row in rows]


def test_alert_that_looks_at_an_answer_is_counted_where_no_text_is_kept() -> None:
    text = (STARTERS / "starter_rubric.toml").read_text("utf-8").replace("on_excluded_rows = true\n", "")
    text = text.replace("output_tokens = 0", "REGEXP_CONTAINS(llm_response, 'I cannot')")
    rubric, rows = row_rubric_of_text(text), [plain(0, llm_response="I cannot say."), plain(1)]
    scored = score(pl.DataFrame(rows), text).scored.to_dicts()
    kept = [row | {"user_input": None, "llm_response": None} for row in scored]
    tables = {"scores": (rubric.scores_schema, kept), "excluded": (rubric.excluded_schema, list[Row]())}
    ((_, found),) = asked_of_each([kept[0]["score_date"]], kpis_query(rubric, "scores", "excluded"), **tables)
    assert {row["tenant_id"]: (row["rows"], row["alert_no_answer"]) for row in found}["*"] == (2, 1)


def is_flagged(row: Row) -> bool:
    return row["alert_level"] is not None or row["final_grade"] in ("C", "F")


def test_rows_with_an_alert_and_the_worst_rows_are_those_of_the_day(local_scores: list[Row]) -> None:
    scores = (RUBRIC.scores_schema, local_scores)
    of_day = sorted(
        (row for row in local_scores if row["score_date"] == DAY),
        key=lambda row: (not is_flagged(row), row["final_score"], row["timestamp"], row["row_id"]),
    )
    there = asked(fired_rows_query("scores", fired_columns(RUBRIC)), scores=scores)
    fired = [{name: row[name] for name in fired_columns(RUBRIC)} for row in of_day if row["alert_level"]]
    assert in_any_order(there) == in_any_order(fired) != Counter()

    there = asked(worst_rows_query(RUBRIC, "scores", ["row_id", "user_input"], 7), scores=scores)
    assert there == [{name: row[name] for name in ("row_id", "user_input")} for row in of_day[:7]]

    two = {row["row_id"]: row["final_score"] for row in of_day[2:4]}
    there = asked(rows_query("scores", ["row_id", "final_score"], [*two, "nobody's"]), scores=scores)
    assert {row["row_id"]: row["final_score"] for row in there} == two

    columns = ["failure_type", "q_tier"]
    there = asked(value_counts_query(columns, "scores"), scores=scores)
    counted = Counter((name, row[name]) for row in of_day for name in columns)
    assert {(row["name"], row["value"]): row["row_count"] for row in there} == counted
    assert {row["score_date"] for row in there} == {DAY}
    assert there == sorted(there, key=lambda row: (-row["row_count"], row["value"] or ""))


def test_day_is_known_by_its_rows_in_any_order(local_scores: list[Row]) -> None:
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


def test_intervals_of_kpis_are_the_same_to_the_last_digit(days: list[date], local_scores: list[Row]) -> None:
    scores = pl.DataFrame(local_scores, schema=empty_frame(RUBRIC.scores_schema).schema).lazy()
    here = kpi_intervals(scores, RUBRIC.quotients)
    assert {tenant for day, tenant in here if day == days[0]} > {"*"}
    of_day = {"scores": (RUBRIC.scores_schema, local_scores)}
    for day, there in asked_of_each([*days, EMPTY_DAY], moments_query("scores", KPIS), **of_day):
        expected = {(when, tenant): found for (when, tenant), found in here.items() if when == day}
        assert intervals_of_moments(KPIS, there) == expected
