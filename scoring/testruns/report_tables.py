"""Markdown tables that reports of test runs share, in Korean."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scoring.markdown import examples, percent, shortened, table
from scoring.testruns.headline import query_name
from scoring.testruns.patterns import CheckPattern, Outage
from scoring.testruns.rubric import ScoredQuery, TestRunSummary
from scoring.testruns.summaries import mean_text, score_counts, undecided_text

_SHOWN_PATTERNS = 15
_CAUSE_CHARACTERS = 160


def distribution_table(summary: TestRunSummary, metric: str, meanings: Mapping[str, str]) -> str:
    """Scores by round, from 5 to 0; `meanings` explain the scores, '' for none."""
    rounds = {name: summary.distributions[name][metric] for name in summary.distributions}
    total: Counter[str] = Counter()
    for counts in rounds.values():
        total.update(counts)
    scored = sum(total.values())
    rows = []
    for score, count in score_counts(total):
        label = "점수 없음" if score == "null" else f"{score}점"
        by_round = [counts.get(score, 0) for counts in rounds.values()]
        rows.append([label, meanings.get(score, ""), *by_round, count, percent(count / scored if scored else None)])
    return table(["점수", "기준", *rounds, "합계", "비율"], rows)


def check_pattern_table(patterns: Sequence[CheckPattern], names: Mapping[str, str]) -> str:
    """The reasons of failed checks, their number and their consequences; `names` are those of the queries by id."""
    rows = (
        [
            pattern.key,
            shortened(pattern.cause, _CAUSE_CHARACTERS),
            f"{pattern.failed:,} / {pattern.asked:,}",
            percent(pattern.failed / pattern.asked),
            pattern.followers,
            query_examples(pattern.query_ids, names),
        ]
        for pattern in patterns[:_SHOWN_PATTERNS]
    )
    text = table(["체크 대상", "원인", "미통과 / 전체", "비율", "함께 실패한 체크", "질의 예"], rows)
    rest = len(patterns) - _SHOWN_PATTERNS
    order = "함께 실패한 체크까지 더해 많은 것부터" if any(one.followers for one in patterns) else "많은 것부터"
    shown = f" {_SHOWN_PATTERNS}가지만 실었습니다. 그 밖에 {rest:,}가지가 있습니다." if rest > 0 else "입니다."
    return f"{text}\n\n{order}{shown}" if patterns else text


def outage_table(outages: Sequence[Outage], names: Mapping[str, str]) -> str:
    """The reasons of stability 0; `names` are those of the queries by id."""
    rows = (
        [shortened(o.cause, _CAUSE_CHARACTERS), f"{o.count:,}", query_examples(o.query_ids, names)] for o in outages
    )
    return table(["원인", "건수", "질의 예"], rows)


def query_examples(query_ids: Sequence[str], names: Mapping[str, str]) -> str:
    """The names of the first few queries and the number of the others (Korean)."""
    return examples([names.get(query_id, query_id) for query_id in query_ids])


def problem_table(
    queries: Iterable[ScoredQuery], header: Sequence[str], characters: int, most: int | None = None
) -> str:
    """The unusable parts of the queries' expectations, '' without any; at most `most` rows, then how many others."""
    rows = [(query_name(query), shortened(text, characters)) for query in queries for _, text in query.problems]
    shown = table(header, rows[:most]) if rows else ""
    more = len(rows[most:]) if most else 0
    return f"{shown}\n\n그 밖에 {more:,}개가 있습니다." if more else shown


def quality_table(data_quality: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Every counted gap with its title, including zeros, so that nothing is lost silently."""
    return table(["항목", "건수"], ([titles[code], f"{count:,}"] for code, count in data_quality.items()))


REPORT_TABLES: dict[str, Callable[..., str]] = {
    each.__name__: each
    for each in (
        distribution_table,
        check_pattern_table,
        outage_table,
        query_examples,
        query_name,
        problem_table,
        quality_table,
        mean_text,
        undecided_text,
    )
}
"""The functions that every report template may call."""
