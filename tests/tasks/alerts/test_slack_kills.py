"""A sender that is killed at any line of its code, or while Slack has its message: nothing is lost."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from tests.fakes.slack_sender import REPEATED, Sender, lines_to_die_at, sender, wrongs
from tests.fakes.slack_server import CHANNEL, FakeSlack

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows kills no process by signal"),
]
KILLS = int(os.environ.get("SLACK_KILLS", "12"))
"""How many lines to die at. `make soak` asks for more."""


@pytest.fixture(scope="module")
def slack() -> Iterator[FakeSlack]:
    with FakeSlack() as server:
        yield server


@pytest.fixture(scope="module")
def process(slack: FakeSlack) -> Iterator[Sender]:
    with sender(slack) as process:
        yield process


@pytest.fixture
def killed(slack: FakeSlack, process: Sender, tmp_path: Path) -> Callable[[Callable[[Sender, str], str]], str]:
    """Runs a try that dies and then, a day later, one that does not; what was wrong with it, empty if nothing."""
    databases = count()

    def run(first: Callable[[Sender, str], str]) -> str:
        slack.posted.clear()
        state_url = f"sqlite:///{tmp_path}/{next(databases)}.db"
        assert first(process, state_url) == "killed"
        process.send(state_url, day=1)
        return "; ".join(wrongs(slack))

    return run


def test_killed_at_any_line_everything_arrives_once(
    slack: FakeSlack, process: Sender, killed: Callable[[Callable[[Sender, str], str]], str], tmp_path: Path
) -> None:
    lines = int(process.send(f"sqlite:///{tmp_path}/whole.db", day=0))
    assert wrongs(slack) == []
    for line in lines_to_die_at(lines, KILLS, seed=KILLS):
        assert (line, killed(partial(Sender.send, day=0, line=line))) == (line, "")


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_killed_while_slack_holds_a_message_only_a_webhook_says_it_again_and_says_so(
    slack: FakeSlack, killed: Callable[[Callable[[Sender, str], str]], str], number: int
) -> None:
    assert killed(lambda process, url: process.send_until_posted(url, number)) == ""
    repeated = [one.place for one in slack.posted if REPEATED in one.shown]
    assert len(repeated) == (1 if number <= 2 else 0)
    assert CHANNEL not in repeated
