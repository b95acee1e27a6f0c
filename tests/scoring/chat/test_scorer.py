from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from scoring.chat.scorer import KeepText, score_batch, with_kept_texts
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.explain import explain
from tests.builders.batches import batch, scored
from tests.cases.ola_monitoring.adversarial import ANSWER_PIECES, NULLS, Row, chat_row, chat_rows, texts

MAXIMA = {
    "q_specificity": 30,
    "q_intent": 25,
    "q_context": 20,
    "q_length": 15,
    "q_formality": 10,
    "q_score": 100,
    "a_volume": 25,
    "a_structure": 25,
    "a_data": 25,
    "a_efficiency": 15,
    "a_non_refusal": 10,
    "a_score": 100,
    "i_match": 40,
    "i_ratio": 30,
    "i_information": 30,
    "i_score": 100,
    "final_score": 100,
}
PARTS = {
    "q_score": ("q_specificity", "q_intent", "q_context", "q_length", "q_formality"),
    "a_score": ("a_volume", "a_structure", "a_data", "a_efficiency", "a_non_refusal"),
    "i_score": ("i_match", "i_ratio", "i_information"),
}
ROWS = st.lists(chat_rows(), max_size=12)
SCORABLE = st.lists(chat_rows(scorable=True), min_size=1, max_size=12)


def one(**values: Any) -> Row:
    return scored([chat_row(**values)]).scored.to_dicts()[0]


def null_if_nan(row: Row) -> Row:
    return {name: None if value != value else value for name, value in row.items()}


@given(SCORABLE)
def test_explanation_of_a_row_is_its_score(rows: list[Row]) -> None:
    computed = [definition.name for definition in RUBRIC.definitions]
    for row, explained in zip(scored(rows).scored.select(computed).to_dicts(), rows, strict=True):
        values = explain(RUBRIC.definitions, null_if_nan(explained)).values
        assert row == {name: values[name] for name in computed}


@given(SCORABLE)
def test_findings_of_a_component_add_up_to_its_points(rows: list[Row]) -> None:
    for row in rows:
        explanation = explain(RUBRIC.definitions, null_if_nan(row))
        for component in (name for names in PARTS.values() for name in names):
            found = [finding for finding in explanation.findings if finding.column == component]
            assert sum(int(finding.points) for finding in found) == explanation.values[component]
            assert all(finding.label for finding in found)
            assert found


def test_rule_that_is_not_met_is_explained_with_no_points() -> None:
    explanation = explain(RUBRIC.definitions, chat_row(user_input="가"))
    specificity = [
        (finding.label, finding.points) for finding in explanation.findings if finding.column == "q_specificity"
    ]
    assert [points for _, points in specificity] == [0, 0, 0]
    assert len({label for label, _ in specificity}) == 3


@given(SCORABLE)
def test_points_stay_within_their_maxima_and_add_up(rows: list[Row]) -> None:
    for row in scored(rows).scored.to_dicts():
        assert {name: row[name] for name, most in MAXIMA.items() if not 0 <= row[name] <= most} == {}
        for total, parts in PARTS.items():
            assert row[total] == sum(row[part] for part in parts)
        assert (row["alert_level"] is None) == (row["alert_rules"] == [])
        assert (row["cause"] is None) == (row["final_grade"] != "C")


TOKEN_COUNT = st.floats(0, 3000) | st.integers(0, 3000).map(float)


@given(st.lists(TOKEN_COUNT, min_size=2, max_size=8), st.integers(0, 10_000))
def test_more_output_never_lowers_volume_or_efficiency(outputs: list[float], given_tokens: int) -> None:
    rows = [chat_row(input_tokens=float(given_tokens), output_tokens=tokens) for tokens in sorted(outputs)]
    found = scored(rows).scored
    assert found["a_volume"].is_sorted()
    assert found["a_efficiency"].is_sorted()


@given(texts(ANSWER_PIECES), texts(ANSWER_PIECES))
def test_longer_answer_never_lowers_structure_data_or_ratio(answer: str, more: str) -> None:
    short, long = scored([chat_row(llm_response=answer), chat_row(llm_response=answer + more)]).scored.to_dicts()
    for component in ("a_structure", "a_data", "i_ratio"):
        assert short[component] <= long[component]


@given(texts(ANSWER_PIECES))
def test_adding_a_refusal_never_raises_the_points_for_not_refusing(answer: str) -> None:
    refused, plain = scored(
        [chat_row(llm_response=answer + "질문의 범위가 너무 넓어"), chat_row(llm_response=answer)]
    ).scored.to_dicts()
    assert refused["a_non_refusal"] == 0 <= plain["a_non_refusal"]


@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(rows: list[Row], random: Any) -> None:
    positions = list(range(len(rows)))
    random.shuffle(positions)
    numbered = [row | {"line": line} for line, row in enumerate(rows)]
    straight, shuffled = scored(numbered), scored([numbered[position] for position in positions])
    assert_frame_equal(straight.scored, shuffled.scored, check_row_order=False)
    assert_frame_equal(straight.excluded.drop("line"), shuffled.excluded.drop("line"), check_row_order=False)
    assert sorted(shuffled.rejected.rows()) == sorted(straight.rejected.rows())


@pytest.mark.slow
@given(ROWS, st.integers(0, 12))
def test_how_rows_are_cut_into_batches_does_not_matter(rows: list[Row], cut: int) -> None:
    whole, first, second = (scored(part) for part in (rows, rows[:cut], rows[cut:]))
    assert_frame_equal(whole.scored, pl.concat([first.scored, second.scored]))
    assert whole.rejected.height == first.rejected.height + second.rejected.height
    assert whole.excluded["reason"].to_list() == [*first.excluded["reason"], *second.excluded["reason"]]


@given(ROWS)
def test_every_row_is_scored_excluded_or_rejected(rows: list[Row]) -> None:
    outcome = scored(rows)
    assert outcome.scored.height + outcome.excluded.height + outcome.rejected.height == len(rows)


@pytest.mark.parametrize(
    ("row", "column", "code"),
    [
        (chat_row(timestamp=None), "timestamp", "timestamp_missing"),
        (chat_row(input_tokens=-1.0), "input_tokens", "negative_tokens"),
        (chat_row(output_tokens=-5e-324), "output_tokens", "negative_tokens"),
        (chat_row(input_tokens=float("inf")), "input_tokens", "infinite_tokens"),
        (chat_row(output_tokens=float("inf")), "output_tokens", "infinite_tokens"),
        (chat_row(user_input=None, llm_response=None, output_tokens=-1.0), "output_tokens", "negative_tokens"),
    ],
)
def test_unusable_row_is_rejected_for_its_first_problem(row: Row, column: str, code: str) -> None:
    outcome = scored([chat_row(), row])
    (rejected,) = outcome.rejected.to_dicts()
    assert (rejected["line"], rejected["column"], rejected["code"]) == (2, column, code)
    assert (outcome.scored.height, outcome.excluded.height) == (1, 0)


def test_minus_infinity_is_rejected() -> None:
    assert scored([chat_row(output_tokens=float("-inf"))]).rejected["column"].to_list() == ["output_tokens"]


@pytest.mark.parametrize("tokens", [0.0, -0.0, 5e-324, 1e308, None, float("nan")])
def test_odd_but_possible_tokens_are_scored(tokens: float | None) -> None:
    assert scored([chat_row(input_tokens=tokens, output_tokens=tokens)]).scored.height == 1


def test_tokens_that_are_no_number_are_null() -> None:
    row = one(input_tokens=float("nan"), output_tokens=float("nan"))
    assert (row["input_tokens"], row["output_tokens"], row["token_ratio"]) == (None, None, None)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (chat_row(user_input=None), "user_input_null"),
        (chat_row(llm_response=None), "llm_response_null"),
        (chat_row(user_input=None, llm_response=None), "both_texts_null"),
    ],
)
def test_row_without_a_text_is_excluded_with_its_reason(row: Row, reason: str) -> None:
    (excluded,) = scored([row]).excluded.to_dicts()
    assert excluded["reason"] == reason
    assert (excluded["alert_level"], excluded["alert_rules"]) == (None, [])


@pytest.mark.parametrize("row", NULLS[:3])
def test_blocked_call_does_not_hide_behind_a_null(row: Row) -> None:
    (excluded,) = scored([row | {"output_tokens": 0.0}]).excluded.to_dicts()
    assert (excluded["alert_level"], excluded["alert_rules"]) == ("critical", ["llm_blocked"])


def test_empty_texts_are_scored() -> None:
    outcome = scored([chat_row("", "")])
    assert (outcome.scored.height, outcome.excluded.height) == (1, 0)


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Asia/Seoul", date(2026, 2, 4)), ("UTC", date(2026, 2, 3)), ("America/New_York", date(2026, 2, 3))],
)
def test_day_of_a_row_is_that_of_the_zone(zone: str, day: date) -> None:
    row = chat_row(timestamp=datetime(2026, 2, 3, 15, tzinfo=UTC))
    assert score_batch(RUBRIC, batch([row]), zone).scored["score_date"].to_list() == [day]


def test_midnight_in_seoul_begins_a_day() -> None:
    midnight = datetime(2026, 2, 3, 15, tzinfo=UTC)
    rows = [chat_row(timestamp=moment) for moment in (midnight - timedelta(microseconds=1), midnight)]
    assert scored(rows).scored["score_date"].to_list() == [date(2026, 2, 3), date(2026, 2, 4)]


def test_no_rows_have_all_columns() -> None:
    outcome = scored([])
    names = [name for name in RUBRIC.scores_schema.names if name not in ("row_id", "rubric", "rubric_version")]
    assert set(names) <= set(outcome.scored.columns)
    assert (outcome.scored.height, outcome.excluded.height, outcome.rejected.height) == (0, 0, 0)


@given(ROWS)
def test_columns_have_the_types_of_the_score_table(rows: list[Row]) -> None:
    found = (
        scored(rows).scored.select(set(RUBRIC.scores_schema.names) - {"row_id", "rubric", "rubric_version"}).to_arrow()
    )
    plain = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}
    for name, kind in zip(found.schema.names, found.schema.types, strict=True):
        if name == "alert_rules":
            assert pa.types.is_list(kind) or pa.types.is_large_list(kind)
        else:
            assert (name, plain.get(kind, kind)) == (name, RUBRIC.scores_schema.field(name).type)


@pytest.mark.parametrize(
    ("keep_text", "kept"),
    [("flagged", [False, True, True, True]), ("all", [True] * 4), ("none", [False] * 4)],
)
def test_texts_are_kept_for_alerts_and_low_grades(keep_text: KeepText, kept: list[bool]) -> None:
    good, bad = "답변 |가|나| **굵게** 1,234 KOSPI % 005930 ---" + "\n- 가" * 10, "답변"
    rows = scored(
        [
            chat_row("005930", good, 1000.0, 1200.0),
            chat_row("005930", good, 1000.0, 0.0),  # an alert and a good grade
            chat_row("005930", "답변 |가|나|", 2000.0, 400.0),  # grade C and no alert
            chat_row("?", bad, 1000.0, 25.0),  # grade F
        ]
    ).scored
    assert rows["final_grade"].to_list()[2:] == ["C", "F"]
    assert rows["alert_level"].to_list()[:3] == [None, "critical", None]
    found = with_kept_texts(RUBRIC, rows, keep_text)
    for text in ("user_input", "llm_response"):
        assert found[text].to_list() == [
            value if keep else None for value, keep in zip(rows[text].to_list(), kept, strict=True)
        ]
    assert_frame_equal(found.drop("user_input", "llm_response"), rows.drop("user_input", "llm_response"))
