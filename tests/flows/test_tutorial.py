"""The tutorial is run, block by block, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```(sh|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_tutorial_does_what_it_says(tmp_path: Path, prefect_server: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("AQB_", "SLACK_", "OPENAI_"))
    }
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(home)}
    environment["PREFECT_API_URL"] = prefect_server  # otherwise each command starts a server of its own
    printed = ""
    for kind, text in _BLOCK.findall(TUTORIAL.read_text("utf-8")):
        if kind == "output":
            missing = [line for line in text.splitlines() if line not in printed]
            assert missing == [], printed
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        printed = done.stdout
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
