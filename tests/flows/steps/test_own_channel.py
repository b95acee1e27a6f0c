"""Channels beside Slack: the JSON webhook, and one that nothing in the product knows."""

import json
from pathlib import Path

import pytest

import tasks.alerts.channels
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.settings import Settings
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.flows import nightly
from tests.builders.settings import settings_in
from tests.fakes.json_receiver import Answer, JsonReceiver
from tests.flows.conftest import Command

OWN_CHANNEL = '''
"""Appends the messages of a route to a file, which the secret names."""

from pathlib import Path

from tasks.alerts.channel import Delivery, DeliveryStatus


class FileChannel:
    def __init__(self, path):
        self.address = path
        self.problem = "" if path else "names no file"

    def payload(self, message):
        return {"line": f"{message.level} {message.text}"}

    def send(self, message):
        with Path(self.address).open("a", encoding="utf-8") as file:
            file.write(self.payload(message)["line"] + "\\n")
        return Delivery(DeliveryStatus.SENT)


def open_channel(destination, secret, alerts):
    return FileChannel(secret)
'''


@pytest.fixture
def file_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a format whose module stands in a folder of its own."""
    folder = tmp_path / "channels"
    folder.mkdir()
    (folder / "one_file.py").write_text(OWN_CHANNEL, encoding="utf-8")
    monkeypatch.setattr(tasks.alerts.channels, "__path__", [*tasks.alerts.channels.__path__, str(folder)])
    return "one_file"


def settings_with(tmp_path: Path, route: Route) -> Settings:
    write_rows(tmp_path / "source" / "a.jsonl", [best(0), refused(1)])
    return settings_in(tmp_path, alerts=AlertsSettings(route=(route,)))


def test_channel_in_a_file_of_its_own_is_used_by_nightly(
    tmp_path: Path, file_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_with(tmp_path, Route(name="file", webhook_env="ALERT_FILE", format=file_format))
    assert nightly(settings, DAY).problems == (
        "alerts: route file: environment variable ALERT_FILE names no file; 1 message for the next run",
    )
    monkeypatch.setenv("ALERT_FILE", str(tmp_path / "alerts.txt"))
    assert nightly(settings, DAY).problems == ()
    (line,) = (tmp_path / "alerts.txt").read_text(encoding="utf-8").splitlines()
    assert line.startswith("critical")
    assert "2월 13일" in line


def test_channel_of_json_gets_what_nightly_finds_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_with(tmp_path, Route(name="ops", webhook_env="OPS_WEBHOOK", format="json"))
    with JsonReceiver() as receiver:
        monkeypatch.setenv("OPS_WEBHOOK", receiver.address)
        receiver.answers.append(Answer(422))
        assert nightly(settings, DAY).problems == ("alerts: route ops: the receiver refused a message for good",)
        nightly(settings, DAY)
    (lost,) = receiver.accepted
    assert (lost["kind"], lost["day"]) == ("dead_letters", None)
    assert [one.body["kind"] for one in receiver.received] == ["digest", "dead_letters"]
    assert receiver.received[0].body["day"] == str(DAY)


def test_channel_of_json_is_shown_by_dry_run_and_doctor(
    aqb: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(0), refused(1)])
    aqb("nightly", "--date", DAY)
    (folder / "aqb.toml").write_text('[[alerts.route]]\nname = "ops"\nwebhook_env = "OPS_WEBHOOK"\nformat = "json"\n')
    assert "environment variable OPS_WEBHOOK holds no address of a webhook" in aqb("doctor").out
    monkeypatch.setenv("OPS_WEBHOOK", "https://ops.example/hooks/secret")
    (shown,) = json.loads(aqb("alerts", "--date", DAY, "--dry-run", "--json").out)
    assert (shown["route"], shown["payload"]["version"], shown["payload"]["day"]) == ("ops", 1, str(DAY))
    doctor = aqb("doctor").out
    assert "route ops" in doctor
    assert "hooks/secret" not in doctor
    assert "holds no address" not in doctor
