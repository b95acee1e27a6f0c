"""The tutorial is run, block by block, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.conftest import Command

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```(sh|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_AQB = """
aqb() {
    printf '%s\\t' "$@" && echo
    read -r exit_code
    return "$exit_code"
}
"""
"""`aqb` of a shell: writes its arguments, and is told how it ended."""


@pytest.mark.usefixtures("prefect_server")
def test_every_block_of_the_tutorial_does_what_it_says(folder: Path, aqb: Command) -> None:
    printed = ""
    for kind, text in _BLOCK.findall(TUTORIAL.read_text("utf-8")):
        if kind == "output":
            missing = [line for line in text.splitlines() if line not in printed]
            assert missing == [], printed
        else:
            printed = run_block(text, folder, aqb)


def run_block(text: str, folder: Path, aqb: Command) -> str:
    """Runs a block in a shell, and `aqb` in this process; what `aqb` printed."""
    printed = ""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder)}
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", _AQB + text],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with shell:
        assert shell.stdin
        assert shell.stdout
        for line in shell.stdout:
            ended = aqb(*line.rstrip("\n").split("\t")[:-1])
            printed += ended.out
            shell.stdin.write(f"{ended.exit_code}\n")
            shell.stdin.flush()
    assert shell.returncode == 0, f"{text}\n{printed}"
    return printed
