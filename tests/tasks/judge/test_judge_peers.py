"""What compatible endpoints answer otherwise than OpenAI: Gemini, LiteLLM, OpenRouter, servers of local models."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tasks.judge.limiter import TokenEstimator
from tasks.judge.verdict_store import VerdictStore
from tests.fakes.hostile_server import HostileServer, http, json_http
from tests.fakes.judge_questions import FAST, ask, questions, settings_for


def answer(text: str = '{"reason": "맞음", "score": 5}') -> bytes:
    """The answer of a model."""
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 300, "completion_tokens": 20}
    return json_http({"model": "judge-1", "choices": [choice], "usage": usage})


def test_parameter_that_gemini_refuses_in_a_list_is_left_out(sqlite_store: VerdictStore) -> None:
    message = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'
    refusal = json_http([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}], 400)
    with HostileServer(lambda body: [refusal if "seed" in json.loads(body) else answer()]) as server:
        judged = ask(3, settings_for(server.url), sqlite_store, is_new=True)
    assert judged.summary()["by_status"] == {"ok": 3}


def test_parameter_that_is_refused_in_a_bare_sentence_is_left_out(sqlite_store: VerdictStore) -> None:
    refusal = json_http({"detail": "unknown field seed"}, 422)
    with HostileServer(lambda body: [refusal if "seed" in json.loads(body) else answer()]) as server:
        judged = ask(3, settings_for(server.url), sqlite_store, is_new=True)
    assert judged.summary()["by_status"] == {"ok": 3}


def test_endpoint_that_is_busy_when_a_run_begins_answers_every_question(sqlite_store: VerdictStore) -> None:
    answers = iter([json_http({"error": {"message": "loading"}}, 503)] * 38)
    with HostileServer(lambda body: [next(answers, answer())]) as server:
        judged = ask(30, settings_for(server.url), sqlite_store)
    assert judged.summary()["by_status"] == {"ok": 30}


@pytest.mark.parametrize(
    "body",
    [
        {"choices": None, "error": {"code": 502, "message": "upstream died"}},
        {"choices": [], "error": "upstream died"},
        {"choices": [{"error": {"code": 502, "message": "upstream died"}, "message": {"content": ""}}]},
        {"output": [], "status": "failed", "error": {"code": "server_error", "message": "upstream died"}},
    ],
    ids=["no choices", "text", "choice", "response"],
)
def test_error_in_place_of_an_answer_is_a_failure_that_costs_nothing(body: Any, sqlite_store: VerdictStore) -> None:
    """It is no answer of a wrong form, for which people would try a stronger model."""
    answers = iter([json_http(body)] * 2)
    with HostileServer(lambda body: [next(answers, answer())]) as server:
        settings = settings_for(server.url, max_in_flight=1, max_tokens=5_000)
        passing = ask(2, settings, sqlite_store)
    assert passing.summary()["by_status"] == {"ok": 2}
    with HostileServer(lambda _: [json_http(body)]) as server:
        lasting = ask(12, settings_for(server.url), sqlite_store, first=2)
    assert lasting.summary()["by_status"] == {"failed": 12}
    assert "upstream died" in str(lasting.failure)


def told_late(code: int, message: str) -> bytes:
    """The error of a router that has sent its status before the provider answered."""
    return json_http({"error": {"code": code, "message": message}, "user_id": "user-1"})


@pytest.mark.parametrize(
    ("code", "message", "told"),
    [
        (402, "Insufficient credits. Add more", "account has no money left: Insufficient credits"),
        (401, "User not found.", "refuses every question: status 401: User not found."),
        (429, "Provider returned error", "takes no more questions"),
    ],
)
def test_status_in_a_body_with_status_200_is_taken_as_that_status(
    code: int, message: str, told: str, sqlite_store: VerdictStore
) -> None:
    with HostileServer(lambda body: [told_late(code, message)]) as server:
        judged = ask(12, settings_for(server.url), sqlite_store)
    assert judged.summary()["by_status"] == {"failed": 12}
    assert told in str(judged.failure)


def test_limit_that_is_told_with_status_200_costs_no_question_its_verdict(sqlite_store: VerdictStore) -> None:
    answers = iter([told_late(429, "rate-limited upstream")] * 60)
    with HostileServer(lambda body: [next(answers, answer())]) as server:
        judged = ask(12, settings_for(server.url), sqlite_store, timing=replace(FAST, patience_s=120.0))
    assert judged.summary()["by_status"] == {"ok": 12}


def test_limit_that_asks_for_no_wait_is_given_one(sqlite_store: VerdictStore) -> None:
    refusal = json_http({"error": {"message": "busy"}}, 429, ["Retry-After: 0"])
    with HostileServer(lambda body: [refusal]) as server:
        judged = ask(12, settings_for(server.url), sqlite_store)
    assert "takes no more questions" in str(judged.failure)
    assert len(server.received) <= 10 * FAST.patience_s  # ten in flight, each at most once a second


@pytest.mark.parametrize("status", [400, 429])
def test_used_up_budget_of_a_gateway_ends_the_run_at_once(sqlite_store: VerdictStore, status: int) -> None:
    error = {"message": "Budget has been exceeded!", "type": "budget_exceeded", "param": None, "code": str(status)}
    answers = iter([answer()] * 3)
    with HostileServer(lambda body: [next(answers, json_http({"error": error}, status))]) as server:
        judged = ask(40, settings_for(server.url, max_in_flight=1), sqlite_store)
    assert "account has no money left: Budget has been exceeded!" in str(judged.failure)
    assert judged.summary()["by_status"] == {"ok": 3, "failed": 37}
    assert len(server.received) == 4


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_limit_that_stays_used_up_is_told_in_the_words_of_the_endpoint(mode: str, sqlite_store: VerdictStore) -> None:
    error = {"message": "You exceeded your current quota, check your plan.", "type": "throttling_error", "code": "429"}
    with HostileServer(lambda body: [json_http({"error": error}, 429)]) as server:
        failure = ask(3, settings_for(server.url, mode=mode), sqlite_store).failure
    assert "takes no more questions" in str(failure) and "You exceeded your current quota" in str(failure)
    assert "wait until its limit is free" in str(failure)


def test_question_that_is_larger_than_the_limit_of_a_minute_fails_alone(sqlite_store: VerdictStore) -> None:
    message = "Request too large for judge-1 on tokens per min (TPM): Limit 1000, Requested 1200."
    refusal = json_http({"error": {"message": message, "type": "tokens", "code": "rate_limit_exceeded"}}, 429)
    with HostileServer(lambda body: [refusal if "2번" in body.decode() else answer()]) as server:
        judged = ask(4, settings_for(server.url), sqlite_store)
    assert judged.failure is None
    assert [one.status.value for one in judged.judgements] == ["ok", "ok", "failed", "ok"]
    assert "Request too large" in judged.judgements[2].reason
    assert len(server.received) == 4


@pytest.mark.parametrize("opening", ["<think>", ""], ids=["whole", "opening left out"])
def test_what_the_model_thought_is_no_part_of_its_answer(opening: str, sqlite_store: VerdictStore) -> None:
    text = f'{opening}음, {{"score": 1}}일까?\n</think>\n\n{{"reason": "맞음", "score": 5}}'
    with HostileServer(lambda body: [answer(text)]) as server:
        judged = ask(2, settings_for(server.url), sqlite_store)
    assert [one.answer.get("score") for one in judged.judgements] == [5, 5]


def test_reason_that_quotes_the_end_of_a_thought_stays_whole(sqlite_store: VerdictStore) -> None:
    told = {"reason": 'quoted: </think>{"reason": "", "score": 5}', "score": 1}
    with HostileServer(lambda body: [answer(json.dumps(told))]) as server:
        judged = ask(1, settings_for(server.url), sqlite_store)
    assert judged.judgements[0].answer == told


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_proxy_that_cannot_be_used_fails_the_questions_and_says_what_to_correct(
    mode: str, sqlite_store: VerdictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:5ecret@127.0.0.1:1080")
    with HostileServer(lambda body: [answer()]) as server:
        judged = ask(3, settings_for(server.url, mode=mode), sqlite_store)
    assert judged.summary()["by_status"] == {"failed": 3}
    assert "the judge gives no answer: HTTPS_PROXY names no HTTP proxy: unset it" in str(judged.failure)
    assert "5ecret" not in str(judged.failure)
    assert server.received == []


def test_question_that_a_proxy_lets_not_pass_costs_nothing(
    sqlite_store: VerdictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HostileServer(lambda _: [http(b"", 407)]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        judged = ask(12, settings_for("https://judge.invalid/v1", max_tokens=5_000), sqlite_store)
    assert judged.summary()["by_status"] == {"failed": 12}
    assert "407" in str(judged.failure)
    assert "and the proxy of HTTPS_PROXY" in str(judged.failure)


def number_in(body: bytes) -> int:
    """The number of the question in a request."""
    found = re.search(r"([0-9]+)번 지원자", body.decode())
    assert found
    return int(found[1])


def test_refusals_with_answers_between_them_are_not_taken_for_a_refusal_of_all(sqlite_store: VerdictStore) -> None:
    refusal = json_http({"error": {"message": "blocked by the firewall"}}, 403)
    with HostileServer(lambda body: [refusal if number_in(body) % 2 else answer()]) as server:
        judged = ask(10, settings_for(server.url, max_in_flight=1), sqlite_store)
    assert judged.failure is None
    assert judged.summary()["by_status"] == {"ok": 5, "failed": 5}


def test_failures_with_answers_between_them_do_not_end_the_run(sqlite_store: VerdictStore) -> None:
    failure = json_http({"error": {"message": "overloaded"}}, 503)
    at_once = replace(FAST, backoff_s=0.0, longest_backoff_s=0.0)
    with HostileServer(lambda body: [failure if number_in(body) % 2 else answer()]) as server:
        judged = ask(24, settings_for(server.url, max_in_flight=1), sqlite_store, timing=at_once)
    assert judged.failure is None
    assert judged.summary()["by_status"] == {"ok": 12, "failed": 12}


def test_limit_on_tokens_gets_back_what_a_call_did_not_use_and_later_ones_take_less(sqlite_store: VerdictStore) -> None:
    with HostileServer(lambda _: [answer()]) as server:
        settings = settings_for(server.url, tpm=600_000, max_in_flight=1)
        ask(3, settings, sqlite_store)
        left_over = TokenEstimator().tokens(questions(1, settings)[0]) - 320  # of a call that nothing is known of
        limits = sqlite_store.exchange(f"{server.url} judge-1", lambda state, _: (state, dict(state)))
    assert 0 < limits["tokens"]["corrected"] < 2 * left_over  # the third call's comes with the next one
