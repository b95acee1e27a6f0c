"""A server of a local model answers a few calls at a time and queues the others: it is given no more than it can do."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tasks.judge.verdict_store import VerdictStore
from tasks.judge.window import CallWindow
from tests.fakes.hostile_server import HostileServer, json_http
from tests.fakes.judge_questions import FAST, ask, settings_for

ANSWER = {"finish_reason": "stop", "message": {"role": "assistant", "content": '{"reason": "맞음", "score": 5}'}}
ONE_ANSWER_S = 0.05
PATIENT = replace(FAST, shortest_deadline_s=30 * ONE_ANSWER_S, longest_deadline_s=30 * ONE_ANSWER_S)


class OneAtATime:
    """Answers one question after the other, those alone whose client still waits."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self.answered = 0

    def __call__(self, body: bytes) -> Iterator[bytes]:
        with self._turn:
            yield b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"  # fails where nobody waits any more
            time.sleep(ONE_ANSWER_S)
            self.answered += 1
            yield json_http({"model": "judge-1", "choices": [ANSWER]}).partition(b"\r\n")[2]


@pytest.mark.slow
def test_server_that_answers_one_call_at_a_time_answers_every_question(sqlite_store: VerdictStore) -> None:
    with HostileServer(OneAtATime()) as server:
        judged = ask(90, settings_for(server.url, max_in_flight=60), sqlite_store, timing=PATIENT)
    assert judged.failure is None
    assert judged.summary()["by_status"] == {"ok": 90}


def test_window_opens_with_the_first_answer_and_stays_open_where_few_calls_are_late() -> None:
    window = CallWindow(200)
    assert window.size == 10
    for second in range(50):
        window.add_answer(second)
    window.add_late(50, 60)
    assert window.size == 200


def test_window_narrows_to_half_of_what_is_answered_in_time_and_grows_again() -> None:
    window = CallWindow(200)
    for second in range(0, 60, 10):
        window.add_answer(second)
    for _ in range(150):
        window.add_late(60, 60)
    assert window.size == 2  # five answers in the last minute
    for second in range(60, 300):
        window.add_answer(second)
    assert window.size > 20


def test_window_lets_one_call_through_where_nothing_is_answered() -> None:
    window = CallWindow(1)
    window.add_late(0, 60)
    assert window.size == 1
