"""A PostgreSQL server of its own for tests, where one is installed."""

import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def postgresql_programs() -> Path | None:
    """The folder of PostgreSQL's programs, None where it is not installed."""
    initdb = shutil.which("initdb") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)
    return Path(initdb).parent if initdb else None


def postgresql_version(programs: Path) -> str:
    """Such as `15.14`: servers of other versions do not read its files."""
    told = subprocess.run([programs / "initdb", "--version"], check=True, capture_output=True, text=True).stdout
    return told.split()[2]


def prepared_database(programs: Path, kept: Path, prepare: Callable[[str], None]) -> Path:
    """The files of a server that was prepared, at its address, in the folder `kept`, by whoever came first."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{kept}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            half = Path(f"{kept}.half")
            shutil.rmtree(half, ignore_errors=True)
            with running_postgresql(programs, leave_to=half) as address:
                prepare(address)
            half.rename(kept)
    return kept


@contextmanager
def running_postgresql(programs: Path, begin_with: Path | None = None, leave_to: Path | None = None) -> Iterator[str]:
    """The user and address of a server for as long as the block lasts: `aqb@127.0.0.1:<port>`, without a password.

    Its databases are those of the files in `begin_with`, where that is given; in the end they are copied to `leave_to`.
    """
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

        data = Path(folder) / "data"
        if begin_with:
            shutil.copytree(begin_with, data)
            data.chmod(0o700)
            if user:
                for path in (data, *data.rglob("*")):
                    shutil.chown(path, user)
        else:
            run("initdb", "-U", "aqb", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        run("pg_ctl", "-w", "-o", options, "-l", f"{folder}/log", "start")
        stop: list[str | Path] = [programs / "pg_ctl", "-D", data, "-m", "fast" if leave_to else "immediate", "stop"]
        # Its input ends with the block, or with this process, however that ends: no server is left behind.
        at_the_end: list[str | Path] = ["sh", "-c", 'read -r _; exec "$@"', "sh", *stop]
        with subprocess.Popen(
            at_the_end, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, user=user, cwd=folder, start_new_session=True
        ) as stopping:
            yield f"aqb@127.0.0.1:{port}"
        if stopping.returncode:
            raise subprocess.CalledProcessError(stopping.returncode, stop)
        if leave_to:
            shutil.copytree(data, leave_to)
