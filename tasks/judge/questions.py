"""A question of a rubric as it is sent: its material, its request body, its identity in the store, its answer."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scoring.judging.prompts import JudgePrompt, fenced_payload, presented
from scoring.judging.requests import JudgeRequest, Verdict, VerdictStatus, digest
from scoring.testruns.scoring import TestRunPlan, judge_requests
from tasks.config.judge import JudgeSettings
from tasks.judge.replies import Reply, Usage, text_of
from tasks.judge.verdict_store import Judgement

_ENVELOPE_TOKENS = 64  # roles and separators that the endpoint adds
_LONGEST_REASON = 300
_LONGEST_TOKEN = 16  # characters, on average


@dataclass(frozen=True)
class Question:
    """A request of a rubric with the prompt that asks it and the settings of the model that answers it."""

    request: JudgeRequest
    prompt: JudgePrompt
    rubric_version: str
    settings: JudgeSettings

    @cached_property
    def payload(self) -> str:
        """The material as it is sent: masked, shortened, one line of JSON."""
        return presented(self.request.material, self.settings.max_input_chars)

    @cached_property
    def key(self) -> str:
        """The identity of the question in the store: everything that the verdict depends on."""
        settings, prompt = self.settings, self.prompt
        return digest(
            [
                [settings.model, settings.api, settings.temperature, settings.seed, settings.max_output_tokens],
                [self.request.rubric, prompt.kind, prompt.version, prompt.system_text, prompt.schema],
                self.payload,
            ]
        )

    @cached_property
    def size_bytes(self) -> int:
        """The size of everything that the model reads."""
        return len((self.prompt.system_text + self.payload + json.dumps(self.prompt.schema)).encode())

    @property
    def largest_usage(self) -> Usage:
        """The most tokens that a call can use: no tokeniser makes more tokens than there are bytes."""
        return Usage(self.size_bytes + _ENVELOPE_TOKENS, 0, self.settings.max_output_tokens)

    def body(self, mark: str) -> dict[str, Any]:
        """The request body for the API of the settings; `mark` must not occur in the payload."""
        prompt, settings = self.prompt, self.settings
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
        """The verdict in a reply: an answer that the schema allows, a refusal, or `invalid`."""
        if reply.refusal:
            return Verdict(VerdictStatus.REFUSED, reason=reply.refusal[:_LONGEST_REASON])
        if reply.cut:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 중간에 잘림")
        if len(reply.text) > _LONGEST_TOKEN * self.settings.max_output_tokens:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 허용한 길이보다 긺")
        answer = self.prompt.parse(reply.text, self.request.material)
        if answer is None:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 정해진 형식에 맞지 않음")
        return Verdict(VerdictStatus.OK, answer, text_of(answer.get("reason")))

    def judgement(self, verdict: Verdict) -> Judgement:
        """The stored row of this question with a verdict, before any call was made."""
        return Judgement(
            key=self.key,
            kind=self.prompt.kind.value,
            rubric=self.request.rubric,
            rubric_version=self.rubric_version,
            prompt_version=self.prompt.version,
            model_asked=self.settings.model,
            input_hash=hashlib.sha256(self.payload.encode()).hexdigest(),
            status=verdict.status,
            answer=dict(verdict.answer),
            reason=verdict.reason,
        )


def questions_of(plan: TestRunPlan, settings: JudgeSettings) -> list[Question]:
    """The questions of a test run with the prompts of its rubric, each question once."""
    prompts = {prompt.kind: prompt for prompt in plan.rubric.prompts}
    return [Question(request, prompts[request.kind], plan.rubric_version, settings) for request in judge_requests(plan)]
