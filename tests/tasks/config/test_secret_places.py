"""Secrets that lie in files or in Secret Manager: read anew by each run, named by their place, never shown."""

from pathlib import Path

import pytest

from scoring.errors import UsageError
from tasks.config.secret_places import secret_of
from tasks.config.settings import load_settings, setting_origins
from tests.fakes.google_cloud import FakeGoogleCloud

PASSWORD = "hunter2"


def test_secret_in_a_file_is_read_anew_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "key"
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(file))
    for key in ("sk-before", "sk-after"):
        file.write_text(f"{key}\n")
        assert secret_of("OPENAI_API_KEY").value == key
    assert secret_of("OPENAI_API_KEY").origin == "the file of OPENAI_API_KEY_FILE"
    assert "sk-after" not in repr(secret_of("OPENAI_API_KEY"))


def test_secret_in_the_environment_wins_over_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "key").write_text("sk-file")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", "key")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    found = secret_of("OPENAI_API_KEY")
    assert (found.value, found.origin) == ("sk-environment", "environment variable OPENAI_API_KEY")


def test_setting_in_a_file_wins_over_the_settings_file_and_its_origin_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql+psycopg://aqb:{PASSWORD}@db/aqb"
    (folder / "url").write_text(f"{url}\n")
    (folder / "aqb.toml").write_text('state_url = "sqlite:///other.db"\n')
    monkeypatch.setenv("AQB_STATE_URL_FILE", "url")
    settings = load_settings()
    assert settings.state_url == url
    origins = {name: (value, origin) for name, value, origin in setting_origins(settings)}
    assert origins["state_url"] == ("postgresql+psycopg://aqb:***@db/aqb", "AQB_STATE_URL_FILE")
    monkeypatch.setenv("AQB_STATE_URL", "sqlite:///mine.db")
    assert load_settings().state_url == "sqlite:///mine.db"


def test_setting_of_a_section_is_read_from_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "key").write_text("sk-file\n")
    (folder / "ping").write_text("https://hc-ping.com/1\n")
    monkeypatch.setenv("AQB_JUDGE__API_KEY_FILE", "key")
    monkeypatch.setenv("AQB_ALERTS__HEARTBEAT__URL_FILE", "ping")
    monkeypatch.setenv("AQB_JUDGE__MODEL", "mine")
    settings = load_settings()
    assert settings.judge.api_key.get_secret_value() == "sk-file"
    assert settings.alerts.heartbeat.url.get_secret_value() == "https://hc-ping.com/1"
    assert settings.judge.model == "mine"


def test_list_is_read_from_a_file_as_from_its_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "routes").write_text('[{"name": "qa", "webhook_env": "SLACK_WEBHOOK_QA"}]\n')
    monkeypatch.setenv("AQB_ALERTS__ROUTE_FILE", "routes")
    assert [route.name for route in load_settings().alerts.route] == ["qa"]
    (folder / "routes").write_text("qa\n")
    with pytest.raises(UsageError, match="a list or a table that is no JSON") as refused:
        load_settings()
    assert refused.value.where == "AQB_ALERTS__ROUTE_FILE"


@pytest.mark.parametrize("variable", ["AQB_STATE_URL_FILE", "AQB_ALERTS__HEARTBEAT__URL_FILE"])
def test_secret_whose_file_is_gone_is_a_wrong_usage_with_the_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "gone")
    with pytest.raises(UsageError, match="the secret cannot be read: No such file") as refused:
        load_settings()
    assert refused.value.where == variable


def test_place_of_a_setting_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AQB_STATE_URI_FILE", "url")
    with pytest.raises(UsageError, match="there is no setting for AQB_STATE_URI_FILE"):
        load_settings()


def test_secret_is_read_from_secret_manager_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeGoogleCloud({"projects/team/secrets/slack/versions/latest": f"{PASSWORD}\n"}) as google:
        google.use(monkeypatch, folder)
        monkeypatch.setenv("HOOK_FILE", "gcp-secret://team/slack")
        found = secret_of("HOOK")
        assert (found.value, found.origin) == (PASSWORD, "Secret Manager of HOOK_FILE")
        monkeypatch.setenv("HOOK_FILE", "gcp-secret://team/slack/3")
        with pytest.raises(UsageError, match="Secret Manager does not give team/slack: status 404"):
            secret_of("HOOK")
