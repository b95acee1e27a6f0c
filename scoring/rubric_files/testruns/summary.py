"""The summary of a test run under the rules of a file: rounds, set, total, verdicts, problems."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scoring.judging.requests import VerdictStatus
from scoring.rubric_files.testruns.formulas import NO_VALUE, FileExecution, FileQuery, unanswered_codes
from scoring.rubric_files.testruns.judged import review_codes
from scoring.rubric_files.testruns.rules import TestRunRules
from scoring.testruns.patterns import CheckPattern, Outage, check_patterns, outages_of
from scoring.testruns.rubric import Options, TestRunSummary
from scoring.testruns.summaries import distributions, round_means, set_mean, set_means


@dataclass(frozen=True, kw_only=True)
class FileSummary(TestRunSummary):
    """The problems of a run; `notice` is '' or one Korean sentence.

    `verdicts` counts queries by the code of their verdict, `manual_review` those flagged for a person.
    """

    notice: str
    manual_review: int
    verdicts: dict[str, int]
    check_patterns: list[CheckPattern]
    outages: list[Outage]


def summarise(rules: TestRunRules, queries: Sequence[FileQuery], options: Options) -> FileSummary:
    """Means per round and of the set with its total, and the reasons for unknown scores."""
    executions = [scored for query in queries for scored in query.executions]
    of_executions = [rule.name for rule in rules.of_executions]
    names = [rule.name for rule in rules.metrics]
    total = rules.weights.total({name: set_mean(queries, name).mean for name in names}, options)
    found = Counter(query.verdict for query in queries)
    scores = [score for one in executions for score in one.scores.values()]
    scores += [query.scores[rule.name] for query in queries for rule in rules.of_queries]
    unanswered = Counter(unanswered_codes(rules, executions))
    return FileSummary(
        rounds=round_means(queries, of_executions),
        set={**set_means(queries, names), "weighted_total": total.figures()},
        distributions=distributions(queries, of_executions),
        data_quality={
            "failed": sum(one.failed for one in executions),
            "empty": sum(one.empty and not one.failed for one in executions),
            NO_VALUE: sum(score.missing == NO_VALUE for score in scores),
            "unchecked_text": sum(len(query.problems) for query in queries),
            **{code: unanswered[code] for code in review_codes(rules.judged) if unanswered[code]},
        },
        notice=_notice(rules, executions),
        manual_review=sum(bool(query.manual_review_reasons) for query in queries),
        verdicts={code: found[code] for code in rules.verdict_titles},
        check_patterns=check_patterns(executions),
        outages=outages_of((one.not_answered, one.execution.query_id) for one in executions if one.not_answered),
    )


def _notice(rules: TestRunRules, executions: Sequence[FileExecution]) -> str:
    waiting = sum(
        one.scores[rule.name].missing == VerdictStatus.NO_JUDGE for rule in rules.judged for one in executions
    )
    if not waiting:
        return ""
    titles = ", ".join(rule.title for rule in rules.judged)
    return f"판정 모델을 쓰지 않아 점수 {waiting:,}개({titles})를 비워 두었습니다. 나머지는 규칙으로 채점했습니다."
