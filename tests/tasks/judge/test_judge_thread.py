"""Several threads that ask one judge at the same time."""

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from io import StringIO

import pytest

from scoring.errors import AqbError
from tasks.config.judge import JudgeSettings
from tasks.judge.client import Judge, Judged
from tasks.judge.judge_thread import JudgeThread, finished_in_turn
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import VerdictStore
from tests.fakes.judge_questions import FAST, ask, questions, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI

SLOW_S = 0.5


def asking(judge: JudgeThread, settings: JudgeSettings, *, limit_s: float = 60) -> Callable[[range], Judged]:
    """What asks the questions of these numbers."""
    return lambda numbers: judge.ask(
        questions(len(numbers), settings, numbers.start), lambda now: None, limit_s=limit_s
    )


def test_questions_of_all_threads_are_in_flight_together_and_what_two_ask_is_asked_once(
    sqlite_store: VerdictStore,
) -> None:
    with FakeOpenAI(Behaviour(latency_s=SLOW_S, spread=0)) as server, ThreadPoolExecutor(3) as threads:
        settings = settings_for(server.url)
        with JudgeThread(Judge(settings, sqlite_store, timing=FAST)) as judge:
            ask_them = asking(judge, settings)
            found = [*threads.map(ask_them, [range(3), range(3, 6), range(2, 5)])]
    assert server.peak_in_flight == 6
    assert (server.asked.total(), [len(judged.verdicts) for judged in found]) == (6, [3, 3, 3])
    assert sum(judged.summary()["questions"] - judged.summary()["cached"] for judged in found) == 6
    assert all(verdict.given for judged in found for verdict in judged.verdicts.values())


def test_thread_does_not_wait_for_slow_answers_of_another(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(latency_s=0.01)) as server, ThreadPoolExecutor(1) as threads:
        server.hang_once = "7번 지원자"
        settings = settings_for(server.url)
        with JudgeThread(Judge(settings, sqlite_store, timing=FAST)) as judge:
            ask_them = asking(judge, settings)
            slow: Future[Judged] = threads.submit(ask_them, range(7, 8))
            while not server.requests:
                assert wait([slow], timeout=0.01).not_done
            assert len(ask_them(range(3)).verdicts) == 3
            assert not slow.done()
    assert isinstance(slow.exception(), AqbError)


def test_end_of_the_judge_keeps_what_is_in_flight_and_stops_who_asks(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(latency_s=SLOW_S, spread=0)) as server, ThreadPoolExecutor(1) as threads:
        settings = settings_for(server.url, max_in_flight=2)
        with JudgeThread(Judge(settings, sqlite_store)) as judge:
            stopped = threads.submit(asking(judge, settings), range(10))
            server.wait_until_paid(2)
        assert "the run was stopped" in str(stopped.exception())
        kept = ask(10, settings_for("", api_key=""), sqlite_store).summary()["by_status"]
    assert kept == {"ok": server.paid.total(), "no_judge": 10 - server.paid.total()}
    assert 2 <= server.paid.total() <= 4


def test_end_of_the_judge_asks_nothing_anew_where_the_calls_in_flight_fail(sqlite_store: VerdictStore) -> None:
    broken = Behaviour(latency_s=SLOW_S, spread=0, server_errors=1)
    with FakeOpenAI(broken) as server, ThreadPoolExecutor(1) as threads:
        settings = settings_for(server.url, max_in_flight=2)
        with JudgeThread(Judge(settings, sqlite_store, timing=FAST)) as judge:
            stopped = threads.submit(asking(judge, settings), range(10))
            while server.asked.total() < 2:
                assert wait([stopped], timeout=0.01).not_done
        assert "the run was stopped" in str(stopped.exception())
        assert sorted(server.asked.values()) == [1, 1]


def test_second_ctrl_c_ends_the_calls_in_flight_even_before_the_first_has_reached_them(
    sqlite_store: VerdictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(StringIO):
        """Where the second Ctrl-C is pressed the moment one reads that it may be."""

        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    with FakeOpenAI(Behaviour(latency_s=3600)) as server, ThreadPoolExecutor(1) as threads:
        settings = settings_for(server.url)
        with pytest.raises(KeyboardInterrupt), JudgeThread(Judge(settings, sqlite_store)) as judge:
            asked = threads.submit(asking(judge, settings, limit_s=3600), range(3))
            while server.in_flight < 3:
                assert wait([asked], timeout=0.01).not_done
            monkeypatch.setattr(sys, "stderr", Terminal())
            pressed = time.monotonic()
            raise KeyboardInterrupt
    assert time.monotonic() - pressed < 0.8 * Timing().grace_s  # with one Ctrl-C it would wait all of that
    assert "the run was stopped" in str(asked.exception())


def test_time_limit_of_one_thread_ends_its_waiting(sqlite_store: VerdictStore) -> None:
    with FakeOpenAI(Behaviour(latency_s=SLOW_S)) as server:
        settings = settings_for(server.url)
        with JudgeThread(Judge(settings, sqlite_store, timing=FAST)) as judge, pytest.raises(TimeoutError, match="0 s"):
            asking(judge, settings, limit_s=0)(range(1))


def test_judge_whose_endpoint_fails_tells_all_who_ask_and_is_tried_again_by_the_next(
    sqlite_store: VerdictStore,
) -> None:
    with FakeOpenAI(Behaviour(api_key="another")) as server, ThreadPoolExecutor(2) as threads:
        settings = settings_for(server.url)
        with JudgeThread(Judge(settings, sqlite_store, timing=FAST)) as judge:
            found = [*threads.map(asking(judge, settings), [range(5), range(5, 10)])]
            assert all("check OPENAI_API_KEY" in str(judged.failure) for judged in found)
            server.behaviour = Behaviour()
            assert asking(judge, settings)(range(5)).failure is None


def test_files_are_begun_some_ahead_and_finished_in_their_order() -> None:
    news = []

    def begun(number: int) -> Callable[[], int]:
        news.append(f"begin {number}")
        return lambda: number

    def finished(number: int) -> None:
        news.append(f"finish {number}")

    assert [*map(finished, finished_in_turn(map(begun, range(4)), 2))] == [None] * 4
    assert " ".join(news) == "begin 0 begin 1 finish 0 begin 2 finish 1 begin 3 finish 2 finish 3"
