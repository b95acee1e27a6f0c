"""The example settings are what they say: valid, and the defaults."""

import shutil
from pathlib import Path

import pytest

from tasks.config.settings import Settings, load_settings

EXAMPLE = Path("deployments/aqb.toml").resolve()


def test_example_settings_are_valid_and_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    defaults = load_settings()
    shutil.copy(EXAMPLE, "aqb.toml")
    assert load_settings() == defaults == Settings()
