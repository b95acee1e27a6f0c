"""Writes openai-log.jsonl: what OpenAI's SDK sends and gets when the support bot is talked to.

In an environment of its own, in this folder:

    pip install openai==3.54.0
    python write_openai_log.py
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openai import DefaultHttpxClient, OpenAI
from support_bot import model_server, talk


def main() -> None:
    """Holds the conversations and writes a line for each call."""
    lines: list[str] = []
    session: dict[str, str] = {}

    @contextmanager
    def in_session(name: str) -> Iterator[None]:
        session["session_id"] = name
        yield
        session.clear()

    def log(response: Any) -> None:
        response.read()
        sides = {"request": json.loads(response.request.content), "response": json.loads(response.content)}
        line = {"timestamp": datetime.now(UTC).isoformat(), **session, "status": response.status_code, **sides}
        lines.append(f"{json.dumps(line)}\n")

    with model_server() as address:
        hooked = DefaultHttpxClient(event_hooks={"response": [log]})
        talk(OpenAI(base_url=address, api_key="none", max_retries=0, http_client=hooked), in_session)
    Path(__file__).with_name("openai-log.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
