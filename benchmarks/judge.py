"""The judge's client against the two usual ones, on a test server with real limits and faults.

3,000 questions a minute (enforced per second), 1 s median latency, 2 % status 503, 1 % dropped connections, 0.5 % hung
ones, 1 % cut answers. `limit used` is what a client that never waits in vain would need, by what it took: retries and
the last answer's latency count against it. `paid twice` are whole answers to a question that had one.
"""

import asyncio
import json
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from openai import AsyncOpenAI, OpenAIError
from pydantic import SecretStr
from tenacity import retry, stop_after_attempt, wait_random_exponential

from benchmarks.report import Scale, table
from scoring.judging.prompts import JudgePrompt
from scoring.judging.requests import JudgeRequest, QuestionKind
from tasks.config.judge import JudgeSettings
from tasks.judge.client import Judge
from tasks.judge.questions import Question
from tasks.judge.verdict_store import VerdictStore
from tasks.state.database import StateDatabase

RPM, TPM = 3000, 900_000
FAULTS = {"server-errors": 0.02, "dropped": 0.01, "hung": 0.005, "cut": 0.01}
PEER_TIMEOUT_S = 30.0
_SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
PROMPT = JudgePrompt(QuestionKind.SEMANTIC, "1", "답변이 질문의 의도에 맞는지 0점부터 5점까지 매긴다.", _SCHEMA)


def requests(first: int, last: int) -> list[JudgeRequest]:
    """Questions of about 600 tokens, as the test server counts them."""
    draw = random.Random(1)  # noqa: S311
    filler = ["지원서", "평가", "기간", "전형", "결과", "담당자", "공고", "면접"]
    texts = [" ".join(draw.choice(filler) for _ in range(70)) for _ in range(last)]
    return [
        JudgeRequest("bench", PROMPT.kind, {"번호": number, "답변": texts[number]}) for number in range(first, last)
    ]


async def ours(url: str, first: int, last: int, state_url: str, rpm: int, tpm: int) -> int:
    """The client of `tasks/judge`; returns how many questions have a verdict."""
    settings = JudgeSettings(base_url=url, api_key=SecretStr("bench"), rpm=rpm, tpm=tpm)
    questions = [Question(request, PROMPT, "1", settings) for request in requests(first, last)]
    with StateDatabase(state_url) as state:
        judged = await Judge(settings, VerdictStore(state)).answer(questions)
    return sum(verdict.given for verdict in judged.verdicts.values())


def peer_body(request: JudgeRequest) -> dict[str, Any]:
    """The same question as the peers send it."""
    material = json.dumps(request.material, ensure_ascii=False)
    schema = {"name": "semantic", "schema": _SCHEMA, "strict": True}
    return {
        "model": "gpt-4.1-mini",
        "messages": [
            {"role": "system", "content": PROMPT.system_text},
            {"role": "user", "content": f"\n{material}\n"},
        ],
        "response_format": {"type": "json_schema", "json_schema": schema},
    }


async def _answered(ask: Callable[[JudgeRequest], Awaitable[str]], first: int, last: int) -> int:
    async def one(request: JudgeRequest) -> bool:
        try:
            return PROMPT.parse(await ask(request), request.material) is not None
        except Exception:  # noqa: BLE001 - whatever a peer gives up on is lost
            return False

    return sum(await asyncio.gather(*map(one, requests(first, last))))


async def gather(url: str, first: int, last: int, *_: Any) -> int:
    """`asyncio.gather` behind a semaphore of 50, with the retries of the `openai` client."""
    semaphore = asyncio.Semaphore(50)
    async with AsyncOpenAI(base_url=url, api_key="bench", timeout=PEER_TIMEOUT_S) as client:

        async def ask(request: JudgeRequest) -> str:
            async with semaphore:
                reply = await client.chat.completions.create(**peer_body(request))
                return reply.choices[0].message.content or ""

        return await _answered(ask, first, last)


async def tenacity(url: str, first: int, last: int, _: str, rpm: int, tpm: int) -> int:
    """`tenacity` around a call and a limiter per second in front of it."""
    lock, next_at = asyncio.Lock(), time.monotonic()

    async def admitted() -> None:
        nonlocal next_at
        async with lock:
            next_at = max(next_at, time.monotonic()) + 60 / rpm
            wait_s = next_at - time.monotonic()
        await asyncio.sleep(wait_s)

    async with AsyncOpenAI(base_url=url, api_key="bench", timeout=PEER_TIMEOUT_S, max_retries=0) as client:

        @retry(stop=stop_after_attempt(6), wait=wait_random_exponential(max=60))
        async def ask(request: JudgeRequest) -> str:
            await admitted()
            try:
                reply = await client.chat.completions.create(**peer_body(request))
            except OpenAIError as error:
                raise ConnectionError from error
            text = reply.choices[0].message.content or ""
            json.loads(text)
            return text

        return await _answered(ask, first, last)


CLIENTS = {"ours": ours, "gather": gather, "tenacity": tenacity}


def measure(client: str, url: str, first: int, last: int, state_url: str, rpm: int, tpm: int) -> None:
    """Runs one client in this process and prints what it took as JSON."""
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.time(), time.process_time()
    answered = asyncio.run(CLIENTS[client](url, first, last, state_url, rpm, tpm))
    result = {
        "answered": answered,
        "started": started,
        "ended": time.time(),
        "cpu_s": time.process_time() - cpu,
        "memory_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024,
    }
    sys.stdout.write(json.dumps(result) + "\n")


@contextmanager
def server(rpm: int, tpm: int, faults: Mapping[str, float] = FAULTS) -> Iterator[str]:
    """A test server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"port": port, "rpm": rpm, "tpm": tpm, "latency-s": 1.0, **faults}
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    process = subprocess.Popen([sys.executable, "-m", "tests.fakes.openai_server", *arguments])  # noqa: S603
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 0.1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def run(client: str, questions: int, *, tpm: int = 0, processes: int = 1) -> dict[str, str]:
    """One line of the table: `processes` clients share the questions, the limit and the state database."""
    share = questions // processes
    with server(RPM, tpm) as url, tempfile.TemporaryDirectory() as folder:
        runs = [
            subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "benchmarks.judge", client, url]
                + [str(value) for value in (at, at + share, f"sqlite:///{folder}/state.db", RPM, tpm)],
                stdout=subprocess.PIPE,
            )
            for at in range(0, questions, share)
        ]
        results = [json.loads(process.communicate()[0]) for process in runs]
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:  # noqa: S310
            stats = json.load(answer)
    span_s = max(result["ended"] for result in results) - min(result["started"] for result in results)
    floor_s = stats["tokens_needed"] * 60 / tpm if tpm else questions * 60 / RPM
    return {
        "span s": f"{span_s:.1f}",
        "limit used": f"{floor_s / span_s:.2f}",
        "lost": str(questions - sum(result["answered"] for result in results)),
        "paid twice": str(stats["paid_twice"]),
        "429s": str(stats["statuses"].get("429", 0)),
        "CPU s / 1,000": f"{sum(result['cpu_s'] for result in results) * 1000 / questions:.1f}",
        "memory MB": f"{max(result['memory_mb'] for result in results):.0f}",
    }


def judge(scale: Scale) -> str:
    """This client in three situations, and its two peers; each once, because each takes most of a minute."""
    questions = scale.questions
    measured = {
        "this client": run("ours", questions),
        f"this client, {TPM:,} tokens a minute binding": run("ours", questions, tpm=TPM),
        "this client, two processes on one limit": run("ours", questions, processes=2),
        "`asyncio.gather`, a semaphore of 50, retries of `openai`": run("gather", questions),
        "`tenacity`, a limiter per second": run("tenacity", questions),
    }
    return table(
        f"Judge client: {questions:,} questions, {RPM:,} a minute",
        ("", *measured["this client"]),
        [(title, *found.values()) for title, found in measured.items()],
        "On a test server with a median latency of 1 s that enforces the limit per second: 2 % status 503, 1 % dropped "
        "connections, 0.5 % hung ones, 1 % cut answers. `limit used` is the time that the limit asks for by the time "
        "it took; `paid twice` are whole answers to a question that had one.",
    )


if __name__ == "__main__":
    client, url, first, last, state_url, rpm, tpm = sys.argv[1:]
    measure(client, url, int(first), int(last), state_url, int(rpm), int(tpm))
