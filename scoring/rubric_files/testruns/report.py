"""The report of a test run scored by the rules of a file (Korean, with the titles of the file)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoring.markdown import score_text
from scoring.rubric_files.testruns.formulas import NO_VALUE, FileQuery
from scoring.rubric_files.testruns.judged import review_codes
from scoring.rubric_files.testruns.rules import JudgedRule, MetricRule, TestRunRules
from scoring.rubric_files.testruns.summary import FileSummary
from scoring.rules.expressions import Sum, Value
from scoring.rules.googlesql_backend import to_sql
from scoring.testruns.headline import look_first, main_cause, score_again, size_text, worst_first
from scoring.testruns.page_parts import PageParts, PageTable, check_parts
from scoring.testruns.rubric import BEST_POINTS, WORST_POINTS, Options
from scoring.testruns.summaries import as_float, mean_text
from scoring.testruns.totals import total_clause

QUALITY_TITLES = {
    "failed": "실패한 실행",
    "empty": "빈 응답",
    NO_VALUE: "정할 값이 없어 채점하지 않은 점수",
    "unchecked_text": "체크로 읽지 못한 기대결과 문장",
}


def code_titles(rules: TestRunRules) -> dict[str, str]:
    """The titles of the codes of data quality and manual review."""
    triggers = {trigger.code: trigger.title for trigger in rules.triggers}
    return {**QUALITY_TITLES, **triggers, **review_codes(rules.judged)}


def criteria_of(rule: MetricRule | JudgedRule) -> tuple[tuple[str, str], ...]:
    """The scoring criteria: the scale of a judge, the labels of the file, else its conditions."""
    if isinstance(rule, JudgedRule):
        return tuple((str(points), meaning) for points, meaning in rule.scale.items())
    if isinstance(rule.expression, Sum):
        return ((f"{WORST_POINTS}~{BEST_POINTS}", rule.title),)
    meanings: dict[str, list[str]] = defaultdict(list)
    for branch in rule.expression.branches:
        meanings[to_sql(branch.value)].append(branch.label or to_sql(branch.condition))
    assert isinstance(rule.expression.otherwise, Value)
    meanings[to_sql(rule.expression.otherwise)].append(rule.expression.otherwise_label or "맞는 조건이 없음")
    return tuple((points, " / ".join(texts)) for points, texts in meanings.items())


def headline(rules: TestRunRules, queries: Sequence[FileQuery], summary: FileSummary) -> list[str]:
    """What happened, what matters most, what to do."""
    unknown = [_title(rules, name) for name in rules.weights.percents if summary.set[name]["mean"] is None]
    total = total_clause(summary.set["weighted_total"], unknown)
    return [
        f"{size_text(queries)} {total}{_verdict_clause(rules, summary)}입니다.",
        main_cause(summary.check_patterns, summary.outages, queries),
        score_again(one.scores[rule.name] for query in queries for one in query.executions for rule in rules.judged)
        or look_first(queries, rules.weights.lost),
    ]


def report_values(
    rules: TestRunRules, queries: Sequence[FileQuery], summary: FileSummary, options: Options
) -> dict[str, Any]:
    """The values of `report.md` beside the summary."""
    lowest, titles = worst_first(queries, rules.weights.lost), code_titles(rules)
    return {
        "rules": rules,
        "executions": sum(len(query.executions) for query in queries),
        "means": lambda rule: [mean_text(figures.get(rule.name, {})) for figures in summary.rounds.values()],
        "weights": ", ".join(f"{_title(rules, name)} {share}%" for name, share in rules.weights.percents.items()),
        "meanings": lambda rule: dict(criteria_of(rule)),
        "verdicts": _verdict_rows(rules.verdict_titles, summary.verdicts),
        "lowest": [query for query in lowest if rules.weights.lost(query.points)],
        "points": lambda query: [score_text(as_float(query.scores[rule.name].points)) for rule in rules.metrics],
        "flagged": [query for query in lowest if query.manual_review_reasons],
        "review_reasons": lambda query: ", ".join(titles[code] for code in query.manual_review_reasons),
        "quality_titles": titles,
    }


def page_parts(titles: Mapping[str, str], summary: Mapping[str, Any]) -> PageParts:
    """Failed checks, causes of failures, and the verdicts if the file defines any: `titles` by their codes."""
    parts = check_parts(summary)
    if not titles:
        return parts
    verdicts = PageTable(
        "질의의 등급", ["등급", "질의"], _verdict_rows(titles, summary["verdicts"]), "verdicts", "등급"
    )
    return replace(parts, tables=[verdicts, *parts.tables])


def _verdict_rows(titles: Mapping[str, str], counts: Mapping[str, int]) -> list[list[str]]:
    return [[title, f"{counts.get(code, 0):,}"] for code, title in titles.items()]


def _verdict_clause(rules: TestRunRules, summary: FileSummary) -> str:
    counts = [f"{title} {count}개" for title, count in _verdict_rows(rules.verdict_titles, summary.verdicts)]
    return f", 등급은 {', '.join(counts)}" if counts else ""


def _title(rules: TestRunRules, name: str) -> str:
    return next(rule.title for rule in rules.metrics if rule.name == name)
