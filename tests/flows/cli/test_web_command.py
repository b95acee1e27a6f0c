"""`aqb web` as people start it: a process, its address, a page, and its end."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import uvicorn

from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.site import write_day
from tests.flows.conftest import Command

# The command, and what it has imported when it ends.
_SERVED = """
import sys
from flows.cli import main
try:
    main()
finally:
    print(sorted({"fastapi", "google.cloud.bigquery", "prefect"} & sys.modules.keys()))
"""


@pytest.mark.long
def test_web_serves_its_pages_from_this_machine_until_it_is_stopped(tmp_path: Path) -> None:
    write_day(FolderWarehouse(tmp_path / "data" / "warehouse"), DAY, [best(), refused()])
    with subprocess.Popen(
        [sys.executable, "-u", "-c", _SERVED, "web", "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as served:
        try:
            assert served.stdout
            address = re.search(r"http://127\.0\.0\.1:[0-9]+/", served.stdout.readline())
            assert address
            with urlopen(address[0]) as answer:
                text = answer.read().decode()
                assert "server" not in answer.headers
        finally:
            served.send_signal(signal.SIGINT)
        said, complaints = served.communicate()
    assert f"{DAY}, 2행" in text
    assert (served.returncode, complaints, said.strip()) == (0, "", "[]")
    assert (tmp_path / "data" / "state.db").stat().st_mode & 0o077 == 0


def test_web_keeps_idle_connections_longer_than_the_proxies_that_its_guide_names(
    aqb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured: list[uvicorn.Config] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        configured.append(server.config)
        for one in sockets:
            one.close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    assert aqb("web", "--port", "0").exit_code == 0
    assert configured[0].timeout_keep_alive > max(60, 90, 600)  # nginx, oauth2-proxy, a load balancer of Google
    assert configured[0].limit_concurrency and configured[0].limit_concurrency > 6 * 100  # idle ones of browsers, too


def test_web_says_what_to_do_where_its_port_is_taken(aqb: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = aqb("web", "--port", str(port))
    assert ended.exit_code == 2
    assert ended.err.startswith(f"error: --host 127.0.0.1 --port {port}: cannot listen: Address already in use")
    assert ended.err.endswith("\n  -> choose another --port, or stop what listens there\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--host", "0.0.0.0"], "everybody who reaches 0.0.0.0"), (["--port", "99999"], "--port")],
)
def test_web_ends_with_2_where_it_would_let_everybody_in(aqb: Command, options: list[str], said: str) -> None:
    ended = aqb("web", *options)
    assert (ended.exit_code, said in ended.err) == (2, True)
