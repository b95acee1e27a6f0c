"""What a rubric asks a judge and what comes back: plain values, no client.

A rubric lists its questions; whoever runs it finds the verdicts and hands them back. A question without a verdict has
the status that says why, and its score is NULL with that status as reason: never a guess, never a zero.
Source: SPEC 7.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class QuestionKind(StrEnum):
    """What is asked: one question per execution, or (`CONCLUSIONS`) per query."""

    INTENT = "intent"
    SEMANTIC = "semantic"
    CONCLUSIONS = "conclusions"


class VerdictStatus(StrEnum):
    """What became of a question."""

    OK = "ok"
    REFUSED = "refused"
    INVALID = "invalid"
    FAILED = "failed"
    OVER_BUDGET = "over_budget"
    NO_JUDGE = "no_judge"


@dataclass(frozen=True)
class JudgeRequest:
    """One question. `material` is what is judged, as JSON values: query, expectation, answers, rule facts."""

    rubric: str
    kind: QuestionKind
    material: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The identity of the question: equal questions, whoever asks them, are asked once."""
        canonical = json.dumps(
            [self.rubric, self.kind, self.material], ensure_ascii=False, sort_keys=True, separators=(",", ":")
        )
        return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class Verdict:
    """The answer to a question. `answer` holds the fields of the question's schema and is empty unless `OK`."""

    status: VerdictStatus
    answer: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def given(self) -> bool:
        """Whether there is an answer to use."""
        return self.status is VerdictStatus.OK


NO_JUDGE = Verdict(VerdictStatus.NO_JUDGE)
Verdicts = Mapping[str, Verdict]


def verdict_of(request: JudgeRequest, verdicts: Verdicts) -> Verdict:
    """The verdict on a question; `NO_JUDGE` where nobody was asked."""
    return verdicts.get(request.key, NO_JUDGE)
