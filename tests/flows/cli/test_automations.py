"""`aqb automations`: the Prefect server keeps what deployments/automations.yaml says, once."""

import os
import re
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.events import emit_event
from prefect.states import Pending, Running

from flows.cli.automations import read_automations
from flows.nightly import nightly
from scoring.errors import UsageError
from tests.flows.conftest import Command
from tests.flows.prefect_server import eventually, started_server

FILE = Path("deployments/automations.yaml").resolve()
DEAD, UNSTARTED = "aqb-dead-runs", "aqb-unstarted-runs"


@pytest.mark.usefixtures("prefect_server")
def test_automations_are_made_once_and_stay_off_where_somebody_switched_them_off(aqb: Command) -> None:
    assert aqb("automations", "--file", FILE).out == f"{DEAD}: created\n{UNSTARTED}: created\n"
    with get_client(sync_client=True) as client:
        (made,) = client.read_automations_by_name(DEAD)
        client.pause_automation(made.id)
        assert aqb("automations", "--file", FILE).out == f"{DEAD}: replaced\n{UNSTARTED}: replaced\n"
        (again,) = client.read_automations_by_name(DEAD)
    assert (again.id, again.enabled) == (made.id, False)
    wanted, _ = read_automations(FILE)
    assert again.trigger.model_dump(exclude={"id"}) == wanted.trigger.model_dump(exclude={"id"})
    assert again.actions == wanted.actions


@pytest.mark.parametrize("text", [None, "", "automations: 3", "automations: [{name: a}]", "a: ["])
def test_file_without_automations_is_a_wrong_usage(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "automations.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match="no automations can be read"):
        read_automations(file)


@pytest.mark.skipif("SOAK" not in os.environ, reason="takes a server with all its services: `make soak`")
def test_automations_end_a_run_whose_process_is_gone_and_schedule_one_again_that_never_got_any(
    aqb: Command, tmp_path: Path
) -> None:
    file = tmp_path / "automations.yaml"
    file.write_text(re.sub("within: [0-9]+", "within: 10", FILE.read_text(encoding="utf-8")))
    with started_server(tmp_path), get_client(sync_client=True) as client:
        assert aqb("automations", "--file", file).exit_code == 0
        run = client.create_flow_run(nightly, tags=["aqb"], state=Running())
        heartbeat(run)
        # What a runner has done when it is stopped before it has a process for the run.
        unstarted = client.create_flow_run(nightly, tags=["aqb"])
        client.set_flow_run_state(unstarted.id, Pending(name="Submitting"))

        def message_of(run: FlowRun, kind: StateType) -> str | None:
            state = client.read_flow_run(run.id).state
            return state.message if state and state.type == kind else None

        crashed = eventually(lambda: message_of(run, StateType.CRASHED), "the run is called crashed")
        assert "heartbeat" in crashed
        again = eventually(lambda: message_of(unstarted, StateType.SCHEDULED), "the run is scheduled again")
        assert "다시 예약" in again


def heartbeat(run: FlowRun) -> None:
    emit_event(
        "prefect.flow-run.heartbeat",
        resource={"prefect.resource.id": f"prefect.flow-run.{run.id}", "prefect.resource.name": run.name},
        related=[{"prefect.resource.id": "prefect.tag.aqb", "prefect.resource.role": "tag"}],
    )
