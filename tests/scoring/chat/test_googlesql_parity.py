"""The local engine equals BigQuery's semantics: Google's own evaluator, on rows that invite engines to differ.

The golden rows are among them, and get what the requirement says.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from flows.cli.rules import bigquery_scoring_query
from scoring.chat.erasure import PERSONAL_COLUMNS, session_hash, without_sessions
from scoring.chat.reading import REQUIRED_COLUMNS
from scoring.chat.row_ids import KEY_HEX_DIGITS
from scoring.chat.sql_rows import chat_rows_query, rejecting_unreadable
from scoring.chat.sql_scores import UNSCORED_BY, staged_schema
from scoring.chat.sql_tables import excluded_query, outcome_counts_query, rejected_query, scores_query
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.chat.local_engine import ScoredRows
from tasks.config.bigquery import BigQuerySettings, SourceColumn
from tasks.config.settings import Settings
from tests.cases.ola_monitoring.adversarial import Row
from tests.cases.ola_monitoring.all_golden import GOLDEN
from tests.cases.ola_monitoring.golden import Golden
from tests.fakes.googlesql import CHAT_ROWS, TABLE, answers, answers_of_days, answers_over, in_any_order

pytestmark = pytest.mark.slow

SEED_QUERY = Path(__file__).parents[2] / "cases" / "ola_monitoring" / "seed_query.sql"
FEW_SESSIONS = ("tied", "-", None)  # equal keys have equal sessions
DAY, ERASED = date(2026, 2, 4), "1:b|-"
PUSHED_DOWN = rejecting_unreadable(RUBRIC)
SEED_ALERTS = ("answer_failed", "good_question_bad_answer", "llm_blocked", "weak_answer", "very_short_answer")
SEED_BEGIN = datetime(2026, 1, 28, tzinfo=UTC)  # whatever the zone in which its WHERE begins on the 27th


@pytest.mark.parametrize("column", RUBRIC.scores_schema.names)
def test_pushdown_gives_the_same_column(column: str, local_scores: list[Row], googlesql_scores: list[Row]) -> None:
    here = {row["row_id"]: row[column] for row in local_scores}
    there = {row["row_id"]: row[column] for row in googlesql_scores}
    assert here == there


@pytest.fixture(scope="module")
def googlesql_by_name(googlesql_scores: list[Row]) -> dict[str, Row]:
    return {row["session_id"]: row for row in googlesql_scores}


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: ascii(golden.name))
def test_golden_row_gets_what_the_requirement_says(golden: Golden, googlesql_by_name: dict[str, Row]) -> None:
    row = googlesql_by_name[golden.name]
    assert {column: row[column] for column in golden.expected} == golden.expected, golden.source


def of_staged(query: str, staged_rows: list[Row]) -> list[dict[str, Any]]:
    """The answer over the staged rows for a day, with a session erased."""
    query = query.replace("@erased", f"['{session_hash(ERASED)}']")
    (answer,) = answers_of_days(query, [DAY], {"staged": (staged_schema(RUBRIC), staged_rows)})
    return answer


def test_every_row_is_staged_once_with_its_fate(
    local_outcome: ScoredRows, local_scores: list[Row], staged_rows: list[Row]
) -> None:
    rejects, exclusions = PUSHED_DOWN.rejects, PUSHED_DOWN.exclusions
    fates = of_staged(outcome_counts_query("staged"), staged_rows)
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
    repeated = sum(fate["repeated_count"] for fate in fates if fate[UNSCORED_BY.name] is None)
    assert repeated == sum(len(row["row_id"]) > KEY_HEX_DIGITS for row in local_scores) > 0


def test_excluded_rows_are_the_same(local_excluded: list[Row], staged_rows: list[Row]) -> None:
    there = of_staged(excluded_query(PUSHED_DOWN, "staged", ()), staged_rows)
    assert any(row["alert_level"] for row in there)
    assert in_any_order(there) == in_any_order(local_excluded)


@pytest.mark.long
def test_erased_session_leaves_its_scores_and_nothing_of_its_own(
    local_outcome: ScoredRows, staged_rows: list[Row]
) -> None:
    for query, frames in (
        (scores_query, local_outcome.score_frames()),
        (excluded_query, local_outcome.excluded_frames()),
    ):
        there = of_staged(query(PUSHED_DOWN, "staged", PERSONAL_COLUMNS), staged_rows)
        left = [without_sessions(frame, {session_hash(ERASED)}) for frame in frames]
        assert in_any_order(there) == in_any_order(row for frame in left for row in frame.iter_rows(named=True))
        assert ERASED not in {row["session_id"] for row in there}


def test_rejected_rows_are_the_same_without_a_line(local_outcome: ScoredRows, staged_rows: list[Row]) -> None:
    query = rejected_query(PUSHED_DOWN, "staged", "bigquery://a.b.c")
    there = of_staged(query, staged_rows)
    expected = {"score_date": DAY, "file": "bigquery://a.b.c", "line": None}
    here = [
        expected | {name: row[name] for name in ("column", "code", "reason")} | {"rubric": RUBRIC.id}
        for frame in local_outcome.rejected_frames()
        for row in frame.iter_rows(named=True)
    ]
    assert in_any_order(there) == in_any_order(here)


@pytest.mark.long
def test_aqb_sql_prints_a_query_that_gives_the_rows_of_the_pushdown_in_order(
    hostile_rows: list[Row], local_scores: list[Row], googlesql_scores: list[Row]
) -> None:
    printed = answers(bigquery_scoring_query(TABLE, None, Settings()), hostile_rows)
    assert list(printed[0]) == RUBRIC.scores_schema.names
    assert printed == local_scores
    assert sorted(printed, key=itemgetter("row_id")) == sorted(googlesql_scores, key=itemgetter("row_id"))


@pytest.mark.long
def test_aqb_sql_prints_a_query_that_runs_over_columns_of_any_name(
    hostile_rows: list[Row], local_scores: list[Row]
) -> None:
    """An exported log: names behind a prefix, one of them a word of GoogleSQL, one with a sign that ends a name."""
    columns: dict[SourceColumn, str] = {
        "user_input": "select",
        "llm_response": "answer-text",
        "request_metadata": "meta",
        "timestamp": "at.time",
    }
    settings = Settings(bigquery=BigQuerySettings(prefix="jsonPayload.", columns=columns))
    names = [field.name for field in CHAT_ROWS if field.name not in columns]
    payload = pa.struct(
        [
            *((name, CHAT_ROWS.field(name).type) for name in names),
            *(("select", pa.string()), ("answer-text", pa.string())),
            ("meta", pa.struct([("session_id", pa.string())])),
            ("at", pa.struct([("time", CHAT_ROWS.field("timestamp").type)])),
        ]
    )
    few = [row for row in hostile_rows if row["session_id"] in FEW_SESSIONS]
    exported = [
        {
            **{name: row.get(name) for name in names},
            "select": row["user_input"],
            "answer-text": row["llm_response"],
            "meta": {"session_id": row["session_id"]},
            "at": {"time": row["timestamp"]},
        }
        for row in few
    ]
    logs = pa.schema([("jsonPayload", payload)])
    query = bigquery_scoring_query("a.b.logs", None, settings)
    printed = answers_over(query, {"a.b.logs": (logs, [{"jsonPayload": row} for row in exported])})
    assert printed == [row for row in local_scores if row["session_id"] in FEW_SESSIONS]


@pytest.mark.long
def test_aqb_sql_takes_the_rows_of_one_day_of_the_zone(hostile_rows: list[Row], local_scores: list[Row]) -> None:
    few = [row for row in hostile_rows if row["session_id"] in FEW_SESSIONS]
    day = Counter(row["score_date"] for row in local_scores if row["session_id"] in FEW_SESSIONS).most_common(1)[0][0]
    printed = answers(bigquery_scoring_query(TABLE, day, Settings()), few)
    assert printed == [row for row in local_scores if row["session_id"] in FEW_SESSIONS and row["score_date"] == day]


def test_every_row_has_an_id_of_its_own(local_scores: list[Row]) -> None:
    assert [row_id for row_id, count in Counter(row["row_id"] for row in local_scores).items() if count > 1] == []


def test_hostile_rows_are_scored_excluded_or_rejected(local_outcome: ScoredRows, hostile_rows: list[Row]) -> None:
    unusable = [row for row in hostile_rows if is_rejected(row)]
    textless = [
        row for row in hostile_rows if not is_rejected(row) and None in (row["user_input"], row["llm_response"])
    ]
    counts = local_outcome.counts
    assert (counts.rows_in, counts.rejected, counts.excluded) == (len(hostile_rows), len(unusable), len(textless))
    assert min(len(unusable), len(textless)) > 20


@pytest.mark.long
def test_requirements_own_query_gives_the_same_points(local_scores: list[Row], seed_answers: list[Row]) -> None:
    shared = [name for name in RUBRIC.scores_schema.names if name in seed_answers[0]]
    assert {"q_specificity", "a_non_refusal", "q_tier", "i_score", "final_score", "answer_lines"} <= set(shared)
    texts = ("user_input", "llm_response")  # the score table keeps them for flagged rows only
    assert counted(local_scores, shared, texts) == counted(seed_answers, shared, texts)


@pytest.mark.long
def test_requirements_alert_conditions_raise_the_same_rules(local_scores: list[Row], seed_answers: list[Row]) -> None:
    here = [row | {rule: rule in row["alert_rules"] for rule in SEED_ALERTS} for row in local_scores]
    columns = ("timestamp", "session_id", "a_score", "q_score", *SEED_ALERTS)
    assert counted(here, columns) == counted(seed_answers, columns)


@pytest.fixture(scope="module")
def seed_answers(hostile_rows: list[Row]) -> list[Row]:
    """What the requirement's query says; it does not reject rows, so it is not shown those that we reject."""
    found = answers(SEED_QUERY.read_text(encoding="utf-8"), [row for row in hostile_rows if not is_rejected(row)])
    assert len(found) > 700
    return [{name.lower(): value for name, value in row.items()} for row in found]


def counted(rows: list[Row], columns: Sequence[str], but: Sequence[str] = ()) -> Counter[tuple[Any, ...]]:
    """How often each combination occurs since the day on which the requirement's query begins. NaN is NULL."""
    names = [name for name in columns if name not in but]
    return Counter(
        tuple(None if row[name] != row[name] else row[name] for name in names)
        for row in rows
        if row["timestamp"] >= SEED_BEGIN
    )


def is_rejected(row: Row) -> bool:
    """SPEC 1.1: a missing timestamp, negative or infinite tokens."""
    tokens = [row[name] for name in ("input_tokens", "output_tokens") if row[name] is not None]
    return row["timestamp"] is None or any(number < 0 or number == float("inf") for number in tokens)


@pytest.mark.long
@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        # The evaluator's default zone is Los Angeles; a project of BigQuery may have any.
        (
            "UTC",
            ["2026-02-13 09:00", "2026-02-13 00:00", None, "9999-12-31 23:59", "2026-02-13 09:00", "2026-02-13 00:00"],
        ),
        (
            "Europe/London",
            ["2026-02-13 09:00", "2026-02-13 00:00", None, "9999-12-31 23:59", "2026-02-13 09:00", "2026-02-13 00:00"],
        ),
        (
            "Asia/Seoul",
            ["2026-02-13 00:00", "2026-02-13 00:00", None, "9999-12-31 14:59", "2026-02-13 00:00", "2026-02-13 00:00"],
        ),
        # Here that is a time of the year 10000, at which the whole query would end.
        (
            "America/New_York",
            ["2026-02-13 14:00", "2026-02-13 00:00", None, None, "2026-02-13 14:00", "2026-02-13 00:00"],
        ),
    ],
)
def test_times_without_a_zone_are_read_in_the_one_that_is_set_inside_bigquery_too(
    zone: str, expected: list[str | None]
) -> None:
    kinds = {"input_tokens": "FLOAT64", "output_tokens": "FLOAT64"}
    fields = [
        SimpleNamespace(name=name, field_type=kinds.get(name, "STRING"), mode="NULLABLE", fields=())
        for name in REQUIRED_COLUMNS
    ]
    schema = pa.schema([(name, pa.float64() if name in kinds else pa.string()) for name in REQUIRED_COLUMNS])
    times = ["2026-02-13 09:00:00", "2026-02-13T09:00:00+09:00", "soon", "9999-12-31 23:59:00"]
    times += ["2026-02-13 09:00:00.123456789", "2026-02-13T00:00:00.1234567Z"]
    rows = [dict.fromkeys(REQUIRED_COLUMNS) | {"timestamp": time} for time in times]
    found = answers_over(chat_rows_query(TABLE, fields, naive_zone=zone), {TABLE: (schema, rows)})
    assert [row["timestamp"] and f"{row['timestamp']:%Y-%m-%d %H:%M}" for row in found] == expected
    assert [row["naive"] for row in found] == [True, False, False, True, True, False]
    assert [row["unreadable"] for row in found] == ["timestamp" if time is None else None for time in expected]
