"""The judged metrics of a file: their prompts and questions, and the scores of the verdicts. Source: SPEC 7."""

from collections.abc import Mapping

from scoring.judging.prompts import JudgePrompt, verdict_schema
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
        schema=verdict_schema(points={"type": "integer", "enum": list(scale)}),
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
    return Score(points, reason) if points <= cap else Score(cap, f"{capped}: {cap}점까지. {reason}")


def review_codes(rules: tuple[JudgedRule, ...]) -> dict[str, str]:
    """The codes of questions that were asked and have no verdict, with their titles."""
    return {
        f"{rule.name}_{status}": f"{rule.title}: {title}"
        for rule in rules
        for status, title in STATUS_TITLES.items()
        if status not in (VerdictStatus.OK, VerdictStatus.NO_JUDGE)
    }


def _cap(rule: JudgedRule, row: Row) -> int:
    fired = (one.at_most for one in rule.guards if evaluate(one.condition, row) is True)
    return min(fired, default=max(rule.scale))
