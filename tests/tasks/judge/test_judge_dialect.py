"""Endpoints and models that do not take every parameter: the judge leaves out what they refuse, and remembers it."""

import json
import logging
from typing import Any

import pytest

from scoring.judging.requests import VerdictStatus
from scoring.rubrics.recruit_agent.intent import INTENT
from tasks.judge.client import Judged
from tasks.judge.dialect import AnswerForm, Dialect
from tasks.judge.replies import Reply
from tasks.judge.verdict_store import VerdictStore
from tests.fakes.hostile_server import HostileServer, json_http
from tests.fakes.judge_questions import ask, failure_of, questions, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI

REASONING = Behaviour(refuses="temperature seed", reasoning_tokens=300)
OLD = Behaviour(refuses="max_completion_tokens reasoning_effort", forms="json_object", vague=True)
MESSAGE = {"content": '{"reason": "맞음", "score": 5}'}
ANSWER = json_http({"model": "judge-1", "choices": [{"finish_reason": "stop", "message": MESSAGE}]})


def statuses(judged: Judged) -> set[VerdictStatus]:
    return {one.status for one in judged.judgements}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(MESSAGE["content"], cut=True), "판정 모델의 답이 중간에 잘림"),
        (Reply(MESSAGE["content"] + " " * 16_000), "판정 모델의 답이 허용한 길이보다 긺"),
    ],
)
def test_reply_that_was_cut_or_is_longer_than_allowed_is_invalid_whatever_it_says(reply: Reply, reason: str) -> None:
    (question,) = questions(1, settings_for("http://127.0.0.1/v1", max_output_tokens=1_000))
    assert question.verdict(Reply(MESSAGE["content"])).given
    found = question.verdict(reply)
    assert (found.status, found.reason) == (VerdictStatus.INVALID, reason)


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_model_that_takes_no_temperature_answers_and_is_never_asked_that_way_again(
    sqlite_store: VerdictStore, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    with FakeOpenAI(REASONING) as server:
        settings = settings_for(server.url, mode=mode, max_reasoning_tokens=1000)
        first = ask(30, settings, sqlite_store, is_new=True)
        refused = server.statuses["400"]
        again = ask(30, settings, sqlite_store, first=30)
    assert statuses(first) | statuses(again) == {VerdictStatus.OK}
    assert 2 <= refused <= 20  # two parameters, by the calls that go out before the first answer
    assert server.statuses["400"] == refused
    assert server.paid_twice <= 2  # the last call of each may be hedged
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        f"judge: {server.url} judge-1 takes no seed, temperature: remembered"
    ]


def test_reasoning_tokens_count_in_budget_cost_and_estimate(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(REASONING) as server:
        judged = ask(20, settings_for(server.url, max_reasoning_tokens=1000), sqlite_store)
    assert min(one.tokens_out for one in judged.judgements) > 300
    mean = sum(one.tokens_out for one in judged.judgements) / 20
    assert sqlite_store.usual_tokens_out("judge-1", 4000) == pytest.approx(mean, abs=1)
    assert sqlite_store.usual_tokens_out("never asked", 4000) == 800


@pytest.mark.parametrize(
    ("behaviour", "api", "shown"),
    [
        (OLD, "chat", "takes no max_completion_tokens, reasoning; takes no JSON schema, so it answers in JSON mode"),
        (Behaviour(forms="text"), "chat", "takes no JSON schema, so it answers in plain text"),
        (Behaviour(forms="text", refuses="reasoning store"), "responses", "takes no reasoning, store; "),
        (Behaviour(ignores_format=True), "chat", "takes no JSON schema, so it answers in JSON mode"),
    ],
    ids=["old server", "plain text", "responses API", "schema ignored"],
)
def test_endpoint_without_schemas_answers_in_the_form_that_it_has(
    sqlite_store: VerdictStore, behaviour: Behaviour, api: str, shown: str
) -> None:
    with FakeOpenAI(behaviour) as server:
        settings = settings_for(server.url, api=api, reasoning_effort="low")
        judged = ask(30, settings, sqlite_store, is_new=True)
        limit = server.requests[-1].keys() & {"max_tokens", "max_completion_tokens", "max_output_tokens"}
    remembered = sqlite_store.dialect(f"{server.url} judge-1")
    assert remembered
    assert remembered.shown().startswith(shown)
    assert statuses(judged) <= {VerdictStatus.OK, VerdictStatus.INVALID}
    assert sum(one.status is VerdictStatus.OK for one in judged.judgements) >= 25
    assert len(limit) == 1


def test_questions_that_never_fit_do_not_change_how_an_endpoint_is_asked_that_has_answered_in_this_form(
    sqlite_store: VerdictStore,
) -> None:
    with FakeOpenAI(Behaviour(ignores_format=True)) as server:
        rerun = ask(6, settings_for(server.url), sqlite_store)
        known = sqlite_store.dialect(f"{server.url} judge-1")
    assert statuses(rerun) == {VerdictStatus.INVALID}
    assert known == Dialect()


def test_answer_in_plain_text_is_held_to_the_schema(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(forms="text", garbage=1.0)) as server:
        judged = ask(4, settings_for(server.url), sqlite_store, is_new=True)
    assert statuses(judged) == {VerdictStatus.INVALID}
    assert sqlite_store.dialect(f"{server.url} judge-1") is None  # nobody knows yet whether that wording works


@pytest.mark.parametrize("form", [AnswerForm.JSON, AnswerForm.TEXT])
def test_model_that_is_told_the_schema_in_words_writes_its_reason_before_its_verdict(form: AnswerForm) -> None:
    schema = json.loads(Dialect(form=form).system_text(INTENT).splitlines()[-1])
    assert list(schema["properties"]) == ["reason", "intent_verdict", "intent_label"]


def test_refusal_that_names_nothing_of_the_request_stays_an_error(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(refuses="model")) as server:
        assert "refuses every question" in str(failure_of(5, settings_for(server.url), sqlite_store))


@pytest.mark.parametrize(
    ("refusal", "left_out"),
    [
        ("temperature", {"temperature"}),
        ("reasoning.effort", {"reasoning"}),
        ("[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort')}]", {"reasoning"}),
        ("Unrecognized request argument supplied: max_completion_tokens", {"max_completion_tokens"}),
    ],
)
def test_refusal_is_understood_as_servers_word_it(refusal: str, left_out: set[str]) -> None:
    assert Dialect().after_refusal(refusal) == Dialect(frozenset(left_out))


FIELDS = [
    {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1}
    for name in ("seed", "max_completion_tokens")
]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param({"detail": FIELDS}, id="FastAPI"),
        pytest.param({"object": "error", "message": {"detail": FIELDS}, "param": None, "code": None}, id="Mistral"),
        pytest.param({"object": "Error", "detail": FIELDS, "message": FIELDS, "code": 3001}, id="listed twice"),
        pytest.param({"error": {"message": FIELDS}}, id="in an envelope"),
    ],
)
def test_parameters_that_a_refusal_lists_field_by_field_are_left_out(
    sqlite_store: VerdictStore, refusal: dict[str, Any]
) -> None:
    def script(body: bytes) -> list[bytes]:
        if json.loads(body).keys() & {"seed", "max_completion_tokens"}:
            return [json_http(refusal, 422)]
        return [ANSWER]

    with HostileServer(script) as server:
        judged = ask(3, settings_for(server.url), sqlite_store, is_new=True)
        known = sqlite_store.dialect(f"{server.url} judge-1")
    assert judged.failure is None
    assert statuses(judged) == {VerdictStatus.OK}
    assert known == Dialect(frozenset({"seed", "max_completion_tokens"}))


@pytest.mark.parametrize("by", ["create_chat_completion()", "SamplingParams.__init__()"])
def test_parameter_that_a_server_fails_on_with_status_500_is_left_out(sqlite_store: VerdictStore, by: str) -> None:
    """As servers do that pass every field on to a function of Python."""

    def script(body: bytes) -> list[bytes]:
        if unknown := sorted(json.loads(body).keys() & {"seed", "max_completion_tokens"}):
            told = {"message": f"{by} got an unexpected keyword argument '{unknown[0]}'", "type": "InternalServerError"}
            return [json_http({"error": told}, 500)]
        return [ANSWER]

    with HostileServer(script) as server:
        judged = ask(3, settings_for(server.url), sqlite_store, is_new=True)
        known = sqlite_store.dialect(f"{server.url} judge-1")
    assert statuses(judged) == {VerdictStatus.OK}
    assert known == Dialect(frozenset({"seed", "max_completion_tokens"}))


def test_status_500_that_names_a_parameter_but_no_argument_too_many_is_asked_again_as_it_was(
    sqlite_store: VerdictStore,
) -> None:
    failed: list[bytes] = []

    def script(body: bytes) -> list[bytes]:
        failed.append(body)
        return [ANSWER] if len(failed) > 1 else [json_http({"error": {"message": "no temperature sensor"}}, 500)]

    with HostileServer(script) as server:
        ask(1, settings_for(server.url), sqlite_store)
    assert failed[0] == failed[1]


def test_wording_is_stored_with_the_first_answer_so_that_a_killed_run_does_not_find_it_out_again(
    sqlite_store: VerdictStore,
) -> None:
    known: list[Dialect | None] = []
    with FakeOpenAI(REASONING) as server:
        settings = settings_for(server.url, max_in_flight=1)
        name = f"{server.url} judge-1"
        ask(3, settings, sqlite_store, is_new=True, progress=lambda _: known.append(sqlite_store.dialect(name)))
    assert known == [Dialect(frozenset({"seed", "temperature"}))] * 3


@pytest.mark.parametrize(
    "refusal", ["This response_format type is unavailable now", "'response_format.type' must be 'json_object'"]
)
def test_refused_format_is_followed_by_the_simpler_one_until_there_is_none(refusal: str) -> None:
    simpler = Dialect().after_refusal(refusal)
    assert simpler == Dialect(form=AnswerForm.JSON)
    simplest = simpler.after_refusal(refusal)
    assert simplest == Dialect(form=AnswerForm.TEXT)
    assert simplest.after_refusal(refusal) is None


def test_two_calls_that_are_refused_at_once_both_teach() -> None:
    usual = Dialect()
    one, other = usual.after_refusal("seed") or usual, usual.after_refusal("json_schema") or usual
    assert one.joined(other) == Dialect(frozenset({"seed"}), AnswerForm.JSON)
