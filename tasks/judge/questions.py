"""A question of a rubric, made ready to be sent: what leaves the machine, and what identifies it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scoring.judging.prompts import JudgePrompt, fenced_payload, presented
from scoring.judging.requests import JudgeRequest, Verdict, VerdictStatus
from tasks.config.judge import JudgeSettings
from tasks.judge.replies import Reply, Usage
from tasks.judge.verdict_store import Judgement

_ENVELOPE_TOKENS = 64  # roles and separators that the endpoint adds
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Question:
    """A request of a rubric with the prompt that asks it."""

    request: JudgeRequest
    prompt: JudgePrompt
    rubric_version: str


@dataclass(frozen=True)
class Effort:
    """What a question has cost so far; `usd` is None where the price is unknown."""

    usd: float | None = None
    usage: Usage = field(default_factory=Usage)
    attempts: int = 0
    latency_s: float | None = None
    model: str = ""

    def with_call(self, usage: Usage | None, usd: float | None, latency_s: float | None, model: str) -> Effort:
        """One call more; its usage is None where nobody knows it."""
        used = usage or Usage()
        return Effort(
            usd=usd if self.usd is None else self.usd + (usd or 0.0),
            usage=Usage(
                self.usage.tokens_in + used.tokens_in,
                self.usage.cached + used.cached,
                self.usage.tokens_out + used.tokens_out,
            ),
            attempts=self.attempts + 1,
            latency_s=latency_s,
            model=model,
        )


class Sendable:
    """A question as it is sent. `key` identifies it in the store: everything that the verdict depends on."""

    def __init__(self, question: Question, settings: JudgeSettings) -> None:
        self.question = question
        self.settings = settings
        self.payload = presented(question.request.material, settings.max_input_chars)
        prompt = question.prompt
        self.key = _digest(
            [
                [settings.model, settings.api, settings.temperature, settings.seed, settings.max_output_tokens],
                [question.request.rubric, prompt.kind, prompt.version, prompt.system_text, prompt.schema],
                self.payload,
            ]
        )

    @property
    def input_hash(self) -> str:
        """The hash of the material as it was sent."""
        return hashlib.sha256(self.payload.encode()).hexdigest()

    @cached_property
    def size_bytes(self) -> int:
        """Everything that the model reads."""
        prompt = self.question.prompt
        return len((prompt.system_text + self.payload + json.dumps(prompt.schema)).encode())

    @property
    def most_tokens_in(self) -> int:
        """No tokeniser makes more tokens than there are bytes."""
        return self.size_bytes + _ENVELOPE_TOKENS

    def body(self, mark: str) -> dict[str, Any]:
        """The request body for the API of the settings; `mark` must not occur in the payload."""
        prompt, settings = self.question.prompt, self.settings
        shape = {"name": prompt.kind.value, "schema": prompt.schema, "strict": True}
        user = {"role": "user", "content": fenced_payload(self.payload, mark)}
        body: dict[str, Any] = {"model": settings.model}
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.api == "responses":
            return body | {
                "instructions": prompt.system_text,
                "input": [user],
                "text": {"format": {"type": "json_schema", **shape}},
                "max_output_tokens": settings.max_output_tokens,
                "store": False,
            }
        if settings.seed is not None:
            body["seed"] = settings.seed
        return body | {
            "messages": [{"role": "system", "content": prompt.system_text}, user],
            "response_format": {"type": "json_schema", "json_schema": shape},
            "max_completion_tokens": settings.max_output_tokens,
        }

    def verdict(self, reply: Reply) -> Verdict:
        """What the reply says: an answer that is exactly one that the schema allows, a refusal, or nothing valid."""
        if reply.refusal:
            return Verdict(VerdictStatus.REFUSED, reason=reply.refusal[:_LONGEST_REASON])
        if reply.cut:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 중간에 잘림")
        answer = self.question.prompt.parse(reply.text, self.question.request.material)
        if answer is None:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 정해진 형식에 맞지 않음")
        reason = answer.get("reason")
        return Verdict(VerdictStatus.OK, answer, reason if isinstance(reason, str) else "")

    def judgement(self, verdict: Verdict, effort: Effort | None = None) -> Judgement:
        """The row of this question with its verdict and what it took."""
        spent = effort or Effort()
        return Judgement(
            key=self.key,
            kind=self.question.prompt.kind.value,
            rubric=self.question.request.rubric,
            rubric_version=self.question.rubric_version,
            prompt_version=self.question.prompt.version,
            model_asked=self.settings.model,
            input_hash=self.input_hash,
            status=verdict.status,
            model_answered=spent.model,
            answer=dict(verdict.answer),
            reason=verdict.reason,
            tokens_in=spent.usage.tokens_in,
            tokens_cached=spent.usage.cached,
            tokens_out=spent.usage.tokens_out,
            usd=spent.usd,
            latency_s=spent.latency_s,
            attempts=spent.attempts,
        )


def _digest(values: list[Any]) -> str:
    canonical = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
