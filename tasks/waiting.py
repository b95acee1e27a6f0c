"""Waiting that Ctrl-C ends.

The main thread alone is told of a Ctrl-C, and only where it does something: another thread that receives the signal
does not wake it from waiting without end.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from time import sleep
from typing import Any, Protocol, TypeVar

_R_co = TypeVar("_R_co", covariant=True)
_F = TypeVar("_F", bound="_Future[Any]")
_R = TypeVar("_R")
_NAP_S = 0.2
LONGEST_PAUSE_S = 1.0
_log = logging.getLogger(__name__)


class _Future(Protocol[_R_co]):
    """A future of `concurrent.futures` or of Prefect."""

    def add_done_callback(self, fn: Callable[[Any], None], /) -> None: ...

    def result(self) -> _R_co: ...


def completed(futures: Iterable[_F]) -> Iterator[_F]:
    """The futures, each when it is done."""
    done, left = SimpleQueue[_F](), 0
    for future in futures:
        future.add_done_callback(done.put)
        left += 1
    while left:
        try:
            future = done.get(timeout=_NAP_S)
        except Empty:
            continue
        left -= 1
        yield future


def result_of(future: _Future[_R]) -> _R:
    """The result of a future, or its error."""
    next(completed([future]))
    return future.result()


def begun(work: Callable[[], _R]) -> Callable[[], _R]:
    """Begins work in a thread that the process does not wait for when it ends; what gives its result or its error.

    Not for work in Polars: its code must not be cut off while Python ends.
    """
    future = Future[_R]()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the thread that waits for it raises it
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return partial(result_of, future)


def attempts(name: str, wait_s: float) -> Iterator[None]:
    """Attempts at a name that another run holds: one at once, then ever rarer ones, until about `wait_s` has passed.

    A wait that is no matter of a moment is logged, once.
    """
    waited_s, pause_s = 0.0, 0.01
    yield
    while waited_s < wait_s:
        if pause_s < LONGEST_PAUSE_S <= 2 * pause_s:
            _log.info("another run is working on '%s': waiting for up to %.0f s (`aqb runs` lists it)", name, wait_s)
        sleep(pause_s)
        waited_s, pause_s = waited_s + pause_s, min(2 * pause_s, LONGEST_PAUSE_S)
        yield
