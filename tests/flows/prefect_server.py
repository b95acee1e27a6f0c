"""One temporary Prefect server for every test that runs a flow, whichever folder it stands in."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

PREFECT = Path(sys.executable).with_name("prefect")
CACHE = Path(__file__).parents[2] / ".pytest_cache" / "prefect"


@pytest.fixture(scope="session")
def prefect_database() -> Path:
    """An empty database of Prefect to be copied. Its migrations take seconds, so it is kept between runs."""
    kept = CACHE / f"{version('prefect')}.db"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with TemporaryDirectory(dir=CACHE) as home:
                subprocess.run(
                    [str(PREFECT), "server", "database", "upgrade", "--yes"],
                    env=os.environ | {"PREFECT_HOME": home},
                    check=True,
                    capture_output=True,
                )
                Path(home, "prefect.db").rename(kept)
    return kept


@pytest.fixture(scope="session")
def prefect_server(prefect_database: Path) -> Iterator[str]:
    """The address of a server with a database of its own."""
    from prefect.settings import PREFECT_API_URL  # seconds of imports that most tests do without
    from prefect.testing import utilities

    def folder_with_database() -> str:
        folder = mkdtemp(prefix="aqb-prefect-")
        shutil.copy(prefect_database, Path(folder) / "prefect-test.db")
        return folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utilities, "mkdtemp", folder_with_database)  # where the harness would start with nothing
        with utilities.prefect_test_harness(server_startup_timeout=180):
            yield str(PREFECT_API_URL.value())
