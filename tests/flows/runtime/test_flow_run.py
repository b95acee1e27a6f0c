"""Steps of a flow run, as Prefect runs them."""

import pytest
from prefect import flow

from flows.runtime.flow_run import step
from scoring.errors import InputError, StorageError


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
