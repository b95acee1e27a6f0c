"""The Prefect server of the session, known to the processes that are to be killed; what they leave if they are not."""

import os

import pytest

from tests.faults.worlds import BACKFILL, Undisturbed, undisturbed_run, world_in


@pytest.fixture(autouse=True, scope="session")
def _children_know_the_server(prefect_server: str) -> None:
    # The fork server takes its environment along when the first child is started, and keeps it.
    os.environ["PREFECT_API_URL"] = prefect_server


@pytest.fixture(scope="session")
def undisturbed_backfill(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A backfill of the three days; nightly runs of them leave the same tables."""
    template = tmp_path_factory.mktemp("backfill") / "template"
    with world_in(template):
        pass
    return undisturbed_run(BACKFILL, template)
