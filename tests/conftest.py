"""The surroundings of every test: nobody's settings, and a Prefect that keeps to itself.

Prefect reads its settings when it is imported, so they are made before any test is.
"""

import gc
import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from _pytest.nodeid import coerce_node_id
from hypothesis import settings
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

import flows  # noqa: F401 - before Polars and NumPy: says how they are to use threads

pytest_plugins = ["tests.flows.prefect_server"]

gc.disable()  # until all tests are collected: a sixth of what that takes

# The cases of the profile `ci`, a tenth of them: `.ci/run` takes them all.
settings.register_profile("short", settings.get_profile("ci"), max_examples=10)

_PREFECT_HOME = TemporaryDirectory(prefix="aqb-prefect-")

_SETTINGS = ("AQB_", "OPENAI_", "PREFECT_", "SLACK_WEBHOOK_URL")
for name in [name for name in os.environ if name.upper().startswith(_SETTINGS)]:
    del os.environ[name]
os.environ |= {
    "PREFECT_HOME": _PREFECT_HOME.name,
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    # A test that runs a flow asks for `prefect_server`: a temporary server of its own would take five seconds of CPU.
    "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
    # Every client of a judge or of Prefect reads the authorities that it trusts: the system's take it 20 ms.
    "SSL_CERT_FILE": str(Path(__file__).parent / "fakes" / "authority.pem"),
    # Its server stops when Python does, after pytest has taken the standard streams away: no last words.
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


# No test cuts the power, and a process that is killed loses nothing that it has written: a tenth of all time went here.
os.fsync = lambda fd: None

# Tests look at permissions that writers leave to the umask, and read as another user what they have written.
os.umask(0o022)

# A shell that starts the tests in the background has every process of theirs ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    """Removes what Prefect wrote."""
    _PREFECT_HOME.cleanup()


_SLOW = {"prefect_server", "installed_aqb"}
_FLOWS = Path(__file__).parent / "flows"
_TASKS = Path(__file__).parent / "tasks"
_STATE = _TASKS / "state"
_SLOW_FOLDERS = (
    *(_FLOWS, _FLOWS / "steps", _FLOWS / "cli"),
    *(_TASKS / "reports" / "site", _TASKS / "web", _TASKS / "alerts", _TASKS / "judge", _STATE),
)
_ONE_WORKER = {"server_of_the_children", "hostile_rows"}
"""What takes long to make, for many files: all tests that ask for it run on the worker that has it."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as slow what stands in a slow folder, asks for a slow fixture or is long, and as long what shows on
    PostgreSQL what it shows on SQLite; the tests of the state database itself are on both in any case.

    What stays on one worker comes first and the rest of what is slow second: the workers end together.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if _is_on_postgresql(item) and item.path.parent != _STATE:
            item.add_marker("long")
        if item.path.parent in _SLOW_FOLDERS or _SLOW & fixtures or item.get_closest_marker("long"):
            item.add_marker("slow")
        for shared in _ONE_WORKER & fixtures:
            item.add_marker(pytest.mark.xdist_group(shared))
            if os.environ.get("PYTEST_XDIST_WORKER"):
                # The scheduler knows a group by this ending. xdist 3.8 writes it where pytest 9.2 no longer looks.
                item._id = coerce_node_id(f"{item.nodeid}@{shared}")
    items.sort(key=_rank)


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector, which would go through them again and again, leaves
    them alone.
    """
    gc.freeze()
    gc.enable()


def _is_on_postgresql(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    return call is not None and call.params.get("state_url") == "postgresql"


def _rank(item: pytest.Item) -> int:
    if item.get_closest_marker("xdist_group"):
        return 0
    return 1 if item.get_closest_marker("slow") else 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadGroupScheduling | None:
    """With `--dist=loadgroup` a test of no group stays with its file: fixtures of a module are made once."""
    return _ByGroupOrFile(config, log) if config.getoption("dist") == "loadgroup" else None


class _ByGroupOrFile(LoadGroupScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        group_or_test: str = super()._split_scope(nodeid)
        return group_or_test.partition("::")[0]
