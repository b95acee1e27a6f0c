"""What a command says of what a person should look at."""

import pytest
import typer

from flows.cli.terminal import finish
from flows.runtime.logs import warn

DOWN = "alerts: route qa: HTTP 500; 2 messages for the next run"


def test_what_several_steps_met_is_said_once_and_fails_the_command(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    problems = [DOWN, "late rows could not be looked for", DOWN]
    with pytest.raises(typer.Exit) as ended:
        finish(problems)
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == f"warning: {DOWN}\nwarning: late rows could not be looked for\n"
    warn(problems)
    assert [record.getMessage() for record in caplog.records] == [DOWN, "late rows could not be looked for"]
