import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scoring.judging.requests import VerdictStatus
from tasks.judge.verdict_store import VerdictStore
from tests.builders.state import opened
from tests.fakes.judge_questions import ask, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI

ROOT = Path(__file__).parents[3]
IN_FLIGHT = 8
ASK = """
import sys
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import VerdictStore
from tasks.state.database import StateDatabase
from tests.fakes.judge_questions import ask, settings_for
url, state_url, in_flight = sys.argv[1:]
ask(200, settings_for(url, max_in_flight=int(in_flight)), VerdictStore(StateDatabase(state_url)), timing=Timing())
"""


@contextmanager
def asking(server: FakeOpenAI, state_url: str) -> Iterator[subprocess.Popen[str]]:
    """A process that asks 200 questions, caught in the middle."""
    arguments = [sys.executable, "-c", ASK, server.url, state_url, str(IN_FLIGHT)]
    with subprocess.Popen(arguments, cwd=ROOT, text=True, stderr=subprocess.PIPE) as process:
        server.wait_until_paid(60)
        yield process


@pytest.mark.long
def test_after_kill_9_only_what_was_in_flight_is_asked_again(tmp_path: Path) -> None:
    state_url = f"sqlite:///{tmp_path}/state.db"
    with FakeOpenAI(Behaviour(latency_s=0.1)) as server:
        with asking(server, state_url) as process:
            process.kill()
        paid = server.paid.total()
        with opened(VerdictStore, state_url) as store:
            judged = ask(200, settings_for(server.url, max_in_flight=IN_FLIGHT), store)
    assert 60 <= paid < 200
    assert {one.status for one in judged.judgements} == {VerdictStatus.OK}
    assert server.paid_twice <= IN_FLIGHT + 2  # and what the second run hedges


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signal to one process")
def test_ctrl_c_lets_the_calls_in_flight_finish_and_keeps_what_was_paid(tmp_path: Path) -> None:
    state_url = f"sqlite:///{tmp_path}/state.db"
    with FakeOpenAI(Behaviour(latency_s=0.1)) as server:
        with asking(server, state_url) as process:
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=30)[1]
        paid, answered = server.paid.total(), len(server.paid)  # a question that is hedged is paid twice
        settings = settings_for(server.url)
        with opened(VerdictStore, state_url) as store:
            kept = ask(200, settings_for("", api_key=""), store)
            ask(200, settings, store)
    assert "KeyboardInterrupt" in said
    assert 60 <= paid < 200
    assert kept.summary()["by_status"]["ok"] == answered
    assert server.paid_twice - (paid - answered) <= 2  # what the second run hedges
