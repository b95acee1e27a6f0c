"""A support bot of a made-up shop, spoken to through the OpenAI client: what the exporters here record.

It runs in environments of other tools, so it imports nothing of AQB. Its model is a server on 127.0.0.1.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SYSTEM = {"role": "system", "content": "You are the support agent of Example Outdoor. Be brief."}
SESSIONS = {
    "c-1001": ("Where is my order A-48213?", "Can I still change its address?"),
    "c-1002": ("I want my money back for the kettle.",),
    "c-1003": ("배송은 얼마나 걸리나요?",),
    "c-1004": ("Cancel my subscription, please.",),
}
ANSWERS = {
    "Where is my order A-48213?": "It left our warehouse on Monday and should reach you by Thursday.",
    "Can I still change its address?": "I'm sorry, but I can't help with that.",
    "I want my money back for the kettle.": "Of course. Send it back within 30 days:\n1. print a label\n2. post it.",
    "배송은 얼마나 걸리나요?": "보통 2~3일 걸립니다. ",
}
ORDER = {"name": "find_order", "arguments": '{"order_id": "A-48213"}'}
TOOL = {"type": "function", "function": {"name": "find_order", "parameters": {"type": "object"}}}


def talk(client: Any, in_session: Callable[[str], Any] | None = None) -> None:
    """Holds all conversations: one question needs a tool first, the last one fails at the provider.

    `in_session` gives the context manager within which a session is held.
    """
    for session, questions in SESSIONS.items():
        messages: list[Any] = [SYSTEM]
        for question in questions:
            messages = [*messages, {"role": "user", "content": question}]
            if in_session is None:
                messages = _answered(client, messages)
            else:
                with in_session(session):
                    messages = _answered(client, messages)
    client.embeddings.create(model="text-embedding-3-small", input=["kettle"])


def _answered(client: Any, messages: list[Any]) -> list[Any]:
    import openai

    while True:
        try:
            reply = client.chat.completions.create(model="gpt-4.1-mini", messages=messages, tools=[TOOL])
        except openai.InternalServerError:
            return messages
        message = reply.choices[0].message
        messages = [*messages, message.model_dump(exclude_none=True)]
        if not message.tool_calls:
            return messages
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": '{"state": "shipped"}'}
        messages = [*messages, result]


@contextmanager
def model_server() -> Iterator[str]:
    """The address of an OpenAI-compatible API that knows the answers."""
    with _served(_Model) as address:
        yield f"{address}/v1"


@contextmanager
def tool_server(reply: object) -> Iterator[str]:
    """The address of a tool that answers whatever it is asked for with this JSON."""

    class Tool(_Server):
        def do_GET(self) -> None:
            self.answer(200, reply)

    with _served(Tool) as address:
        yield address


@contextmanager
def _served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(BaseHTTPRequestHandler):
    def answer(self, status: int, reply: object) -> None:
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class _Model(_Server):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(*((200, _embeddings(asked)) if self.path.endswith("/embeddings") else _completion(asked)))


def _embeddings(asked: dict[str, Any]) -> dict[str, Any]:
    vector = {"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}
    usage = {"prompt_tokens": 2, "total_tokens": 2}
    return {"object": "list", "model": asked["model"], "data": [vector], "usage": usage}


def _completion(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    messages = asked["messages"]
    question = [one["content"] for one in messages if one["role"] == "user"][-1]
    if question not in ANSWERS:
        return 500, {"error": {"message": "The server had an error.", "type": "server_error", "code": None}}
    message: dict[str, Any] = {"role": "assistant", "content": ANSWERS[question]}
    if "order" in question and messages[-1]["role"] != "tool":
        call = {"id": "call_1", "type": "function", "function": ORDER}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    prompt_tokens, completion_tokens = 40 + 12 * len(messages), 5 + len(message["content"] or "") // 4
    return 200, {
        "id": f"chatcmpl-{sum(map(len, map(str, messages)))}",
        "object": "chat.completion",
        "created": 1763856000,
        "model": "gpt-4.1-mini-2025-04-14",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }
