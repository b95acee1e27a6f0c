"""Waiting that Ctrl-C ends."""

import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tasks.waiting import completed, result_of


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
