"""A judge for several threads."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import Self

from scoring.errors import AqbError
from tasks.judge.client import Judge, Judged, JudgeProgress
from tasks.judge.questions import Question


class JudgeThread:
    """A judge that any number of threads ask at the same time, as one run; it works in a thread of its own.

    At the end of the block of a `with` statement the calls in flight finish and their verdicts are stored.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
        self._answers: set[asyncio.Task[Judged]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
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
        answered = asyncio.run_coroutine_threadsafe(self._answer(questions, news.put), self._loop)
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

    async def _answer(self, questions: Sequence[Question], progress: Callable[[JudgeProgress], None]) -> Judged:
        answer = asyncio.ensure_future(self._judge.answer(questions, progress))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)
        return await answer

    async def _end(self) -> None:
        for answer in self._answers:
            answer.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)
