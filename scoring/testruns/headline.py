"""The common parts of the first sentences of a test run's report, page and message: what happened, what matters most,
what to do. Source: SPEC 10.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from scoring.inputs import nothing_scored
from scoring.judging.requests import VerdictStatus
from scoring.markdown import shortened
from scoring.stats.exact import Exact
from scoring.testruns.patterns import CheckPattern, Outage
from scoring.testruns.rubric import QueryT, Score, ScoredQuery, TestRunSummary
from scoring.testruns.summaries import MOST_UNDECIDED

_QUERY_CHARACTERS = 40
_CAUSE_CHARACTERS, _CAUSES = 120, 2
_REASON_CHARACTERS = 240


def nothing_scored_lines(counts: Mapping[str, int], reject_reasons: Sequence[str]) -> tuple[str, ...]:
    """Sentences that no row was scored, and what to do (Korean); () if a row was scored or there was none."""
    if not nothing_scored(counts):
        return ()
    ((why, _),) = Counter(reject_reasons).most_common(1) or (("", 0),)
    return (
        f"채점한 것이 없습니다: 행 {counts['rows_in']:,}건 = 제외 {counts['excluded']:,} + "
        f"거부 {counts['rejected']:,}.",
        *([f"가장 잦은 거부 까닭: {shortened(why, _REASON_CHARACTERS)}"] if why else []),
        "파일을 고쳐 다시 채점하세요.",
    )


def rejected_clause(counts: Mapping[str, int]) -> str:
    """The number of rows that are missing from the scores, to begin a sentence with (Korean); '' if all were read."""
    rejected, rows = counts["rejected"], counts["rows_in"]
    return f"행 {rows:,}건 중 {rejected:,}건은 읽지 못해 빼고(까닭은 보고서의 '입력 파일'), " if rejected else ""


def size_text(queries: Sequence[ScoredQuery]) -> str:
    """`질의 20개의 실행 40건을 채점했고`."""
    executions = sum(len(query.executions) for query in queries)
    return f"질의 {len(queries):,}개의 실행 {executions:,}건을 채점했고"


def mean_name(summary: TestRunSummary) -> str:
    """The name of a mean of the set: `회차 점수의 평균`, `평균` with a single round."""
    return "회차 점수의 평균" if len(summary.rounds) > 1 else "평균"


def main_cause(patterns: Sequence[CheckPattern], outages: Sequence[Outage], queries: Sequence[ScoredQuery]) -> str:
    """What costs most, with ties: failed or empty answers (causes: `outages`), else the most frequent failed check."""
    executions = [execution for query in queries for execution in query.executions]
    unanswered = sum(outage.count for outage in outages)
    key, failed = (patterns[0].key, patterns[0].failed) if patterns else ("", 0)
    if unanswered and unanswered >= failed:
        as_many = f"이며, {key} 체크도 {failed:,}건을 통과하지 못했습니다" if failed == unanswered else "입니다"
        return (
            f"가장 큰 문제는 실패하거나 빈 응답 {unanswered:,}건(실행 {len(executions):,}건 중)이고, 가장 잦은 원인은 "
            f"{_most_frequent(outages)}{as_many}."
        )
    if not patterns:
        checked = any(execution.checks for execution in executions)
        return f"{'통과하지 못한 체크도, ' if checked else ''}실패하거나 빈 응답{'도' if checked else '은'} 없습니다."
    first = patterns[0]
    followers = f"이며, 뒤따르는 체크 {first.followers:,}개도 함께 통과하지 못했습니다" if first.followers else "입니다"
    return (
        f"가장 큰 원인은 {first.key}({shortened(first.cause, _CAUSE_CHARACTERS)}) {first.failed:,}건"
        f"(질의 {len(first.query_ids):,}개){followers}."
    )


def _most_frequent(outages: Sequence[Outage]) -> str:
    """`'빈 응답' 3건`; two causes and the number of others if several have the same count."""
    most = [one for one in outages if one.count == outages[0].count]
    named = ", ".join(f"'{shortened(one.cause, _CAUSE_CHARACTERS)}'" for one in most[:_CAUSES])
    more = f" 외 {len(most) - _CAUSES}가지" if len(most) > _CAUSES else ""
    return f"{named}{more} {'각 ' if len(most) > 1 else ''}{outages[0].count:,}건"


def score_again(judged: Iterable[Score]) -> str:
    """What to do before people read a run (Korean), if a fifth of its judged scores or more are open; else ''."""
    missing = Counter(score.missing for score in judged)
    failed, over_budget = missing[VerdictStatus.FAILED], missing[VerdictStatus.OVER_BUDGET]
    if not failed + over_budget or failed + over_budget < MOST_UNDECIDED * missing.total():
        return ""
    if over_budget > failed:
        why, todo = "판정 예산이 다해", "judge.max_usd나 judge.max_tokens를 늘리고"
    else:
        why, todo = "판정에 실패해", "aqb doctor로 판정 모델을 확인하고"
    return f"{why} 점수 {failed + over_budget:,}개가 비었습니다. {todo} 다시 채점하세요."


def worst_first(queries: Iterable[QueryT], lost: Callable[[Mapping[str, Exact | None]], Exact]) -> list[QueryT]:
    """The queries sorted by the points that their scores have `lost`, most first."""
    return sorted(queries, key=lambda query: (-lost(query.points), query.query_id))


def look_first(queries: Iterable[ScoredQuery], lost: Callable[[Mapping[str, Exact | None]], Exact]) -> str:
    """What to do (Korean): look at the query that `lost` most points, else at those flagged for a person."""
    lowest = worst_first(queries, lost)
    if lost(lowest[0].points):
        return f"점수를 가장 많이 잃은 '{query_name(lowest[0])}'부터 확인하세요."
    flagged = [query for query in lowest if query.manual_review_reasons]
    return review_first(flagged) if flagged else "점수를 잃은 질의가 없어 확인할 것이 없습니다."


def review_first(flagged: Sequence[ScoredQuery]) -> str:
    """The number of queries that a person should review, and the first one (Korean)."""
    return f"수기 확인이 필요한 질의 {len(flagged):,}개를 '{query_name(flagged[0])}'부터 확인하세요."


def query_name(query: ScoredQuery) -> str:
    """A query's text in sentences and tables, its id if the file has no text."""
    return shortened(" ".join(query.query_text.split()), _QUERY_CHARACTERS) or query.query_id


def query_names(queries: Sequence[ScoredQuery]) -> dict[str, str]:
    """Query id -> its name, followed by the id if several queries have the same text."""
    return distinct_names({query.query_id: query_name(query) for query in queries})


def distinct_names(names: Mapping[str, str]) -> dict[str, str]:
    """Names by query id, followed by the id if several queries have the same name."""
    counts = Counter(names.values())
    return {id_: name if counts[name] == 1 else f"{name} ({id_})" for id_, name in names.items()}
