from datetime import UTC, datetime, timedelta
from hashlib import sha256

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scoring.chat.row_ids import row_keys
from tests.builders.batches import batch
from tests.cases.ola_monitoring.adversarial import LABELS, QUESTION_PIECES, START, Row, chat_row, texts

# What decides about a key: time, tenant, session, question, and how long the answer is. Source: SPEC 1.3.
Identity = tuple[datetime, str | None, str | None, str | None, int | None]
LABEL = st.none() | st.sampled_from(LABELS) | st.text("|:-0123ab", max_size=8)
IDENTITIES = st.tuples(
    st.sampled_from([START, START + timedelta(microseconds=1)]),
    LABEL,
    LABEL,
    LABEL | texts(QUESTION_PIECES),
    st.none() | st.integers(0, 12),
)


def row(identity: Identity) -> Row:
    moment, tenant, session, question, length = identity
    answer = None if length is None else "가" * length
    return chat_row(question, answer, timestamp=moment, tenant_id=tenant, session_id=session)


def keys(*identities: Identity) -> list[str]:
    return row_keys(batch([row(identity) for identity in identities])).to_list()


@example((START, None, "a|1:b", "c", 1), (START, "a", "b", "c", 1))
@example((START, None, "-", "", 1), (START, "-", None, "", 1))
@example((START, "a", "b|1:c", "d", 11), (START, "a", "b", "c|1:d", 11))
@example((START, "1:", "", "", 0), (START, "", "1:", "", 0))
@given(IDENTITIES, IDENTITIES)
def test_two_rows_share_a_key_only_if_they_share_all_that_it_is_made_of(one: Identity, other: Identity) -> None:
    first, second = keys(one, other)
    assert (first == second) == (one == other)


@given(IDENTITIES, st.integers(0, 4), IDENTITIES)
def test_each_part_alone_changes_the_key(identity: Identity, part: int, other: Identity) -> None:
    changed = (*identity[:part], other[part], *identity[part + 1 :])
    assume(changed != identity)
    first, second = keys(identity, changed)  # type: ignore[arg-type]
    assert first != second


@pytest.mark.parametrize("place", [1, 2, 3])
def test_null_an_empty_text_and_a_hyphen_are_three_different_things(place: int) -> None:
    identity: list[object] = [START, "tenant", "session", "question", 3]
    variants = [(*identity[:place], text, *identity[place + 1 :]) for text in (None, "", "-", "0:", "1:-")]
    assert len(set(keys(*variants))) == 5  # type: ignore[arg-type]


def test_key_is_the_first_half_of_a_hash_of_a_canonical_text() -> None:
    identity: Identity = (datetime(2026, 2, 13, 3, 4, 5, 678_901, tzinfo=UTC), None, "", "삼성전자 😀", 5)
    canonical = "1770951845678901|-|0:|6:삼성전자 😀|5"
    expected = "bd5eb1c25398755eb3f8d8c6644970be"
    assert sha256(canonical.encode()).hexdigest()[:32] == expected
    assert keys(identity) == [expected]


def test_answers_of_one_length_and_all_tokens_share_a_key() -> None:
    rows = [
        chat_row(llm_response="가나"),
        chat_row(llm_response="ab"),
        chat_row(llm_response="😀나", input_tokens=None),
    ]
    assert row_keys(batch(rows)).n_unique() == 1


def test_key_does_not_depend_on_the_other_rows() -> None:
    rows = [chat_row(tenant_id=label) for label in LABELS]
    together = row_keys(batch(rows)).to_list()
    assert together == [row_keys(batch([one])).item() for one in rows]
    assert row_keys(batch(rows[::-1])).to_list() == together[::-1]


def test_no_rows_have_no_keys() -> None:
    assert row_keys(batch([])).dtype == pl.String


def test_equal_keys_are_numbered_by_tokens_and_then_by_the_answer(local_scores: list[Row]) -> None:
    tied = [row for row in local_scores if row["session_id"] == "tied"]
    assert len({row["row_id"][:32] for row in tied}) == 1
    numbered = sorted(tied, key=lambda row: ordinal(row["row_id"]))
    assert [ordinal(row["row_id"]) for row in numbered] == list(range(1, 37))
    assert [rank(row) for row in numbered] == sorted(map(rank, tied))


def ordinal(row_id: str) -> int:
    return int(row_id[33:] or 1)


def rank(row: Row) -> tuple[tuple[bool, float], tuple[bool, float], bytes]:
    """Input tokens, output tokens (NULL before all numbers), the answer as bytes; these rows all keep their texts."""
    given, output = ((row[name] is not None, row[name] or 0.0) for name in ("input_tokens", "output_tokens"))
    return given, output, row["llm_response"].encode()
