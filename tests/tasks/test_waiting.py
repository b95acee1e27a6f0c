"""Waiting that Ctrl-C ends."""

import logging
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tasks.waiting import attempts, begun, completed, result_of


def test_ctrl_c_that_another_thread_receives_ends_waiting() -> None:
    def receive() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.05, receive).start()
        result_of(Future[None]())


def test_futures_come_as_they_are_done_and_keep_their_errors() -> None:
    first, second = Future[int](), Future[int]()
    second.set_exception(ValueError("no"))
    with ThreadPoolExecutor(1) as thread:
        come = completed([first, second])
        assert next(come) is second
        thread.submit(first.set_result, 3)
        assert next(come).result() == 3
    with pytest.raises(ValueError, match="no"):
        result_of(second)


def test_work_that_has_begun_gives_its_result_or_its_error() -> None:
    asked = threading.Event()

    def work() -> int:
        asked.wait(60)
        return 3

    found = begun(work)
    asked.set()  # it would wait for this if it began when it is asked for
    assert found() == 3

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        begun(fail)()


def test_wait_of_more_than_a_moment_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("tasks.waiting.sleep", [].append)
    for wait_s in (0.0, 0.5):
        list(attempts("monitoring-2026-03-10", wait_s))
    assert caplog.messages == []
    assert len(list(attempts("monitoring-2026-03-10", 300.0))) > 300
    said = "another run is working on 'monitoring-2026-03-10': waiting for up to 300 s (`aqb runs` lists it)"
    assert caplog.messages == [said]


def test_process_does_not_wait_for_work_that_has_begun() -> None:
    never_done = "import threading; from tasks.waiting import begun; begun(threading.Event().wait); print('end')"
    assert (
        subprocess.run([sys.executable, "-c", never_done], timeout=60, check=True, capture_output=True).stdout
        == b"end\n"
    )
