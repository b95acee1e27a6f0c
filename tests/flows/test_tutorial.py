"""The tutorial, and the how-to about one's own agent, are run block by block in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.flows.conftest import Command

pytestmark = pytest.mark.long

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_AQB = """
exec 3>&1 >"$SAID/all" 2>&1
aqb() {
    printf '%s\\t' "$@" >&3 && echo >&3
    read -r exit_code
    cat "$SAID/out"
    cat "$SAID/err" >&2
    return "$exit_code"
}
"""
"""`aqb` of a shell: hands over its arguments, is told how it ended, and says what it said."""


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize("page", ["tutorial.md", "how-to/score-your-own-agent.md"])
def test_every_block_of_a_page_does_what_it_says(page: str, folder: Path, aqb: Command) -> None:
    printed = ""
    for kind, text in _BLOCK.findall((DOCS / page).read_text("utf-8")):
        if kind == "output":
            missing = [line for line in text.splitlines() if line not in printed]
            assert missing == [], printed
        elif kind == "sh":
            printed = run_block(text, folder, aqb)


def test_korean_page_has_the_blocks_of_the_page_that_is_run() -> None:
    english, korean = (
        _BLOCK.findall((DOCS / "how-to" / f"score-your-own-agent{language}.md").read_text("utf-8"))
        for language in ("", ".ko")
    )
    assert len(english) > 10
    assert korean == english


def run_block(text: str, folder: Path, aqb: Command) -> str:
    """Runs a block in a shell, and `aqb` in this process; what both printed."""
    with TemporaryDirectory() as said:
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "SAID": said,
        }
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
                Path(said, "out").write_text(ended.out, "utf-8")
                Path(said, "err").write_text(ended.err, "utf-8")
                shell.stdin.write(f"{ended.exit_code}\n")
                shell.stdin.flush()
        printed = Path(said, "all").read_text("utf-8")
    assert shell.returncode == 0, f"{text}\n{printed}"
    return printed
