"""Markdown tables that reports of test runs share, in Korean."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scoring.markdown import example_ids, percent, shortened, table
from scoring.testruns.patterns import CheckPattern, Outage
from scoring.testruns.rubric import ScoredQuery, TestRunSummary
from scoring.testruns.summaries import mean_text, score_counts, undecided_text

_QUERY_CHARACTERS = 40
_CAUSE_CHARACTERS = 160


def distribution_table(summary: TestRunSummary, metric: str, meanings: Mapping[str, str]) -> str:
    """Score by round, from 5 to 0; `meanings` says what a score stands for, '' where it needs no words."""
    rounds = {name: summary.distributions[name][metric] for name in summary.distributions}
    total: Counter[str] = Counter()
    for counts in rounds.values():
        total.update(counts)
    scored = sum(total.values())
    rows = []
    for score, count in score_counts(total):
        label = "미채점" if score == "null" else f"{score}점"
        by_round = [counts.get(score, 0) for counts in rounds.values()]
        rows.append([label, meanings.get(score, ""), *by_round, count, percent(count / scored if scored else None)])
    return table(["점수", "기준", *rounds, "합계", "비율"], rows)


def check_pattern_table(patterns: Sequence[CheckPattern]) -> str:
    """What the failing checks look at, how many of them fail, and the reason given most often."""
    rows = (
        [
            pattern.key,
            f"{pattern.failed:,} / {pattern.asked:,}",
            percent(pattern.failed / pattern.asked),
            f"{shortened(pattern.commonest, _CAUSE_CHARACTERS)} ({pattern.commonest_count:,}건)",
            example_ids(pattern.query_ids),
        ]
        for pattern in patterns
    )
    return table(["체크 대상", "미통과 / 전체", "비율", "가장 흔한 이유", "질의 예"], rows)


def outage_table(outages: Sequence[Outage]) -> str:
    """Why executions scored 0 for stability."""
    rows = ([shortened(o.cause, _CAUSE_CHARACTERS), f"{o.count:,}", example_ids(o.query_ids)] for o in outages)
    return table(["원인", "건수", "질의 예"], rows)


def problem_table(
    queries: Iterable[ScoredQuery], header: Sequence[str], characters: int, most: int | None = None
) -> str:
    """What of the queries' expectations could not be used, '' without any; at most `most` rows."""
    rows = [(query.query_id, shortened(text, characters)) for query in queries for _, text in query.problems]
    return table(header, rows[:most]) if rows else ""


def query_name(text: str) -> str:
    """A query's text as tables show it."""
    return shortened(" ".join(text.split()), _QUERY_CHARACTERS)


def quality_table(data_quality: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Every counted gap with its title, zeros included: nothing is lost in silence."""
    return table(["항목", "건수"], ([titles[code], f"{count:,}"] for code, count in data_quality.items()))


REPORT_TABLES: dict[str, Callable[..., str]] = {
    each.__name__: each
    for each in (
        distribution_table,
        check_pattern_table,
        outage_table,
        problem_table,
        query_name,
        quality_table,
        mean_text,
        undecided_text,
    )
}
"""What every template of a report may call."""
