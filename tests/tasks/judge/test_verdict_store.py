import dataclasses
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import StorageError, UsageError
from scoring.judging.requests import Verdict, VerdictStatus
from tasks.judge.replies import Usage
from tasks.judge.verdict_store import Judgement, VerdictStore
from tasks.state.database import StateDatabase
from tests.builders.state import opened
from tests.fakes.judge_questions import questions, settings_for


def judgement(number: int, status: VerdictStatus = VerdictStatus.OK) -> Judgement:
    (question,) = questions(1, settings_for(""), number)
    answer = {"reason": "근거 '따옴표' ⟦U+200B⟧ 🙂", "score": 3} if status is VerdictStatus.OK else {}
    judged = question.judgement(Verdict(status, answer, "근거"))
    return judged.with_call(Usage(100, 40, 10), 0.25, 0.5, "judge-1-2026-01-01")


def test_question_key_is_that_of_the_verdicts_already_stored() -> None:
    (question,) = questions(1, settings_for(""))  # another key would pay for every stored verdict again
    assert question.key == "17fd629663035a579ef7e567ffe3b9e963b3a20f7e2e18d86c0904bd0bc91e49"


def test_judgement_comes_back_as_it_was_kept(store: VerdictStore) -> None:
    kept = judgement(1)
    store.save([kept])
    assert store.found([kept.key, "another"]) == {kept.key: dataclasses.replace(kept, from_store=True)}


def test_more_keys_than_one_query_takes_are_found(store: VerdictStore) -> None:
    kept = [judgement(number) for number in range(1100)]
    store.save(kept)
    assert len(store.found([one.key for one in kept])) == 1100


@pytest.mark.parametrize("status", list(VerdictStatus))
def test_only_verdicts_and_refusals_are_final(store: VerdictStore, status: VerdictStatus) -> None:
    kept = judgement(1, status)
    store.save([kept])
    assert bool(store.found([kept.key])) == (status in (VerdictStatus.OK, VerdictStatus.REFUSED))


def test_cost_of_a_question_adds_up_and_its_verdict_is_the_last(store: VerdictStore) -> None:
    first, second = judgement(1, VerdictStatus.INVALID), judgement(1)
    store.save([first])
    store.save([second])
    (found,) = store.found([first.key]).values()
    assert (found.status, found.attempts, found.tokens_in, found.usd) == (VerdictStatus.OK, 2, 200, 0.5)


def test_unknown_price_stays_unknown(store: VerdictStore) -> None:
    kept = dataclasses.replace(judgement(1), usd=None)
    store.save([kept])
    assert store.found([kept.key])[kept.key].usd is None


@pytest.mark.parametrize(
    ("usd", "status", "spent"),
    [(0.25, VerdictStatus.OK, 1.0), (None, VerdictStatus.REFUSED, 0.75), (None, VerdictStatus.INVALID, None)],
)
def test_what_was_spent_is_all_that_answers_have_cost(
    store: VerdictStore, usd: float | None, status: VerdictStatus, spent: float | None
) -> None:
    assert store.usd_since(datetime.now(UTC) - timedelta(days=1)) == 0.0
    store.save([judgement(1, VerdictStatus.INVALID), judgement(2)])
    store.save([judgement(1), dataclasses.replace(judgement(3, status), usd=usd)])
    assert store.usd_since(datetime.now(UTC) - timedelta(days=1)) == spent
    assert store.usd_since(datetime.now(UTC) + timedelta(days=1)) == 0.0


def test_nobody_comes_between_the_reading_and_the_writing_of_a_limit(store: VerdictStore) -> None:
    def step(state: Any, _: float) -> tuple[dict[str, int], int]:
        count = state.get("count", 0) + 1
        return {"count": count}, count

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: store.exchange("one", step), range(200)))
    assert sorted(results) == list(range(1, 201))


def test_two_stores_may_be_opened_at_once_on_an_empty_database(state_url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(StateDatabase, [state_url] * 6))
        list(threads.map(VerdictStore, stores))
    for store in stores:
        store.close()


def test_folder_that_does_not_exist_is_made(tmp_path: Path) -> None:
    with opened(VerdictStore, f"sqlite:///{tmp_path}/a/b/state.db"):
        pass
    assert (tmp_path / "a/b/state.db").exists()


def test_what_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("이것은 데이터베이스가 아니다. " * 100)
    with pytest.raises(StorageError, match="not a database"):
        VerdictStore(StateDatabase(f"sqlite:///{tmp_path}/text.db"))
    with pytest.raises(UsageError, match="state_url"):
        StateDatabase("nonsense")
    with pytest.raises(UsageError, match="state_url"):
        StateDatabase("mysterious://host/db")
