"""A PostgreSQL server of its own for tests, where one is installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def postgresql_programs() -> Path | None:
    """The folder of PostgreSQL's programs, None where it is not installed."""
    initdb = shutil.which("initdb") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)
    return Path(initdb).parent if initdb else None


@contextmanager
def running_postgresql(programs: Path) -> Iterator[str]:
    """The user and address of a server for as long as the block lasts: `aqb@127.0.0.1:<port>`, without a password."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        user = None
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            user = "postgres"
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)

        def run(program: str, *arguments: str) -> None:
            command: list[str | Path] = [programs / program, "-D", Path(folder) / "data", *arguments]
            subprocess.run(command, user=user, check=True, capture_output=True, cwd=folder)

        run("initdb", "-U", "aqb", "-A", "trust", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        run("pg_ctl", "-w", "-o", options, "-l", f"{folder}/log", "start")
        try:
            yield f"aqb@127.0.0.1:{port}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
