"""Prefect's home folder, looked at before Prefect starts."""

import asyncio
import os
import shutil
import ssl
import subprocess
import sys
from functools import partial
from pathlib import Path

import anyio
import httpx
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import (
    PREFECT_API_SSL_CERT_FILE,
    temporary_settings,
)
from prefect.utilities.services import critical_service_loop

from flows.runtime.prefect_env import PrefectGoneError, prepare_prefect, reaching_prefect
from scoring.errors import StorageError, UsageError
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


@pytest.mark.parametrize(
    ("url", "profiles", "saves"),
    [
        ("http://prefect:4200/api", True, True),
        ("https://prefect/api", False, False),
        ("", False, True),
        ("", True, False),
    ],
)
def test_clients_of_a_server_without_tls_and_of_no_other_read_one_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, profiles: bool, saves: bool
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    for name in ("PREFECT_API_URL", "PREFECT_API_SSL_CERT_FILE"):
        monkeypatch.setenv(name, url)  # so that the test leaves nothing behind
        monkeypatch.delenv(name)
    if url:
        monkeypatch.setenv("PREFECT_API_URL", url)
    if profiles:
        (tmp_path / "profiles.toml").touch()
    prepare_prefect("reports")
    assert ("PREFECT_API_SSL_CERT_FILE" in os.environ) is saves
    if saves:
        authorities = ssl.create_default_context(cafile=os.environ["PREFECT_API_SSL_CERT_FILE"]).get_ca_certs()
        assert len(authorities) == 1


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_home_that_is_removed_under_a_run_is_named_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_made_anew: bool
) -> None:
    home = tmp_path / ".prefect"
    monkeypatch.setenv("PREFECT_HOME", str(home))
    monkeypatch.setenv("PREFECT_API_SSL_CERT_FILE", "")  # so that the test leaves nothing behind
    monkeypatch.delenv("PREFECT_API_SSL_CERT_FILE")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    prepare_prefect("reports")
    shutil.rmtree(home)
    if is_made_anew:  # as the temporary server does
        home.mkdir()
    settings = {PREFECT_API_SSL_CERT_FILE: os.environ["PREFECT_API_SSL_CERT_FILE"]}
    with temporary_settings(settings), pytest.raises(PrefectGoneError) as gone, reaching_prefect():
        get_client()
    assert gone.value.where == str(home)
    assert "was removed or emptied" in gone.value.what
    assert gone.value.fix


def test_proxy_that_no_client_can_use_is_told_before_prefect_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / ".prefect"))
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(UsageError, match="the Prefect server cannot be reached") as refused:
        prepare_prefect("reports")
    assert "ALL_PROXY names no HTTP proxy: unset it" in refused.value.fix
    assert not (tmp_path / ".prefect").exists()


@pytest.mark.parametrize("spared", ["localhost,fd00::/8", "::1/128"])
def test_no_proxy_that_prefect_cannot_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spared: str
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / ".prefect"))
    monkeypatch.setenv("NO_PROXY", spared)
    with pytest.raises(UsageError) as refused:
        prepare_prefect("reports")
    assert "out of NO_PROXY" in refused.value.fix
    monkeypatch.setenv("NO_PROXY", "localhost,10.0.0.0/8,::1")
    prepare_prefect("reports")


@pytest.mark.parametrize(("setting", "seconds"), [({}, "None"), ({"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}, "30")])
def test_running_flows_send_the_heartbeats_alone_that_a_setting_asks_for(
    setting: dict[str, str], seconds: str, tmp_path: Path
) -> None:
    program = (
        "from flows.runtime.prefect_env import running_flows\n"
        "from prefect.settings import get_current_settings\n"
        "with running_flows():\n"
        "    print(get_current_settings().flows.heartbeat_frequency)\n"
    )
    variables = {"PREFECT_API_URL": "http://127.0.0.1:1/api", "PREFECT_HOME": str(tmp_path), **setting}
    ended = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **variables}, check=True, capture_output=True, text=True
    )
    assert ended.stdout.split() == [seconds]


def test_server_that_stays_away_from_a_worker_is_named_in_a_line() -> None:
    async def ask() -> None:
        raise httpx.ConnectError("refused")

    async def asking() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(critical_service_loop, ask, 0.0, printer=lambda *_: None))

    with (
        pytest.raises(PrefectGoneError, match="cannot be reached: Service exceeded error threshold"),
        reaching_prefect(),
    ):
        asyncio.run(asking())
