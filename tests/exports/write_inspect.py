"""Writes inspect.json, what Inspect logs when it asks the support bot, each question twice, and inspect.eval, the same
as it packs it.

In an environment of its own, in this folder:

    pip install inspect-ai==0.3.285 openai==3.54.0
    python write_inspect.py
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, system_message
from support_bot import SYSTEM, model_server

SAMPLES = [
    Sample(input="Can I still change its address?", target="changed"),
    Sample(input="I want my money back for the kettle.", target="30 days"),
    Sample(id="delivery", input="배송은 얼마나 걸리나요?", target=["2~3일", "이틀"]),
    Sample(input="Cancel my subscription, please.", target="cancelled"),
]


def main() -> None:
    """Runs the evaluation in a folder of its own and keeps its log without events; samples that fail do not end it."""
    with TemporaryDirectory() as folder, model_server() as address:
        config = GenerateConfig(max_retries=0)
        model = get_model("openai-api/bot/gpt-4.1-mini", base_url=address, api_key="none", config=config)
        task = Task(
            name="support-bot",
            dataset=SAMPLES,
            solver=[system_message(SYSTEM["content"]), generate()],
            scorer=includes(),
            epochs=2,
        )
        options = {"log_format": "json", "log_dir": folder, "display": "none", "fail_on_error": False}
        (log,) = evaluate(task, model=model, **options)
        written = json.loads(Path(log.location).read_text("utf-8"))
    # Where it was written is left out: the folders of a machine.
    written["eval"].pop("revision", None)
    for sample in written["samples"]:
        for long in ("events", "events_data", "attachments"):
            del sample[long]
        if "error" in sample:
            sample["error"] |= {"traceback": "", "traceback_ansi": ""}
    text = json.dumps(written, ensure_ascii=False, indent=1)
    recorded = Path(__file__).with_name("inspect.json")
    recorded.write_text(f"{text}\n", encoding="utf-8")
    write_eval_log(read_eval_log(recorded), recorded.with_suffix(".eval"), format="eval")


if __name__ == "__main__":
    main()
