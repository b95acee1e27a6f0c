"""The temporary Prefect server of commands that have no other."""

import atexit
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, PREFECT_SERVER_EPHEMERAL_ENABLED, temporary_settings

from flows.runtime.prefect_env import running_flows
from scoring.errors import StorageError

_STUBBORN_SERVER = """
import http.server, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Healthy).serve_forever()
"""


@contextmanager
def temporary_server(monkeypatch: pytest.MonkeyPatch, program: str) -> Iterator[None]:
    """Another program in the place of the temporary server, which takes five seconds of CPU."""

    command = [sys.executable, "-c", program]
    monkeypatch.setattr("flows.runtime.temporary_server._command", lambda port: [*command, port])
    with temporary_settings({PREFECT_SERVER_EPHEMERAL_ENABLED: True}, restore_defaults={PREFECT_API_URL}):
        yield


def test_temporary_servers_of_one_home_start_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both, met = Barrier(2), []

    def start(_: SubprocessASGIServer) -> None:
        with suppress(BrokenBarrierError):
            both.wait(0.5)
            met.append("two servers at once")

    def run() -> None:
        chosen = {PREFECT_HOME: tmp_path, PREFECT_SERVER_EPHEMERAL_ENABLED: True}
        with temporary_settings(chosen, restore_defaults={PREFECT_API_URL}), running_flows():
            pass

    monkeypatch.setattr(SubprocessASGIServer, "start", start)
    with ThreadPoolExecutor(2) as pool:
        for begun in [pool.submit(run), pool.submit(run)]:
            begun.result()
    assert not met


def test_prefect_home_on_a_file_system_without_locks_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with (
        temporary_settings(
            {PREFECT_HOME: tmp_path, PREFECT_SERVER_EPHEMERAL_ENABLED: True}, restore_defaults={PREFECT_API_URL}
        ),
        pytest.raises(StorageError, match="home folder cannot be used: No locks available"),
        running_flows(),
    ):
        pytest.fail("the server of another command may be starting")


@pytest.mark.long
def test_temporary_server_that_does_not_end_after_ctrl_c_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_server(monkeypatch, _STUBBORN_SERVER), monkeypatch.context() as patched:
        at_exit: list[Callable[[], object]] = []
        with pytest.raises(KeyboardInterrupt), running_flows():
            process = SubprocessASGIServer().server_process
            patched.setattr(atexit, "register", lambda *call: at_exit.append(partial(*call)))
            raise KeyboardInterrupt
        assert process
        assert process.poll() is None  # flows still have to tell it how they ended
        at_exit[-1]()
        assert process.wait() == -signal.SIGKILL
        SubprocessASGIServer().stop()


_RUNNING = """
import signal, sys
from urllib.request import urlopen
from prefect.server.api.server import SubprocessASGIServer
from flows.runtime.prefect_env import running_flows
with running_flows():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    print("running", flush=True)
    sys.stdin.readline()
    print(urlopen(SubprocessASGIServer().api_url + "/health").status)
"""


@pytest.mark.long
def test_server_outlives_signals_to_the_group_of_its_command_and_ends_with_it(tmp_path: Path) -> None:
    variables = {"PREFECT_SERVER_EPHEMERAL_ENABLED": "true", "PREFECT_HOME": str(tmp_path)}
    variables["PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"] = "180"
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"} | variables
    command = subprocess.Popen(
        [sys.executable, "-c", _RUNNING],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert command.stdout
    assert command.stdout.readline() == "running\n"
    for number in (signal.SIGINT, signal.SIGTERM):  # of a terminal, and of `timeout`
        os.killpg(command.pid, number)
    said, _ = command.communicate("\n")
    assert (said, command.returncode) == ("200\n", 0)


_KILLED = """
import os, signal, subprocess
from flows.runtime import temporary_server
from flows.runtime.prefect_env import running_flows
begun = []
class Popen(subprocess.Popen):
    def __init__(self, *args, **options):
        if begun:
            os.kill(os.getpid(), signal.SIGKILL)
        begun.append(args)
        super().__init__(*args, **options)
subprocess.Popen = Popen
temporary_server._command = lambda port: ["sleep", "100"]
with running_flows():
    pass
"""


@pytest.mark.long
def test_command_that_is_killed_between_its_server_and_what_ends_it_leaves_none_behind(tmp_path: Path) -> None:
    variables = {"PREFECT_SERVER_EPHEMERAL_ENABLED": "true", "PREFECT_HOME": str(tmp_path)}
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"} | variables
    command = [sys.executable, "-c", _KILLED]
    killed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=60)  # until nobody can write
    assert killed.returncode == -signal.SIGKILL
