"""A judge endpoint that does what none should: nothing crashes, nothing grows, and the budget holds."""

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from scoring.errors import AqbError
from scoring.judging.requests import VerdictStatus
from tasks.judge.check import check_endpoint
from tasks.judge.client import Judged
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import VerdictStore
from tests.builders.cases import portion
from tests.fakes.hostile_server import UNTRUSTED, HostileServer, Script, http, json_http, packed
from tests.fakes.judge_questions import FAST, ask, settings_for

pytestmark = pytest.mark.slow

ANSWER = '{"reason": "맞음", "score": 5}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 20}
IMPATIENT = replace(FAST, shortest_deadline_s=0.3, longest_deadline_s=0.3, patience_s=0.5)
MOST_USD = 0.05
COUNT = 12
HALF = "\ud800"


def completion(text: Any = ANSWER, usage: Any = USAGE, **changes: Any) -> dict[str, Any]:
    """The body of a chat completion; `changes` are to its message."""
    message = {"role": "assistant", "content": text, **changes}
    return {"model": "judge-1", "choices": [{"finish_reason": "stop", "message": message}], "usage": usage}


def always(answer: bytes) -> Script:
    return lambda body: [answer]


def endless(start: bytes, piece: bytes, pause_s: float = 0.0) -> Script:
    def pieces(body: bytes) -> Iterator[bytes]:
        yield start
        while True:
            time.sleep(pause_s)
            yield piece

    return pieces


CHUNKED = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"
READABLE: dict[str, Any] = {
    "half a character in the reason": completion('{"reason": "\\ud800", "score": 5}'),
    "half a character in the text": completion(HALF),
    "half a character in the refusal": completion(None, refusal=HALF),
    "half a character as the model": {**completion(), "model": HALF},
    "NUL in the reason": completion('{"reason": "a\\u0000b", "score": 5}'),
    "NUL as the model": {**completion(), "model": "\0"},
    "model of a megabyte": {**completion(), "model": "m" * 900_000},
    "reason of 900,000 characters": completion('{"reason": "' + "a" * 900_000 + '", "score": 5}'),
    "usage of 2**63": completion(usage={"prompt_tokens": 2**63, "completion_tokens": 20}),
    "usage of 10**400": completion(usage={"prompt_tokens": 10**400, "completion_tokens": 20}),
    "usage of 10**9": completion(usage={"prompt_tokens": 10**9, "completion_tokens": 10**9}),
    "negative usage": completion(usage={"prompt_tokens": -100, "completion_tokens": -20}),
    "true as usage": completion(usage={"prompt_tokens": True, "completion_tokens": True}),
    "more cached than sent": completion(usage={**USAGE, "prompt_tokens_details": {"cached_tokens": 10**9}}),
    "usage of 0": completion(usage={"prompt_tokens": 0, "completion_tokens": 0}),
    "usage that is a list": completion(usage=[1, 2]),
    "no usage": completion(usage=None),
    "score of 10**400": completion('{"reason": "", "score": 1' + "0" * 400 + "}"),
    "score of NaN": completion('{"reason": "", "score": NaN}'),
    "two scores": completion('{"reason": "", "score": 0, "score": 5}'),
    "nested text": completion("[" * 100_000),
    "choices that are numbers": {"choices": [1, 2], "usage": USAGE},
    "message that is a list": {"choices": [{"message": [1]}], "usage": USAGE},
    "an error with status 200": {"error": {"message": HALF, "code": HALF}},
    "a list": [],
    "null": None,
}
BYTES: dict[str, Script] = {
    "nothing at all": always(b""),
    "no HTTP": always(b"\x00\x01\x02 hello\r\n\r\n"),
    "a web page": always(http(b"<html>", headers=["Content-Type: text/html"])),
    "204": always(b"HTTP/1.1 204 X\r\n\r\n"),
    "half a body": always(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n{"),
    "bytes that are no UTF-8": always(http(b'{"choices": "\xff\xfe\xed\xa0\x80"}')),
    "nested JSON": always(http(b"[" * 200_000)),
    "a number of 100,000 digits": always(http(b"1" * 100_000)),
    "a packed answer": packed(),
    "a packed error": packed(500),
    "a packed answer that is cut": always(http(gzip.compress(b"{}" * 99)[:-9], headers=["Content-Encoding: gzip"])),
    "a packed answer that is none": always(http(b"{}", headers=["Content-Encoding: gzip"])),
    "more behind a packed answer": endless(
        http(gzip.compress(b"{}"), headers=["Content-Encoding: gzip"]).replace(b"Content-Length", b"X-Length"),
        b"a" * 0x10000,
    ),
    "an answer packed otherwise": always(http(b"{}", headers=["Content-Encoding: br"])),
    "three megabytes": always(http(b'{"choices": "' + b"a" * 3_000_000 + b'"}')),
    "an error of three megabytes": always(http(b"a" * 3_000_000, 400)),
    "a body without an end": endless(CHUNKED, b"10000\r\n" + b"a" * 0x10000 + b"\r\n"),
    "headers without an end": endless(b"HTTP/1.1 200 X\r\n", b"X-A: " + b"a" * 1_000 + b"\r\n"),
    "a byte at a time": endless(CHUNKED, b"1\r\n \r\n", 0.05),
    "headers a byte at a time": endless(b"HTTP/1.1 200 X\r\nX-A: ", b"a", 0.05),
    "status 999": always(json_http({}, 999)),
    "status 418": always(json_http({"error": "no object"}, 418)),
    "a 500 with half a character": always(json_http({"error": {"message": HALF}}, 500)),
    "a 400 with half a character": always(json_http({"error": {"message": HALF, "code": "content_filter"}}, 400)),
    "a 429 for ever": always(json_http({}, 429, ["Retry-After: 99999"])),
    "a 429 of another kind": always(json_http({}, 429, ["Retry-After: -1", "x-ratelimit-remaining-tokens: NaN"])),
}
MODES = {name: always(json_http(value)) for name, value in READABLE.items()} | BYTES


def judged_by(
    script: Script, store: VerdictStore, *, timing: Timing = IMPATIENT, **changes: Any
) -> tuple[Judged, HostileServer]:
    """The verdicts on a few questions, within a small budget and in a short time."""
    with HostileServer(script) as server:
        settings = settings_for(server.url, max_usd=MOST_USD, max_in_flight=4, **changes)
        return ask(COUNT, settings, store, timing=timing), server


@pytest.mark.parametrize("name", portion(list(MODES)))
def test_judge_survives_an_endpoint_that_answers(name: str, sqlite_store: VerdictStore) -> None:
    judged, server = judged_by(MODES[name], sqlite_store)
    summary = judged.summary()
    assert sum(summary["by_status"].values()) == COUNT
    known_usage = any(one.tokens_in for one in judged.judgements)
    assert summary["cost"] is None if summary["without_usage"] and not known_usage else 0 <= summary["cost"] <= MOST_USD
    assert all(0 <= one.tokens_in < 100_000 and len(one.reason) < 20_000 for one in judged.judgements)
    assert repr(judged.judgements).encode()
    assert server.sent < len(server.received) * 8_000_000  # with what the sockets hold
    assert sqlite_store.found([one.key for one in judged.judgements]).keys() == {
        one.key for one in judged.judgements if one.status in (VerdictStatus.OK, VerdictStatus.REFUSED)
    }


def _without_header(plain: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(plain) + packer.flush()


def _in_members(plain: bytes) -> bytes:
    """Packed as some servers do as they go: several members, one behind the other."""
    return gzip.compress(plain[:9]) + gzip.compress(b"") + gzip.compress(plain[9:])


@pytest.mark.parametrize(
    ("packing", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("gzip", _in_members),
        ("deflate", zlib.compress),
        ("deflate", _without_header),
    ],
)
def test_judge_reads_an_answer_that_a_server_packs_unasked(
    packing: str, pack: Callable[[bytes], bytes], sqlite_store: VerdictStore
) -> None:
    headers = [f"Content-Encoding: {packing}"]
    error = pack(json.dumps({"error": {"message": "no such model"}}).encode())
    refused, _ = judged_by(always(http(error, 404, headers)), sqlite_store, timing=FAST)
    assert "no such model" in str(refused.failure)
    answer = http(pack(json.dumps(completion()).encode()), headers=headers)
    judged, server = judged_by(always(answer), sqlite_store, timing=FAST)
    assert judged.summary()["by_status"] == {"ok": COUNT}
    assert len(server.received) == COUNT


def test_status_counts_where_an_error_that_is_called_packed_has_no_body(sqlite_store: VerdictStore) -> None:
    judged, server = judged_by(always(http(b"", 401, ["Content-Encoding: gzip"])), sqlite_store)
    assert "401" in str(judged.failure)
    assert len(server.received) <= 4


def test_question_that_a_filter_of_the_endpoint_blocks_is_refused_for_good(sqlite_store: VerdictStore) -> None:
    blocked = always(json_http({"error": {"message": "blocked", "code": "content_filter"}}, 400))
    judged, server = judged_by(blocked, sqlite_store, timing=FAST)
    assert {one.status for one in judged.judgements} == {VerdictStatus.REFUSED}
    assert len(server.received) == COUNT
    again, server = judged_by(blocked, sqlite_store, timing=FAST)
    assert {one.status for one in again.judgements} == {VerdictStatus.REFUSED}
    assert server.received == []


@pytest.mark.parametrize("name", [name for name in READABLE if name.startswith(("NUL", "half", "model", "score"))])
def test_judge_replies_go_into_every_state_database(name: str, store: VerdictStore) -> None:
    judged, _ = judged_by(MODES[name], store)
    final = [one for one in judged.judgements if one.status in (VerdictStatus.OK, VerdictStatus.REFUSED)]
    assert store.found([one.key for one in final]) == {one.key: replace(one, from_store=True) for one in final}


CHECKED = {name: script for name, script in MODES.items() if "a byte at a time" not in name}
CHECKED["odd models"] = always(json_http({"data": [{"id": HALF}, {"id": 1}, 2, {}]}))
for number, odd in enumerate(["2026-13-01", "2026-1-1", 20261201, ["2026-12-01"], "٢٠٢٦-١٢-٠١", ""]):
    CHECKED[f"odd shutdown {number}"] = always(json_http({"data": [{"id": "judge-1", "shutdown_date": odd}]}))


@pytest.mark.parametrize("name", portion(list(CHECKED)))
def test_judge_check_is_one_line_or_one_error_for_any_answer(name: str) -> None:
    with HostileServer(CHECKED[name]) as server:
        try:
            said = check_endpoint(settings_for(server.url), date(2026, 11, 23))
        except AqbError as error:
            said = str(error)
    assert said.startswith(server.url)
    assert said.encode()


@pytest.mark.parametrize(
    "usage", ["usage of 10**9", "more cached than sent", "true as usage", "negative usage", "usage of 0"]
)
def test_judge_budget_holds_against_a_usage_that_cannot_be(usage: str, sqlite_store: VerdictStore) -> None:
    judged, server = judged_by(MODES[usage], sqlite_store)
    assert len(server.received) * 0.003 <= MOST_USD  # each call stays reserved with the most that it can cost
    assert VerdictStatus.OVER_BUDGET in {one.status for one in judged.judgements}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_judge_follows_no_redirect(status: int, sqlite_store: VerdictStore) -> None:
    with HostileServer(always(json_http(completion()))) as other:
        headers = [f"Location: {other.url}/chat/completions"]
        judged, server = judged_by(always(json_http({}, status, headers)), sqlite_store)
    assert other.received == []
    assert len(server.received) <= 10
    assert f"redirects to another address, which is not followed: status {status}" in str(judged.failure)
    assert "set judge.base_url" in str(judged.failure)
    assert judged.summary()["by_status"] == {"failed": COUNT}


@pytest.mark.parametrize("name", ["a web page", "nothing at all", "a list", "null", "an error with status 200"])
@pytest.mark.parametrize("count", [1, 3, COUNT])
def test_address_that_is_no_judge_gives_no_answer(name: str, count: int, sqlite_store: VerdictStore) -> None:
    """As a login page of a proxy, or an address without `/v1`: no stronger model would help."""
    with HostileServer(MODES[name]) as server:
        judged = ask(count, settings_for(server.url), sqlite_store, timing=IMPATIENT)
    assert judged.summary()["by_status"] == {"failed": count}
    assert "the judge gives no answer" in str(judged.failure) and "check judge.base_url" in str(judged.failure)


@pytest.mark.parametrize(
    ("name", "uses_budget"), [("a web page", False), ("an error with status 200", False), ("a cut answer", True)]
)
def test_only_what_may_be_an_answer_of_a_model_uses_the_budget_up(
    name: str, uses_budget: bool, sqlite_store: VerdictStore
) -> None:
    cut = always(http(json.dumps(completion()).encode()[:-1]))
    judged, _ = judged_by(MODES.get(name, cut), sqlite_store)
    assert (VerdictStatus.OVER_BUDGET in {one.status for one in judged.judgements}) == uses_budget
    assert (judged.failure is None) == uses_budget


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_judge_that_dies_midway_keeps_what_was_paid(status: int, sqlite_store: VerdictStore) -> None:
    answers = iter([json_http(completion())] * 5)
    judged, _ = judged_by(lambda body: [next(answers, json_http({}, status))], sqlite_store, timing=FAST)
    by_status = judged.summary()["by_status"]
    assert by_status == {"ok": 5, "failed": COUNT - 5}
    assert judged.failure is None if status == 500 else "refuses every question" in str(judged.failure)
    kept = sqlite_store.found([one.key for one in judged.judgements])
    assert len(kept) == 5
    with HostileServer(always(json_http(completion()))) as healthy:
        again = ask(COUNT, settings_for(healthy.url), sqlite_store)
    assert again.summary()["by_status"] == {"ok": COUNT}
    assert len(healthy.received) == COUNT - 5


@pytest.mark.parametrize("trusted", [True, False])
def test_judge_behind_broken_tls_gives_no_answer(trusted: bool, sqlite_store: VerdictStore) -> None:
    """A server that speaks no TLS at all, and one with a certificate that nobody has signed."""
    with HostileServer(always(json_http(completion())), None if trusted else UNTRUSTED) as server:
        settings = settings_for(server.url.replace("http:", "https:"))
        judged = ask(2, settings, sqlite_store, timing=FAST)
    assert "gives no answer: APIConnectionError: " in str(judged.failure)
    assert ("EOF occurred" if trusted else "self-signed certificate") in str(judged.failure)
    assert not any(server.received)


def test_judge_that_never_answers_ends_the_run_after_one_time_limit(sqlite_store: VerdictStore) -> None:
    judged, server = judged_by(MODES["a byte at a time"], sqlite_store)
    assert "no answer within" in str(judged.failure)
    assert len([*filter(None, server.received)]) <= 4  # each of the questions in flight once


def test_judge_that_is_slow_and_lists_its_models_has_two_time_limits(sqlite_store: VerdictStore) -> None:
    late = MODES["a byte at a time"]
    judged, server = judged_by(lambda body: late(body) if body else [json_http({"data": []})], sqlite_store)
    assert "no answer within" in str(judged.failure)
    assert 4 < len([*filter(None, server.received)]) <= 8  # two attempts at each of the four questions in flight


@pytest.mark.parametrize("status", ["failed", "no such status", None, 7])
def test_judge_batch_of_an_unknown_state_ends_the_run(status: object, sqlite_store: VerdictStore) -> None:
    judged, _ = judged_by(always(json_http({"id": "b", "status": status, "data": []})), sqlite_store, mode="batch")
    assert judged.failure
    assert judged.summary()["by_status"] == {"failed": COUNT}


def batch_of(lines: Callable[[list[str]], bytes]) -> Script:
    """A Batch API whose result file is what `lines` make of the ids of the questions."""
    ids: list[str] = []

    def answers(body: bytes) -> list[bytes]:
        if b"questions.jsonl" in body:
            ids[:] = [json.loads(line)["custom_id"] for line in body.splitlines() if line.startswith(b'{"custom_id"')]
            return [json_http({"id": "f"})]
        if ids and body == b"" and answers.asked_state:  # type: ignore[attr-defined]
            return [http(lines(ids))]
        answers.asked_state = b"input_file_id" in body or (bool(ids) and body == b"")  # type: ignore[attr-defined]
        return [json_http({"id": "b", "status": "completed", "output_file_id": "o", "data": []})]

    answers.asked_state = False  # type: ignore[attr-defined]
    return answers


RESULTS: dict[str, Callable[[list[str]], bytes]] = {
    "no JSON": lambda ids: b"<html>\n\xff\n" + b"[" * 100_000,
    "lines that are lists": lambda ids: b"[]\n1\nnull\n",
    "unknown ids": lambda ids: json.dumps({"custom_id": "x", "response": []}).encode(),
    "ids that are lists": lambda ids: json.dumps({"custom_id": [1]}).encode(),
    "responses that are none": lambda ids: b"\n".join(
        json.dumps({"custom_id": i, "response": [1]}).encode() for i in ids
    ),
    "a status that is none": lambda ids: json.dumps({"custom_id": ids[0], "response": {"status_code": "x"}}).encode(),
    "ten megabytes": lambda ids: b"a" * 10_000_000,
}


@pytest.mark.parametrize("name", portion(list(RESULTS)))
def test_judge_batch_results_of_any_shape_are_at_worst_no_verdicts(name: str, sqlite_store: VerdictStore) -> None:
    judged, _ = judged_by(batch_of(RESULTS[name]), sqlite_store, mode="batch")
    assert judged.summary()["by_status"] == {"failed": COUNT}
