"""A process that sends alerts and is killed in the middle: at the n-th line of our code, or when Slack has a message.

`python -m tests.fakes.slack_sender WEBHOOK API_URL` reads a line for each try: `DAY LINE STATE_URL`. It forks a child
that writes two messages for a webhook and two for a bot, and sends what waits; at line LINE (0: never) it dies by
SIGKILL. It answers with the child's pid, waits for a line, and answers with how many lines the child ran, or `killed`.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpcore2  # noqa: F401 - the first request would import it, in every child anew

from scoring.alerting.blocks import header
from scoring.alerting.messages import Message
from tasks.alerts.channel import Channel
from tasks.alerts.channels.slack import SlackBot, SlackWebhook
from tasks.alerts.delivery import Clock, deliver
from tasks.alerts.outbox import Outbox
from tasks.state.database import StateDatabase
from tests.builders.state import set_message_leases
from tests.fakes.slack_server import CHANNEL, TOKEN, FakeSlack
from tests.faults.deadly_line import DeadlyLine

KEYS = ("a", "b")
REPEATED = "다시 보냄"
_ROOT = Path(__file__).parents[2]
_OURS = tuple(f"tasks/alerts/{name}.py" for name in ("outbox", "delivery", "channels/slack"))


class Sender:
    """The process. Every try is made on a day, with a state database; it tells how many lines it ran, or `killed`."""

    def __init__(self, process: subprocess.Popen[str], slack: FakeSlack) -> None:
        self._process, self._slack = process, slack

    def send(self, state_url: str, day: int, line: int = 0) -> str:
        """One try, that dies at a line; 0 is none."""
        self._ask(f"{day} {line} {state_url}")
        return self._ask("go")

    def send_until_posted(self, state_url: str, number: int) -> str:
        """One try, that dies when Slack has its `number`-th message and has not answered yet."""
        pid = int(self._ask(f"0 0 {state_url}"))
        posted = len(self._slack.posted)

        def kill() -> None:
            if len(self._slack.posted) == posted + number:
                os.kill(pid, signal.SIGKILL)

        self._slack.on_posted = kill
        ended = self._ask("go")
        self._slack.on_posted = lambda: None
        return ended

    def _ask(self, line: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextmanager
def sender(slack: FakeSlack) -> Iterator[Sender]:
    """A process to send from."""
    command = [sys.executable, "-m", "tests.fakes.slack_sender", slack.webhook(), slack.api_url]
    no_proxy = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    with subprocess.Popen(
        command, cwd=_ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=no_proxy
    ) as process:
        yield Sender(process, slack)
        assert process.stdin
        process.stdin.close()


def lines_to_die_at(lines: int, count: int, seed: int) -> list[int]:
    """`count` lines at random out of `lines`."""
    return sorted(random.Random(seed).choices(range(1, lines + 1), k=count))


def wrongs(slack: FakeSlack) -> list[str]:
    """What arrived otherwise than once. A bot never repeats; a webhook may, if it marks the second copy."""
    found = []
    for place in (CHANNEL, "/services/"):
        for key in KEYS:
            copies = [REPEATED in one.shown for one in slack.posted if place in one.place and one.text == f"소식 {key}"]
            right = ([False], [True], [False, True]) if place != CHANNEL else ([False],)
            if copies not in right:
                found.append(f"{key} in {place}: {copies}")
    return found


def _send_once(state_url: str, webhook: str, api_url: str, day: int, line: int) -> int:
    """Sends on a day, when the leases of the day before are over; returns how many of our lines that took."""
    set_message_leases(state_url)
    now = datetime(2026, 2, 13, tzinfo=UTC) + timedelta(days=day)
    channels: dict[str, Channel] = {"qa": SlackWebhook(webhook), "bot": SlackBot(TOKEN, CHANNEL, api_url)}
    outbox = Outbox(StateDatabase(state_url))
    with DeadlyLine(line, _OURS) as deadly:
        for route in channels:
            messages = [Message("digest", "warning", (key,), f"소식 {key}", [header(f"소식 {key}")]) for key in KEYS]
            outbox.put(route, "2026-02-13", messages, now)
        deliver(outbox, channels, lambda message: False, Clock(lambda: now, sleep=lambda seconds: None))
    return deadly.lines


def main() -> None:
    webhook, api_url = sys.argv[1:]
    for command in sys.stdin:
        day, line, state_url = command.split()
        read, write = os.pipe()
        if not (pid := os.fork()):
            sys.stdin.readline()
            os.write(write, str(_send_once(state_url, webhook, api_url, int(day), int(line))).encode())
            os._exit(0)
        os.close(write)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        os.waitpid(pid, 0)
        sys.stdout.write((os.read(read, 100).decode() or "killed") + "\n")
        sys.stdout.flush()
        os.close(read)


if __name__ == "__main__":
    main()
