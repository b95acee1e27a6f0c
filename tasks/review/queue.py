"""What people should look at in a scored test run: the flagged queries, and some of the others by lot, more of those
that are neither good nor bad.

The lot is drawn by a hash of the run's content and the query's id: the same run always gives the same queries, another
run others. Scores are left out, and the order is that of the hash: a person who knows the score agrees with it.
"""

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from operator import attrgetter

import polars as pl

from scoring.errors import UsageError
from scoring.testruns.review_items import ReviewItem, review_items
from scoring.testruns.rubric import AnyTestRunRubric, Metric
from scoring.testruns.team_names import COMMON_NAMES, TeamNames
from tasks.testruns.files import read_testrun_file
from tasks.testruns.read_folder import ScoredFolder

# Whether an answer was quick, and whether there was one, needs no opinion.
_MEASURED = ("speed", "speed_single", "speed_multi", "stability")
# Rubrics without review flags: seed 003, 6 wants items of 0 to 2 points looked at.
_LOW_POINTS = 2
_GOOD_POINTS = 4
_BORDERLINE_TIMES = 5
_HASHES = 2**64
_BY_LOT, _BORDERLINE = "무작위로 뽑음", f"{_LOW_POINTS}점과 {_GOOD_POINTS}점 사이의 점수가 있어 뽑음"
USUAL_AUDIT = Fraction(1, 20)
"""The share of the queries that are neither flagged nor borderline; of the borderline ones five times as many."""


@dataclass(frozen=True)
class Drawn:
    """An item with why its query is on the list (Korean), and the probability with which it got there."""

    item: ReviewItem
    why: str
    probability: float = 1.0


@dataclass(frozen=True)
class Review:
    """The items, query by query; `flagged`, `borderline` and `audited`, those at random, count queries."""

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
    """What people have an opinion about."""
    return tuple(metric for metric in rubric.metrics if metric.name not in _MEASURED)


def flagged_queries(rubric: AnyTestRunRubric, queries: pl.DataFrame, scores: pl.DataFrame) -> dict[str, str]:
    """Query id -> why a person should look at it (Korean), the worst first; both tables are those of the test run."""
    if "manual_review_reasons" in queries.columns:
        flagged = rubric.flagged(queries.iter_rows(named=True))
        return {row["query_id"]: ", ".join(rubric.review_titles(row["manual_review_reasons"])) for row in flagged}
    if "accuracy_score" not in scores.columns:
        return {}
    low = scores.filter(pl.col("accuracy_score") <= _LOW_POINTS)["query_id"]
    worst = rubric.worst_first(queries.filter(pl.col("query_id").is_in(low.implode())).to_dicts())
    return dict.fromkeys((row["query_id"] for row in worst), f"정확성 {_LOW_POINTS}점 이하인 회차 있음")


def borderline_queries(rubric: AnyTestRunRubric, queries: pl.DataFrame) -> set[str]:
    """The queries of which a score that people have an opinion about is neither low nor good."""
    names = [f"{metric.name}_score" for metric in reviewed_metrics(rubric)]
    between = [pl.col(name).is_between(_LOW_POINTS, _GOOD_POINTS, "none") for name in names if name in queries.columns]
    return set(queries.filter(pl.any_horizontal(pl.lit(value=False), *between))["query_id"])


def drawn_queries(run: ScoredFolder, audit: Fraction) -> dict[str, tuple[str, float]]:
    """Query id -> why it is looked at (Korean) and with which probability, in the order of the lots."""
    flagged = flagged_queries(run.rubric, run.queries, run.scores)
    borderline = borderline_queries(run.rubric, run.queries)
    drawn = {}
    for lot, query_id in sorted((_lot(run, query_id), query_id) for query_id in run.queries["query_id"]):
        share, why = (
            (min(_BORDERLINE_TIMES * audit, Fraction(1)), _BORDERLINE) if query_id in borderline else (audit, _BY_LOT)
        )
        if query_id in flagged:
            drawn[query_id] = (flagged[query_id], 1.0)
        elif lot < share * _HASHES:
            drawn[query_id] = (why, float(share))
    return drawn


def review_queue(run: ScoredFolder, audit: Fraction, names: TeamNames = COMMON_NAMES) -> Review:
    """What to look at in `run`; `audit` is the share of the other queries, `names` what a team calls its columns.

    Raises:
        InputError: the copy of the input in `scores.xlsx` cannot be read.
    """
    drawn = drawn_queries(run, audit)
    answers = read_testrun_file(run.folder / "scores.xlsx", names).queries
    metrics = reviewed_metrics(run.rubric)
    items = [
        Drawn(item, *drawn[query_id])
        for query_id in drawn
        if query_id in answers
        for item in review_items(sorted(answers[query_id], key=attrgetter("round")), metrics)
    ]
    whys = Counter(why for why, _ in drawn.values())
    others = whys[_BORDERLINE] + whys[_BY_LOT]
    return Review(items, len(drawn) - others, whys[_BORDERLINE], whys[_BY_LOT])


def _lot(run: ScoredFolder, query_id: str) -> int:
    """A number below `_HASHES` that only the run's content and the query decide."""
    digest = sha256(f"{run.summary['inputs'][0]['sha256']}\0{query_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")
