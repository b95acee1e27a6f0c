"""Steps of a flow run, as Prefect runs them."""

import signal
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.deployments.runner import RunnerDeployment
from prefect.flow_engine import run_flow
from prefect.types.entrypoint import EntrypointType
from pydantic import BaseModel, field_serializer

from flows.nightly import nightly
from flows.runtime.flow_run import step
from scoring.errors import InputError, StorageError, UsageError
from tests.builders.chat_rows import DAY


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (ZeroDivisionError("a mistake of the program"), 1),
        (KeyError("alert_of_another_version"), 1),
        (InputError("a wrong file"), 1),
        (StorageError("a full disk"), 3),
        (ConnectionError("a network that is away"), 3),
    ],
)
def test_steps_are_tried_again_only_where_that_can_help(error: Exception, tries: int) -> None:
    calls = []

    @step("fail", run_name="fail", timeout_s=60)
    def fail() -> None:
        calls.append(1)
        raise error

    fail.task.retry_delay_seconds = [0, 0]

    @flow
    def failing() -> None:
        fail()

    with pytest.raises(type(error)):
        failing()
    assert len(calls) == tries


class Interrupted(BaseModel):
    """What Ctrl-C meets while it is written as JSON, as Prefect writes every state."""

    @field_serializer("name")
    def _pressed(self, _name: str) -> str:
        signal.raise_signal(signal.SIGINT)
        return ""

    name: str = "interrupted"


@pytest.mark.usefixtures("prefect_server")
def test_ctrl_c_that_pydantic_meets_ends_the_flow_and_not_only_its_step() -> None:
    @step("write", run_name="write", timeout_s=60)
    def write() -> None:
        Interrupted().model_dump_json()

    @flow
    def writing() -> None:
        with suppress(Exception):  # as a day that fails stops no other
            write()
        raise AssertionError("the flow went on")

    with pytest.raises(KeyboardInterrupt):
        write()
    with pytest.raises(KeyboardInterrupt):
        writing()


@pytest.mark.usefixtures("prefect_server")
def test_deployed_run_takes_no_settings_as_a_parameter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the folder of the worker
    deployed = nightly.to_deployment("given-settings", entrypoint_type=EntrypointType.MODULE_PATH)
    assert isinstance(deployed, RunnerDeployment)
    deployment_id = deployed.apply()
    assert isinstance(deployment_id, UUID)
    given = {"day": str(DAY), "settings": {"warehouse": "elsewhere"}}
    with get_client(sync_client=True) as client:
        run = client.create_flow_run_from_deployment(deployment_id, parameters=given)
    with pytest.raises(UsageError, match="a deployed flow takes no settings as a parameter"):
        run_flow(nightly, flow_run=run, parameters=nightly.validate_parameters(run.parameters))
    assert not (tmp_path / "elsewhere").exists()
