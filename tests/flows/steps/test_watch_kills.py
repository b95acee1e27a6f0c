"""Nights that are killed, or never come, under a watch that is killed too: one message each, none on good nights.

FAULT_NIGHTS says how many; 4 while working, 200 for a release. Times are given, nobody sleeps.
"""

import os
import random
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.days import day_text
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.settings import Settings
from tasks.state.run_ledger import RunLedger
from tests.builders.nights import at, night
from tests.builders.state import opened
from tests.fakes.night_watcher import look, look_and_die
from tests.fakes.slack_sender import REPEATED
from tests.fakes.slack_server import CHANNEL, TOKEN, FakeSlack

NIGHTS = int(os.environ.get("FAULT_NIGHTS", "4"))
FIRST = date(2026, 3, 2)
WEBHOOK = "SLACK_WEBHOOK_WATCH", "SLACK_BOT_WATCH"
LINES = 500  # a look goes through 481 lines when it tells of a late night, 461 when it calls one off


class Nights:
    """A ledger night after night, a watch every ten minutes, and what each route got when."""

    def __init__(self, folder: Path, slack: FakeSlack, draw: random.Random) -> None:
        routes = (
            Route(name="webhook", webhook_env=WEBHOOK[0]),
            Route(name="bot", bot_token_env=WEBHOOK[1], channel=CHANNEL),
        )
        self.environment = {WEBHOOK[0]: slack.webhook(), WEBHOOK[1]: TOKEN}
        self.settings = Settings(
            state_url=f"sqlite:///{folder / 'state.db'}", alerts=AlertsSettings(route=routes, api_url=slack.api_url)
        )
        self.slack, self.draw, self.kills = slack, draw, 0

    def save(self, day: date, outcome: str, start: str) -> None:
        with opened(RunLedger, self.settings.state_url) as ledger:
            ledger.save(night(day, outcome, start))

    def watch(self, morning: date, *clocks: str, killed: bool = True) -> None:
        """A look at each time; all but the last may be killed."""
        for clock in clocks[:-1]:
            now = at(morning, clock)
            if killed:
                self.kills += look_and_die(self.settings, now, self.draw.randint(1, LINES), self.environment)
            else:
                look(self.settings, now)
        look(self.settings, at(morning, clocks[-1]))

    def got(self, text: str) -> list[int]:
        """How often each route got a message: copies that a webhook marks as repeated count as the one they repeat."""
        copies = {
            place: [REPEATED in one.shown for one in self.slack.posted if place in one.place and text in one.text]
            for place in ("/services/", CHANNEL)
        }
        assert copies[CHANNEL].count(True) == 0, "a bot looks before it repeats"
        return [found.count(False) or min(len(found), 1) for found in copies.values()]


def test_watch_tells_each_late_night_once_within_half_an_hour_whatever_is_killed(
    tmp_path: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(7)
    nights = Nights(tmp_path, slack, draw)
    for name, value in nights.environment.items():
        monkeypatch.setenv(name, value)
    bad: list[date] = []
    for number in range(NIGHTS):
        day = FIRST + timedelta(days=number)
        morning = day + timedelta(days=1)
        fate = draw.choice(["good", "running", "failed", "absent"])
        if fate != "absent":
            nights.save(day, "completed" if fate == "good" else fate, "01:00")
        late_text, over_text = f"{day_text(morning)} 07:00까지", f"해소 · {day_text(day)} 야간 실행"
        nights.watch(morning, "06:50", killed=False)
        assert nights.got(late_text) == [0, 0], (day, fate)
        nights.watch(morning, "07:00", "07:10", "07:20")
        assert nights.got(late_text) == ([0, 0] if fate == "good" else [1, 1]), (day, fate)
        if fate != "good":
            bad.append(day)
            nights.save(day, "completed", "09:00")
        nights.watch(morning, "09:10", "09:20", "09:30")
        assert nights.got(over_text) == ([0, 0] if fate == "good" else [1, 1]), (day, fate)
        slack.posted.clear()
    assert bad
    assert nights.kills
    assert slack.refused == []
    with capsys.disabled():
        sys.stdout.write(
            f"\n{NIGHTS} nights, {len(bad)} of them late, {nights.kills} looks killed, each reported once\n"
        )
