import subprocess
import sys

import pytest

DEFECT = """
from datetime import date
from flows.runtime.logs import configure_logs
from flows.steps.day import log_unexpected
configure_logs("plain")
try:
    {}["no such column"]
except KeyError as error:
    log_unexpected(date(2026, 2, 13), error)
"""


@pytest.mark.parametrize(("mode", "shown"), [(["-X", "dev"], True), ([], False)])
def test_command_shows_the_traceback_of_a_defect_in_development_mode_alone(mode: list[str], shown: bool) -> None:
    program = [sys.executable, *mode, "-W", "ignore", "-c", DEFECT]
    said = subprocess.run(program, capture_output=True, check=True, text=True).stderr
    assert ("Traceback" in said, "KeyError: 'no such column'" in said) == (shown, shown)
