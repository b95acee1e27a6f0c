"""A judge endpoint that speaks OpenAI's protocol on 127.0.0.1: real limits, real faults, the same for the same seed.

What goes wrong depends on the seed, the material and how often it was asked before, never on the order of requests.
`python -m tests.fakes.openai_server --port 8901 --rpm 3000 --latency-s 1` serves until it is stopped; tests start it
in a thread. `GET /stats` tells what it was asked and what was paid for twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

from tests.fakes.gullible_judge import gullible_answer
from tests.fakes.openai_answers import (
    chat_reply,
    format_of,
    messages_of,
    model_error,
    responses_reply,
    schema_in_words,
    schema_of,
    text_for,
    tokens_in,
    usage_of,
)
from tests.fakes.openai_batches import Batches

_SHARES = ("server_errors", "dropped", "hung", "cut", "refused", "garbage")


@dataclass(frozen=True)
class Behaviour:
    """How the server behaves. Shares are of the requests that pass the limits; latencies are log-normal."""

    rpm: int = 0
    tpm: int = 0
    burst_s: float = 1.0
    """How much of an unused limit is kept, in seconds: the server enforces its limits per this time."""
    latency_s: float = 0.0
    """The median of the latencies."""
    spread: float = 0.4
    server_errors: float = 0.0
    dropped: float = 0.0
    hung: float = 0.0
    cut: float = 0.0
    refused: float = 0.0
    garbage: float = 0.0
    api_key: str = ""
    """The only key that is accepted; any, if empty."""
    model: str = ""
    """The only model that exists; any, if empty."""
    bad_request: str = ""
    """The code of a 400 that every request gets; none, if empty."""
    refuses: str = ""
    """The parameters, by a blank, that get a 400 which names them, one at a time."""
    vague: bool = False
    """Whether such a 400 names the parameter in its message alone, as some servers do."""
    forms: str = "json_schema json_object"
    """The kinds of response format that are taken."""
    ignores_format: bool = False
    """Whether the response format is without effect: what fits the prompt's schema comes in a code block."""
    reasoning_tokens: int = 0
    """Tokens that an answer takes beside its text."""
    fickle: float = 0.0
    """The share of answers that are drawn anew whenever they are asked for."""
    release: str = "2026-01-01"
    """What the answers name beside the model."""
    gullible: float = 0.0
    """The share of orders in the material that are obeyed where no fence is around it; 0: the answers are drawn."""
    gullible_fenced: float = 0.0
    """The same behind a fence."""
    shutdown_date: str = ""
    """When the model is shut down, as the list of models says it."""
    quiet_usage: bool = False
    """Whether answers name no tokens."""
    quiet_headers: bool = False
    """Whether the limit headers are left out, as many local servers do."""
    upload_s: float = 0.0
    """How long the upload of a file takes."""
    batch_s: float = 0.0
    """How long a batch takes."""
    seed: int = 1


@dataclass
class _Bucket:
    per_minute: int
    burst_s: float
    level: float = 0.0
    at: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.capacity

    @property
    def capacity(self) -> float:
        return max(self.per_minute / 60 * self.burst_s, 1.0)

    def missing_s(self, amount: float) -> float:
        """Seconds until `amount` is there; 0 if it is."""
        if not self.per_minute:
            return 0.0
        now = time.monotonic()
        self.level = min(self.capacity, self.level + (now - self.at) * self.per_minute / 60)
        self.at = now
        return max(0.0, (min(amount, self.capacity) - self.level) * 60 / self.per_minute)


class HangError(Exception):
    """The connection stays open and nothing comes."""


class DropError(Exception):
    """The connection is cut without an answer."""


class FakeOpenAI:
    """The server in a thread of its own: `with FakeOpenAI(Behaviour(rpm=600)) as server: server.url`."""

    def __init__(self, behaviour: Behaviour | None = None, port: int = 0) -> None:
        self.behaviour = behaviour or Behaviour()
        self.port = port
        self.requests: list[dict[str, Any]] = []
        self.asked: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.needed: dict[str, int] = {}
        self.statuses: Counter[str] = Counter()
        self.batches = Batches(self)
        self.in_flight = self.peak_in_flight = 0
        self.first_at = self.last_at = 0.0  # of the first request and the last answer
        self.last_new_at, self.asked_by_then = 0.0, 0  # of the last request that asked something new
        self.too_long = ""  # what holds this text does not fit the model
        self.hang_once = ""  # the first request that holds this text hangs
        self._buckets = {
            "requests": _Bucket(self.behaviour.rpm, self.behaviour.burst_s),
            "tokens": _Bucket(self.behaviour.tpm, self.behaviour.burst_s),
        }
        self._started, self._news = threading.Event(), threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def paid_twice(self) -> int:
        """Whole answers beyond the first for the same material and question."""
        return sum(count - 1 for count in self.paid.values())

    def wait_until_paid(self, count: int) -> None:
        """Returns when `count` whole answers were begun."""
        with self._news:
            assert self._news.wait_for(lambda: self.paid.total() >= count, 120)

    def stats(self) -> dict[str, Any]:
        return {
            "asked": sum(self.asked.values()),
            "answered": len(self.paid),
            "paid_twice": self.paid_twice,
            "tokens_needed": sum(self.needed.values()),
            "statuses": dict(self.statuses),
            "peak_in_flight": self.peak_in_flight,
            "span_s": self.last_at - self.first_at,
            "new_span_s": self.last_new_at - self.first_at,
            "asked_in_new_span": self.asked_by_then,
        }

    def __enter__(self) -> FakeOpenAI:
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def serve(self) -> None:
        """Serves until it is stopped; what still hangs then is cut off."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await self._talk(reader, writer)
            except (asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                connections.discard(task)
                writer.transport.abort()

        server = await asyncio.start_server(connected, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        if connections:
            await asyncio.wait(connections, timeout=5)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n"):
            method, path, _ = head[0].split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            try:
                status, extra, answer = await self._answer(method, path, headers, body)
            except HangError:
                await asyncio.sleep(3600)
                return
            except DropError:
                return
            self.statuses[str(status)] += 1
            content = answer if isinstance(answer, bytes) else json.dumps(answer, ensure_ascii=False).encode()
            lines = [f"HTTP/1.1 {status} X", f"content-length: {len(content)}", "content-type: application/json"]
            lines += [f"{name}: {value}" for name, value in extra.items()]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
            await writer.drain()

    async def _answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], Any]:
        if path == "/stats":
            return 200, {}, self.stats()
        if self.behaviour.api_key and headers.get("authorization") != f"Bearer {self.behaviour.api_key}":
            said = headers.get("authorization", "")
            return 401, {}, model_error(f"Incorrect API key provided: {said}", "invalid_api_key")
        route = path.split("?")[0].removeprefix("/v1")
        if route == "/models":
            model = {"id": self.behaviour.model or "judge-1", "shutdown_date": self.behaviour.shutdown_date or None}
            return 200, {}, {"object": "list", "data": [model]}
        if route in ("/chat/completions", "/responses"):
            self.first_at = self.first_at or time.monotonic()
            self.in_flight += 1
            self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
            try:
                return await self._judged(route, json.loads(body))
            finally:
                self.in_flight -= 1
                self.last_at = time.monotonic()
        if (method, route) == ("POST", "/files"):
            self.batches.uploading.set()
            await asyncio.sleep(self.behaviour.upload_s)
        return (*self.batches.answer(method, route, headers, body),)

    async def _judged(self, route: str, request: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        self.requests.append(request)
        if refusal := self.refusal_of(request):
            return refusal[0], {}, refusal[1]
        text = text_for(request)
        needed = tokens_in(request) + len(text) // 3 + self.behaviour.reasoning_tokens
        self.needed[question_key(request)] = needed
        refused, limits = self._admission(needed)
        if refused:
            return 429, limits, refused
        if self.hang_once and self.hang_once in messages_of(request):
            self.hang_once = ""
            raise HangError
        fault = self.fault_of(request)
        draw = random.Random(f"{self.behaviour.seed} latency {question_key(request)} {self.asked.total()}")
        latency_s = self.behaviour.latency_s * math.exp(draw.gauss(0, self.behaviour.spread))
        if fault == "hung":
            raise HangError
        await asyncio.sleep(latency_s)
        if fault == "dropped":
            raise DropError
        if fault == "server_errors":
            return 503, limits, model_error("The server is overloaded", "server_error")
        return 200, limits, self.reply(route, request, fault)

    def refusal_of(self, request: dict[str, Any]) -> tuple[int, Any] | None:
        """The error that any request for a model that is not there, or a request of a bad kind, gets."""
        if self.behaviour.model and request["model"] != self.behaviour.model:
            return 404, model_error(f"The model `{request['model']}` does not exist", "model_not_found")
        if self.too_long and self.too_long in messages_of(request):
            return 400, model_error("This exceeds the context_length", "context_length_exceeded")
        if refused := self._refused_parameter(request):
            error = model_error(f"Unsupported parameter: '{refused}' is not supported", "unsupported_parameter")
            error["error"]["param"] = None if self.behaviour.vague else refused
            return 400, error
        if code := self.behaviour.bad_request:
            return 429 if code == "insufficient_quota" else 400, model_error(f"This request is {code}", code)
        return None

    def _refused_parameter(self, request: dict[str, Any]) -> str | None:
        form = format_of(request).get("type", "text")
        if form not in (*self.behaviour.forms.split(), "text"):
            return "response_format" if "messages" in request else "text.format"
        return next((name for name in self.behaviour.refuses.split() if name in request), None)

    def fault_of(self, request: dict[str, Any]) -> str:
        """What goes wrong with this request, '' for nothing; counts it as asked and, if whole, as paid."""
        key = question_key(request)
        draw = random.Random(f"{self.behaviour.seed} {key} {self.asked[key]}").random()
        self.asked[key] += 1
        if self.asked[key] == 1:
            self.last_new_at, self.asked_by_then = time.monotonic(), self.asked.total()
        for name in _SHARES:
            share = getattr(self.behaviour, name)
            if draw < share:
                self.statuses[name] += 1
                break
            draw -= share
        else:
            name = ""
        if name in ("", "refused"):
            with self._news:
                self.paid[key] += 1
                self._news.notify_all()
        return name

    def reply(self, route: str, request: dict[str, Any], fault: str) -> Any:
        """The body of a 200."""
        text = self._obeying(request) or text_for(request, self._mood(request))
        if fault == "cut":
            text = text[: len(text) // 2]
        if fault == "garbage" or (self.behaviour.ignores_format and not schema_in_words(request)):
            text = "물론이죠! 점수는 5점입니다."
        elif self.behaviour.ignores_format:
            text = f"```json\n{text}\n```"
        usage = usage_of(request, text, self.behaviour.reasoning_tokens)
        body = (chat_reply if route == "/chat/completions" else responses_reply)(request, text, fault, usage)
        told = {"model": f"{request['model']}-{self.behaviour.release}"}
        return body | told | ({"usage": None} if self.behaviour.quiet_usage else {})

    def _obeying(self, request: dict[str, Any]) -> str:
        """The answer of a judge that can be talked into things, '' if this is none or it is asked for no score."""
        shares = self.behaviour.gullible, self.behaviour.gullible_fenced
        return gullible_answer(request, *shares) if any(shares) else ""

    def _mood(self, request: dict[str, Any]) -> str:
        """Another one where the answer is drawn anew, else ''."""
        now = f"{self.behaviour.seed} {question_key(request)} {self.asked[question_key(request)]} mood"
        return now if random.Random(now).random() < self.behaviour.fickle else ""

    def _admission(self, tokens: int) -> tuple[Any, dict[str, str]]:
        """The 429 if a limit is reached (else None), and the limit headers after this request."""
        costs = {"requests": 1, "tokens": tokens}
        missing = {name: self._buckets[name].missing_s(cost) for name, cost in costs.items()}
        worst = max(missing, key=lambda name: missing[name])
        if not missing[worst]:
            for name, cost in costs.items():
                self._buckets[name].level -= cost
        headers = {}
        for name, bucket in self._buckets.items():
            if bucket.per_minute and not self.behaviour.quiet_headers:
                headers[f"x-ratelimit-limit-{name}"] = str(bucket.per_minute)
                headers[f"x-ratelimit-remaining-{name}"] = str(max(0, int(bucket.level)))
                headers[f"x-ratelimit-reset-{name}"] = f"{(bucket.capacity - bucket.level) * 60 / bucket.per_minute}s"
        if not missing[worst]:
            return None, headers
        headers["retry-after"] = str(math.ceil(missing[worst]))
        headers["retry-after-ms"] = str(math.ceil(missing[worst] * 1000))
        return model_error(f"Rate limit reached on {worst} per min", "rate_limit_exceeded", worst), headers


def question_key(request: Mapping[str, Any]) -> str:
    """What is asked, without the random mark around it: the model, the schema and the line that is JSON."""
    messages = request["messages"] if "messages" in request else request["input"]
    material = max(messages[-1]["content"].splitlines(), key=len)
    shape = schema_of(request)
    return sha256(json.dumps([request["model"], shape, material], sort_keys=True).encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8901)
    for name, default in asdict(Behaviour()).items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    options = vars(parser.parse_args())
    behaviour = Behaviour(**{field.name: options[field.name] for field in fields(Behaviour)})
    with suppress(KeyboardInterrupt):
        asyncio.run(FakeOpenAI(behaviour, options["port"]).serve())


if __name__ == "__main__":
    main()
