"""A question of a rubric as it is sent: its material, its request body, its identity in the store, its answer."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scoring.judging.prompts import JudgePrompt, presented
from scoring.judging.requests import JudgeRequest, Verdict, VerdictStatus, digest
from scoring.testruns.scoring import TestRunPlan, judge_requests
from tasks.config.judge import JudgeSettings
from tasks.judge.dialect import LONGEST_ADDITION, AnswerForm, Dialect
from tasks.judge.replies import Reply, Usage, text_of
from tasks.judge.verdict_store import Judgement

_ENVELOPE_TOKENS = 64  # roles and separators that the endpoint adds
_LONGEST_REASON = 300
_EPOCH_DIGITS = 16
_LONGEST_TOKEN = 16  # characters, on average
# Models that reason may say first what they thought, some servers without its opening mark; many like code blocks.
_THOUGHT = re.compile(r"\A(?!\s*[{`]).*?</think>", re.DOTALL)
_CODE_BLOCK = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL | re.IGNORECASE)
_USUAL = Dialect()


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
        effort = [settings.reasoning_effort] if settings.reasoning_effort else []
        asked_with = [settings.model, settings.api, settings.temperature, settings.seed, settings.max_output_tokens]
        told = [self.request.rubric, prompt.kind, prompt.version, prompt.system_text, prompt.schema]
        return digest([[*asked_with, *effort], told, self.payload])

    @cached_property
    def size_bytes(self) -> int:
        """The size of everything that the model reads."""
        return len((self.prompt.system_text + self.payload + json.dumps(self.prompt.schema)).encode())

    @property
    def largest_usage(self) -> Usage:
        """The most tokens that a call can use: no tokeniser makes more tokens than there are bytes."""
        most_in = self.size_bytes + LONGEST_ADDITION + _ENVELOPE_TOKENS
        return Usage(most_in, 0, self.settings.longest_output_tokens, cache_written=most_in)

    def epoch(self, reply: Reply) -> str:
        """What judged, in sixteen digits: the model that answered, what it was asked with, prompt and schema."""
        prompt, dialect = self.prompt, reply.dialect
        asked_with = {name: value for name, value in self._parameters(dialect).items() if not name.startswith("max_")}
        told = [prompt.kind, prompt.version, dialect.system_text(prompt), prompt.schema]
        return digest([reply.model, self.settings.api, asked_with, told])[:_EPOCH_DIGITS]

    def body(self, mark: str, dialect: Dialect = _USUAL) -> dict[str, Any]:
        """The request body for the API of the settings; `mark` must not occur in the payload."""
        system_text = dialect.system_text(self.prompt)
        user = {"role": "user", "content": self.prompt.user_text(self.payload, mark)}
        if self.settings.api == "responses":
            texts = {"instructions": system_text, "input": [user]}
        else:
            texts = {"messages": [{"role": "system", "content": system_text}, user]}
        return {"model": self.settings.model, **texts, **self._parameters(dialect)}

    def _parameters(self, dialect: Dialect) -> dict[str, Any]:
        """Everything of a request but the model and what it is told."""
        settings, form = self.settings, dialect.form
        effort, longest = settings.reasoning_effort, settings.longest_output_tokens
        shape = {"name": str(self.prompt.kind), "schema": self.prompt.schema, "strict": True}
        wanted: dict[str, Any] = {"temperature": settings.temperature}
        if settings.api == "responses":
            wanted |= {"reasoning": {"effort": effort} if effort else None, "store": False}
            sent = dialect.parameters(wanted | {"max_output_tokens": longest})
            if form is not AnswerForm.TEXT:
                sent["text"] = {"format": {"type": form} | (shape if form is AnswerForm.SCHEMA else {})}
            return sent
        sent = dialect.parameters(wanted | {"seed": settings.seed, "max_completion_tokens": longest})
        if effort and "reasoning" not in dialect.left_out:
            sent["reasoning_effort"] = effort
        if form is not AnswerForm.TEXT:
            sent["response_format"] = {"type": form} | ({"json_schema": shape} if form is AnswerForm.SCHEMA else {})
        return sent

    def verdict(self, reply: Reply) -> Verdict:
        """The verdict in a reply: an answer that the schema allows, a refusal, or `invalid`."""
        if reply.refusal:
            return Verdict(VerdictStatus.REFUSED, reason=reply.refusal[:_LONGEST_REASON])
        if reply.cut:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 중간에 잘림")
        text = _THOUGHT.sub("", reply.text)
        if len(text) > _LONGEST_TOKEN * self.settings.max_output_tokens:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 허용한 길이보다 긺")
        block = _CODE_BLOCK.fullmatch(text)
        answer = self.prompt.parse(block[1] if block else text, self.request.material)
        if answer is None:
            return Verdict(VerdictStatus.INVALID, reason="판정 모델의 답이 정해진 형식에 맞지 않음")
        return Verdict(VerdictStatus.OK, answer, text_of(answer.get("reason")))

    def judgement(self, verdict: Verdict) -> Judgement:
        """The stored row of this question with a verdict, before any call was made."""
        return Judgement(
            key=self.key,
            kind=str(self.prompt.kind),
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
