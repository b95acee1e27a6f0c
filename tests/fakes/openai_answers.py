"""The bodies that the judge endpoint sends: answers drawn from the request's own schema, and OpenAI's envelopes."""

import json
import random
from collections.abc import Mapping
from typing import Any


def instance(schema: Mapping[str, Any], draw: random.Random, listed: int) -> Any:
    """A value that fits a JSON schema; integers without bounds group the `listed` things of the material."""
    if "enum" in schema:
        return draw.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: instance(part, draw, listed) for name, part in schema["properties"].items()}
        case "array" if schema["items"] == {"type": "integer"}:
            return _groups(draw, listed)
        case "array":
            least = schema.get("minItems", 1)
            return [
                instance(schema["items"], draw, listed)
                for _ in range(draw.randint(least, schema.get("maxItems", least + 1)))
            ]
        case "integer":
            return draw.randint(schema.get("minimum", 0), schema.get("maximum", 5))
        case "number":
            return draw.uniform(schema.get("minimum", 0), schema.get("maximum", 5))
        case "boolean":
            return draw.random() < 0.5
        case _:
            return f"근거 {draw.randrange(10**6)}: 답변이 질문의 핵심을 다룬다."


def _groups(draw: random.Random, count: int) -> list[int]:
    """Which of `count` things belong together, numbered in the order of first appearance; mostly all."""
    groups: list[int] = []
    for _ in range(count):
        known = max(groups, default=0)
        groups.append(known + 1 if not known or draw.random() < 0.15 else draw.randint(1, known))
    return groups


def schema_of(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that the request wants its answer in: of its format, else the last line of its first message."""
    wanted = format_of(request)
    schema: Mapping[str, Any] = wanted.get("json_schema", wanted).get("schema") or json.loads(schema_in_words(request))
    return schema


def format_of(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The format that the request wants its answer in; empty for any text."""
    wanted: Mapping[str, Any]
    wanted = request.get("response_format", {}) if "messages" in request else request.get("text", {}).get("format", {})
    return wanted


def schema_in_words(request: Mapping[str, Any]) -> str:
    """The schema that the model is told of, '' if it is not."""
    told: str = request.get("instructions") or request["messages"][0]["content"]
    last = told.splitlines()[-1]
    return last if last.startswith("{") else ""


def messages_of(request: Mapping[str, Any]) -> str:
    """Everything the model is told, as one text."""
    messages = request["messages"] if "messages" in request else request["input"]
    return "".join([request.get("instructions", ""), *(message["content"] for message in messages)])


def text_for(request: Mapping[str, Any], mood: str = "") -> str:
    """The model's answer: the same for the same model, schema, data and mood, whatever the mark around the data."""
    messages = request["messages"] if "messages" in request else request["input"]
    line = max(messages[-1]["content"].splitlines(), key=len)
    draw = random.Random(f"{request['model']} {line}{mood}")
    material = json.loads(line) if line.startswith("{") else {}
    listed = next((len(value) for value in material.values() if isinstance(value, list)), 0)
    return json.dumps(instance(schema_of(request), draw, listed), ensure_ascii=False)


def tokens_in(request: Mapping[str, Any]) -> int:
    """Tokens of the prompt: about three bytes each."""
    return len(messages_of(request).encode()) // 3


def usage_of(request: Mapping[str, Any], text: str, reasoning: int = 0) -> tuple[int, int, int]:
    """Tokens in, of those from the cache, and tokens out with those of reasoning."""
    head: str = request.get("instructions") or request["messages"][0]["content"]
    shared = len(head.encode()) // 3
    return tokens_in(request), shared if shared >= 1024 else 0, len(text) // 3 + reasoning


def model_error(message: str, code: str, kind: str = "error") -> dict[str, Any]:
    """An error body."""
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


def chat_reply(request: Mapping[str, Any], text: str, fault: str, usage: tuple[int, int, int]) -> dict[str, Any]:
    """A chat completion."""
    message = {"role": "assistant", "content": text, "refusal": None}
    if fault == "refused":
        message |= {"content": None, "refusal": "이 요청은 도와드릴 수 없습니다."}
    prompt, cached, completion = usage
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "choices": [{"index": 0, "message": message, "finish_reason": "length" if fault == "cut" else "stop"}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def responses_reply(request: Mapping[str, Any], text: str, fault: str, usage: tuple[int, int, int]) -> dict[str, Any]:
    """A response of the responses API."""
    content = {"type": "output_text", "text": text, "annotations": []}
    if fault == "refused":
        content = {"type": "refusal", "refusal": "이 요청은 도와드릴 수 없습니다."}
    prompt, cached, completion = usage
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "incomplete" if fault == "cut" else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if fault == "cut" else None,
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "content": [content]}],
        "usage": {
            "input_tokens": prompt,
            "output_tokens": completion,
            "total_tokens": prompt + completion,
            "input_tokens_details": {"cached_tokens": cached},
        },
    }
