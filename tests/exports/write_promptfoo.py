"""Writes promptfoo.json: what promptfoo writes when it asks the support bot, each question twice.

In an environment of its own with Node.js 22, in this folder:

    npm install promptfoo@0.123.1
    python write_promptfoo.py node_modules/promptfoo/dist/src/entrypoint.js
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from support_bot import SYSTEM, model_server

EXPECTED = {
    "Can I still change its address?": [{"type": "icontains", "value": "changed"}],
    "I want my money back for the kettle.": [{"type": "icontains", "value": "30 days"}],
    "배송은 얼마나 걸리나요?": [{"type": "contains", "value": "2~3일"}, {"type": "not-contains", "value": "모릅니다"}],
    "Cancel my subscription, please.": [],
}


def main(promptfoo: str) -> None:
    """Runs the evaluation in a folder of its own and keeps its results."""
    with TemporaryDirectory() as home, model_server() as address:
        config = {
            "description": "The support bot of Example Outdoor",
            "prompts": [json.dumps([SYSTEM, {"role": "user", "content": "{{question}}"}])],
            "providers": [{"id": "openai:chat:gpt-4.1-mini", "config": {"apiBaseUrl": address, "apiKey": "none"}}],
            "tests": [{"vars": {"question": asked}, "assert": checks} for asked, checks in EXPECTED.items()],
        }
        Path(home, "config.json").write_text(json.dumps(config), encoding="utf-8")
        command = ["node", promptfoo, "eval", "--config", "config.json", "--output", "out.json", "--repeat", "2"]
        own = {"HOME": home, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
        # Tests that fail, which some of these are there for, end it with 100.
        subprocess.run([*command, "--no-cache", "--no-table"], cwd=home, env=os.environ | own, check=False)
        shutil.copyfile(Path(home, "out.json"), Path(__file__).with_name("promptfoo.json"))


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
