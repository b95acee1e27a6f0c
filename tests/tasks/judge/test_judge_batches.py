import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

import pytest

from scoring.judging.requests import VerdictStatus
from tasks.judge.client import Judge, Judged
from tasks.judge.dialect import Dialect
from tasks.judge.verdict_store import VerdictStore, WaitingBatch
from tests.builders.state import opened
from tests.fakes.judge_questions import FAST, ask, failure_of, questions, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI, question_key


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_one_batch_answers_everything_and_the_next_run_sends_none(store: VerdictStore, api: str) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url, mode="batch", api=api)
        first = ask(25, settings, store)
        second = ask(25, settings, store)
    assert {one.status for one in first.judgements} == {VerdictStatus.OK}
    assert second.verdicts == first.verdicts
    assert len(server.batches.batches) == 1


def test_live_and_batch_share_their_verdicts(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        live = ask(5, settings_for(server.url), sqlite_store)
        batch = ask(5, settings_for(server.url, mode="batch"), sqlite_store)
    assert batch.verdicts == live.verdicts
    assert not server.batches.batches


def test_what_failed_in_a_batch_and_nothing_else_is_asked_again(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(server_errors=0.1, hung=0.1, cut=0.1, seed=3)) as server:
        judged = ask(60, settings_for(server.url, mode="batch"), sqlite_store)
        asked = [
            len(server.batches.files[batch["input_file_id"]].splitlines()) for batch in server.batches.batches.values()
        ]
    answered = [one for one in judged.judgements if one.status is VerdictStatus.OK]
    assert len(answered) >= 57  # three rounds, 30 % faults
    assert asked[0] == 60 > asked[1] > asked[2]
    assert server.paid_twice == 0


def test_batch_costs_half(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        live = ask(5, settings_for(server.url), sqlite_store)
        batch = ask(5, settings_for(server.url, mode="batch"), sqlite_store, first=5)
    assert live.judgements[0].usd == pytest.approx(2 * (batch.judgements[0].usd or 0))


def test_garbage_for_ever_ends_after_three_batches_with_everything_invalid(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(garbage=1.0)) as server:
        judged = ask(4, settings_for(server.url, mode="batch"), sqlite_store)
    assert {one.status for one in judged.judgements} == {VerdictStatus.INVALID}
    assert {one.attempts for one in judged.judgements} == {3}
    assert len(server.batches.batches) == 3


async def waiting_run(server: FakeOpenAI, store: VerdictStore, count: int) -> asyncio.Task[Judged]:
    """A run that waits for the batch that it has sent."""
    settings, name = settings_for(server.url, mode="batch"), f"{server.url} judge-1"
    store.remember_dialect(name, Dialect())
    run = asyncio.create_task(Judge(settings, store, timing=FAST).answer(questions(count, settings)))
    await asyncio.to_thread(server.batches.created.wait, 10)
    while not any(batch.batch_id for batch in await asyncio.to_thread(store.waiting_batches, name)):
        assert not run.done(), "the batch was answered before anybody saw it wait"
        await asyncio.sleep(0)
    return run


async def give_up_while_waiting(server: FakeOpenAI, store: VerdictStore, count: int) -> None:
    run = await waiting_run(server, store, count)
    run.cancel()
    await asyncio.wait([run])


def test_run_that_died_waiting_is_resumed_with_the_same_batch(store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(batch_s=2)) as server:
        asyncio.run(give_up_while_waiting(server, store, 10))
        judged = ask(12, settings_for(server.url, mode="batch"), store)
        sizes = [len(content.splitlines()) for name, content in server.batches.files.items()]
    assert {one.status for one in judged.judgements} == {VerdictStatus.OK}
    assert len(server.batches.batches) == 2  # the first ten, then the two that are new
    assert server.paid_twice == 0
    assert sorted(sizes) == [2, 2, 10, 10]


def test_run_that_died_before_it_heard_the_id_finds_its_batch(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(batch_s=2)) as server:
        settings = settings_for(server.url, mode="batch")
        asyncio.run(give_up_while_waiting(server, sqlite_store, 6))
        (waiting,) = sqlite_store.waiting_batches(f"{server.url} judge-1")
        sqlite_store.name_batch(waiting.token, "")
        ask(6, settings, sqlite_store)
    assert len(server.batches.batches) == 1
    assert server.paid_twice == 0


def test_batch_that_another_run_is_sending_is_waited_for_and_not_sent_twice(store: VerdictStore) -> None:
    """As two commands do that begin within the time that an upload takes."""

    async def both(server: FakeOpenAI) -> list[Judged]:
        settings = settings_for(server.url, mode="batch")
        store.remember_dialect(f"{server.url} judge-1", Dialect())
        one, other = (Judge(settings, store, timing=FAST) for _ in range(2))
        first = asyncio.create_task(one.answer(questions(5, settings)))
        assert await asyncio.to_thread(server.batches.uploading.wait, 10)
        return list(await asyncio.gather(first, other.answer(questions(7, settings))))

    with FakeOpenAI(Behaviour(upload_s=0.5)) as server:
        judged = asyncio.run(both(server))
    assert [one.summary()["by_status"] for one in judged] == [{"ok": 5}, {"ok": 7}]
    assert server.paid_twice == 0
    assert store.waiting_batches(f"{server.url} judge-1") == []


class StoreOfTwo(VerdictStore):
    """The store of two runs which both see that nobody has sent their questions before either sends its own."""

    both: ClassVar[threading.Barrier]
    has_seen = False

    def waiting_batches(self, endpoint: str) -> list[WaitingBatch]:
        waiting = super().waiting_batches(endpoint)
        if not self.has_seen:
            self.has_seen = True
            self.both.wait(10)
        return waiting


def test_two_runs_that_send_the_same_questions_at_one_moment_pay_once(state_url: str) -> None:
    StoreOfTwo.both = threading.Barrier(2)

    async def both(server: FakeOpenAI, stores: Sequence[VerdictStore]) -> list[Judged]:
        settings = settings_for(server.url, mode="batch")
        stores[0].remember_dialect(f"{server.url} judge-1", Dialect())
        judges = [Judge(settings, store, timing=FAST) for store in stores]
        asked = [judge.answer(questions(count, settings)) for judge, count in zip(judges, (5, 7), strict=True)]
        return list(await asyncio.gather(*asked))

    with FakeOpenAI() as server, opened(StoreOfTwo, state_url) as one, opened(StoreOfTwo, state_url) as other:
        judged = asyncio.run(both(server, [one, other]))
        assert one.waiting_batches(f"{server.url} judge-1") == []
    assert [one.summary()["by_status"] for one in judged] == [{"ok": 5}, {"ok": 7}]
    assert server.paid_twice == 0


class StoreOfALateRun(VerdictStore):
    """The store of a run that another one overtakes between its look at the store and its batch."""

    url: ClassVar[str]
    is_overtaken = False

    @contextmanager
    def sending_batch(self, endpoint: str, token: str, keys: Sequence[str]) -> Iterator[bool]:
        if not self.is_overtaken:
            self.is_overtaken = True
            with opened(VerdictStore, self.url) as other:
                ask(5, settings_for(endpoint.split()[0], mode="batch"), other)
        with super().sending_batch(endpoint, token, keys) as is_new:
            yield is_new


def test_run_that_another_one_overtakes_takes_its_answers_and_pays_for_the_rest_alone(state_url: str) -> None:
    StoreOfALateRun.url = state_url
    with FakeOpenAI() as server, opened(StoreOfALateRun, state_url) as late:
        judged = ask(7, settings_for(server.url, mode="batch"), late)
        assert late.waiting_batches(f"{server.url} judge-1") == []
    assert judged.summary()["by_status"] == {"ok": 7}
    assert server.paid_twice == 0


def test_batch_that_is_gone_or_was_never_created_is_sent_again(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url, mode="batch")
        keys = [one.key for one in ask(2, settings_for("", api_key=""), sqlite_store).judgements]
        for token, batch_id, key in (("a", "batch_of_last_year", keys[0]), ("b", "", keys[1])):
            with sqlite_store.sending_batch(f"{server.url} judge-1", token, [key]) as is_new:
                assert is_new
                sqlite_store.name_batch(token, batch_id)
        judged = ask(2, settings, sqlite_store)
    assert {one.status for one in judged.judgements} == {VerdictStatus.OK}
    assert sqlite_store.waiting_batches(f"{server.url} judge-1") == []


def test_resumed_batch_keeps_the_answers_for_those_who_ask_later(store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(batch_s=0.5)) as server:
        settings = settings_for(server.url, mode="batch")
        asyncio.run(give_up_while_waiting(server, store, 8))
        ask(3, settings, store)
        ask(5, settings, store, first=3)
    assert len(server.batches.batches) == 1
    assert store.waiting_batches(f"{server.url} judge-1") == []


def test_questions_of_a_batch_whose_results_the_endpoint_has_deleted_are_asked_anew(sqlite_store: VerdictStore) -> None:
    """OpenAI keeps them for 30 days; answers that nobody asked for may wait longer."""
    with FakeOpenAI(Behaviour(batch_s=0.3)) as server:
        settings = settings_for(server.url, mode="batch")
        asyncio.run(give_up_while_waiting(server, sqlite_store, 8))
        ask(3, settings, sqlite_store)
        del server.batches.files[server.batches.batches["batch_0"]["output_file_id"]]
        judged = ask(5, settings, sqlite_store, first=3)
    assert judged.summary()["by_status"] == {"ok": 5}
    assert sqlite_store.waiting_batches(f"{server.url} judge-1") == []


def test_batch_that_the_endpoint_loses_is_one_clear_error_and_is_not_paid_for_again_at_once(
    sqlite_store: VerdictStore,
) -> None:
    async def lost(server: FakeOpenAI) -> Judged:
        run = await waiting_run(server, sqlite_store, 4)
        server.batches.batches.clear()
        return await run

    with FakeOpenAI(Behaviour(batch_s=10)) as server:
        judged = asyncio.run(lost(server))
        assert server.batches.batches == {}
    assert judged.summary()["by_status"] == {"failed": 4}
    assert "it has lost batch_0 or its results" in str(judged.failure)


def first_look(monkeypatch: pytest.MonkeyPatch, store: VerdictStore) -> None:
    """The next look at the store is one of the moment before another run has sent its batch."""
    waiting, not_yet = store.waiting_batches, iter([list[WaitingBatch]])
    monkeypatch.setattr(
        store, "waiting_batches", lambda endpoint: sent() if (sent := next(not_yet, None)) else waiting(endpoint)
    )


def test_answer_that_another_run_brings_while_batches_are_sent_is_not_asked_for_again(
    sqlite_store: VerdictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run has sent in one batch what this one sends in two."""
    with FakeOpenAI(Behaviour(batch_s=0.3)) as server:
        asyncio.run(give_up_while_waiting(server, sqlite_store, 2))
        first_look(monkeypatch, sqlite_store)
        monkeypatch.setattr("tasks.judge.batches._LINES_PER_BATCH", 1)
        judged = ask(2, settings_for(server.url, mode="batch"), sqlite_store)
    assert judged.summary()["by_status"] == {"ok": 2}
    assert len(server.batches.batches) == 1


def test_batch_of_another_run_without_answers_frees_no_budget_for_more_questions(
    sqlite_store: VerdictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this run had reserved for them is reserved again before it asks them itself."""
    most = [one.largest_usage for one in questions(4, settings_for(""))]
    settings = partial(settings_for, mode="batch", max_tokens=sum(one.tokens_in + one.tokens_out for one in most))
    with FakeOpenAI(Behaviour(batch_s=0.3, hung=1.0)) as server:
        asyncio.run(give_up_while_waiting(server, sqlite_store, 3))
        first_look(monkeypatch, sqlite_store)
        monkeypatch.setattr("tasks.judge.batches._LINES_PER_BATCH", 3)
        judged = ask(6, settings(server.url), sqlite_store)
    assert judged.summary()["by_status"] == {"failed": 4, "over_budget": 2}
    assert len({question_key(request) for request in server.requests}) == 4


def test_batch_that_the_endpoint_refuses_is_one_clear_error_and_is_forgotten(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(model="another")) as server:
        assert "does not exist" in str(failure_of(4, settings_for(server.url, mode="batch"), sqlite_store))
    assert sqlite_store.waiting_batches(f"{server.url} judge-1") == []


@pytest.mark.parametrize("under_way", ["IN_PROGRESS", "QUEUED", "pending"])
def test_batch_is_waited_for_however_its_status_is_worded(sqlite_store: VerdictStore, under_way: str) -> None:
    with FakeOpenAI(Behaviour(batch_s=0.3)) as server:
        server.batches.words = {"in_progress": under_way, "completed": "COMPLETED"}
        judged = ask(3, settings_for(server.url, mode="batch"), sqlite_store)
    assert judged.summary()["by_status"] == {"ok": 3}
    assert len(server.batches.batches) == 1


def test_batch_of_an_unknown_status_is_kept_for_the_next_run(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(batch_s=0.3)) as server:
        server.batches.words = {"in_progress": "thinking"}
        failure = failure_of(3, settings_for(server.url, mode="batch"), sqlite_store)
        server.batches.words = {}
        judged = ask(3, settings_for(server.url, mode="batch"), sqlite_store)
    assert "batch_0 has the status 'thinking'" in str(failure)
    assert judged.summary()["by_status"] == {"ok": 3}
    assert len(server.batches.batches) == 1


def test_full_queue_of_batches_is_an_error_that_says_to_come_back(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        server.batches.full = True
        settings = settings_for(server.url, mode="batch")
        failure = failure_of(3, settings, sqlite_store)
        server.batches.full = False
        judged = ask(3, settings, sqlite_store)
    assert "queue of batches is full" in str(failure) and "run again when other batches have ended" in str(failure)
    assert judged.summary()["by_status"] == {"ok": 3}


def test_batch_stays_inside_the_budget(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url, mode="batch", max_tokens=20_000)
        judged = ask(40, settings, sqlite_store)
    statuses = {one.status for one in judged.judgements}
    assert statuses == {VerdictStatus.OK, VerdictStatus.OVER_BUDGET}
    assert judged.summary()["tokens_in"] + judged.summary()["tokens_out"] <= 20_000
