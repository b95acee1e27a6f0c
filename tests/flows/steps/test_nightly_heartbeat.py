"""The heartbeat of the nightly flow, from its setting to the service that waits for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from scoring.errors import InputError, UsageError
from tasks.config.alerts import AlertsSettings, HeartbeatSettings
from tasks.config.settings import MonitoringSettings, Settings, load_settings, setting_origins
from tests.builders.chat_rows import DAY, best, write_rows
from tests.builders.flows import nightly
from tests.builders.settings import settings_in
from tests.fakes.ping_receiver import SECRET, PingReceiver


@pytest.fixture
def receiver() -> Iterator[PingReceiver]:
    with PingReceiver() as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, receiver: PingReceiver) -> Settings:
    write_rows(tmp_path / "source" / "a.jsonl", [best(0)])
    return settings_in(tmp_path, alerts=AlertsSettings(heartbeat=HeartbeatSettings(url=SecretStr(receiver.address))))


def test_heartbeat_of_a_night_that_is_done_and_none_of_an_intraday_run(
    settings: Settings, receiver: PingReceiver
) -> None:
    nightly(settings, DAY, "intraday")
    assert receiver.pings == []
    nightly(settings, DAY)
    assert receiver.pings == [("/start", "야간 실행 시작"), ("", "야간 실행 완료")]


def test_heartbeat_of_a_night_that_fails(settings: Settings, receiver: PingReceiver) -> None:
    nowhere = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    with pytest.raises(InputError):
        nightly(nowhere, DAY)
    assert receiver.pings[1:] == [("/fail", "야간 실행 실패: InputError")]


def test_heartbeat_that_nobody_takes_leaves_the_night_as_it_is(settings: Settings, receiver: PingReceiver) -> None:
    receiver.status = 404
    assert nightly(settings, DAY).problems == ()


def test_heartbeat_address_comes_from_the_environment_and_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AQB_ALERTS__HEARTBEAT__URL", f"https://hc.example/{SECRET}")
    settings = load_settings()
    assert settings.alerts.heartbeat.url.get_secret_value() == f"https://hc.example/{SECRET}"
    for shown in (repr(settings), settings.model_dump_json(), str(setting_origins(settings))):
        assert SECRET not in shown
    monkeypatch.setenv("AQB_ALERTS__HEARTBEAT__URL", SECRET)
    with pytest.raises(UsageError, match="give an http or https address") as refused:
        load_settings()
    assert SECRET not in str(refused.value)
