"""A server of a local model answers a few calls at a time and queues the others: it is given no more than it can do."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tasks.judge.verdict_store import VerdictStore
from tasks.judge.window import CallWindow
from tests.fakes.hostile_server import HostileServer, json_http
from tests.fakes.judge_questions import FAST, ask, settings_for

ANSWER = {"finish_reason": "stop", "message": {"role": "assistant", "content": '{"reason": "맞음", "score": 5}'}}
ONE_ANSWER_S = 0.05
_LIMIT_S = 10.0
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


class VirtualEndpoint:
    """An endpoint with some slots, and a queue for the calls beyond them, in virtual time: nobody waits."""

    def __init__(self, slots: int, service_s: float) -> None:
        self.window, self.slots, self.service_s = CallWindow(200), slots, service_s
        self.late = self._tenths = 0
        self._queue, self._busy = deque[tuple[float, float]](), deque[tuple[float, float]]()  # its end, its start

    def run(self, seconds: int, *, is_down: bool = False) -> list[int]:
        """The size of the window at the end of each second; where it is down, no call is ever answered."""
        sizes = []
        for _ in range(10 * seconds):
            self._tenths += 1
            now = self._tenths / 10
            while self._busy and self._busy[0][0] <= now and not is_down:
                self._busy.popleft()
                self.window.add_answer(now)
            for calls in (self._busy, self._queue):
                while calls and now - calls[0][1] > _LIMIT_S:
                    calls.popleft()
                    self.late += 1
                    self.window.add_late(now, _LIMIT_S)
            while len(self._busy) + len(self._queue) < self.window.size:
                self._queue.append((0.0, now))
            while self._queue and len(self._busy) < self.slots:
                self._busy.append((now + self.service_s, self._queue.popleft()[1]))
            sizes.append(self.window.size)
        return sizes[9::10]


def test_window_is_open_again_some_seconds_after_an_outage() -> None:
    endpoint = VirtualEndpoint(slots=1000, service_s=1.0)
    assert endpoint.run(60)[-1] == 200
    assert endpoint.run(60, is_down=True)[-1] == 1
    sizes = endpoint.run(60)
    assert (
        next(second for second, size in enumerate(sizes) if size >= 190) <= 20
    )  # up to 10 until the hanging call ends


@pytest.mark.parametrize(("slots", "service_s"), [(1, 0.5), (1, 2.0), (4, 2.0), (8, 5.0)])
def test_window_of_a_server_with_few_slots_is_not_overrun_after_an_outage(slots: int, service_s: float) -> None:
    endpoint = VirtualEndpoint(slots, service_s)
    endpoint.run(120)
    endpoint.run(60, is_down=True)
    hung = endpoint.late
    endpoint.run(30)
    before = endpoint.late
    endpoint.run(600)
    answered_in_time = slots * _LIMIT_S / service_s
    assert before - hung <= answered_in_time
    assert endpoint.late - before <= 0.1 * 600 * slots / service_s
    assert endpoint.window.size <= 1.25 * answered_in_time
