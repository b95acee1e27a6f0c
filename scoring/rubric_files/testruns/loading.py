"""Builds a test-run rubric from the tables of its file."""

from collections.abc import Container
from dataclasses import replace
from functools import partial

import pyarrow as pa

from scoring.rubric_files.expressions import FileExpressions
from scoring.rubric_files.reading import RubricText
from scoring.rubric_files.testruns import formulas
from scoring.rubric_files.testruns.judged import judge_prompt, review_codes
from scoring.rubric_files.testruns.report import (
    QUALITY_TITLES,
    code_titles,
    criteria_of,
    headline,
    page_parts,
    report_values,
)
from scoring.rubric_files.testruns.rules import (
    ANSWER_COLUMNS,
    EXECUTION_COLUMNS,
    POINTS,
    CheckRule,
    Guard,
    JudgedRule,
    MetricRule,
    TestRunRules,
    Trigger,
)
from scoring.rubric_files.testruns.shape import MetricTable, TestRunRubricFile
from scoring.rubric_files.testruns.summary import summarise
from scoring.rules import expressions as ex
from scoring.rules.kinds import COUNT, Kind, kind_of
from scoring.testruns.detection import Recognition
from scoring.testruns.query_columns import (
    COVERAGE,
    FLAG,
    GROUPS,
    QUERY_ID,
    QUERY_TEXT,
    REVIEW_REASONS,
    ROUNDS,
    TOTAL_MISSING,
    QueryColumn,
    reason_column,
    score_column,
    total_column,
)
from scoring.testruns.rubric import BEST_POINTS, WORST_POINTS, AnyTestRunRubric, TestRunRubric
from scoring.testruns.team_names import written_headers
from scoring.testruns.totals import MIN_COVERAGE, Weights

_OF_TOTAL = {"weighted_total": POINTS, "weight_coverage": Kind("number", low=0, high=1)}
_TAKEN = frozenset({*QUALITY_TITLES, *_OF_TOTAL, "verdict"})
_SAME = Kind("number", nullable=True, low=0, high=1)


def testrun_rubric(text: RubricText) -> AnyTestRunRubric:
    """The rubric for test runs that a file defines.

    Raises:
        UsageError: it is no valid rubric; gives line, column and remedy.
    """
    file = text.file(TestRunRubricFile)
    rules = _TestRunLoading(text, file).rules()
    with text.at("metrics"):
        return TestRunRubric(
            id=file.id,
            version=file.version,
            title=file.title,
            summary=file.summary,
            metrics=tuple(rule.metric for rule in rules.metrics),
            own_columns=formulas.OWN_COLUMNS,
            query_columns=_query_columns(rules),
            requests=partial(formulas.requests, rules),
            score_query=partial(formulas.score_query, rules),
            summarise=partial(summarise, rules),
            headline=partial(headline, rules),
            report_values=partial(report_values, rules),
            package="scoring.rubric_files.testruns",
            recognition=Recognition(
                file_prefixes=file.recognised_by.file_names,
                columns=frozenset(written_headers(file.recognised_by.columns)),
            ),
            options=(MIN_COVERAGE,),
            prompts=tuple(rule.prompt for rule in rules.judged),
            code_titles=code_titles(rules),
            figure_titles={"weighted_total": "종합 점수"},
            value_titles={"verdict": rules.verdict_titles},
            criteria={rule.name: criteria_of(rule) for rule in rules.metrics},
            page_parts=partial(page_parts, rules.verdict_titles),
            points_lost=rules.weights.lost,
            text=text.text,
        )


class _TestRunLoading:
    """Builds the rules in the order of their dependencies."""

    def __init__(self, text: RubricText, file: TestRunRubricFile) -> None:
        self._text, self._file = text, file
        known = {name: kind for name, (kind, _) in EXECUTION_COLUMNS.items()}
        titles = {name: title for name, (_, title) in EXECUTION_COLUMNS.items()}
        self._of_answers = FileExpressions(text, {name: known[name] for name in ANSWER_COLUMNS}, titles)
        self._of_executions = FileExpressions(text, known, titles)
        of_queries = {"rounds": "실행 수", "unanswered": "답하지 못한 실행 수"}
        for name, metric in file.metrics.items():
            of_queries |= {f"{name}_score": metric.title, f"{name}_same": f"{metric.title} 점수가 같은 회차의 비율"}
        self._of_queries = FileExpressions(text, {"rounds": COUNT, "unanswered": COUNT}, of_queries)

    def rules(self) -> TestRunRules:
        """Builds the rules.

        Raises:
            UsageError: they are no valid rules; gives line, column and remedy.
        """
        file = self._file
        self._refuse_taken(_TAKEN)
        checks = tuple(self._check(name) for name in file.checks)
        metrics = tuple(self._metric(name, table) for name, table in file.metrics.items())
        weights = self._weights()
        grades = file.total.grades or ()
        verdicts = Kind("text", nullable=True, codes=frozenset(grade.code for grade in grades))
        self._of_queries.kinds |= _OF_TOTAL | {"verdict": verdicts}
        with self._text.at("total", "grades"):
            verdict = self._of_queries.graded(grades, "weighted_total") if grades else None
        self._refuse_taken(review_codes(tuple(rule for rule in metrics if isinstance(rule, JudgedRule))))
        triggers = (
            Trigger(name, table.title, self._of_queries.condition(table.when, "review", name, "when"))
            for name, table in file.review.items()
        )
        titles = {grade.code: grade.title for grade in grades}
        return TestRunRules(
            id=file.id,
            version=file.version,
            title=file.title,
            checks=checks,
            metrics=metrics,
            weights=weights,
            verdict=verdict,
            verdict_titles=titles,
            triggers=tuple(triggers),
        )

    def _refuse_taken(self, taken: Container[str]) -> None:
        for table, names in (("metrics", self._file.metrics), ("review", self._file.review)):
            for name in names:
                if name in taken:
                    raise self._text.wrong((table, name), f"the name {name} has a meaning of its own", "choose another")

    def _check(self, name: str) -> CheckRule:
        table, path = self._file.checks[name], ("checks", name)
        condition = self._of_answers.condition(table.when, *path, "when")
        return CheckRule(table.title, condition, _only_if(self._of_answers, table.only_if, *path), table.weight)

    def _metric(self, name: str, table: MetricTable) -> MetricRule | JudgedRule:
        rule = self._judged(name, table) if table.prompt else self._measured(name, table)
        self._of_queries.kinds[f"{name}_score"] = POINTS
        if not table.per_query:
            self._of_queries.kinds[f"{name}_same"] = _SAME
        return rule

    def _judged(self, name: str, table: MetricTable) -> JudgedRule:
        path, over = ("metrics", name), self._of_executions
        if table.per_query:
            raise self._text.wrong((*path, "per_query"), "a judge sees one answer at a time", "leave per_query out")
        scale = {one.points: one.means for one in table.scale}
        if len(scale) != len(table.scale):
            raise self._text.wrong((*path, "scale"), "two lines of the scale give the same points", "leave one out")
        for place, column in enumerate(table.sees):
            if column not in ANSWER_COLUMNS:
                fix = f"use some of: {', '.join(ANSWER_COLUMNS)}"
                raise self._text.wrong((*path, "sees", place), f"a judge does not see {column[:40]}", fix)
        guards = tuple(
            Guard(over.condition(guard.when, *path, "guards", place, "when"), guard.at_most, guard.label)
            for place, guard in enumerate(table.guards)
        )
        prompt = judge_prompt(name, table.prompt or "", scale, table.sees)
        only_if = _only_if(over, table.only_if, *path)
        return JudgedRule(name, table.title, only_if, prompt, scale, table.sees, guards)

    def _measured(self, name: str, table: MetricTable) -> MetricRule:
        path = ("metrics", name)
        over = self._of_queries if table.per_query else self._of_executions
        expression = over.summed(table.sum, *path) if table.sum else over.given(table, *path)
        with self._text.at(*path, table.way):
            kind = kind_of(expression, over.kinds)
        if kind.type != "whole" or kind.nullable or kind.low < WORST_POINTS or kind.high > BEST_POINTS:
            what = f"from {kind.low:g} to {kind.high:g} points" if kind.type == "whole" else "no points"
            raise self._text.wrong((*path, table.way), f"{name} gives {what}", "give whole points from 0 to 5")
        number = None
        if table.of and isinstance(expression, ex.Case):  # no score if it is unknown
            number = over.expression(table.of, *path, "of")
            label = expression.otherwise_label.removesuffix(ex.OR_NO_VALUE)
            expression = replace(expression, otherwise_label=label)
        only_if = _only_if(over, table.only_if, *path)
        return MetricRule(name, table.title, expression, only_if, number, table.per_query)

    def _weights(self) -> Weights:
        weights = self._file.total.weights
        for name in weights:
            if name not in self._file.metrics:
                fix = f"use some of: {', '.join(self._file.metrics)}"
                raise self._text.wrong(("total", "weights", name), f"there is no metric {name}", fix)
        with self._text.at("total", "weights"):
            return Weights(weights, needed="")


def _only_if(over: FileExpressions, text: str | None, *path: str) -> ex.Expression | None:
    return None if text is None else over.condition(text, *path, "only_if")


def _query_columns(rules: TestRunRules) -> tuple[QueryColumn, ...]:
    means = [score_column(rule.name, f"{rule.title}: 실행 점수의 평균") for rule in rules.of_executions]
    own = [
        column
        for rule in rules.of_queries
        for column in (score_column(rule.name, f"{rule.title}: 0~5점"), reason_column(rule.name, rule.title))
    ]
    return (
        QUERY_ID,
        QUERY_TEXT,
        QueryColumn("agent_type", pa.string(), "에이전트: 파일이나 설정에 있으면"),
        ROUNDS,
        *means,
        *own,
        total_column("종합 점수: 소수 둘째 자리까지"),
        COVERAGE,
        QueryColumn("verdict", pa.string(), "등급: 종합 점수에 따름"),
        FLAG,
        REVIEW_REASONS,
        TOTAL_MISSING,
        *GROUPS,
    )
