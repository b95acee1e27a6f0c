"""A Slack, an outbox, and a clock that only moves when it is told to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from scoring.alerting.blocks import header, paragraph, plain
from scoring.alerting.messages import Message, MessageLevel
from tasks.alerts.delivery import Clock
from tasks.alerts.outbox import Outbox
from tests.builders.state import opened
from tests.fakes.slack_server import FakeSlack

NIGHT = datetime(2026, 2, 13, 17, tzinfo=UTC)  # 02:00 in Seoul
PATIENT_S = 60.0  # a busy machine is late; only what never answers is given less
IMPATIENT_S = 1.0


@dataclass
class Hands:
    """The hands of a clock; `slept` are the seconds of every wait."""

    now: datetime = NIGHT
    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    def pass_(self, **duration: float) -> None:
        self.now += timedelta(**duration)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.seconds, self.sleep)


def message(key: str, level: MessageLevel = "warning") -> Message:
    """A small message that is known by its key."""
    return Message("digest", level, (key,), f"소식 {key}", [header(key), *paragraph([plain(f"소식 {key}")])])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    with FakeSlack() as server:
        yield server


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def outbox(state_url: str) -> Iterator[Outbox]:
    with opened(Outbox, state_url) as box:
        yield box
