"""The Prefect server of the processes that are to be killed; what they leave if they are not."""

import pytest

from tests.faults.worlds import BACKFILL, Undisturbed, undisturbed_run, world_in


@pytest.fixture(autouse=True, scope="session")
def server_of_the_children(prefect_server: str) -> None:
    """Every test here starts processes that run flows."""


@pytest.fixture(scope="session")
def undisturbed_backfill(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A backfill of the three days; nightly runs of them leave the same tables."""
    template = tmp_path_factory.mktemp("backfill") / "template"
    with world_in(template):
        pass
    return undisturbed_run(BACKFILL, template)
