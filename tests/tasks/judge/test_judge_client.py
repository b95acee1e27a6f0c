import asyncio
import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

import pytest

from scoring.judging.requests import JudgeRequest, Verdict, VerdictStatus
from tasks.config.judge import endpoint_of
from tasks.judge.budget import Budget
from tasks.judge.client import Judge, Judged, JudgeProgress
from tasks.judge.dialect import Dialect
from tasks.judge.endpoint import JudgeEndpoint
from tasks.judge.limiter import Limiter
from tasks.judge.live import LiveRun, _PendingQuestion
from tasks.judge.questions import Question
from tasks.judge.replies import Reply
from tasks.judge.verdict_store import Judgement, VerdictStore
from tests.builders.state import opened
from tests.fakes.judge_questions import FAST, PROMPT, ask, questions, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI


def statuses(judged: Any) -> set[VerdictStatus]:
    return {verdict.status for verdict in judged.verdicts.values()}


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_every_question_gets_a_verdict_and_the_second_run_asks_nothing(store: VerdictStore, api: str) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url, api=api)
        first = ask(30, settings, store)
        asked = server.asked.total()
        second = ask(30, settings, store)
    assert statuses(first) == {VerdictStatus.OK}
    assert 30 <= asked <= 31  # one may be hedged
    assert server.asked.total() == asked
    assert second.verdicts == first.verdicts
    assert second.summary() | {"tokens_in": 0} == second.summary()
    assert second.summary()["cached"] == 30


def test_nothing_is_lost_when_calls_fail_hang_break_off_and_come_back_cut(store: VerdictStore) -> None:
    faults = Behaviour(latency_s=0.02, server_errors=0.05, dropped=0.05, hung=0.02, cut=0.05)
    with FakeOpenAI(faults) as server:
        judged = ask(150, settings_for(server.url), store, timing=dataclasses.replace(FAST, shortest_deadline_s=5.0))
    assert statuses(judged) == {VerdictStatus.OK}
    assert {"503", "dropped", "hung", "cut"} <= server.statuses.keys()
    assert server.paid_twice <= 2  # hedges; a hung call is not answered


def test_last_call_is_asked_a_second_time_when_it_is_slow(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(latency_s=0.02)) as server:
        server.hang_once = "11번 지원자"
        started = time.monotonic()
        judged = ask(40, settings_for(server.url), sqlite_store)
    assert time.monotonic() - started < FAST.shortest_deadline_s
    assert statuses(judged) == {VerdictStatus.OK}


def test_hedged_question_whose_two_tries_fail_in_the_same_moment_is_judged_once(sqlite_store: VerdictStore) -> None:
    settings = settings_for("http://127.0.0.1:9/v1")
    endpoint = endpoint_of(settings)
    assert endpoint
    kept = []

    async def find(question: Question) -> None:
        """Nobody else asks."""

    async def save(judgement: Judgement) -> None:
        kept.append(judgement.status)

    async def both_fail() -> None:
        with ThreadPoolExecutor(1) as worker:
            async with aclosing(JudgeEndpoint(endpoint, settings, FAST)) as judge:
                limiter = Limiter(sqlite_store, worker, "judge", settings.rpm, settings.tpm, FAST.patience_s)
                live = LiveRun(judge, limiter, Budget(settings), find, save)
                pending = _PendingQuestion(questions(1, settings)[0])
                invalid = Verdict(VerdictStatus.INVALID, reason="not a verdict")
                pending.tasks = {asyncio.create_task(live._conclude(pending, invalid)) for _ in range(2)}
                await asyncio.gather(*pending.tasks)

    asyncio.run(both_fail())
    assert kept == [VerdictStatus.INVALID]


def test_nothing_is_asked_twice_when_the_budget_is_near(sqlite_store: VerdictStore) -> None:
    impatient = dataclasses.replace(FAST, shortest_deadline_s=3.0)
    with FakeOpenAI(Behaviour(latency_s=0.02)) as server:
        server.hang_once = "11번 지원자"
        settings = settings_for(server.url, max_tokens=18_500, max_in_flight=4)
        started = time.monotonic()
        judged = ask(40, settings, sqlite_store, timing=impatient)
    assert time.monotonic() - started > 3  # the hung call was left to its deadline
    assert statuses(judged) == {VerdictStatus.OK}


def test_limit_is_not_overrun(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(rpm=2400, latency_s=0.05)) as server:
        judged = ask(100, settings_for(server.url, rpm=2400), sqlite_store)
    assert statuses(judged) == {VerdictStatus.OK}
    assert server.statuses["429"] <= 1
    assert server.paid_twice <= 1


def test_limit_on_tokens_is_not_overrun(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(tpm=900_000, latency_s=0.05)) as server:
        judged = ask(60, settings_for(server.url, tpm=900_000), sqlite_store)
    assert statuses(judged) == {VerdictStatus.OK}
    assert server.statuses["429"] <= 1


def test_429_costs_no_attempt(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(rpm=3000, burst_s=0.1, latency_s=0.01)) as server:
        judged = ask(60, settings_for(server.url), sqlite_store)  # knows of no limit
    assert statuses(judged) == {VerdictStatus.OK}
    assert server.statuses["429"] > 4
    assert {judgement.attempts for judgement in judged.judgements} == {1}


def test_limit_that_nobody_announces_in_headers_is_kept_by_usage(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(tpm=900_000, latency_s=0.05, quiet_headers=True)) as server:
        judged = ask(60, settings_for(server.url, tpm=900_000), sqlite_store)
    assert statuses(judged) == {VerdictStatus.OK}
    assert server.statuses["429"] <= 1


def test_refusals_are_results(store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(refused=1.0)) as server:
        settings = settings_for(server.url)
        first = ask(5, settings, store)
        ask(5, settings, store)
    assert statuses(first) == {VerdictStatus.REFUSED}
    assert all("도와드릴 수 없" in verdict.reason and not verdict.answer for verdict in first.verdicts.values())
    assert server.asked.total() == 5


def test_model_that_answers_garbage_for_ever_ends_with_everything_invalid(store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(garbage=1.0)) as server:
        judged = ask(20, settings_for(server.url), store)
    assert statuses(judged) == {VerdictStatus.INVALID}
    assert 60 <= server.asked.total() <= 61  # one may be hedged
    assert min(judgement.attempts for judgement in judged.judgements) == 3
    one = judged.judgements[0]
    assert one.tokens_in > 0
    paid = (one.tokens_in - 0.5 * one.tokens_cached + 4 * one.tokens_out) / 1e6  # for all three answers
    assert one.usd == pytest.approx(paid)


def test_invalid_answers_are_asked_again_by_the_next_run_and_their_cost_adds_up(store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(garbage=1.0)) as garbled:
        before = ask(3, settings_for(garbled.url), store)
    with FakeOpenAI() as server:
        after = ask(3, settings_for(server.url), store)
        again = ask(3, settings_for(server.url), store)
    assert statuses(after) == {VerdictStatus.OK}
    first, second, kept = (judged.judgements[0] for judged in (before, after, again))
    assert (kept.attempts, kept.tokens_in) == (4, first.tokens_in + second.tokens_in)


def test_question_that_always_fails_is_failed_and_not_kept(store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(server_errors=1.0)) as server:
        judged = ask(3, settings_for(server.url), store)
        assert statuses(judged) == {VerdictStatus.FAILED}
        assert server.asked.total() == 36
    assert "status 503" in str(judged.failure)  # nobody takes a file with few questions for judged
    with FakeOpenAI() as server:
        assert statuses(ask(3, settings_for(server.url), store)) == {VerdictStatus.OK}


def test_questions_that_failed_are_asked_again_at_the_end_where_others_are_answered(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(server_errors=0.35, cut=0.25)) as server:
        judged = ask(60, settings_for(server.url), sqlite_store)
        assert statuses(judged) == {VerdictStatus.OK}
        assert max(judgement.attempts for judgement in judged.judgements) > 4
        server.behaviour = Behaviour(server_errors=1.0)
        failed = ask(61, settings_for(server.url), sqlite_store)
    assert [one.status for one in failed.judgements if not one.from_store] == [VerdictStatus.FAILED]


def test_what_another_command_was_answered_meanwhile_is_not_paid_twice(store: VerdictStore) -> None:
    async def both(server: FakeOpenAI) -> list[Judged]:
        settings = settings_for(server.url, max_in_flight=4)
        store.remember_dialect(f"{server.url} judge-1", Dialect())
        slow, quick = (Judge(settings, store, timing=FAST) for _ in range(2))
        one = asyncio.create_task(slow.answer(questions(40, settings)))
        await asyncio.to_thread(server.wait_until_paid, 4)
        return list(await asyncio.gather(one, quick.answer(questions(30, settings, first=10))))

    with FakeOpenAI(Behaviour(latency_s=0.1)) as server:
        judged = asyncio.run(both(server))
    assert [one.summary()["by_status"] for one in judged] == [{"ok": 40}, {"ok": 30}]
    assert server.paid_twice <= 8  # what both had in flight where they met, and hedges
    kept = store.found([one.key for one in judged[0].judgements])
    assert sum(one.attempts for one in kept.values()) <= server.paid.total()  # nothing found is stored as paid again


def test_equal_questions_are_asked_once(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url)
        judged = Judge(settings, sqlite_store, timing=FAST).ask(questions(2, settings) * 3)
    assert (server.asked.total(), len(judged.verdicts), len(judged.judgements)) == (2, 2, 2)


@pytest.mark.parametrize(
    "change",
    [{"model": "other"}, {"temperature": 1.0}, {"seed": 2}, {"max_output_tokens": 500}, {"api": "responses"}],
)
def test_another_model_or_parameter_is_another_question(sqlite_store: VerdictStore, change: dict[str, Any]) -> None:
    with FakeOpenAI() as server:
        ask(1, settings_for(server.url), sqlite_store)
        ask(1, settings_for(server.url, **change), sqlite_store)
    assert len(server.requests) == 2


@pytest.mark.parametrize("change", [{"version": "2"}, {"instructions": "다르게 매긴다."}])
def test_another_prompt_is_another_question(sqlite_store: VerdictStore, change: dict[str, Any]) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url)
        (old,) = questions(1, settings)
        new = dataclasses.replace(old, prompt=dataclasses.replace(old.prompt, **change))
        Judge(settings, sqlite_store, timing=FAST).ask([old])
        Judge(settings, sqlite_store, timing=FAST).ask([new])
    assert len(server.requests) == 2


def test_mark_changes_with_every_run_and_the_key_does_not(sqlite_store: VerdictStore, tmp_path: Any) -> None:
    with FakeOpenAI() as server:
        first = ask(1, settings_for(server.url), sqlite_store)
        with opened(VerdictStore, f"sqlite:///{tmp_path}/other.db") as other:
            second = ask(1, settings_for(server.url), other)
    assert [[one["role"] for one in request["messages"]] for request in server.requests] == [["system", "user"]] * 2
    marks = [request["messages"][1]["content"].splitlines()[0] for request in server.requests]
    assert len(set(marks)) == 2
    assert first.judgements[0].key == second.judgements[0].key


def test_without_a_key_and_an_address_nobody_is_asked_but_the_store_still_answers(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        ask(1, settings_for(server.url), sqlite_store)
    judged = ask(2, settings_for("", api_key=""), sqlite_store)
    assert [judgement.status for judgement in judged.judgements] == [VerdictStatus.OK, VerdictStatus.NO_JUDGE]


def test_progress_counts_up_to_all_questions(sqlite_store: VerdictStore) -> None:
    seen: list[JudgeProgress] = []
    with FakeOpenAI() as server:
        ask(5, settings_for(server.url), sqlite_store)
        ask(12, settings_for(server.url), sqlite_store, progress=seen.append)
    assert [one.done for one in seen] == list(range(6, 13))
    assert {(one.total, one.from_store) for one in seen} == {(12, 5)}


def test_progress_tells_what_is_paid_and_never_what_is_only_reserved(sqlite_store: VerdictStore) -> None:
    seen: list[JudgeProgress] = []
    with FakeOpenAI() as server:
        judged = ask(6, settings_for(server.url, max_in_flight=6), sqlite_store, progress=seen.append)
    paid = [one.usd for one in seen if one.usd is not None]
    assert paid == sorted(paid)
    assert paid[-1] == pytest.approx(judged.summary()["cost"])


def test_no_more_calls_are_in_flight_than_allowed(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(latency_s=0.02)) as server:
        ask(60, settings_for(server.url, max_in_flight=7), sqlite_store)
    assert server.peak_in_flight == 7


def test_run_can_be_part_of_an_event_loop(sqlite_store: VerdictStore) -> None:
    async def both(url: str) -> list[Any]:
        settings = settings_for(url)
        judge = Judge(settings, sqlite_store, timing=FAST)
        return await asyncio.gather(*(judge.answer(questions(10, settings, first)) for first in (0, 10)))

    with FakeOpenAI() as server:
        assert [statuses(judged) for judged in asyncio.run(both(server.url))] == [{VerdictStatus.OK}] * 2


def test_answer_that_the_prompt_does_not_accept_is_invalid(sqlite_store: VerdictStore) -> None:
    picky = dataclasses.replace(PROMPT, accepts=lambda answer, material: answer["score"] > material["least"])
    with FakeOpenAI() as server:
        settings = settings_for(server.url)
        question = Question(JudgeRequest("aqb-1.2", picky.kind, {"least": 5}), picky, "1", settings)
        judged = Judge(settings, sqlite_store, timing=FAST).ask([question])
    assert statuses(judged) == {VerdictStatus.INVALID}


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("", "", VerdictStatus.OK),
        ("```JSON\n", "\n```", VerdictStatus.OK),
        ('<think>\n5점일까? {"score": 1}\n</think>\n\n', "", VerdictStatus.OK),
        ("\n<think></think>\n```json\n", "\n```\n", VerdictStatus.OK),
        ("<think>끝나지 않은 생각 ", "", VerdictStatus.INVALID),
        ("5점입니다. ", "", VerdictStatus.INVALID),
        ("", "<think>5점</think>", VerdictStatus.INVALID),
    ],
)
def test_what_a_model_thought_or_a_code_block_around_its_answer_is_no_part_of_it(
    before: str, after: str, status: VerdictStatus
) -> None:
    (question,) = questions(1, settings_for("http://127.0.0.1:9"))
    verdict = question.verdict(Reply(text=f'{before}{{"reason": "근거", "score": 4}}{after}'))
    assert verdict.status is status
    assert verdict.answer.get("score") == (4 if status is VerdictStatus.OK else None)


def test_length_of_an_answer_is_without_the_thought_before_it() -> None:
    settings = settings_for("http://127.0.0.1:9", max_output_tokens=50, max_reasoning_tokens=8000)
    (question,) = questions(1, settings)
    thought, answer = f"<think>{'답변을 질의와 견준다. ' * 2000}</think>", '{"reason": "근거", "score": 4}'
    assert question.verdict(Reply(text=f"{thought}\n{answer}")).answer == {"reason": "근거", "score": 4}
    assert not question.verdict(Reply(text=answer.replace("근거", "근거 " * 400))).given


def test_estimate_knows_what_is_in_the_store_and_asks_nothing(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url, rpm=60)
        judge = Judge(settings, sqlite_store)
        before = judge.estimate(questions(10, settings))
        asked = len(server.requests)
        judged = ask(10, settings_for(server.url), sqlite_store)
        after = judge.estimate(questions(10, settings))
    assert asked == 0
    assert (before.questions, before.from_store, before.seconds) == (10, 0, 10.0)
    assert before.usd == pytest.approx((before.tokens_in + 4 * before.tokens_out) / 1e6)
    assert 0.5 < before.tokens_in / judged.summary()["tokens_in"] < 2
    assert (after.from_store, after.tokens_in, after.usd, after.seconds) == (10, 0, 0.0, 0.0)
