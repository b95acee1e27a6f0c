"""Real databases for whatever keeps its state in one: SQLite, and a PostgreSQL server where one is installed."""

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

_schemas = count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a real PostgreSQL server without the name of a database."""
    programs = shutil.which("initdb") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)
    if programs is None:
        pytest.skip("there is no PostgreSQL server (Debian: postgresql)")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("the PostgreSQL driver psycopg is not installed")
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        user = None
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            user = "postgres"
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data, bin_folder = Path(folder) / "data", Path(programs).parent

        def run(program: str, *arguments: str) -> None:
            subprocess.run(
                [bin_folder / program, "-D", data, *arguments], user=user, check=True, capture_output=True, cwd=folder
            )

        run("initdb", "-U", "aqb", "-A", "trust", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        run("pg_ctl", "-w", "-o", options, "-l", f"{folder}/log", "start")
        try:
            yield f"postgresql+psycopg://aqb@127.0.0.1:{port}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def state_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty state database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    server: str = request.getfixturevalue("postgresql")
    schema = f"aqb_{next(_schemas)}"  # made in a millisecond; a database takes a hundred
    engine = sa.create_engine(f"{server}/postgres")
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE SCHEMA {schema}"))
    engine.dispose()
    return f"{server}/postgres?options=-csearch_path%3D{schema}"
