import unicodedata
from collections import defaultdict
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.samples import SAMPLE_DAYS, SAMPLE_FIRST_DAY, SAMPLE_PATH
from tests.samples.chat_answers import REFUSALS, answer
from tests.samples.chat_questions import COMPANIES
from tests.samples.chat_rows import (
    SAMPLE_ROWS_PER_DAY,
    SCHEMA,
    STRATA,
    TIME_ZONE,
    chat_row_batches,
    generate_chat_rows,
    sample_table,
    write_sample,
)
from tests.samples.draws import stream

pytestmark = pytest.mark.slow

DAY = date(2026, 3, 9)
QUESTION, ANSWER = pl.col("user_input"), pl.col("llm_response")
FAILED = (
    (pl.col("output_tokens") == 0)
    | ANSWER.str.contains(r"^(>?[\t\n\f\r ]*)?죄송합니다\. 저는 (법률|금융|주식)")
    | ANSWER.str.contains("질문의 범위가 너무 넓어|입력하신 내용을 정확히 이해하지 못했습니다")
    | (ANSWER.str.len_chars() <= 50)
)
HAS_TABLE = ANSWER.str.contains(r"\|.*\|.*\|")
HAS_NUMBER = ANSWER.str.contains(r"[0-9]{1,3}(,[0-9]{3})+")
HAS_DATE = ANSWER.str.contains(r"[0-9]{4}[-/][0-9]{2}")
HAS_BOLD = ANSWER.str.contains(r"\*\*.*\*\*")
HAS_MARKET = ANSWER.str.contains("KOSPI|KOSDAQ")
HAS_CODE = QUESTION.str.contains("[0-9]{6}")


@cache
def sample_rows() -> list[dict[str, Any]]:
    return list(sample_table().to_pylist())


@cache
def turns() -> pl.DataFrame:
    """20,000 turns of two days without incident."""
    return pl.DataFrame(generate_chat_rows(DAY, 2, 10_000, seed=1))


@cache
def scored_turns() -> pl.DataFrame:
    """The turns, less the excluded ones (NULL texts or tokens)."""
    return turns().drop_nulls(["user_input", "llm_response", "output_tokens"]).with_columns(failed=FAILED)


def turns_of(failed: bool) -> pl.DataFrame:
    return scored_turns().filter(pl.col("failed") == failed)


def mean_of(frame: pl.DataFrame, values: pl.Expr) -> float:
    return float(frame.select(values.cast(pl.Float64).mean()).item())


def four_standard_errors(share: float, rows: int) -> float:
    return 4 * sqrt(share * (1 - share) / rows)


def test_bundled_file_is_what_the_generator_makes() -> None:
    assert pq.read_table(SAMPLE_PATH).equals(sample_table())


def test_bundled_file_stays_small() -> None:
    assert SAMPLE_PATH.stat().st_size < 1_500_000


@pytest.mark.long
def test_writing_the_sample_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    write_sample(tmp_path / "a.parquet")
    write_sample(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_schema_is_the_production_views() -> None:
    assert [(field.name, str(field.type)) for field in SCHEMA] == [
        ("user_input", "string"),
        ("llm_response", "string"),
        ("input_tokens", "double"),
        ("output_tokens", "double"),
        ("total_tokens", "double"),
        ("success", "bool"),
        ("message_length", "double"),
        ("timestamp", "timestamp[us, tz=UTC]"),
        ("request_metadata", "struct<session_id: string, x_enc_data: string>"),
        ("tenant_id", "string"),
    ]
    assert generate_chat_rows(DAY, 1, 3, seed=1).schema.equals(SCHEMA)


def test_no_days_give_an_empty_table_of_the_same_schema() -> None:
    assert generate_chat_rows(DAY, 0, 10, seed=1).equals(SCHEMA.empty_table())


def test_day_does_not_depend_on_the_days_asked_for_with_it() -> None:
    three_days = generate_chat_rows(DAY, 3, 200, seed=5)
    second = generate_chat_rows(DAY + timedelta(days=1), 1, 200, seed=5)
    assert three_days.slice(200, 200).equals(second)


def test_incident_leaves_the_other_days_alone() -> None:
    quiet = generate_chat_rows(DAY, 2, 200, seed=5)
    loud = generate_chat_rows(DAY, 2, 200, seed=5, incidents={DAY: 0.5})
    assert loud.slice(200).equals(quiet.slice(200))
    assert not loud.slice(0, 200).equals(quiet.slice(0, 200))


def test_seeds_and_days_differ() -> None:
    rows = generate_chat_rows(DAY, 1, 20, seed=5)
    assert not rows.equals(generate_chat_rows(DAY, 1, 20, seed=6))
    assert rows["user_input"] != generate_chat_rows(DAY + timedelta(days=1), 1, 20, seed=5)["user_input"]


def test_batches_end_at_their_size_and_at_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.samples.chat_rows.ROWS_PER_BATCH", 100)
    batches = list(chat_row_batches(DAY, 2, 105, seed=1))
    assert [batch.num_rows for batch in batches] == [100, 5, 100, 5]


@given(
    first_day=st.dates(date(2000, 1, 1), date(2090, 1, 1)),
    days=st.integers(1, 3),
    rows=st.integers(1, 30),
    seed=st.integers(0, 2**40),
)
def test_every_day_in_seoul_holds_the_rows_asked_for(first_day: date, days: int, rows: int, seed: int) -> None:
    stamps = generate_chat_rows(first_day, days, rows, seed)["timestamp"].to_pylist()
    found = [stamp.astimezone(ZoneInfo(TIME_ZONE)).date() for stamp in stamps]
    assert found == [first_day + timedelta(days=day) for day in range(days) for _ in range(rows)]


def test_some_turns_belong_to_another_day_in_utc() -> None:
    stamps = [row["timestamp"] for row in sample_rows()]
    assert any(stamp.date() != stamp.astimezone(ZoneInfo(TIME_ZONE)).date() for stamp in stamps)


@pytest.mark.long
def test_hour_after_the_market_opens_is_the_busiest() -> None:
    hours = scored_turns().select(pl.col("timestamp").dt.convert_time_zone(TIME_ZONE).dt.hour().mode())
    assert hours["timestamp"].to_list() == [9]


# Source: seed 002, 2.2: highest output tokens of the bucket, turns, failures
OUTPUT_BUCKETS = [
    (0, 223, 223),
    (30, 124, 111),
    (60, 397, 241),
    (100, 408, 114),
    (200, 486, 0),
    (10**6, 11_194, 0),
]
# Source: seed 002, 2.3: highest input tokens of the bucket, turns, failures
INPUT_BUCKETS = [
    (0, 223, 223),
    (500, 218, 11),
    (1_000, 769, 388),
    (2_000, 209, 40),
    (4_000, 2_523, 21),
    (10**6, 8_890, 6),
]
ANSWERED = {"brief", "limited", "full"}


BUCKETS = [("output_tokens", OUTPUT_BUCKETS), ("input_tokens", INPUT_BUCKETS)]


@pytest.mark.parametrize(("tokens", "buckets"), BUCKETS)
def test_strata_add_up_to_the_seeds_bucket_table(tokens: str, buckets: list[tuple[int, int, int]]) -> None:
    lowest = -1
    for highest, turns, failures in buckets:
        inside = [each for each in STRATA if lowest < min(getattr(each, tokens)) <= highest]
        assert all(max(getattr(each, tokens)) <= highest for each in inside)
        assert sum(each.turns for each in inside) == turns
        assert sum(each.turns for each in inside if each.kind not in ANSWERED) == failures
        lowest = highest


@pytest.mark.parametrize(("tokens", "buckets"), BUCKETS)
def test_generated_tokens_fall_into_the_seeds_buckets(tokens: str, buckets: list[tuple[int, int, int]]) -> None:
    lowest = -1
    for highest, turns, failures in buckets:
        inside = scored_turns().filter((pl.col(tokens) > lowest) & (pl.col(tokens) <= highest))
        share = turns / 12_832
        assert inside.height / scored_turns().height == pytest.approx(
            share, abs=four_standard_errors(share, scored_turns().height)
        )
        failed = failures / turns
        assert inside["failed"].mean() == pytest.approx(failed, abs=four_standard_errors(failed, inside.height) + 1e-9)
        lowest = highest


# Source: seed 002, 2.1 and, for the market, 2.4 solved for the share of answers that name it
@pytest.mark.parametrize(
    ("element", "share"),
    [
        (HAS_TABLE, 0.833),
        (HAS_NUMBER, 0.813),
        (HAS_DATE, 0.897),
        (HAS_BOLD, 0.935),
        (HAS_MARKET, 0.255),
        (HAS_CODE, 0.608),
    ],
)
def test_answered_turns_have_an_element_as_often_as_the_seeds(element: pl.Expr, share: float) -> None:
    answered = turns_of(failed=False)
    assert mean_of(answered, element) == pytest.approx(share, abs=four_standard_errors(share, answered.height))


@pytest.mark.parametrize("element", [HAS_TABLE, HAS_NUMBER, HAS_DATE, HAS_BOLD])
def test_no_failed_answer_has_a_structural_element(element: pl.Expr) -> None:
    assert mean_of(turns_of(failed=True), element) == 0


def test_few_failed_questions_hold_a_code() -> None:
    failed = turns_of(failed=True)
    assert mean_of(failed, HAS_CODE) == pytest.approx(0.039, abs=four_standard_errors(0.039, failed.height))


# Source: seed 002, 2.1. `within` is a share of the seed's mean.
@pytest.mark.parametrize(
    ("failed", "values", "mean", "within"),
    [
        (False, pl.col("output_tokens"), 1_060, 0.03),
        (False, pl.col("input_tokens"), 6_061, 0.03),
        (False, pl.col("output_tokens") / pl.col("input_tokens"), 0.21, 0.06),
        (False, ANSWER.str.len_chars(), 2_136, 0.03),
        (False, ANSWER.str.count_matches("\n") + 1, 51, 0.04),
        (False, QUESTION.str.len_chars(), 24.1, 0.05),
        (False, ANSWER.str.len_chars() / QUESTION.str.len_chars(), 111.4, 0.06),
        (True, pl.col("output_tokens"), 36, 0.06),
        (True, pl.col("input_tokens"), 783, 0.15),
        (True, ANSWER.str.len_chars(), 120, 0.1),
        (True, QUESTION.str.len_chars(), 12.6, 0.1),
    ],
)
def test_means_lie_near_the_seeds(failed: bool, values: pl.Expr, mean: float, within: float) -> None:
    assert mean_of(turns_of(failed), values) == pytest.approx(mean, rel=within)


def test_guardrail_block_calls_no_model() -> None:
    blocked = scored_turns().filter(pl.col("output_tokens") == 0)
    assert blocked["input_tokens"].unique().to_list() == [0]
    assert blocked["llm_response"].str.replace_all("\r\n", "\n").unique().to_list() == [REFUSALS["refused_advice"]]


@pytest.mark.parametrize(
    ("kind", "opening"),
    [
        ("refused_advice", "죄송합니다. 저는 법률"),
        ("refused_domain", "죄송합니다. 저는 금융"),
        ("refused_scope", "죄송합니다. 저는 주식"),
        ("too_broad", "질문의 범위가 너무 넓어"),
        ("not_understood", "죄송합니다. 입력하신 내용을 정확히 이해하지 못했습니다"),
    ],
)
def test_refusals_open_with_the_seeds_phrases(kind: str, opening: str) -> None:
    assert REFUSALS[kind].startswith(opening)
    assert scored_turns().filter(ANSWER.str.starts_with(opening)).height > 0


def test_some_broad_refusals_are_quoted() -> None:
    assert scored_turns().filter(ANSWER.str.starts_with("> 질문의 범위가 너무 넓어")).height > 0


def test_only_the_broad_refusal_holds_a_won_or_percent_sign() -> None:
    assert [kind for kind, text in REFUSALS.items() if "원" in text or "%" in text] == ["too_broad"]


def test_short_answers_fail_and_brief_ones_do_not() -> None:
    rng = stream("any")
    for company in COMPANIES:
        assert len(answer(rng, "too_short", DAY, company, "report", 20)) <= 50
        assert len(answer(rng, "brief", DAY, company, "report", 22)) > 50


def test_companies_and_their_codes_are_unique() -> None:
    assert len({company.name for company in COMPANIES}) == len({company.code for company in COMPANIES}) == 192
    assert all(len(company.code) == 6 and company.code.isdecimal() for company in COMPANIES)


def test_session_has_one_tenant_one_user_and_up_to_six_turns() -> None:
    sessions = defaultdict(list)
    for row in generate_chat_rows(DAY, 1, 2_000, seed=3).to_pylist():
        sessions[row["request_metadata"]["session_id"]].append(row)
    turns = [len({row["timestamp"] for row in rows}) for rows in sessions.values()]
    assert set(turns) == {1, 2, 3, 4, 5, 6}
    for rows in sessions.values():
        assert len({(row["tenant_id"], row["request_metadata"]["x_enc_data"]) for row in rows}) == 1


def test_two_tenants_and_no_tenant_use_the_bot() -> None:
    assert {row["tenant_id"] for row in sample_rows()} == {"hanbit", "narae", None}


def test_total_is_the_sum_of_its_tokens_and_null_without_them() -> None:
    for row in sample_rows():
        parts = (row["input_tokens"], row["output_tokens"])
        assert row["total_tokens"] == (None if None in parts else sum(parts))


def test_about_three_rows_in_a_thousand_have_a_null() -> None:
    texts_and_tokens = pl.any_horizontal(pl.col("user_input", "llm_response", "output_tokens").is_null())
    assert mean_of(turns(), texts_and_tokens) == pytest.approx(0.003, abs=four_standard_errors(0.003, 20_000))


ODDITIES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "no question": lambda row: row["user_input"] is None,
    "an empty question": lambda row: row["user_input"] == "",
    "no answer": lambda row: row["llm_response"] is None and row["output_tokens"] > 0,
    "a blocked call without an answer": lambda row: row["llm_response"] is None and row["output_tokens"] == 0,
    "no tokens": lambda row: row["output_tokens"] is None,
    "decomposed Hangul": lambda row: not unicodedata.is_normalized("NFC", row["user_input"] or ""),
    "full-width digits": lambda row: any("０" <= sign <= "９" for sign in row["user_input"] or ""),
    "an emoji": lambda row: "🙏" in (row["user_input"] or ""),
    "a zero-width space": lambda row: "\u200b" in (row["user_input"] or ""),
    "an ideographic space": lambda row: "\u3000" in (row["user_input"] or ""),
    "Windows line ends": lambda row: "\r\n" in (row["llm_response"] or ""),
    "a quoted refusal": lambda row: (row["llm_response"] or "").startswith("> "),
}


@pytest.mark.parametrize("oddity", ODDITIES)
def test_sample_holds_every_oddity(oddity: str) -> None:
    assert any(map(ODDITIES[oddity], sample_rows()))


def test_sample_holds_repeated_rows() -> None:
    rows = [repr(row) for row in sample_rows()]
    assert len(rows) > len(set(rows))


def test_last_day_of_the_sample_blocks_three_times_as_many_turns() -> None:
    last_day = SAMPLE_FIRST_DAY + timedelta(days=SAMPLE_DAYS - 1)
    blocked = [0] * SAMPLE_DAYS
    for row in sample_rows():
        day = row["timestamp"].astimezone(ZoneInfo(TIME_ZONE)).date()
        blocked[(day - SAMPLE_FIRST_DAY).days] += row["output_tokens"] == 0
    assert len(sample_rows()) == SAMPLE_DAYS * SAMPLE_ROWS_PER_DAY
    assert last_day == date(2026, 3, 13)
    assert blocked[-1] >= 3 * max(blocked[:-1])


def test_incident_blocks_the_share_asked_for() -> None:
    table: pa.Table = generate_chat_rows(DAY, 1, 4_000, seed=1, incidents={DAY: 0.1})
    expected = 0.1 + 0.9 * 223 / 12_832
    blocked = mean_of(pl.DataFrame(table), pl.col("output_tokens") == 0)
    assert blocked == pytest.approx(expected, abs=four_standard_errors(expected, 4_000))
