"""Scores one query's executions by the rules of a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from scoring.judging.requests import JudgeRequest, Verdicts
from scoring.rubric_files.testruns.judged import judged_score, request_of, review_codes
from scoring.rubric_files.testruns.rules import (
    CheckRule,
    JudgedRule,
    MetricRule,
    TestRunRules,
    answer_row,
    execution_row,
)
from scoring.rules.arrow_types import field
from scoring.rules.explain import Row, evaluate, findings
from scoring.rules.expressions import Expression, Sum
from scoring.stats.intervals import mode_ratio
from scoring.testruns.check_results import CheckResult, pass_ratio
from scoring.testruns.check_results import evaluate as evaluate_expected
from scoring.testruns.executions import Execution, LatencyClass, ParsedExecution, parse_execution
from scoring.testruns.expected import expected_of, unread_checks
from scoring.testruns.latency_class import latency_class_of_query
from scoring.testruns.patterns import failed_check_lines
from scoring.testruns.rubric import Options, Score, ScoredExecution, ScoredQuery
from scoring.testruns.summaries import as_float, query_means
from scoring.testruns.totals import WeightedTotal

NO_VALUE = "no_value"
UNANSWERED_POINTS = 0
_FAILED_CHECK = "조건에 맞지 않음"
_NOT_MEANT = Score(None, "해당 없음")

OWN_COLUMNS = (
    field("not_answered", pa.string(), "답하지 못한 까닭: 답했으면 빈칸"),
    field("pass_count", pa.int64(), "통과한 체크 수: 답하지 못했으면 빈칸"),
    field("check_count", pa.int64(), "확인한 체크 수: 답하지 못했으면 빈칸"),
    field("pass_ratio", pa.float64(), "체크 통과율: 가중치를 반영함. 답이나 체크가 없으면 빈칸"),
    field("failed_checks", pa.list_(pa.string()), "통과하지 못한 체크: [대상] 까닭"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileExecution(ScoredExecution):
    """An execution with its checks; the counts are None without an answer, the ratio also without a check."""

    not_answered: str | None
    pass_count: int | None
    check_count: int | None
    pass_ratio: float | None
    failed_checks: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuery(ScoredQuery):
    """A query with its total; `verdict` is None if there is no total, or the file defines no verdicts."""

    executions: tuple[FileExecution, ...]
    total: WeightedTotal
    verdict: str | None


@dataclass(frozen=True)
class _Examined:
    """An execution with its checks, and the input columns of metrics."""

    reading: ParsedExecution
    results: tuple[CheckResult, ...]
    row: Row


def requests(rules: TestRunRules, executions: Sequence[Execution], options: Options) -> list[JudgeRequest]:
    """One question for each judged metric and each execution with an answer."""
    if not rules.judged:
        return []
    answered = [one for one in _examined(rules, executions)[0] if one.reading.answered]
    asked = (
        request_of(rules.id, rule, one.row)
        for one in answered
        for rule in rules.judged
        if _applies(rule.only_if, one.row)
    )
    return [request for request in asked if request]


def score_query(
    rules: TestRunRules, executions: Sequence[Execution], options: Options, verdicts: Verdicts
) -> FileQuery:
    """One query, its executions in the order of rounds, with its total and the reasons for a manual review."""
    examined, latency_class = _examined(rules, executions)
    scored = tuple(_scored(rules, one, latency_class, verdicts) for one in examined)
    scores = query_means(scored, [rule.name for rule in rules.of_executions])
    row = _query_row(rules, scored, scores)
    for rule in rules.of_queries:
        scores[rule.name] = metric_score(rule, row)
        row[f"{rule.name}_score"] = as_float(scores[rule.name].points)
    total = rules.weights.total({name: score.points for name, score in scores.items()}, options)
    row |= {"weighted_total": total.points, "weight_coverage": total.coverage}
    verdict = evaluate(rules.verdict, row) if rules.verdict and total.points is not None else None
    row["verdict"] = verdict
    return FileQuery(
        query_id=executions[0].query_id,
        query_text=next((execution.query_text for execution in executions if execution.query_text), ""),
        agent_type=next((execution.agent_type for execution in executions if execution.agent_type), None),
        executions=scored,
        scores=scores,
        problems=unread_checks(executions),
        total=total,
        verdict=verdict,
        manual_review_reasons=[
            *(one.code for one in rules.triggers if evaluate(one.condition, row) is True),
            *dict.fromkeys(unanswered_codes(rules, scored)),
        ],
    )


def _examined(rules: TestRunRules, executions: Sequence[Execution]) -> tuple[list[_Examined], LatencyClass]:
    """The executions of a query with their checks, and their latency class."""
    readings = [parse_execution(execution) for execution in executions]
    latency_class = latency_class_of_query(readings)
    found = []
    for reading in readings:
        of_answer = answer_row(reading, latency_class)
        results = _check_results(rules.checks, reading, of_answer) if reading.answered else ()
        found.append(_Examined(reading, results, execution_row(of_answer, reading, results)))
    return found, latency_class


def unanswered_codes(rules: TestRunRules, scored: Sequence[FileExecution]) -> list[str]:
    """The code of each question that was asked and not answered by the judge."""
    known = review_codes(rules.judged)
    missing = (f"{rule.name}_{one.scores[rule.name].missing}" for rule in rules.judged for one in scored)
    return [code for code in missing if code in known]


def _query_row(rules: TestRunRules, scored: Sequence[FileExecution], means: dict[str, Score]) -> dict[str, Any]:
    """The input columns of a query's own metrics and of the triggers, without the total."""
    row: dict[str, Any] = {
        "rounds": len(scored),
        "unanswered": sum(one.not_answered is not None for one in scored),
    }
    for rule in rules.of_executions:
        points = [one.scores[rule.name].points for one in scored]
        is_comparable = len(points) > 1 and None not in points
        row[f"{rule.name}_score"] = as_float(means[rule.name].points)
        row[f"{rule.name}_same"] = as_float(mode_ratio(points)) if is_comparable else None
    return row


def _scored(rules: TestRunRules, examined: _Examined, latency_class: LatencyClass, verdicts: Verdicts) -> FileExecution:
    reading, results, row = examined.reading, examined.results, examined.row
    return FileExecution(
        execution=reading.execution,
        failed=bool(reading.failure),
        empty=bool(reading.emptiness),
        latency_s=reading.latency_s,
        latency_class=latency_class,
        scores={rule.name: _execution_score(rules.id, rule, examined, verdicts) for rule in rules.of_executions},
        answer=reading.response.assistant_message,
        checks=results,
        not_answered=reading.not_answered if not reading.answered else None,
        pass_count=row["pass_count"] if reading.answered else None,
        check_count=row["check_count"] if reading.answered else None,
        pass_ratio=as_float(pass_ratio(results)),
        failed_checks=failed_check_lines(results),
    )


def _check_results(checks: Sequence[CheckRule], reading: ParsedExecution, row: Row) -> tuple[CheckResult, ...]:
    """The results of the file's checks for the answer, then of those in its expected result."""
    of_file = tuple(_check_result(check, row) for check in checks if _applies(check.only_if, row))
    return of_file + evaluate_expected(expected_of(reading.execution).items, reading.response)


def _check_result(check: CheckRule, row: Row) -> CheckResult:
    passed = evaluate(check.condition, row) is True
    cause = "" if passed else _FAILED_CHECK
    return CheckResult(check.title, Fraction(check.weight), passed, cause, check.title, "", cause)


def _execution_score(rubric: str, rule: MetricRule | JudgedRule, examined: _Examined, verdicts: Verdicts) -> Score:
    reading, row = examined.reading, examined.row
    applies = _applies(rule.only_if, row)
    if applies and not reading.answered:
        return Score(UNANSWERED_POINTS, reading.not_answered)
    if isinstance(rule, JudgedRule):
        return judged_score(rubric, rule, row, verdicts) if applies else _NOT_MEANT
    score, failed_checks = metric_score(rule, row), failed_check_lines(examined.results)
    if not rule.uses_checks or not failed_checks or score.points is None:
        return score
    return Score(score.points, f"{score.reason}: {'; '.join(failed_checks)}")


def metric_score(rule: MetricRule, row: Row) -> Score:
    """The points of a metric with what was found; NULL if it does not apply or its number is unknown."""
    if not _applies(rule.only_if, row):
        return _NOT_MEANT
    if rule.number is not None and evaluate(rule.number, row) is None:
        return Score(None, f"'{rule.title}' 점수를 정할 값이 없어 채점하지 않음", NO_VALUE)
    points = evaluate(rule.expression, row)
    found = _found(rule, row)
    return Score(points, f"{found}: {points}점" if found else f"{points}점")


def _found(rule: MetricRule, row: Row) -> str:
    """The findings behind the points: of every part of a sum, else the condition that was true."""
    if isinstance(rule.expression, Sum):
        parts = findings(rule.name, rule.expression, row)
        return ", ".join(f"{part.label} {part.points}점" for part in parts)
    taken = (branch.label for branch in rule.expression.branches if evaluate(branch.condition, row) is True)
    return next(taken, rule.expression.otherwise_label or "맞는 조건이 없음")


def _applies(only_if: Expression | None, row: Row) -> bool:
    return only_if is None or evaluate(only_if, row) is True
