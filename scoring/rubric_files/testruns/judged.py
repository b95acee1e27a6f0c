"""The judged metrics of a file: their prompts and questions, and the scores of the verdicts. Source: SPEC 7."""

from collections.abc import Mapping

from scoring.judging.prompts import JudgePrompt
from scoring.judging.requests import STATUS_TITLES, JudgeRequest, Verdicts, VerdictStatus, verdict_of
from scoring.rubric_files.testruns.rules import JudgedRule
from scoring.rules.explain import Row, evaluate
from scoring.testruns.rubric import Score

_FRAME_VERSION = "1"  # of the text added to that of the file; a question's identity includes the file's text itself
_FRAME = """\
{prompt}

[Scale]
{scale}

[Material]
One JSON object with: {sees}

First write `reason`, one or two sentences that name the evidence in the material; then `points`, one of the scale.
When in doubt, take the lower points."""

_ASKED_IN_VAIN = {
    VerdictStatus.REFUSED: "판정 모델이 답을 거절함",
    VerdictStatus.INVALID: "판정 모델의 답이 형식에 맞지 않음",
    VerdictStatus.FAILED: "판정 호출이 실패함",
    VerdictStatus.OVER_BUDGET: "예산을 넘겨 판정하지 못함",
}
"""The reason for a manual review (Korean), by the status of a question that was asked."""


def judge_prompt(metric: str, prompt: str, scale: Mapping[int, str], sees: tuple[str, ...]) -> JudgePrompt:
    """The judge's prompt for a metric; its verdict is a reason and points of the scale."""
    return JudgePrompt(
        kind=metric,
        version=_FRAME_VERSION,
        instructions=_FRAME.format(
            prompt=prompt.strip(),
            scale="\n".join(f"- {points}: {meaning}" for points, meaning in scale.items()),
            sees=", ".join(sees),
        ),
        schema={
            "type": "object",
            "properties": {"reason": {"type": "string"}, "points": {"type": "integer", "enum": list(scale)}},
            "required": ["reason", "points"],
            "additionalProperties": False,
        },
    )


def request_of(rubric: str, rule: JudgedRule, row: Row) -> JudgeRequest | None:
    """The question about an answer; None if a guard leaves only the lowest points."""
    if _cap(rule, row) <= min(rule.scale):
        return None
    return JudgeRequest(rubric, rule.prompt.kind, {name: row[name] for name in rule.sees})


def judged_score(rubric: str, rule: JudgedRule, row: Row, verdicts: Verdicts) -> Score:
    """The points of the verdict, capped by the guards; NULL with the status of a question without one."""
    cap = _cap(rule, row)
    capped = " / ".join(one.label for one in rule.guards if evaluate(one.condition, row) is True)
    request = request_of(rubric, rule, row)
    if request is None:
        return Score(cap, f"{capped}: {cap}점")
    verdict = verdict_of(request, verdicts)
    points = int(verdict.answer.get("points", -1))
    if not verdict.given or points not in rule.scale:
        status = verdict.unusable_because
        return Score(None, f"판정받지 못해 채점하지 않음({STATUS_TITLES[status]})", status)
    reason = f"{points}점: {verdict.reason or rule.scale[points]}"
    return Score(points, reason) if points <= cap else Score(cap, f"{capped}이므로 {cap}점까지. {reason}")


def review_codes(rules: tuple[JudgedRule, ...]) -> dict[str, str]:
    """The codes of unanswered questions, with their titles."""
    return {
        f"{rule.name}_{status}": f"{rule.title}: {title}" for rule in rules for status, title in _ASKED_IN_VAIN.items()
    }


def _cap(rule: JudgedRule, row: Row) -> int:
    fired = (one.at_most for one in rule.guards if evaluate(one.condition, row) is True)
    return min(fired, default=max(rule.scale))
