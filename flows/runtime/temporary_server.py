"""Runs the temporary Prefect server of a command that has no other: in a session of its own, never longer than it."""

import atexit
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import IO, Any

import prefect
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_HOME, get_current_settings

from scoring.errors import StorageError
from tasks.waiting import result_of

_GUARD = """
import os, sys
server = sys.stdin.buffer.read()  # until nobody holds the other end
try:
    if server:
        os.kill(int(server), 15)
except ProcessLookupError:
    pass
"""
_guards: list["subprocess.Popen[bytes]"] = []
"""The processes that hold the other ends of the pipes."""


@contextmanager
def temporary_server() -> Iterator[None]:
    """Starts the server that Prefect's client would start; it goes on until the process has told it all ends of flows.

    Raises:
        RuntimeError: it does not start; Prefect's message.
        StorageError: the file system of Prefect's home has no locks.
    """
    server = _DetachedServer()
    try:
        with _starting_alone():
            result_of(_starting(server))
        yield
    except KeyboardInterrupt:
        # After the server has received the ends of flows, and before Prefect waits for it: the last one registered
        # runs first.
        atexit.register(_end_within_a_second, server)
        raise


class _DetachedServer(SubprocessASGIServer):
    """The server that Prefect's client finds started, out of reach of the signals of this process' group.

    A terminal, `timeout` and others signal every process of a group, and the flow would try for a minute to report its
    end to a stopped server.
    """

    def _run_uvicorn_command(self) -> "subprocess.Popen[Any]":
        """As Prefect starts it, but in a session of its own, and with a guard."""
        flags = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
        settings = get_current_settings().to_environment_variables(exclude_unset=True)
        environment = {**os.environ, **flags, **settings}
        guard = _guard()  # before the server: a signal may end this process at any moment
        process = subprocess.Popen(_command(str(self.port)), env=environment, start_new_session=True)  # noqa: S603 - ours
        try:
            guard.write(str(process.pid).encode())
        except OSError:  # a signal to the group came before the guard had a session of its own
            process.kill()
            raise
        return process


def _command(port: str) -> list[str]:
    application = [
        "--app-dir",
        str(prefect.__module_path__.parent),
        "--factory",
        "prefect.server.api.server:create_app",
    ]
    options = ["--host", "127.0.0.1", "--port", port, "--log-level", "error", "--lifespan", "on"]
    return [sys.executable, "-m", "uvicorn", *application, *options]


def _starting(server: SubprocessASGIServer) -> Future[None]:
    """Starts the server in a thread: Ctrl-C cannot come between the server and its guard there."""
    started = Future[None]()

    def start() -> None:
        try:
            server.start()
        except Exception as error:  # noqa: BLE001 - raised in the thread that waits for the start
            started.set_exception(error)
        else:
            started.set_result(None)

    threading.Thread(target=start, daemon=True).start()
    return started


def _guard() -> IO[bytes]:
    """The pipe to a process that ends the one whose id it is sent when this one ends, however that happens: Prefect
    stops its temporary server only in a regular exit.
    """
    guard = subprocess.Popen(  # noqa: S603 - a constant script
        [sys.executable, "-ISEc", _GUARD], stdin=subprocess.PIPE, bufsize=0, start_new_session=True
    )
    _guards.append(guard)
    assert guard.stdin
    return guard.stdin


@contextmanager
def _starting_alone() -> Iterator[None]:
    """Holds a kernel lock on a file in Prefect's home: if servers create its tables at once, all but one end.

    Raises:
        StorageError: its file system has no locks.
    """
    with (PREFECT_HOME.value() / "starting.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            raise StorageError(
                f"Prefect's home folder cannot be used: {error.strerror}",
                where=str(PREFECT_HOME.value()),
                fix="set PREFECT_HOME to a folder on a disk of this machine",
            ) from error
        yield


def _end_within_a_second(server: SubprocessASGIServer) -> None:
    """Ends the temporary server within a second: a person waits, and on busy cores a regular end takes seconds."""
    if process := server.server_process:
        process.terminate()
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            process.kill()  # its database survives that, as it survives a power failure
