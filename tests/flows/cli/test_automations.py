"""`aqb automations`: the Prefect server keeps what deployments/automations.yaml says, once."""

import os
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.events import emit_event
from prefect.states import Running

from flows.cli.automations import read_automations
from flows.nightly import nightly
from scoring.errors import UsageError
from tests.flows.conftest import Command
from tests.flows.prefect_server import eventually, started_server

FILE = Path("deployments/automations.yaml").resolve()
NAME = "aqb-dead-runs"


@pytest.mark.usefixtures("prefect_server")
def test_automations_are_made_once_and_stay_off_where_somebody_switched_them_off(aqb: Command) -> None:
    assert aqb("automations", "--file", FILE).out == f"{NAME}: created\n"
    with get_client(sync_client=True) as client:
        (made,) = client.read_automations_by_name(NAME)
        client.pause_automation(made.id)
        assert aqb("automations", "--file", FILE).out == f"{NAME}: replaced\n"
        (again,) = client.read_automations_by_name(NAME)
    assert (again.id, again.enabled) == (made.id, False)
    (wanted,) = read_automations(FILE)
    assert again.trigger.model_dump(exclude={"id"}) == wanted.trigger.model_dump(exclude={"id"})
    assert again.actions == wanted.actions


@pytest.mark.parametrize("text", [None, "", "automations: 3", "automations: [{name: a}]", "a: ["])
def test_a_file_without_automations_is_a_wrong_usage(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "automations.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match="no automations can be read"):
        read_automations(file)


@pytest.mark.skipif("SOAK" not in os.environ, reason="takes a server with all its services: `make soak`")
def test_automations_call_a_run_crashed_whose_heartbeats_have_stopped(aqb: Command, tmp_path: Path) -> None:
    file = tmp_path / "automations.yaml"
    file.write_text(FILE.read_text(encoding="utf-8").replace("within: 90", "within: 10"))
    with started_server(tmp_path), get_client(sync_client=True) as client:
        assert aqb("automations", "--file", file).exit_code == 0
        run = client.create_flow_run(nightly, tags=["aqb"], state=Running())
        heartbeat(run)

        def crashed() -> FlowRun | None:
            seen = client.read_flow_run(run.id)
            return seen if seen.state and seen.state.is_crashed() else None

        seen = eventually(crashed, "the run is called crashed")
    assert seen.state is not None
    assert "heartbeat" in str(seen.state.message)


def heartbeat(run: FlowRun) -> None:
    emit_event(
        "prefect.flow-run.heartbeat",
        resource={"prefect.resource.id": f"prefect.flow-run.{run.id}", "prefect.resource.name": run.name},
        related=[{"prefect.resource.id": "prefect.tag.aqb", "prefect.resource.role": "tag"}],
    )
