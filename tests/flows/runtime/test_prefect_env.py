"""Prefect's home folder, looked at before Prefect starts."""

from pathlib import Path

import pytest

from flows.runtime.prefect_env import prepare_prefect
from scoring.errors import StorageError
from tests.builders.disks import small_disk


@pytest.mark.parametrize(("options", "says"), [("size=1m", "No space left on device"), ("ro", "Read-only file system")])
def test_prefect_home_on_a_disk_that_takes_nothing_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, says: str
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "disk"))
    with small_disk(tmp_path / "disk", options), pytest.raises(StorageError, match=says) as refused:
        prepare_prefect("reports")
    assert "Prefect's home folder cannot be used" in refused.value.what
    assert "set PREFECT_HOME to another" in refused.value.fix
