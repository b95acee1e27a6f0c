import logging
import re
import socket
import sqlite3
import threading
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from scoring.errors import StorageError, UsageError
from scoring.judging.requests import VerdictStatus
from tasks.config.judge import endpoint_of
from tasks.judge.dialect import Dialect
from tasks.judge.replies import Usage, reply_in
from tasks.judge.verdict_store import VerdictStore
from tests.builders.state import opened
from tests.fakes.hostile_server import HostileServer, http, json_http
from tests.fakes.judge_questions import API_KEY, ask, failure_of, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI

MOST = Usage(1_000, 0, 100)
HOPELESS = [
    pytest.param(Behaviour(api_key="another"), "check OPENAI_API_KEY", id="wrong key"),
    pytest.param(Behaviour(model="another"), "check judge.model (judge-1)", id="unknown model"),
    pytest.param(Behaviour(bad_request="unsupported_parameter"), "judge.temperature", id="bad parameter"),
    pytest.param(Behaviour(bad_request="insufficient_quota"), "money", id="no money"),
]


@pytest.mark.parametrize("mode", ["live", "batch"])
@pytest.mark.parametrize(("behaviour", "advice"), HOPELESS)
def test_what_no_question_can_pass_is_one_clear_error_after_few_calls(
    sqlite_store: VerdictStore, behaviour: Behaviour, advice: str, mode: str
) -> None:
    with FakeOpenAI(behaviour) as server:
        failure = failure_of(300, settings_for(server.url, mode=mode), sqlite_store)
    assert advice in str(failure)
    assert sum(server.statuses.values()) <= 20


def test_account_that_has_to_pay_first_is_told_so(sqlite_store: VerdictStore) -> None:
    unpaid = {"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}
    with HostileServer(lambda body: [json_http(unpaid, 402)]) as server:
        failure = failure_of(300, settings_for(server.url), sqlite_store)
    assert "account has no money left: Insufficient Balance" in str(failure)
    assert len(server.received) <= 10


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (json_http({"error": {"message": "Slow down"}}, 429, ["Retry-After: 0"]), "is used up: Slow down"),
        (json_http({"error": {"message": "Provider returned error", "code": 502}}), "Provider returned error"),
        (json_http("the house is closed"), "the house is closed"),
    ],
    ids=["limit", "error as 200", "text as 200"],
)
def test_why_an_endpoint_never_answers_is_told(sqlite_store: VerdictStore, answer: bytes, reason: str) -> None:
    with HostileServer(lambda body: [answer]) as server:
        failure = failure_of(20, settings_for(server.url), sqlite_store)
    assert re.search("the judge (gives no answer|takes no more questions)", str(failure))
    assert reason in str(failure)


def test_what_is_wrong_with_a_field_is_told_without_what_was_sent(sqlite_store: VerdictStore) -> None:
    fields = [{"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user'", "input": "홍길동의 지원서"}]
    with HostileServer(lambda body: [json_http({"detail": fields}, 422)]) as server:
        failure = failure_of(5, settings_for(server.url), sqlite_store)
    assert "status 422: body.messages.0.role: Input should be 'user'" in str(failure)
    assert "홍길동" not in str(failure)


def test_no_network_is_one_clear_error_within_seconds(sqlite_store: VerdictStore) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        started = time.monotonic()
        failure = failure_of(300, settings_for(address), sqlite_store)
    assert time.monotonic() - started < 30
    assert str(failure).startswith(f"{address}: the judge gives no answer")


def test_name_that_nobody_knows_is_the_same_error(sqlite_store: VerdictStore) -> None:
    assert "gives no answer" in str(failure_of(3, settings_for("http://nowhere.invalid/v1"), sqlite_store))


def test_endpoint_that_only_fails_ends_the_run_after_a_few_questions(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(server_errors=1.0)) as server:
        assert "status 503" in str(failure_of(300, settings_for(server.url), sqlite_store))
    assert server.asked.total() <= 100


def test_limit_that_is_used_up_for_hours_ends_the_run_and_keeps_what_was_paid(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(rpm=1, burst_s=300)) as server:  # five requests, then one a minute
        failure = failure_of(40, settings_for(server.url), sqlite_store)
        assert "its limit of requests is used up" in str(failure)
        assert server.paid.total() == 5
        assert server.asked.total() == 5
    with FakeOpenAI() as server:
        ask(40, settings_for(server.url), sqlite_store)
        assert server.paid.total() == 35


BY_ITS_CLOCK = "Date: Wed, 21 Oct 2099 07:28:00 GMT\r\nRetry-After: Wed, 21 Oct 2099 07:28:01 GMT"


def in_a_day() -> str:
    """A moment as HTTP writes it."""
    return format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "told"), [(429, "its limit of requests is used up"), (503, "it says status 503"), (529, "status 529")]
)
@pytest.mark.parametrize("is_date", [False, True], ids=["seconds", "date"])
def test_endpoint_that_asks_to_come_back_tomorrow_ends_the_run_at_once(
    sqlite_store: VerdictStore, status: int, told: str, is_date: bool
) -> None:
    later = f"Retry-After: {in_a_day() if is_date else 86_400}"
    with HostileServer(lambda body: [json_http({}, status, [later])]) as server:
        failure = failure_of(40, settings_for(server.url), sqlite_store)
        asked = len(server.received)
    assert re.search(rf"the judge takes no more questions for 86,\d\d\d s or longer: .*{told}", str(failure))
    assert "wait until its limit is free" in str(failure)
    assert asked <= 10


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize("later", ["Retry-After: 1", BY_ITS_CLOCK], ids=["seconds", "date"])
def test_endpoint_that_asks_for_a_moment_gets_it_and_answers_every_question(
    sqlite_store: VerdictStore, status: int, later: str
) -> None:
    message = {"content": '{"reason": "맞음", "score": 5}'}
    answer = json_http({"model": "judge-1", "choices": [{"finish_reason": "stop", "message": message}]})
    answers = iter([json_http({}, status, [later])])
    with HostileServer(lambda body: [next(answers, answer)]) as server:
        judged = ask(12, settings_for(server.url, max_in_flight=1), sqlite_store)
        asked = len(server.received)
    assert judged.summary()["by_status"] == {"ok": 12}
    assert {one.attempts for one in judged.judgements} == {1}  # being told to wait costs none
    assert asked == 13


def test_question_that_the_endpoint_does_not_take_fails_alone(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI() as server:
        server.too_long = "1번 지원자"
        judged = ask(3, settings_for(server.url), sqlite_store)
    assert [one.status for one in judged.judgements] == [VerdictStatus.OK, VerdictStatus.FAILED, VerdictStatus.OK]
    assert "context_length" in judged.judgements[1].reason


TOO_LARGE = "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096."
LONE_REFUSALS = [
    pytest.param(json_http({"error": {"message": "Invalid prompt", "code": 400}}, 400), id="400"),
    pytest.param(json_http({"detail": [{"msg": "String should match pattern"}]}, 422), id="422"),
    pytest.param(json_http({"error": {"message": TOO_LARGE, "code": 400}}, 400), id="too long in words"),
    pytest.param(http(b"<h1>Request blocked</h1>", 403, ["Content-Type: text/html"]), id="firewall"),
]


def refusing(numbers: set[int], refusal: bytes) -> HostileServer:
    """Refuses the questions of these numbers at once, and answers the others after it has refused them all."""
    left, all_refused = set(numbers), threading.Event()

    def script(body: bytes) -> list[bytes]:
        number = int(re.findall(r"(\d+)번 지원자", body.decode())[-1])
        if number in numbers:
            left.discard(number)
            if not left:
                all_refused.set()
            return [refusal]
        all_refused.wait(10)
        message = {"content": '{"reason": "맞음", "score": 5}'}
        return [json_http({"model": "judge-1", "choices": [{"finish_reason": "stop", "message": message}]})]

    return HostileServer(script)


@pytest.mark.slow
@pytest.mark.parametrize("refusal", LONE_REFUSALS)
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
def test_questions_that_are_refused_before_the_first_answer_fail_alone(
    sqlite_store: VerdictStore, refusal: bytes, is_new: bool
) -> None:
    refused = {0, 1, 2, 3, 7}
    with refusing(refused, refusal) as server:
        judged = ask(30, settings_for(server.url, max_in_flight=10), sqlite_store, is_new=is_new)
        asked = len(server.received)
    assert judged.failure is None
    assert {number for number, one in enumerate(judged.judgements) if one.status is VerdictStatus.FAILED} == refused
    assert all("status 4" in judged.judgements[number].reason for number in refused)
    assert 30 <= asked <= 31  # a refusal is no reason to ask otherwise, or again; the last call may be hedged
    assert not (sqlite_store.dialect(f"{server.url} judge-1") or Dialect()).left_out


@pytest.mark.slow
def test_question_that_a_firewall_blocks_after_answers_fails_alone(sqlite_store: VerdictStore) -> None:
    with refusing({4}, http(b"<h1>Request blocked</h1>", 403)) as server:
        judged = ask(12, settings_for(server.url), sqlite_store)
    assert judged.failure is None
    assert judged.summary()["by_status"] == {"failed": 1, "ok": 11}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "advice"), [(400, "judge.temperature"), (422, "judge.base_url"), (403, "check what the key may do")]
)
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
def test_what_refuses_three_questions_and_answers_none_is_asked_no_further(
    sqlite_store: VerdictStore, status: int, advice: str, is_new: bool
) -> None:
    with HostileServer(lambda body: [json_http({"error": "no"}, status)]) as server:
        judged = ask(300, settings_for(server.url), sqlite_store, is_new=is_new)
    assert "the judge refuses every question" in str(judged.failure)
    assert advice in str(judged.failure)
    assert len(server.received) <= 12


@pytest.mark.slow
def test_batch_is_worded_by_the_first_question_that_the_endpoint_takes(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(refuses="temperature seed")) as server:
        server.too_long = "0번 지원자"
        judged = ask(5, settings_for(server.url, mode="batch"), sqlite_store, is_new=True)
    assert judged.failure is None
    assert judged.summary()["by_status"] == {"failed": 1, "ok": 4}
    (sent,) = server.batches.batches.values()  # at half the price: all behind the one that was taken
    assert len(server.batches.files[sent["input_file_id"]].splitlines()) == 3


@pytest.mark.parametrize(
    "body",
    [
        *(None, [], "text", {}, {"choices": []}, {"choices": [None]}, {"choices": [{"message": []}]}, {"output": [1]}),
        *({"output": [{"content": [None]}], "status": "completed"}, {"choices": [{"message": {"content": [1]}}]}),
    ],
)
def test_body_of_any_shape_is_at_worst_an_empty_reply(body: object) -> None:
    reply = reply_in(body, MOST)
    assert (reply.text, reply.refusal, reply.usage) == ("", "", None)


def test_content_in_parts_is_read_as_its_texts_without_what_the_model_thought() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "4?"}]}
    parts = [thought, {"type": "text", "text": '{"score": '}, {"type": "text", "text": "4}"}]
    assert reply_in({"choices": [{"message": {"content": parts}}]}, MOST).text == '{"score": 4}'
    refused = reply_in({"choices": [{"message": {"content": [{"type": "refusal", "refusal": "no"}]}}]}, MOST)
    assert (refused.text, refused.refusal) == ("", "no")


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2}, Usage(7, 0, 2)),
        ({"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}}, Usage(7, 3, 2)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, Usage(7, 0, 2)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 49}, Usage(7, 0, 42)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 0}, Usage(7, 0, 2)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": None}, Usage(7, 0, 2)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 10**400}, None),
        ({"prompt_tokens": 7}, None),
        ({"prompt_tokens": -7, "completion_tokens": 2}, None),
        ("7", None),
        ({"prompt_tokens": True, "completion_tokens": 2}, None),
        ({"prompt_tokens": 7.0, "completion_tokens": 2}, None),
        ({"prompt_tokens": 2**63, "completion_tokens": 2}, None),
        ({"prompt_tokens": 7, "completion_tokens": 10**400}, None),
        ({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}, None),
    ],
)
def test_usage_is_read_from_both_apis_and_never_guessed(told: object, usage: Usage | None) -> None:
    assert reply_in({"choices": [], "usage": told}, MOST).usage == usage


def test_filter_of_the_endpoint_is_a_refusal() -> None:
    reply = reply_in({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, MOST)
    assert reply.refusal


@pytest.mark.parametrize("address", ["ftp://judge", "judge.example", "http://", "http://host:port/v1", "http://[::1"])
def test_address_that_is_none_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(UsageError, match="no http address"):
        endpoint_of(settings_for(address))


@pytest.mark.parametrize(
    "address",
    [
        "https://judge.example/v1/chat/completions",
        "https://judge.example/v1/responses/",
        "https://judge.example/openai/deployments/judge-1?api-version=2024-10-21&code=5ecret",
    ],
)
def test_address_that_nothing_can_be_appended_to_is_refused_with_the_one_to_use(address: str) -> None:
    with pytest.raises(UsageError, match="nothing can be appended") as refused:
        endpoint_of(settings_for(address))
    assert "/openai/v1" in refused.value.fix
    assert "5ecret" not in str(refused.value)


def test_environment_gives_key_and_address_where_the_settings_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = settings_for("", api_key="")
    assert endpoint_of(silent) is None
    monkeypatch.setenv("OPENAI_API_KEY", " from-environment\n")
    endpoint = endpoint_of(silent)
    assert endpoint is not None
    assert (endpoint.base_url, endpoint.api_key) == ("https://api.openai.com/v1", "from-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    endpoint = endpoint_of(silent)
    assert endpoint is not None
    assert endpoint.base_url == "http://127.0.0.1:1/v1"


def test_key_that_no_header_can_carry_is_refused_without_showing_it() -> None:
    with pytest.raises(UsageError) as caught:
        endpoint_of(settings_for("", api_key="비밀sk"))
    assert "비밀sk" not in str(caught.value)


def test_key_is_nowhere_in_errors_logs_and_the_database(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    seen = []
    with opened(VerdictStore, f"sqlite:///{tmp_path}/state.db") as store:
        for behaviour in (
            Behaviour(latency_s=0.01, server_errors=0.2, refused=0.2, garbage=0.2),
            Behaviour(api_key="x"),
        ):
            for mode in ("live", "batch"):
                with FakeOpenAI(behaviour) as server:  # quotes the key in its 401
                    settings = settings_for(server.url, mode=mode, model=f"{mode} {behaviour.api_key}")
                    seen += [repr(settings), str(settings.model_dump()), repr(endpoint_of(settings))]
                    judged = ask(20, settings, store)
                    seen.append(repr(judged))
                    if error := judged.failure:
                        seen += [str(error), "".join(traceback.format_exception(error)), repr(error.__context__ and "")]
    with sqlite3.connect(tmp_path / "state.db") as database:
        seen += list(database.iterdump())
    database.close()
    seen += [caplog.text, *capfd.readouterr()]
    seen += [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    assert "***" in "".join(seen)  # the server did quote it
    assert [text for text in seen if API_KEY in text] == []


def test_password_of_an_address_is_not_shown(sqlite_store: VerdictStore) -> None:
    failure = failure_of(1, settings_for("http://user:pa55word@nowhere.invalid/v1"), sqlite_store)
    assert "pa55word" not in str(failure)


def test_database_that_refuses_a_verdict_ends_the_run_with_a_clear_error(
    sqlite_store: VerdictStore, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "state.db") as database:
        database.execute("DROP TABLE verdicts")
        database.execute("CREATE TABLE verdicts (key TEXT PRIMARY KEY, status TEXT)")
    database.close()
    with FakeOpenAI() as server, pytest.raises(StorageError, match="state database"):
        ask(3, settings_for(server.url), sqlite_store)
