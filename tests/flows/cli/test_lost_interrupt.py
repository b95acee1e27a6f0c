"""Signals that come where nobody waits for them: while Python removes objects, and before the command has begun."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli.terminal import INTERRUPTED

PROGRAM = """
import signal, sys, threading, weakref
from flows.cli.app import app, main

class TerminationSignal(BaseException):
    pass

def terminate(*_):
    raise TerminationSignal

@app.command()
def work():
    class Removed: pass
    removed = Removed()
    removing = weakref.ref(removed, lambda _: signal.raise_signal(signal.SIGNAME))
    if "SIGNAME" == "SIGTERM":
        signal.signal(signal.SIGTERM, terminate)  # as Prefect does while a flow runs
    try:
        del removed
        threading.Event().wait()
    except TerminationSignal:
        print("terminated", file=sys.stderr)

sys.argv = ["aqb", "work"]
main()
"""


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("SIGINT", INTERRUPTED, "stopped: nothing is half written"), ("SIGTERM", 0, "terminated")],
)
def test_signal_that_python_would_lose_ends_the_command(tmp_path: Path, name: str, code: int, said: str) -> None:
    program = [sys.executable, "-c", PROGRAM.replace("SIGNAME", name)]
    ended = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == code
    assert ended.stderr.startswith(said)


def test_ctrl_c_before_the_command_has_begun_leaves_no_traceback(tmp_path: Path) -> None:
    early = "import signal, sys; from flows.cli.app import main; module = sys.modules[main.__module__]; "
    early += "module.app = lambda: signal.raise_signal(signal.SIGINT); main()"
    ended = subprocess.run([sys.executable, "-c", early], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr[:8]) == (INTERRUPTED, "stopped:")
    assert "Traceback" not in ended.stderr


AS_FIRST_PROCESS = ("unshare", "--pid", "--fork")
STOPPED_EARLY = """
import os, signal, sys
import flows.cli.app
from flows.cli import main
sys.modules["flows.cli.app"].app = lambda: (os.kill(1, signal.SIGTERM), print("went on", flush=True))
main()
"""


def test_sigterm_ends_the_first_process_of_a_container_before_the_command_has_begun(tmp_path: Path) -> None:
    if not shutil.which("unshare") or subprocess.run([*AS_FIRST_PROCESS, "true"], check=False).returncode:
        pytest.skip("this machine makes no process the first one")
    program = [*AS_FIRST_PROCESS, sys.executable, "-c", STOPPED_EARLY]
    ended = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGTERM, "", "")
