"""A judge for several threads."""

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from queue import Empty, SimpleQueue
from typing import Self, TypeVar

from scoring.errors import AqbError
from tasks.judge.client import Judge, Judged, JudgeProgress
from tasks.judge.questions import Question
from tasks.waiting import result_of

_T = TypeVar("_T")
_INSISTS_S = 0.5

FILES_AT_ONCE = 64
"""Files that are judged at the same time: all that they hold is in memory."""


class JudgeThread:
    """A judge that any number of threads ask at the same time, as one run; it works in a thread of its own.

    At the end of the block of a `with` statement the calls in flight finish and their verdicts are stored. A Ctrl-C
    while that is waited for ends them at once: their answers are paid for and lost.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
        self._answers: set[asyncio.Task[Judged]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            in_flight = self._judge.in_flight
            if kind is KeyboardInterrupt and in_flight:
                sys.stderr.write(f"judge: waiting for {in_flight:,} answers in flight; Ctrl-C once more ends at once\n")
            self._end()
        except KeyboardInterrupt:
            self._end(patience_s=_INSISTS_S)  # who is told a second time waits for nothing
            raise
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def ask(
        self, questions: Sequence[Question], progress: Callable[[JudgeProgress], None], *, limit_s: float
    ) -> Judged:
        """`Judge.answer` for the thread that calls, in which `progress` is called too.

        Raises:
            TimeoutError: not all is answered after `limit_s`; what is answered is stored.
            AqbError: the block of the `with` statement ended meanwhile.
        """
        ends_at = time.monotonic() + limit_s
        news = SimpleQueue[JudgeProgress | None]()
        answered = self.begin(questions, news.put)
        answered.add_done_callback(lambda _: news.put(None))
        try:
            while now := news.get(timeout=max(0.0, ends_at - time.monotonic())):
                progress(now)
            return answered.result()
        except Empty:
            answered.cancel()
            raise TimeoutError(f"the judge has not answered all questions within {limit_s:,.0f} s") from None
        except CancelledError:
            raise AqbError(
                "the run was stopped before the judge had answered", fix="start it again: verdicts given are kept"
            ) from None

    def begin(self, questions: Sequence[Question], progress: Callable[[JudgeProgress], None]) -> Future[Judged]:
        """Begins `Judge.answer`; `progress` is called in the judge's thread, which asks nobody meanwhile."""
        return asyncio.run_coroutine_threadsafe(self._answer(questions, progress), self._loop)

    async def _answer(self, questions: Sequence[Question], progress: Callable[[JudgeProgress], None]) -> Judged:
        answer = asyncio.ensure_future(self._judge.answer(questions, progress))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)
        return await answer

    def _end(self, patience_s: float | None = None) -> None:
        """Stops all who ask, and returns when they have stopped; tells them again whenever the patience is over."""
        result_of(asyncio.run_coroutine_threadsafe(self._stop(patience_s), self._loop))

    async def _stop(self, patience_s: float | None) -> None:
        left = {*self._answers}
        while left:
            for answer in left:
                answer.cancel()  # two that come before it has noticed one count as one: the calls in flight go on
            _, left = await asyncio.wait(left, timeout=patience_s)


def finished_in_turn(begun: Iterable[Callable[[], _T]], most: int) -> Iterator[_T]:
    """What came of each, in their order; at most so many are begun before the first of them is finished.

    Taking the next of `begun` begins it, the call that it is finishes it.
    """
    waiting = deque[Callable[[], _T]]()
    for finish in begun:
        waiting.append(finish)
        if len(waiting) == most:
            yield waiting.popleft()()
    for finish in waiting:
        yield finish()
