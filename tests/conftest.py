"""The surroundings of every test: nobody's settings, and a Prefect that keeps to itself.

Prefect reads its settings when it is imported, so they are made before any test is.
"""

from __future__ import annotations

import os
import re
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytest_plugins = ["tests.flows.prefect_server"]

_PREFECT_HOME = TemporaryDirectory(prefix="aqb-prefect-")

_SETTINGS = ("AQB_", "OPENAI_", "PREFECT_", "SLACK_WEBHOOK_URL")
for name in [name for name in os.environ if name.upper().startswith(_SETTINGS)]:
    del os.environ[name]
os.environ |= {
    "PREFECT_HOME": _PREFECT_HOME.name,
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    # The first start in a new home migrates its database, on a busy machine for longer than the usual 20 s.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    # Its server stops when Python does, after pytest has taken the standard streams away: no last words.
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


def pytest_unconfigure() -> None:
    """Removes what Prefect wrote."""
    _PREFECT_HOME.cleanup()


_FIRST = ("prefect", "googlesql", "postgresql")
_SHARED = {"prefect_server": "prefect", "state_url": "postgresql"}
_SLOW = {"prefect_server", "installed_aqb"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups the tests for `--dist=loadgroup`: those that share a server on one worker, the others by file.

    What takes longest starts first, so that both workers end together. What asks for a slow fixture is slow.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & _SLOW:
            item.add_marker("slow")
        if not item.get_closest_marker("xdist_group"):
            shared = next((group for fixture, group in _SHARED.items() if fixture in fixtures), str(item.path))
            item.add_marker(pytest.mark.xdist_group(shared))

    def place(item: pytest.Item) -> int:
        marker = item.get_closest_marker("xdist_group")
        return _FIRST.index(marker.args[0]) if marker and marker.args[0] in _FIRST else len(_FIRST)

    items.sort(key=place)


def pytest_report_from_serializable(data: dict[str, Any]) -> None:
    """Takes the group off the name of a test that a worker reports: the name can be copied to run the test again."""
    data["nodeid"] = re.sub(r"@[^@\]]*$", "", data["nodeid"])
