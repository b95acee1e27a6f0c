"""One run at the endpoint for all who ask at the same time."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from scoring.judging.requests import ANSWERED
from tasks.judge.batches import BatchRun
from tasks.judge.budget import Budget
from tasks.judge.dialect import Dialect
from tasks.judge.endpoint import JudgeEndpoint
from tasks.judge.limiter import Limiter
from tasks.judge.live import LiveRun
from tasks.judge.questions import Question
from tasks.judge.verdict_store import Judgement, VerdictStore

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_COMMIT_EVERY_S = 0.1
_TRIED_FIRST = 3  # one of them may be a question that the endpoint does not take


class Dispatcher:
    """The connections, the limits and the calls in flight of all who ask; it lives in one event loop.

    Their calls follow one another without a gap, and only the last of all waits for slow answers. One that has failed
    answers nobody any more. `callers` counts those who ask, `live` asks one call per question.
    """

    def __init__(self, endpoint: JudgeEndpoint, store: VerdictStore, budget: Budget) -> None:
        self.callers = 0
        self._endpoint, self._store, self._budget = endpoint, store, budget
        self._name = endpoint.name
        self._worker = ThreadPoolExecutor(1, "judge-state")  # one thread: no call in flight waits for a disk
        limiter = Limiter(
            store, self._worker, endpoint.name, endpoint.settings.rpm, endpoint.settings.tpm, endpoint.timing.patience_s
        )
        self.live = LiveRun(endpoint, limiter, budget, self._find, self._save)
        self._running: asyncio.Task[None] | None = None
        self._resuming, self._opening = asyncio.Lock(), asyncio.Lock()
        self._opened = False
        self._known: Dialect | None = None
        self._records: dict[str, Callable[[Judgement], None]] = {}
        self._unsaved: list[Judgement] = []
        self._committing: asyncio.Task[None] | None = None
        self._sought: list[str] = []
        self._finding: asyncio.Task[dict[str, Judgement]] | None = None

    async def ask(self, questions: Sequence[Question], record: Callable[[Judgement], None]) -> None:
        """Passes the judgement of each question to `record`; nobody else may be asking one of them.

        Raises:
            AqbError: no further question would be answered, or the database refuses verdicts.
        """
        is_batch = self._endpoint.settings.mode == "batch"
        async with self._opening:
            if not self._opened:
                self._opened = True
                if not await self._knows_how_to_ask() and is_batch:
                    # Finds out how to ask: a batch that is refused for its wording costs a day.
                    for first in questions[:_TRIED_FIRST]:
                        await self._ask_live([first], record)
                        questions = questions[1:]
                        if self._endpoint.answered:
                            break
        if is_batch:
            run = BatchRun(self._endpoint, self._store, self._worker, self._budget, record, self._resuming)
            await run.ask(questions)
        else:
            await self._ask_live(questions, record)

    async def _ask_live(self, questions: Sequence[Question], record: Callable[[Judgement], None]) -> None:
        self._running = self._running or asyncio.create_task(self.live.run())
        left, answered = {question.key for question in questions}, asyncio.Event()

        def recorded(judgement: Judgement) -> None:
            record(judgement)
            left.discard(judgement.key)
            if not left:
                answered.set()

        self._records.update(dict.fromkeys(left, recorded))
        self.live.add(questions)
        waiting = asyncio.create_task(answered.wait())
        try:
            await asyncio.wait([waiting, self._running], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self.live.failure:
            raise self.live.failure

    async def aclose(self) -> None:
        """Lets the calls in flight finish, stores what is not stored yet and closes the connections."""
        try:
            if self._running:
                self.live.end()
                try:
                    await asyncio.gather(self._running, return_exceptions=True)  # its failure is known
                finally:  # also where nobody waits for the rest any more
                    await self._in_worker(self._commit)
            await self._in_worker(self._remember_dialect)
        finally:
            await self._endpoint.aclose()
            self._worker.shutdown()

    async def _knows_how_to_ask(self) -> bool:
        """Whether the endpoint has answered before, or been sent a batch; it is then asked in the same way."""
        self._known = await self._in_worker(self._store.dialect, self._name)
        if self._known:
            self._endpoint.dialect, self._endpoint.proven_form = self._known, self._known.form
        return bool(self._known or await self._in_worker(self._store.waiting_batches, self._name))

    async def _find(self, question: Question) -> Judgement | None:
        self._sought.append(question.key)
        self._finding = self._finding or asyncio.create_task(self._find_together())
        return (await asyncio.shield(self._finding)).get(question.key)

    async def _find_together(self) -> dict[str, Judgement]:
        """Looks for all questions at once whose turn has come at the same time."""
        await asyncio.sleep(0)
        sought, self._sought, self._finding = self._sought, [], None
        return await self._in_worker(self._store.found, sought)

    async def _save(self, judgement: Judgement) -> None:
        if judgement.status in ANSWERED and not judgement.from_store:
            self._unsaved.append(judgement)
            self._committing = self._committing or asyncio.create_task(self._commit_together())
            await asyncio.shield(self._committing)
        self._records.pop(judgement.key)(judgement)

    async def _commit_together(self) -> None:
        """Stores what comes in a short time at once: a commit takes more CPU than anything else of an answer."""
        if self.live.in_flight:
            await asyncio.sleep(_COMMIT_EVERY_S)
        self._committing = None  # what comes from now on may be too late for this one
        await self._in_worker(self._commit)

    async def _in_worker(self, function: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    def _commit(self) -> None:
        """Stores what came since the last commit; what the database refuses stays for the next."""
        while saved := self._unsaved[:]:
            self._store.save(saved)
            del self._unsaved[: len(saved)]
        self._remember_dialect()

    def _remember_dialect(self) -> None:
        """Stores the wording that has brought an answer, if it is another than the stored one."""
        if self._endpoint.fits and (learned := self._endpoint.dialect) != self._known:
            self._store.remember_dialect(self._name, learned)
            self._known = learned
            if learned.shown():
                _log.warning("judge: %s %s: remembered", self._name, learned.shown())
