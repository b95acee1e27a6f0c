"""Worker processes that may be killed and never outlive their parent.

One server process has imported what the work needs, and forks a worker for each connection that it is sent, which
takes milliseconds. Polars has done nothing in the server when it forks, so no lock of its threads is left behind.

    parent --> server --fork--> worker
       └-------- connection -------┘

A command that has only imported modules forks the server itself; in a process with threads it is a new process, which
has to import everything again (half a second).

A worker ends when its connection does: when the work is done, after Ctrl-C, and when the parent is killed. (The pools
of the standard library leave orphans when their parent is killed, and run its main module again in each worker, which
takes seconds under Prefect.)
"""

import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, TypeVar

from scoring.errors import StorageError, line_of_ours

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_MOST_ATTEMPTS = 3
_SERVE = "import sys; from tasks.chat.worker_processes import serve; serve(int(sys.argv[1]), sys.argv[2])"
_THREADS_OF_IMPORTS = ("jemalloc_bg_thd", "polars-ooc-clea")
"""The names (truncated by Linux) of the threads that Polars starts on import: they hold no locks of work."""


WorkerServer = socket.socket
"""The connection to a process that forks workers; that process ends when it does."""


@contextmanager
def forked_server() -> Iterator[WorkerServer | None]:
    """A server forked from this process; None if Polars or another library already has threads here."""
    if not _has_only_imported():
        yield None
        return
    orders, theirs = socket.socketpair()
    server = multiprocessing.get_context("fork").Process(target=_serve_as_copy, args=[orders, theirs], daemon=True)
    try:
        with orders:
            with theirs, _ctrl_c_later():
                server.start()
            yield orders
    except BaseException:
        if server.pid:
            server.terminate()  # it would wait for its workers, which end with connections that a traceback may hold
        raise
    finally:
        if server.pid:
            server.join()


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Delays a Ctrl-C to the end of the block: Python loses a signal during a fork. The child never gets one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def spawned_server(module: str) -> Iterator[WorkerServer]:
    """A server that is a new process, which imports `module`."""
    orders, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(  # noqa: S603 - our own
            [sys.executable, "-P", "-c", _SERVE, str(theirs.fileno()), module],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # the parent handles Ctrl-C
        )
    try:
        with orders:
            yield orders
    finally:
        server.wait()


def in_workers(
    do: Callable[[_Item], _Result], items: Iterable[_Item], workers: int, server: WorkerServer | None = None
) -> Iterator[_Result]:
    """`do(item)` for each item, in the order of the items, by at most `workers` processes at a time.

    `do` is a function of a module; items and results can be pickled. Items are taken when a worker is free. If a worker
    was killed, another one repeats its item; if the server was killed, a worker of a new server does. All processes
    except a given `server` end with the iterator.

    Raises:
        StorageError: three workers were killed over one item.
        Exception: what `do` raises.
    """
    with ExitStack() as stack:
        server = server or stack.enter_context(spawned_server(do.__module__))
        pool = _Workers(do, server, stack)
        waiting, done = enumerate(items), dict[int, _Result]()
        following = 0
        while True:
            while pool.busy < workers and (task := next(waiting, None)):
                pool.give(*task)
            if not pool.busy:
                return
            done.update(pool.finished())
            while following in done:
                yield done.pop(following)
                following += 1


class _Workers(Generic[_Item, _Result]):
    """The workers of a server and their current items; they end with `stack`."""

    def __init__(self, do: Callable[[_Item], _Result], server: WorkerServer, stack: ExitStack) -> None:
        self._do = do
        self._server = server
        self._stack = stack
        self._idle = deque[Connection]()
        self._doing: dict[Connection, tuple[int, _Item]] = {}
        self._attempts = Counter[int]()

    @property
    def busy(self) -> int:
        """The number of items in progress."""
        return len(self._doing)

    def give(self, number: int, item: _Item) -> None:
        """Sends an item to an idle worker, or to a new one."""
        worker = self._idle.popleft() if self._idle else self._new()
        self._doing[worker] = number, item
        self._attempts[number] += 1
        try:
            worker.send((self._do, item))
        except BrokenPipeError:
            return  # it was killed; `finished` detects that

    def finished(self) -> Iterator[tuple[int, _Result]]:
        """Waits for workers; returns the finished items by number."""
        for worker in wait([*self._doing]):
            assert isinstance(worker, Connection)
            number, item = self._doing.pop(worker)
            try:
                succeeded, found = worker.recv()
            except (EOFError, ConnectionError):
                self._again(number, item)
                continue
            if not succeeded:
                raise found
            self._idle.append(worker)
            yield number, found

    def _again(self, number: int, item: _Item) -> None:
        if self._attempts[number] == _MOST_ATTEMPTS:
            raise StorageError(
                f"{_MOST_ATTEMPTS} worker processes were killed over the same rows",
                fix="set engine.workers lower, or give them more memory",
            )
        self.give(number, item)

    def _new(self) -> Connection:
        try:
            worker = _new_worker(self._server)
        except ConnectionError:  # the server was killed
            self._server = self._stack.enter_context(spawned_server(self._do.__module__))
            worker = _new_worker(self._server)
        return self._stack.enter_context(worker)


def serve(descriptor: int, module: str) -> None:
    """The main function of a new server process: it imports `module`, and serves until the parent has ended."""
    import_module(module)
    with socket.socket(fileno=descriptor) as orders:
        _fork_workers(orders)


def _serve_as_copy(of_parent: socket.socket, orders: socket.socket) -> None:
    of_parent.close()  # otherwise it would never detect the end of the parent
    os.setsid()
    _fork_workers(orders)
    os._exit(0)  # the parent's buffered output must not be printed twice


def _fork_workers(orders: socket.socket) -> None:
    """Forks a worker for each connection that arrives, until the parent has ended."""
    while received := socket.recv_fds(orders, 1, 1)[1]:
        with Connection(received[0]) as connection:
            if os.fork() == 0:
                orders.close()
                with suppress(EOFError, ConnectionError):  # there is no parent left to work for
                    _work(connection)
                os._exit(0)
    with suppress(ChildProcessError):
        while True:
            os.wait()  # their CPU seconds count as the parent's


def _new_worker(server: WorkerServer) -> Connection:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(server, [b"+"], [theirs.fileno()])
        return Connection(ours.detach())


def _has_only_imported() -> bool:
    """Whether this process has no threads but its own and those of imports; False if unknown (not Linux)."""
    tasks, others = Path("/proc/self/task"), 0
    for task in tasks.iterdir() if tasks.exists() else ():
        with suppress(FileNotFoundError, ProcessLookupError):  # one that ends at this moment
            others += (task / "comm").read_text().strip() not in _THREADS_OF_IMPORTS
    return others == 1


def _work(connection: Connection) -> None:
    """Processes what arrives until the connection ends."""
    threading.Thread(target=_end_with, args=[connection.fileno()], daemon=True).start()
    while True:
        do, item = connection.recv()
        outcome: tuple[bool, Any]
        try:
            outcome = True, do(item)
        except Exception as error:  # noqa: BLE001 - the parent raises it
            if not hasattr(error, "__notes__"):
                error.add_note(line_of_ours(error))  # the parent does not get the traceback
            outcome = False, error
        connection.send(outcome)


def _end_with(descriptor: int) -> None:
    """Ends the process at once when the other end of the connection is closed."""
    hangup = select.poll()
    hangup.register(descriptor, 0)
    hangup.poll()
    os._exit(1)
