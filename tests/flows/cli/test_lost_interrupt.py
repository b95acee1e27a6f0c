"""Signals that come where nobody waits for them: while Python removes objects, and before the command has begun."""

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
