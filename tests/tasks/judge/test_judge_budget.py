from datetime import UTC, datetime

import pytest

from scoring.errors import UsageError
from scoring.judging.requests import VerdictStatus
from tasks.config.judge import JudgeSettings, Price
from tasks.judge.budget import Budget
from tasks.judge.replies import Usage
from tasks.judge.verdict_store import VerdictStore
from tests.fakes.hostile_server import HostileServer, json_http
from tests.fakes.judge_questions import ask, questions, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI


def test_cached_tokens_have_their_own_price() -> None:
    price = Price(model="m", input_usd=2.0, cached_usd=0.5, output_usd=8.0)
    priced, unpriced = settings_for("", model="m", prices=(price,)), settings_for("", model="other", prices=(price,))
    cost = Budget(priced).cost(Usage(1_000_000, 400_000, 100_000))
    assert cost.usd == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8)
    assert Budget(unpriced).cost(Usage(1, 0, 1)).usd is None


def test_prices_of_a_settings_file_are_added_to_the_list_prices_or_replace_one() -> None:
    own = Price(model="my-model", input_usd=2.0, cached_usd=0.5, output_usd=8.0)
    other = own.model_copy(update={"model": "gpt-6-luna"})
    listed = JudgeSettings().price
    assert listed
    assert JudgeSettings(prices=(own,)).price == listed
    assert JudgeSettings(prices=(own,), model="my-model").price == own
    assert JudgeSettings(prices=(other,)).price == other


def test_tokens_that_are_put_into_the_cache_cost_as_other_input_or_what_their_price_says() -> None:
    price = Price(model="m", input_usd=2.0, cached_usd=0.5, output_usd=8.0)
    prices = (price, price.model_copy(update={"model": "n", "cache_write_usd": 2.5}))
    usage = Usage(1_000_000, 400_000, 100_000, cache_written=200_000)
    costs = [Budget(settings_for("", model=model, prices=prices)).cost(usage).usd for model in "mn"]
    assert costs == pytest.approx([0.4 * 2 + 0.4 * 0.5 + 0.2 * written + 0.1 * 8 for written in (2.0, 2.5)])


@pytest.mark.parametrize("limit", [{"max_usd": 0.02}, {"max_tokens": 15_000}])
def test_budget_is_used_up_and_never_exceeded(store: VerdictStore, limit: dict[str, float]) -> None:
    with FakeOpenAI(Behaviour(latency_s=0.02, server_errors=0.1, cut=0.1)) as server:
        judged = ask(200, settings_for(server.url, **limit), store)
    by_status = judged.summary()["by_status"]
    spent = judged.summary()
    assert by_status["over_budget"] > 0
    assert by_status["ok"] > 10
    tokens = spent["tokens_in"] + spent["tokens_out"]
    used = spent["cost"] / limit["max_usd"] if "max_usd" in limit else tokens / limit["max_tokens"]
    assert 0.6 < used <= 1


def test_what_the_budget_did_not_allow_is_asked_by_the_next_run(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        first = ask(30, settings_for(server.url, max_tokens=10_000), sqlite_store)
        second = ask(30, settings_for(server.url), sqlite_store)
    assert VerdictStatus.OVER_BUDGET in {one.status for one in first.judgements}
    assert {one.status for one in second.judgements} == {VerdictStatus.OK}
    assert server.paid_twice == 0


def test_portions_of_a_run_share_a_budget(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url, max_tokens=8_000)
        budget = Budget(settings)
        portions = [ask(20, settings, sqlite_store, budget=budget, first=first) for first in (0, 20)]
    tokens = sum(portion.summary()["tokens_in"] + portion.summary()["tokens_out"] for portion in portions)
    assert tokens <= 8_000
    assert portions[1].summary()["by_status"] == {"over_budget": 20}


def test_nothing_is_asked_with_an_empty_budget(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        judged = ask(5, settings_for(server.url, max_usd=0.0), sqlite_store)
    assert judged.summary()["by_status"] == {"over_budget": 5}
    assert judged.summary()["cost"] == 0
    assert not server.requests


def test_budget_in_usd_needs_a_price_before_the_first_call(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server, pytest.raises(UsageError, match="the price of judge-1 is unknown"):
        ask(5, settings_for(server.url, prices=(), max_usd=1.0), sqlite_store)
    assert not server.requests


def test_without_a_price_the_cost_is_unknown_and_not_zero(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        judged = ask(2, settings_for(server.url, prices=()), sqlite_store)
    assert judged.summary()["cost"] is None


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_answers_without_usage_have_no_known_cost_and_use_the_budget_up(sqlite_store: VerdictStore, mode: str) -> None:
    with FakeOpenAI(Behaviour(quiet_usage=True, garbage=1.0)) as server:
        judged = ask(12, settings_for(server.url, mode=mode, max_tokens=60_000), sqlite_store)
        answers = server.asked.total()
    summary = judged.summary()
    assert summary["cost"] is None
    assert summary["without_usage"] == sum(one.attempts > 0 for one in judged.judgements)
    assert {one.usd for one in judged.judgements} == {None}
    assert summary["by_status"]["over_budget"] > 0
    assert answers * 2_000 <= 60_000  # each stays reserved with the most that it can cost


def test_cost_that_is_known_in_part_says_of_how_many_answers_it_is_not(sqlite_store: VerdictStore) -> None:
    reply = {"model": "judge-1", "choices": [{"message": {"content": '{"reason": "맞음", "score": 5}'}}]}
    usage = {"usage": {"prompt_tokens": 100, "completion_tokens": 20}}
    answers = iter([json_http(reply | usage)] * 2 + [json_http(reply)] * 3)
    with HostileServer(lambda body: [next(answers)]) as server:
        summary = ask(5, settings_for(server.url, max_in_flight=1), sqlite_store).summary()
    assert summary["cost"] == pytest.approx(2 * (100 * 1.0 + 20 * 4.0) / 1e6)
    assert (summary["tokens"], summary["without_usage"]) == (240, 3)


@pytest.mark.parametrize("finish", ["stop", "content_filter"])
def test_answers_that_name_neither_model_nor_usage_have_no_known_cost(sqlite_store: VerdictStore, finish: str) -> None:
    choice = {"message": {"content": '{"reason": "맞음", "score": 5}'}, "finish_reason": finish}
    with HostileServer(lambda body: [json_http({"choices": [choice]})]) as server:
        summary = ask(3, settings_for(server.url), sqlite_store).summary()
    assert summary["by_status"] == {"ok" if finish == "stop" else "refused": 3}
    assert (summary["cost"], summary["without_usage"]) == (None, 3)


def test_call_before_the_first_batch_is_paid_in_full(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        live = ask(1, settings_for(server.url), sqlite_store)
        sqlite_store.forget(datetime.max.replace(tzinfo=UTC), dry_run=False)
        settings = settings_for(f"{server.url}/", mode="batch")  # an address that was never asked
        first = ask(1, settings, sqlite_store, is_new=True)
    assert first.summary()["cost"] == live.summary()["cost"]


def test_where_no_model_answers_nothing_is_paid_whatever_its_price(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        gone = server.url
    judged = ask(5, settings_for(gone, prices=()), sqlite_store)
    assert judged.summary()["by_status"] == {"failed": 5}
    assert judged.summary()["cost"] == 0


def test_call_whose_end_nobody_saw_stays_paid() -> None:
    settings = settings_for("", max_tokens=10_000)
    (question,) = questions(1, settings)
    budget = Budget(settings)
    first, second = budget.reserve(question), budget.reserve(question)
    assert first is not None
    assert second is not None
    budget.settle(first, None)
    budget.settle(second, Usage(100, 0, 10))
    room = 10_000 - first.tokens - 110
    assert [budget.reserve(question) is not None for _ in range(room // first.tokens + 1)] == [
        *[True] * (room // first.tokens),
        False,
    ]


@pytest.mark.parametrize("limit", ["max_tokens", "max_usd"])
def test_second_model_may_spend_what_the_first_has_left(limit: str) -> None:
    price = Price(model="m", input_usd=1.0, cached_usd=1.0, output_usd=1.0)
    unlimited = settings_for("", model="m", prices=(price,))
    (question,) = questions(1, unlimited)
    one = Budget(unlimited).cost(question.largest_usage)
    most = 1.5 * one.tokens if limit == "max_tokens" else 1.5 * (one.usd or 0.0)
    settings = settings_for("", model="m", prices=(price,), **{limit: int(most) if limit == "max_tokens" else most})
    first = Budget(settings)
    assert first.reserve(question) == one
    assert Budget(settings, after=first).reserve(question) is None
    assert Budget(settings).reserve(question) == one
