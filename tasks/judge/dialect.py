"""How requests are worded for an endpoint and its model: what it does not take is left out.

Models that reason take no temperature, older servers know neither `max_completion_tokens` nor a schema. An endpoint
says so by refusing a request. The run then goes on with the next wording, and the state database remembers it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from scoring.judging.prompts import JudgePrompt


class AnswerForm(StrEnum):
    """What holds an answer to its schema: the endpoint, JSON mode and the prompt, or the prompt alone."""

    SCHEMA = "json_schema"
    JSON = "json_object"
    TEXT = "text"


_FORMS = list(AnswerForm)
_PARAMETERS = {
    "temperature": re.compile(r"\btemperature\b"),
    "seed": re.compile(r"\bseed\b"),
    "max_completion_tokens": re.compile(r"\bmax_completion_tokens\b"),  # older servers call it max_tokens
    "reasoning": re.compile(r"\breasoning(_effort|\.effort)?\b"),
    "store": re.compile(r"\bstore\b"),
}
_FORMAT = re.compile(r"\b(response_format|json_schema|text\.format|json_object)\b")
_SCHEMA_IN_WORDS = """

[답의 형식]
아래 JSON 스키마에 맞는 JSON 객체 하나만, 항목을 스키마의 순서대로 쓴다. 코드 블록이나 다른 글을 앞뒤에 붙이지 않는다.
"""
LONGEST_ADDITION = len(_SCHEMA_IN_WORDS.encode())
"""Bytes that a wording adds to a request beside the schema."""


@dataclass(frozen=True)
class Dialect:
    """The parameters that are left out, and the form of the answers."""

    left_out: frozenset[str] = frozenset()
    form: AnswerForm = AnswerForm.SCHEMA

    def after_refusal(self, refusal: str) -> "Dialect | None":
        """The wording after a request in this one was refused with these words; None if they name nothing of it."""
        for name, words in _PARAMETERS.items():
            if name not in self.left_out and words.search(refusal):
                return replace(self, left_out=self.left_out | {name})
        return self.in_simpler_form() if _FORMAT.search(refusal) else None

    def in_simpler_form(self) -> "Dialect | None":
        """The wording that asks less of the endpoint; None if there is none."""
        following = _FORMS[_FORMS.index(self.form) + 1 :]
        return replace(self, form=following[0]) if following else None

    def joined(self, other: "Dialect") -> "Dialect":
        """What is left out by one of two, and the simpler of their forms: calls at the same time learn together."""
        return Dialect(self.left_out | other.left_out, max(self.form, other.form, key=_FORMS.index))

    def parameters(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that are sent, of those that are set."""
        sent = {name: value for name, value in wanted.items() if value is not None and name not in self.left_out}
        if "max_completion_tokens" in wanted.keys() & self.left_out:
            sent["max_tokens"] = wanted["max_completion_tokens"]
        return sent

    def system_text(self, prompt: JudgePrompt) -> str:
        """What the model is told first, with the schema where the endpoint does not hold it to one.

        The schema keeps its order: models write the properties as they are listed, and the reason comes first.
        """
        if self.form is AnswerForm.SCHEMA:
            return prompt.system_text
        schema = json.dumps(prompt.schema, ensure_ascii=False, separators=(",", ":"))
        return f"{prompt.system_text}{_SCHEMA_IN_WORDS}{schema}"

    def shown(self) -> str:
        """What differs from the usual wording, for people; '' for nothing."""
        parts = [f"takes no {', '.join(sorted(self.left_out))}"] if self.left_out else []
        if self.form is not AnswerForm.SCHEMA:
            answers = {AnswerForm.JSON: "in JSON mode", AnswerForm.TEXT: "in plain text"}[self.form]
            parts.append(f"takes no JSON schema, so it answers {answers}")
        return "; ".join(parts)
