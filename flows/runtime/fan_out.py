"""Calls of steps at the same time, each a task run of its own.

Prefect interrupts a step that takes too long in the main thread of a process only: in a thread the time limit does not
hold, and Prefect warns of it at every task run. So what computes is done in processes, each in its main thread: one
call at a time in this one, several in workers. In threads only those steps are called that wait for something, and that
keep their time limit by themselves. A worker ends with the flow's process, however that ends.

A worker takes seconds to import everything, so they are worth it for work of many seconds only.
"""

import atexit
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import active_children, parent_process
from socket import create_connection
from typing import Any, Literal, Self, TypeVar

from prefect.context import (
    FlowRunContext,
    SettingsContext,
    SyncClientContext,
    get_settings_context,
    serialize_context,
)
from prefect.futures import PrefectFuture
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner
from prefect.utilities.annotations import opaque

from flows.runtime.flow_run import Step
from flows.runtime.logs import configure_logs
from flows.runtime.prefect_env import keep_terminal_quiet
from scoring.errors import StorageError, UsageError
from tasks.waiting import completed, result_of

K = TypeVar("K")
R = TypeVar("R")

_MOST_POOLS = 3


Runner = TaskRunner[Any]


def processes(workers: int, log_format: Literal["plain", "json"]) -> Callable[[], Runner] | None:
    """Worker processes of this machine; None for one worker, which is this process."""
    if workers == 1:
        return None
    # Called in the flow run: its settings are those of the workers.
    return lambda: _Processes(
        workers, initializer=_start_worker, initargs=(log_format, get_settings_context().serialize())
    )


class _Processes(ProcessPoolTaskRunner):
    """A pool whose workers take calls in their order, and that this process does not wait for when it ends.

    The report of a day waits for days that began before it. Prefect hands calls on in several threads, the last one
    first as it may happen; one thread keeps them in order. A worker that was killed may have held the lock of the queue
    of messages: its last one would never be sent. Prefect's settings are sent to a worker once, not with each call:
    making them anew takes longer than a small day.

    Workers take no Ctrl-C, which a terminal sends to them, too: one that did would send it as a result, on which the
    thread that waits for results dies, and the end of the pool waits for ever. Who takes it ends them.
    """

    def __enter__(self) -> Self:
        super().__enter__()
        # Nothing has been handed to the one before. Workers are started by its thread, and inherit what that blocks.
        self._resolver_executor = ThreadPoolExecutor(1, initializer=_block_ctrl_c)
        self._cached_context = serialize_context() | {"settings_context": {}}
        return self

    def __exit__(self, *reason: object) -> None:
        queue = self._subprocess_message_queue
        super().__exit__(*reason)
        if queue is not None:
            queue.cancel_join_thread()


def threads(most: int) -> Callable[[], Runner]:
    """Threads of this process, for steps that wait for something and have no time limit of Prefect's."""
    return lambda: ThreadPoolTaskRunner(most)


def dask_cluster(address: str) -> Callable[[], Runner]:
    """The workers of an existing Dask cluster, in threads of theirs, for steps that have no time limit of Prefect's.

    Raises:
        UsageError: `prefect-dask` is not installed.
    """
    with _needs_extra("dask"):
        from prefect_dask.task_runners import DaskTaskRunner  # an extra, and a second of imports

    return lambda: DaskTaskRunner(address=address)


def ray_cluster(address: str) -> Callable[[], Runner]:
    """The worker processes of an existing Ray cluster, for steps that have no time limit of Prefect's.

    Raises:
        UsageError: `prefect-ray` is not installed.
    """
    with _needs_extra("ray"):
        from prefect_ray.task_runners import RayTaskRunner  # an extra, and a second of imports

    def runner() -> Runner:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        create_connection((host, int(port)), timeout=10).close()  # Ray would ask for a quarter of an hour
        cluster: Runner = RayTaskRunner(address, {"log_to_driver": False, "logging_level": logging.ERROR})
        return cluster

    return runner


@contextmanager
def _needs_extra(name: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed",
            where=f'engine.task_runner = "{name}"',
            fix=f"install the extra `{name}`: docs/how-to/clusters.md has the command",
        ) from None


class FanOut:
    """Calls in a runner of Prefect's; outside of a flow run, or without one, one call after the other.

    The runner is started with the first calls and ends with the block of the `with` statement.
    """

    def __init__(self, runner: Callable[[], Runner] | None) -> None:
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
        if kind and self._runner:  # cancelled, or Prefect's server is gone: nobody waits for what is being done
            for worker in active_children():
                worker.kill()
        self._pool.close()

    @property
    def is_parallel(self) -> bool:
        """Whether calls are made at the same time; else one follows the other."""
        return self._runner is not None

    def each(self, step: Step[..., R], calls: Mapping[K, Mapping[str, Any]]) -> Iterator[tuple[K, R | Exception]]:
        """What came of the step for the arguments of each call, as they end; an error of one stops no other.

        Where a worker was killed, the calls that had not ended are made again.
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
        """Begins a call; what gives its result or raises its error. Without a runner it is made only then."""
        if self._runner is None:
            return partial(step, **arguments)
        return partial(result_of, _submitted(self._runner, step, arguments))


def _submitted(runner: Runner, step: Step[..., R], arguments: Mapping[str, Any]) -> PrefectFuture[R]:
    future: PrefectFuture[R] = runner.submit(step.task, {name: _unseen(value) for name, value in arguments.items()})
    return future


def _unseen(value: Any) -> Any:
    """What Prefect does not search for futures: there are none. Clusters take its wrapper for the tuple that it is."""
    return value if isinstance(value, (partial, int)) else opaque(value)


def _result(of: Callable[[], R]) -> R | Exception:
    try:
        return of()
    except Exception as error:  # noqa: BLE001 - the caller decides
        return error


def _block_ctrl_c() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def _start_worker(log_format: Literal["plain", "json"], prefect_settings: Mapping[str, Any]) -> None:
    """Prepares a worker: what all its calls share is made here, and stays."""
    SettingsContext(**prefect_settings).__enter__()
    with suppress(Exception):  # each call tells of a server that is not there
        SyncClientContext().__enter__()
    atexit.register(gc.freeze)  # as `aqb` does
    keep_terminal_quiet()
    configure_logs(log_format)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A pool's worker would wait for work for ever when its parent was killed."""
    parent = parent_process()
    assert parent, "a worker was started by the flow's process"
    parent.join()
    os._exit(1)
