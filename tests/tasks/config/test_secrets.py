"""Secrets of settings: what people and Prefect see of them, and how a flow gets them back."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from scoring.errors import UsageError
from tasks.config.secrets import shown_url
from tasks.config.settings import Settings, load_settings, refuse_masked

PASSWORD = "hunter2"
URLS = {
    "AQB_STATE_URL": f"postgresql+psycopg://aqb:{PASSWORD}@db.example/aqb",
    "AQB_JUDGE__BASE_URL": f"https://aqb:{PASSWORD}@judge.example/v1",
    "AQB_ALERTS__API_URL": f"https://{PASSWORD}@slack.example/api/",
    "AQB_BIGQUERY__ENDPOINT": f"http://aqb:{PASSWORD}@127.0.0.1:9050",
    "AQB_BIGQUERY__STORAGE_ENDPOINT": f"aqb:{PASSWORD}@127.0.0.1:9060",
}
SECRETS = URLS | {"AQB_JUDGE__API_KEY": PASSWORD, "AQB_ALERTS__HEARTBEAT__URL": f"https://hc.example/{PASSWORD}"}


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with a secret wherever there can be one; the environment gives them."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    return load_settings(time_zone="UTC")


def as_prefect_gives_back(settings: Settings) -> Settings:
    """Settings that were parameters of a run, read from what Prefect has kept of them."""
    return TypeAdapter(Settings).validate_python(settings.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("sqlite:///data/state.db", "sqlite:///data/state.db"),
        ("sqlite:////data/a@b/state.db", "sqlite:////data/a@b/state.db"),
        ("postgresql://aqb@db.example/aqb", "postgresql://aqb@db.example/aqb"),
        ("https://judge.example:8000/v1", "https://judge.example:8000/v1"),
        ("127.0.0.1:9060", "127.0.0.1:9060"),
        ("localhost:4200/api", "localhost:4200/api"),
        ("postgresql://aqb:hunter2@db.example:5432/aqb", "postgresql://aqb:***@db.example:5432/aqb"),
        ("postgresql://aqb:hunter2@db:port/aqb", "postgresql://aqb:***@db:port/aqb"),
        ("postgresql:///aqb?host=db.example&password=hunter2", "postgresql:///aqb?***"),
        ("postgresql://aqb:p@ss/h?nter2#@db.example/aqb", "postgresql://aqb:***@db.example/aqb"),
        ("https://hunter2@judge.example/v1", "https://***@judge.example/v1"),
        ("https://judge.example/v1#hunter2", "https://judge.example/v1#***"),
        ("postgresql//aqb:hunter2@db", "***"),
        ("host=db password=hunter2", "***"),
    ],
)
def test_url_is_shown_without_its_secrets_and_otherwise_as_it_is(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_every_setting_that_is_a_url_hides_its_password(settings: Settings) -> None:
    plain, kept = str(settings.model_dump()), str(settings.model_dump(mode="json"))
    assert plain.count(PASSWORD) == len(URLS)
    assert PASSWORD not in kept + settings.model_dump_json() + repr(settings)
    assert kept.count("***@") + kept.count("?***") + kept.count("'***'") == len(URLS)


def test_no_setting_named_like_a_url_is_forgotten() -> None:
    names = _names(Settings.model_construct().model_dump())
    others = {"alerts.reports_url", "web.url", "alerts.heartbeat.url"}  # two refuse secrets, one is a secret as a whole
    named = [name for name in names if name.endswith(("url", "endpoint")) and name not in others]
    assert sorted(URLS) == sorted(f"AQB_{name.upper().replace('.', '__')}" for name in named)


def test_flow_gets_the_secrets_that_prefect_does_not_keep_from_its_folder(settings: Settings) -> None:
    given_back = as_prefect_gives_back(settings)
    assert given_back == settings
    assert given_back.time_zone == "UTC"
    refuse_masked(given_back)


def test_file_of_the_folder_knows_them_too(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AQB_JUDGE__BASE_URL")
    file = Path("aqb.toml")
    file.touch(mode=0o600)
    file.write_text(f'[judge]\nbase_url = "{URLS["AQB_JUDGE__BASE_URL"]}"\nmodel = "another"\n')
    assert as_prefect_gives_back(settings) == settings  # what Prefect did keep, such as the model, is the run's own


def test_folder_without_them_is_told_which_to_set_and_no_other_place_is_used_instead(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SECRETS:
        monkeypatch.delenv(name)
    with pytest.raises(UsageError) as refused:
        refuse_masked(as_prefect_gives_back(settings))
    assert [name for name in SECRETS if name not in refused.value.fix] == []


def _names(tree: dict[str, object], prefix: str = "") -> list[str]:
    names = []
    for name, value in tree.items():
        names += _names(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return names
