"""Runs Prefect without a setup of its own: its home is in the working folder, and it sends no telemetry.

Import this before anything imports Prefect, which reads its settings at import.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import NoReturn

from scoring.errors import StorageError, UsageError

_AUTHORITY = "authority.pem"

_DATABASE_BYTES = 8 * 1024 * 1024
"""Size of a new Prefect database with its journal, plus half."""


def prepare_prefect(reports: str) -> None:
    """Prepares Prefect: defaults for settings that the user has not made, and no output of its own on the terminal.

    Its home folder is next to the reports.

    Raises:
        StorageError: the home folder cannot be created or written, or has no room for a new database.
        UsageError: the environment names proxies or certificates that cannot be used.
    """
    from tasks.config.connections import network_problem

    if problem := network_problem():
        raise UsageError("the Prefect server cannot be reached", fix=problem)
    defaults = {
        # A missing home folder makes the temporary server fail as a time-out.
        "PREFECT_HOME": str((Path(reports).parent / ".prefect").resolve()),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # The first start in a new home folder migrates its database, which can take longer than the usual 20 s.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    from tasks.files.atomic import make_private  # with Polars and pyarrow, which not every command needs

    chosen = Path(os.environ["PREFECT_HOME"])
    try:
        chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
        if "PREFECT_API_URL" not in os.environ:  # of its temporary server: parameters and log lines of every run
            make_private(chosen / "prefect.db")
            with TemporaryFile(dir=chosen) as room:  # a server without it ends as a time-out after minutes
                room.write(bytes(_DATABASE_BYTES))
    except OSError as error:
        raise StorageError(
            f"Prefect's home folder cannot be used: {error.strerror}",
            where=str(chosen),
            fix="make it a folder that can be written and has room, or set PREFECT_HOME to another",
        ) from error
    if _has_no_tls(chosen):
        with suppress(OSError):  # it only saves time
            os.environ.setdefault("PREFECT_API_SSL_CERT_FILE", str(_one_authority(chosen)))
    keep_terminal_quiet()
    _require_readable_no_proxy()


def _require_readable_no_proxy() -> None:
    """Refuses a NO_PROXY that Prefect's client cannot read: it would say that the server's address is none."""
    import httpx  # which Prefect has imported

    try:
        httpx.Client(verify=False).close()  # noqa: S501 - it sends nothing
    except httpx.InvalidURL:
        raise UsageError(
            "the Prefect server cannot be reached",
            fix="take out of NO_PROXY what Prefect's client cannot read, such as networks of IPv6 (fd00::/8)",
        ) from None


def _has_no_tls(home: Path) -> bool:
    """Whether it is certain that Prefect's server speaks plain HTTP: a temporary one does."""
    url = os.environ.get("PREFECT_API_URL", "" if (home / "profiles.toml").exists() else "http://")
    return url.startswith("http://")


def _one_authority(home: Path) -> Path:
    """A file with one certificate authority, for clients that need none.

    Each client of Prefect loads all authorities, which takes 20 ms of CPU, and a task run in a worker process opens two
    clients.
    """
    import certifi

    path, end = home / _AUTHORITY, "-----END CERTIFICATE-----\n"
    if not path.exists():
        with NamedTemporaryFile("w", dir=home, delete=False) as file:
            file.write(certifi.contents().partition(end)[0] + end)
        Path(file.name).replace(path)
    return path


_PREFECT_SAYS = (
    "Failed to reach API",
    "Found incompatible versions",
    "Timed out while attempting to connect",
    "Runner failed to start",
    "Service exceeded error threshold",
)
"""The beginnings of Prefect's messages that no server is usable; it has no error class for that."""


class PrefectGoneError(StorageError):
    """The Prefect server is unreachable, or it or its home folder disappeared during a run."""


@contextmanager
def reaching_prefect() -> Iterator[None]:
    """Converts errors of Prefect's client about a missing server or home folder to one line.

    Raises:
        PrefectGoneError: the server or the home folder is missing.
    """
    try:
        yield
    except Exception as error:
        if _is_home_gone(error):
            raise PrefectGoneError(
                "Prefect's home folder was removed or emptied while a run needed it",
                where=os.environ["PREFECT_HOME"],
                fix="keep other programs off it; then run again: what is done stays done",
            ) from None
        if not is_prefect_gone(error):
            raise
        from tasks.config.secrets import shown_url  # with pydantic, which not every command needs

        reason = _reason(error.__cause__ or error)
        if not (named := shown_url(os.environ.get("PREFECT_API_URL", ""))):
            fix = "what it said stands above; make sure that it finds memory and room on the disk, also in TMPDIR"
        elif reason == _answered(401):
            own, key = "the value of its PREFECT_SERVER_API_AUTH_STRING", "a key of Prefect Cloud"
            fix = f"give PREFECT_API_AUTH_STRING {own}, or PREFECT_API_KEY {key}"
        else:
            fix = "start it, correct PREFECT_API_URL (such as http://127.0.0.1:4200/api) or unset it"
        raise PrefectGoneError(
            f"the Prefect server cannot be reached: {reason}",
            where=named or "its temporary server",
            fix=f"{fix}; then run again: what is done stays done",
        ) from None


def require_lasting_server() -> None:
    """Refuses commands that need a permanent server if none is configured.

    Raises:
        UsageError: no address of a server is set.
    """
    from prefect.settings import PREFECT_API_URL

    if not PREFECT_API_URL.value():
        raise UsageError(
            "there is no Prefect server that stays",
            fix="start one with `prefect server start` and set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )


@contextmanager
def running_flows() -> Iterator[None]:
    """`reaching_prefect`, with a temporary server if there is no other; Ctrl-C ends the flows, then the server.

    Raises:
        PrefectGoneError: there is no server, or it disappeared during a run.
        UsageError: no address of a server is set, and Prefect's settings allow no temporary one.
    """
    from prefect.settings import PREFECT_API_URL, PREFECT_SERVER_EPHEMERAL_ENABLED

    is_named = bool(PREFECT_API_URL.value())
    if not is_named and not PREFECT_SERVER_EPHEMERAL_ENABLED.value():
        raise UsageError(
            "there is no Prefect server: no address is set, and a temporary one is not allowed",
            fix="set PREFECT_API_URL (http://127.0.0.1:4200/api), or PREFECT_SERVER_EPHEMERAL_ENABLED=true",
        )
    with reaching_prefect(), _only_wanted_heartbeats():
        if is_named:
            yield
            return
        from flows.runtime.temporary_server import temporary_server

        with temporary_server():
            yield


def _only_wanted_heartbeats() -> AbstractContextManager[object]:
    """Disables heartbeats of flows, unless a setting enables them.

    At the end of a flow Prefect waits up to a second for their thread.
    """
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, get_current_settings, temporary_settings

    if "heartbeat_frequency" in get_current_settings().flows.model_fields_set:
        return nullcontext()
    return temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None})


def _is_home_gone(error: Exception) -> bool:
    """Whether the files that `prepare_prefect` put into the home folder have disappeared.

    The server may have recreated the folder, and Prefect's client does not say which file is missing.
    """
    authority = Path(os.environ.get("PREFECT_HOME", "")) / _AUTHORITY
    is_read = os.environ.get("PREFECT_API_SSL_CERT_FILE") == str(authority)
    return isinstance(error, FileNotFoundError) and is_read and not authority.exists()


def is_ctrl_c(error: BaseException) -> bool:
    """Whether an error was caused by Ctrl-C: pydantic converts one that interrupts it to its own error."""
    return "KeyboardInterrupt" in str(error)


def is_prefect_gone(error: Exception) -> bool:
    """Whether Prefect's client reports with this error that its server is unreachable."""
    import httpx  # Prefect's own client; seconds of imports with it, which not every command needs

    if isinstance(error, (httpx.HTTPError, httpx.InvalidURL)):
        return True
    if isinstance(error, ExceptionGroup):  # of a worker
        return all(map(is_prefect_gone, error.exceptions))
    return isinstance(error, RuntimeError) and str(error).startswith(_PREFECT_SAYS)


def _answered(status: int) -> str:
    return f"it answers with status {status}"


def _reason(error: BaseException) -> str:
    """The reason in one line, without the address, which may contain a password."""
    import httpx

    if isinstance(error, ExceptionGroup):
        return _reason(error.exceptions[0])
    if isinstance(error, httpx.HTTPStatusError):
        return _answered(error.response.status_code)
    if isinstance(error, httpx.InvalidURL):
        return "this is no address"
    return (str(error) or type(error).__name__).splitlines()[0]


def leave_at_once(error: PrefectGoneError) -> NoReturn:
    """Prints the error and exits immediately: Prefect would first try to send each of its events, for seconds."""
    sys.stderr.write(f"error: {error}\n")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(1)


def keep_terminal_quiet() -> None:
    """Silences Prefect on the terminal: the command line reports failures itself; Prefect would print each three times,
    with tracebacks.

    Its log still goes to its server, where the run is shown.

    Raises:
        UsageError: Prefect's settings cannot be read.
    """
    with redirect_stderr(StringIO()) as said:  # of a mistyped setting, which its import survives
        import prefect
    try:
        import prefect.main  # noqa: F401 - reads the settings above, and sets up its logs
    except ValueError as error:  # of pydantic or of TOML
        if is_ctrl_c(error):
            raise KeyboardInterrupt from error
        raise UsageError(
            f"Prefect's settings cannot be read: {_first_problem(error)}",
            fix="correct the variable PREFECT_... of that name, or the file profiles.toml in PREFECT_HOME",
        ) from error
    sys.stderr.write(said.getvalue())

    for handler in logging.getLogger().handlers:
        handler.addFilter(lambda record: not record.name.startswith("prefect"))


def _first_problem(error: ValueError) -> str:
    """The problem of a setting, without its value, which may be a secret."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
