"""Runs steps in parallel, each call as its own task run.

Prefect enforces time limits in the main thread of a process only: in a thread the limit does not hold, and Prefect
warns at every task run. So computing steps run in processes, each in its main thread: one call at a time in this
process, several in workers. Threads only run steps that wait for something and enforce their own time limit. A worker
ends with the flow's process, however that ends.

A worker takes seconds to import everything, so workers pay only for work of many seconds.
"""

import atexit
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from multiprocessing import active_children, parent_process
from typing import Any, Literal, Self, TypeVar

from prefect.context import (
    FlowRunContext,
    SettingsContext,
    SyncClientContext,
    get_settings_context,
)
from prefect.futures import PrefectFuture
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner
from prefect.utilities.annotations import opaque

from flows.runtime.flow_run import Step
from flows.runtime.logs import configure_logs
from flows.runtime.prefect_env import keep_terminal_quiet
from scoring.errors import StorageError
from tasks.waiting import completed, result_of

K = TypeVar("K")
R = TypeVar("R")

_MOST_POOLS = 3


Runner = TaskRunner[Any]
Start = Callable[[], AbstractContextManager[Runner]]


def processes(workers: int, log_format: Literal["plain", "json"]) -> Start | None:
    """Worker processes of this machine; None for one worker, which is this process."""
    if workers == 1:
        return None
    # Called in the flow run: its settings are those of the workers.
    return lambda: _Processes(
        workers, initializer=_start_worker, initargs=(log_format, get_settings_context().serialize())
    )


class _Processes(ProcessPoolTaskRunner):
    """A pool whose workers take calls in order, and that does not delay the end of this process.

    The report of a day waits for days that began before it. Prefect passes calls on in several threads, in any order; a
    single thread keeps the order. A worker that was killed may hold the lock of the message queue, which would block
    its last message. Prefect's settings are sent to a worker once, not with each call: creating them takes longer than
    scoring a small day.

    Workers ignore Ctrl-C, which a terminal sends to them, too: a worker would return it as a result, which ends the
    thread that waits for results, and the pool would never end. The process that receives Ctrl-C ends the workers.
    """

    def __enter__(self) -> Self:
        super().__enter__()
        # The replaced executor has no calls yet. The thread of the new one starts the workers, which inherit its
        # blocked signals.
        self._resolver_executor = ThreadPoolExecutor(1, initializer=_block_ctrl_c)
        return self

    def _resolve_futures_and_submit(self, *arguments: Any, **call: Any) -> Future[bytes]:
        call["context"] = call["context"] | {"settings_context": {}}
        return super()._resolve_futures_and_submit(*arguments, **call)

    def __exit__(self, *reason: object) -> None:
        queue = self._subprocess_message_queue
        super().__exit__(*reason)
        if queue is not None:
            queue.cancel_join_thread()


def threads(most: int) -> Start:
    """Threads of this process, for steps that wait for something and have no time limit of Prefect's."""
    return lambda: ThreadPoolTaskRunner(most)


class FanOut:
    """Makes calls in a runner of Prefect; outside of a flow run, or without a runner, one call after the other.

    The runner starts with the first calls and ends with the `with` block.
    """

    def __init__(self, runner: Start | None) -> None:
        self._make_runner = runner
        self._pool = ExitStack()
        self._runner: Runner | None = None

    def __enter__(self) -> Self:
        if self._make_runner and (flow_run := FlowRunContext.get()):
            # A temporary server is known to this process alone; without its address each worker would start one.
            self._pool.enter_context(temporary_settings({PREFECT_API_URL: str(flow_run.client.api_url)}))
            self._runner = self._pool.enter_context(self._make_runner())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind and self._runner:  # cancelled, or Prefect's server is gone: nothing waits for the active calls
            for worker in active_children():
                worker.kill()
        self._pool.close()

    @property
    def is_parallel(self) -> bool:
        """Whether calls run in parallel."""
        return self._runner is not None

    def each(self, step: Step[..., R], calls: Mapping[K, Mapping[str, Any]]) -> Iterator[tuple[K, R | Exception]]:
        """Yields the result of the step for the arguments of each call, as they end; an error of one stops no other.

        If a worker was killed, the calls that had not ended are repeated.
        """
        if self._runner is None:
            for key, arguments in calls.items():
                yield key, _result(partial(step, **arguments))
            return
        left = dict(calls)
        for _ in range(_MOST_POOLS):
            futures = {_submitted(self._runner, step, arguments): key for key, arguments in left.items()}
            for future in completed(futures):
                found: R | Exception = _result(future.result)
                if not isinstance(found, BrokenProcessPool):
                    del left[futures[future]]
                    yield futures[future], found
            if not left:
                return
            self._pool.close()
            self.__enter__()
        error = StorageError(f"worker processes were killed {_MOST_POOLS} times", fix="let fewer work at a time")
        yield from ((key, error) for key in left)

    def begin(self, step: Step[..., R], **arguments: Any) -> Callable[[], R]:
        """Begins a call; returns the function that gives its result or raises its error. Without a runner that function
        makes the call.
        """
        if self._runner is None:
            return partial(step, **arguments)
        return partial(result_of, _submitted(self._runner, step, arguments))


def _submitted(runner: Runner, step: Step[..., R], arguments: Mapping[str, Any]) -> PrefectFuture[R]:
    future: PrefectFuture[R] = runner.submit(step.task, {name: _unseen(value) for name, value in arguments.items()})
    return future


def _unseen(value: Any) -> Any:
    """Marks an argument in which Prefect shall not search for futures: it has none, and the search is slow.

    Arguments that Prefect does not search are not marked: the mark is a tuple, which clusters unpack when they pass it.
    """
    return value if isinstance(value, (partial, int)) else opaque(value)


def _result(of: Callable[[], R]) -> R | Exception:
    try:
        return of()
    except Exception as error:  # noqa: BLE001 - the caller decides
        return error


def _block_ctrl_c() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def _start_worker(log_format: Literal["plain", "json"], prefect_settings: Mapping[str, Any]) -> None:
    """Prepares a worker: creates the objects that all its calls share."""
    SettingsContext(**prefect_settings).__enter__()
    with suppress(Exception):  # each call reports a server that is missing
        SyncClientContext().__enter__()
    atexit.register(gc.freeze)  # as `aqb` does
    keep_terminal_quiet()
    configure_logs(log_format)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this worker when its parent ends; a pool's worker would wait for work forever if its parent was killed."""
    parent = parent_process()
    assert parent, "a worker was started by the flow's process"
    parent.join()
    os._exit(1)
