"""Requests to a judge and its verdicts, as plain values without a client.

A rubric lists its requests; the pipeline obtains the verdicts and passes them back. A request without a verdict has a
status with the reason, and its score is NULL with that status: never a guess, never a zero.

Source: SPEC 7.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class QuestionKind(StrEnum):
    """The kinds of question of the shipped rubrics: one per execution, or (`CONCLUSIONS`) per query.

    A judged metric of a rubric file is its own kind, named like the metric.
    """

    INTENT = "intent"
    SEMANTIC = "semantic"
    CONCLUSIONS = "conclusions"


class VerdictStatus(StrEnum):
    """The outcome of a question."""

    OK = "ok"
    REFUSED = "refused"
    INVALID = "invalid"
    FAILED = "failed"
    OVER_BUDGET = "over_budget"
    NO_JUDGE = "no_judge"


ANSWERED = (VerdictStatus.OK, VerdictStatus.REFUSED, VerdictStatus.INVALID)
"""The outcomes of a question that the judge has answered, however."""

STATUS_TITLES: dict[str, str] = {
    VerdictStatus.OK: "판정함",
    VerdictStatus.NO_JUDGE: "판정 모델을 쓰지 않음",
    VerdictStatus.REFUSED: "판정 모델이 답을 거절함",
    VerdictStatus.INVALID: "판정 모델의 답이 형식에 맞지 않음",
    VerdictStatus.FAILED: "판정 호출이 실패함",
    VerdictStatus.OVER_BUDGET: "판정 예산이 다함",
}


@dataclass(frozen=True)
class JudgeRequest:
    """One question. `material` is shown to the judge, as JSON values: query, expectation, answers, rule facts."""

    rubric: str
    kind: str
    material: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The identity of the question for scoring: equal questions are asked once."""
        return digest([self.rubric, self.kind, self.material])


@dataclass(frozen=True)
class Verdict:
    """The answer to a question. `answer` holds the fields of the question's schema and is empty unless `OK`."""

    status: VerdictStatus
    answer: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def given(self) -> bool:
        """Whether there is a usable answer."""
        return self.status is VerdictStatus.OK

    @property
    def unusable_because(self) -> VerdictStatus:
        """Why its answer is unusable: there is none, or its content does not fit the question."""
        return VerdictStatus.INVALID if self.given else self.status


NO_JUDGE = Verdict(VerdictStatus.NO_JUDGE)
Verdicts = Mapping[str, Verdict]


def verdict_of(request: JudgeRequest, verdicts: Verdicts) -> Verdict:
    """The verdict on a question; `NO_JUDGE` if the judge was not asked."""
    return verdicts.get(request.key, NO_JUDGE)


def summary_of_unasked(waiting: Mapping[str, int]) -> dict[str, Any]:
    """The `judge` part of `summary.json` if no judge was asked; `waiting` counts the questions by status."""
    return {
        "questions": sum(waiting.values()),
        "cached": 0,
        "tokens": 0,
        "cost": 0,
        "without_usage": 0,
        "by_status": dict(waiting),
        "by_epoch": {},
    }


def canonical_json(value: Any) -> str:
    """One line of JSON that is equal for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """The SHA-256 of the canonical JSON of `value`, in hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
