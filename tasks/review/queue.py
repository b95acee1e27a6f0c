"""The review queue of a scored test run: the flagged queries, and a random sample of the others, with a higher rate for
borderline scores.

The random order is a hash of the run's content and the query's id: the same run always gives the same sample, another
run a different one. The queue shows no scores and keeps the random order: people who know a score tend to agree with
it.
"""

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

import polars as pl

from scoring.errors import UsageError
from scoring.testruns.review_items import ReviewItem, review_items
from scoring.testruns.rubric import AnyTestRunRubric, Metric
from scoring.testruns.team_names import COMMON_NAMES, TeamNames
from tasks.files.report_paths import WORKBOOK
from tasks.testruns.files import read_testrun_file
from tasks.testruns.read_folder import ScoredFolder

# Speed and stability need no human opinion.
_MEASURED = ("speed", "speed_single", "speed_multi", "stability")
# Rubrics without review flags: seed 003, 6 requires a review of items with 0 to 2 points.
_LOW_POINTS = 2
_GOOD_POINTS = 4
_BORDERLINE_TIMES = 5
_HASHES = 2**64
_AT_RANDOM, _BORDERLINE = "무작위로 뽑음", f"{_LOW_POINTS}점과 {_GOOD_POINTS}점 사이의 점수가 있어 뽑음"
USUAL_AUDIT = Fraction(1, 20)
"""The sampling rate of queries that are neither flagged nor borderline; borderline ones have five times this rate."""


@dataclass(frozen=True)
class Drawn:
    """An item with the reason why its query is in the queue (Korean), and its sampling probability."""

    item: ReviewItem
    why: str
    probability: float = 1.0


@dataclass(frozen=True)
class Review:
    """The items, query by query; `flagged`, `borderline` and `audited` (random) are counts of queries."""

    items: list[Drawn]
    flagged: int
    borderline: int
    audited: int


def share_of(text: str) -> Fraction:
    """A share as people write it, `5%` or `0.05`.

    Raises:
        UsageError: it is no share.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(%?)", text.strip())
    share = Fraction(match[1]) / (100 if match[2] else 1) if match else None
    if share is None or share > 1:
        raise UsageError(f"'{text}' is no share", where="--audit", fix="for example --audit 5%")
    return share


def reviewed_metrics(rubric: AnyTestRunRubric) -> tuple[Metric, ...]:
    """The metrics that need a human opinion."""
    return tuple(metric for metric in rubric.metrics if metric.name not in _MEASURED)


def flagged_queries(rubric: AnyTestRunRubric, queries: pl.DataFrame, scores: pl.DataFrame) -> dict[str, str]:
    """Query id -> why a person should review it (Korean), the worst first; both tables are those of the test run."""
    if "manual_review_reasons" in queries.columns:
        flagged = rubric.flagged(queries.iter_rows(named=True))
        return {row["query_id"]: ", ".join(rubric.review_titles(row["manual_review_reasons"])) for row in flagged}
    if "accuracy_score" not in scores.columns:
        return {}
    low = scores.filter(pl.col("accuracy_score") <= _LOW_POINTS)["query_id"]
    worst = rubric.worst_first(queries.filter(pl.col("query_id").is_in(low.implode())).to_dicts())
    return dict.fromkeys((row["query_id"] for row in worst), f"정확성 {_LOW_POINTS}점 이하인 회차 있음")


def drawn_queries(run: ScoredFolder, audit: Fraction) -> dict[str, tuple[str, float]]:
    """Query id -> the reason for the review (Korean) and the sampling probability, in random order."""
    flagged = flagged_queries(run.rubric, run.queries, run.scores)
    scores = (f"{metric.name}_score" for metric in reviewed_metrics(run.rubric))
    names = [name for name in scores if name in run.queries.columns]
    between = pl.any_horizontal(pl.lit(value=False), pl.col(names).is_between(_LOW_POINTS, _GOOD_POINTS, "none"))
    borderline = set(run.queries.filter(between)["query_id"])
    drawn = {}
    for order, query_id in sorted((_hash_number(run, query_id), query_id) for query_id in run.queries["query_id"]):
        share, why = (
            (min(_BORDERLINE_TIMES * audit, Fraction(1)), _BORDERLINE)
            if query_id in borderline
            else (audit, _AT_RANDOM)
        )
        if query_id in flagged:
            drawn[query_id] = (flagged[query_id], 1.0)
        elif order < share * _HASHES:
            drawn[query_id] = (why, float(share))
    return drawn


def review_queue(run: ScoredFolder, audit: Fraction, names: TeamNames = COMMON_NAMES) -> Review:
    """The review queue of `run`; `audit` is the sampling rate of the other queries, `names` are the team's column
    names.

    Raises:
        InputError: the copy of the input in `scores.xlsx` cannot be read.
    """
    drawn = drawn_queries(run, audit)
    answers = read_testrun_file(run.folder / WORKBOOK, names).queries
    metrics = reviewed_metrics(run.rubric)
    items = [
        Drawn(item, *drawn[query_id])
        for query_id in drawn
        if query_id in answers
        for item in review_items(answers[query_id], metrics)
    ]
    whys = Counter(why for why, _ in drawn.values())
    others = whys[_BORDERLINE] + whys[_AT_RANDOM]
    return Review(items, len(drawn) - others, whys[_BORDERLINE], whys[_AT_RANDOM])


def _hash_number(run: ScoredFolder, query_id: str) -> int:
    """A hash below `_HASHES`, determined by the run's content and the query only."""
    digest = sha256(f"{run.sha256}\0{query_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")
