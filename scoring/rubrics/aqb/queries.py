"""One query of a test run: its questions for the judge, and all its scores. Source: seed 000, 3, 4, 5.3; SPEC 3.3."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from scoring.judging.requests import JudgeRequest, QuestionKind, Verdicts
from scoring.rubrics.aqb import thresholds as t
from scoring.rubrics.aqb.answers import (
    Numbers,
    accuracy_of,
    failed_steps,
    numbers_of,
    semantic_request,
    semantic_score,
    speed_score,
    stability_score,
    tone_kept,
    ttft_pass,
)
from scoring.rubrics.aqb.consistency import Rooms, consistency_request, consistency_score, rooms_of
from scoring.rubrics.aqb.review import review_reasons
from scoring.rubrics.aqb.thresholds import MappingGrade, NumbersGrade, ToolVerdict
from scoring.rubrics.aqb.tool_use import ToolUse, tool_use
from scoring.stats.exact import mean, rounded
from scoring.testruns.cells import given
from scoring.testruns.detection import unknown_agent_type
from scoring.testruns.executions import (
    AgentType,
    Execution,
    LatencyClass,
    ParsedExecution,
    Round,
    parse_execution,
)
from scoring.testruns.ground_truth import truth_numbers
from scoring.testruns.latency_class import latency_class_of_query
from scoring.testruns.rubric import Metric, Options, Score, ScoredExecution, ScoredQuery
from scoring.testruns.summaries import Repeats, repeats_of, scores_of_mean, undecided_score
from scoring.testruns.totals import WeightedTotal

RUBRIC_ID = "aqb-1.2"
METRICS = (
    Metric("semantic", "의도 충족", judged_by=QuestionKind.SEMANTIC),
    Metric("accuracy", "정확성"),
    Metric("stability", "안정성"),
    Metric("speed", "응답 속도", noise=1),
    Metric("consistency", "일관성", per_execution=False, judged_by=QuestionKind.CONCLUSIONS),
)
EXECUTION_METRICS = tuple(metric.name for metric in METRICS if metric.per_execution)
_NUMBERS_CAUSES = {
    NumbersGrade.WITHIN: "답변의 수치가 정답과 허용 오차 안에서 다름",
    NumbersGrade.WRONG: "답변의 수치가 정답과 다름",
}


@dataclass(frozen=True, slots=True)
class _Answer:
    """One parsed execution with its tool usage, its numbers, and the question for the judge."""

    reading: ParsedExecution
    use: ToolUse
    numbers: Numbers | None
    question: JudgeRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AqbExecution(ScoredExecution):
    """An execution with its grades (None if unknown), and what the summary counts.

    `accuracy_cause`: why accuracy was lost (Korean), '' if it was not lost, is unknown, or only the ground truth is
    missing. `tone_asked`: whether the judge is asked for `tone_kept`.
    """

    mapping_grade: MappingGrade
    accuracy_grade: ToolVerdict | None
    numbers_grade: NumbersGrade | None
    accuracy_cause: str
    ttft_pass: Literal["PASS", "FAIL"] | None
    used_tools: tuple[str, ...]
    weak_check: bool
    failed_steps: tuple[str, ...]
    tone_asked: bool
    tone_kept: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AqbQuery(ScoredQuery):
    """A query; `rooms` and `unanswered` are counts, `mapping` counts executions by their grade."""

    executions: tuple[AqbExecution, ...]
    total: WeightedTotal
    rooms: int
    consistency_provisional: bool
    unanswered: int
    latency_class: LatencyClass
    mapping: Mapping[MappingGrade, int]
    expected_tools: tuple[str, ...]
    has_ground_truth: bool
    repeats: Repeats

    @property
    def lacks_ground_truth(self) -> bool:
        """Whether its accuracy depends on numbers, is known, and no ground truth is given. Source: SPEC 3.3."""
        counts = self.agent_type is AgentType.APPLICANT_MANAGEMENT and self.scores["accuracy"].points is not None
        return counts and not self.has_ground_truth


def requests(executions: Sequence[Execution], options: Options) -> list[JudgeRequest]:
    """One `SEMANTIC` question per answer of a plan or applicant agent, and a `CONCLUSIONS` question if texts differ.

    Raises:
        UsageError: the agent type is unknown.
    """
    _, answers, rooms = _answered(executions, options)
    questions = [*(answer.question for answer in answers), consistency_request(rooms, RUBRIC_ID)]
    return [question for question in questions if question is not None]


def score_query(executions: Sequence[Execution], options: Options, verdicts: Verdicts) -> AqbQuery:
    """One query with its executions in the order of rounds.

    Raises:
        UsageError: the agent type is unknown.
    """
    agent, answers, rooms = _answered(executions, options)
    readings = [answer.reading for answer in answers]
    latency_class = latency_class_of_query(readings)
    scored = tuple(_scored(answer, agent, latency_class, verdicts) for answer in answers)
    scores = {
        **{metric: _over_executions(scored, metric) for metric in EXECUTION_METRICS},
        "consistency": consistency_score(rooms, consistency_request(rooms, RUBRIC_ID), verdicts),
    }
    points = {name: score.points for name, score in scores.items()}
    total = t.WEIGHTS.total(points, options)
    unanswered = sum(execution.unanswered for execution in scored)
    grades = Counter(execution.mapping_grade for execution in scored)
    return AqbQuery(
        query_id=readings[0].execution.query_id,
        query_text=next((r.execution.query_text for r in readings if given(r.execution.query_text)), ""),
        agent_type=agent,
        executions=scored,
        scores=scores,
        total=total,
        manual_review_reasons=review_reasons(points, total, unanswered, _missing(scored, scores["consistency"])),
        rooms=rooms.count,
        consistency_provisional=rooms.provisional,
        unanswered=unanswered,
        latency_class=latency_class,
        mapping={grade: grades[grade] for grade in MappingGrade},
        expected_tools=tuple(sorted({tool for answer in answers for tool in answer.use.expected})),
        has_ground_truth=any(answer.numbers for answer in answers),
        repeats=_repeats(rooms, scored),
        problems=tuple(dict.fromkeys(problem for answer in answers for problem in _problems(answer))),
    )


def _answered(executions: Sequence[Execution], options: Options) -> tuple[AgentType, list[_Answer], Rooms]:
    """The agent of a query, its answers in the order of rounds, and the rooms to compare."""
    tolerance = Fraction(options["tolerance_percent"]) / 100
    readings = [parse_execution(execution) for execution in sorted(executions, key=lambda execution: execution.round)]
    agent = readings[0].execution.agent_type
    if agent is None:
        raise unknown_agent_type(readings[0].execution.query_id)
    answers = []
    for reading in readings:
        use = tool_use(reading)
        question = semantic_request(reading, use, RUBRIC_ID)
        answers.append(_Answer(reading, use, numbers_of(reading, tolerance), question))
    return agent, answers, rooms_of(readings, int(options["consistency_min_runs"]))


def _scored(answer: _Answer, agent: AgentType, latency_class: LatencyClass, verdicts: Verdicts) -> AqbExecution:
    reading, use, numbers = answer.reading, answer.use, answer.numbers
    accuracy, tools = accuracy_of(reading, use, numbers)
    return AqbExecution(
        execution=reading.execution,
        failed=bool(reading.failure),
        empty=bool(reading.emptiness),
        latency_s=reading.latency_s,
        latency_class=latency_class,
        scores={
            "semantic": semantic_score(reading, use, answer.question, verdicts),
            "accuracy": accuracy,
            "stability": stability_score(reading),
            "speed": speed_score(reading, latency_class, agent),
        },
        mapping_grade=use.grade,
        accuracy_grade=tools,
        numbers_grade=numbers.grade if numbers else None,
        accuracy_cause=_accuracy_cause(answer, accuracy),
        ttft_pass=ttft_pass(reading.execution.ttft_s),
        used_tools=use.used,
        weak_check=bool(use.weak),
        failed_steps=failed_steps(reading),
        answer=reading.response.assistant_message,
        tone_asked=answer.question is not None,
        tone_kept=tone_kept(answer.question, verdicts),
    )


def _accuracy_cause(answer: _Answer, accuracy: Score) -> str:
    """Why accuracy was lost: there was no answer, else the tools were wrong, else the numbers."""
    if accuracy.points in (None, t.MAX_POINTS):
        return ""
    if not answer.reading.answered:
        return accuracy.reason
    return answer.use.cause or (_NUMBERS_CAUSES.get(answer.numbers.grade, "") if answer.numbers else "")


def _repeats(rooms: Rooms, scored: Sequence[AqbExecution]) -> Repeats:
    """The comparison of the rooms, where those without an answer differ; with too few, numbers are not compared."""
    unanswered = range(rooms.count - len(rooms.texts)) if rooms.enough else ()
    first = (one for one in scored if one.execution.round.repeat == 1)
    return repeats_of(first, t.PASS_MIN_POINTS, [*rooms.sets, *unanswered])


def _missing(scored: Sequence[AqbExecution], consistency: Score) -> dict[str, set[str]]:
    """Per metric the codes of the unknown scores of all executions."""
    of_executions = {
        metric: {e.scores[metric].missing for e in scored if e.scores[metric].points is None}
        for metric in EXECUTION_METRICS
    }
    return {**of_executions, "consistency": {consistency.missing} if consistency.points is None else set()}


def _over_executions(executions: Sequence[AqbExecution], metric: str) -> Score:
    """The mean of the known scores, with every reason and its rounds.

    NULL while one of them is undecided. Source: seed 000, 1.3; SPEC 7.
    """
    scores = [execution.scores[metric] for execution in executions]
    missing = [score.missing for score in scores if score.points is None]
    waiting = undecided_score(scores)
    points = None if waiting else mean(score.points for score in scores_of_mean(executions, metric))
    rounds_of: dict[str, list[Round]] = {}
    for execution, score in zip(executions, scores, strict=True):
        rounds_of.setdefault(_with_points(score), []).append(execution.execution.round)
    if len(rounds_of) == 1:
        reason = scores[0].reason if len(scores) == 1 else f"{len(scores)}회 모두: {scores[0].reason}"
    else:
        differing = points is not None and len({score.points for score in scores}) > 1
        mean_text = f"평균 {rounded(points or 0, 2)}점 — " if differing else ""
        reason = mean_text + " / ".join(f"{', '.join(map(str, rounds))} {said}" for said, rounds in rounds_of.items())
    code = waiting.missing if waiting else "" if points is not None else missing[0]
    return Score(points, reason, code)


def _with_points(score: Score) -> str:
    return f"{'점수 없음' if score.points is None else f'{score.points}점'}: {score.reason}"


def _problems(answer: _Answer) -> Iterator[tuple[str, str]]:
    """The expectations of a row that cannot be used."""
    execution, use = answer.reading.execution, answer.use
    truth = given(execution.ground_truth)
    if use.grade is MappingGrade.UNKNOWN:
        yield use.unknown_because, use.text()
    if truth and not truth_numbers(truth):
        yield "ground_truth_without_numbers", f"정답 수치에 숫자가 없음: {truth}"
