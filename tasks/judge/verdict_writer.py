"""Writes verdicts in the background, so that no call in flight waits for the disk."""

import asyncio
from concurrent.futures import Executor

from tasks.judge.verdict_store import Judgement, VerdictStore


class VerdictWriter:
    """Commits judgements one after another; those that come during a commit share the next one."""

    def __init__(self, store: VerdictStore, worker: Executor) -> None:
        self._store, self._worker = store, worker
        self._pending: list[tuple[Judgement, asyncio.Future[None]]] = []
        self._commits: asyncio.Task[None] | None = None

    async def write(self, judgement: Judgement) -> None:
        """Returns when the judgement is committed, which happens even if the caller is cancelled.

        Raises:
            StorageError: the database refused it.
        """
        written = asyncio.get_running_loop().create_future()
        self._pending.append((judgement, written))
        if self._commits is None or self._commits.done():
            self._commits = asyncio.create_task(self._commit())
        await written

    async def finish(self) -> None:
        """Waits for the last commit."""
        if self._commits:
            await asyncio.wait([self._commits])

    async def _commit(self) -> None:
        while self._pending:
            pending, self._pending = self._pending, []
            error: BaseException | None = None
            try:
                await asyncio.get_running_loop().run_in_executor(
                    self._worker, self._store.save, [judgement for judgement, _ in pending]
                )
            except Exception as failure:  # noqa: BLE001 - the waiting callers get it
                error = failure
            for _, written in pending:
                if not written.done():
                    written.set_exception(error) if error else written.set_result(None)
