"""What people should look at in a scored test run: the flagged queries, and some of the others by lot.

The lot is drawn by a hash of the run's content and the query's id: the same run always gives the same queries, another
run others. Scores, reasons and why a query is on the list are left out, and the order is that of the hash: a person who
knows the score agrees with it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from json import dumps
from operator import attrgetter
from urllib.parse import unquote

import polars as pl

from scoring.errors import UsageError
from scoring.testruns.executions import Execution, parse_execution
from scoring.testruns.rubric import Metric
from scoring.testruns.team_names import COMMON_NAMES, TeamNames
from tasks.testruns.files import read_testrun_file
from tasks.testruns.read_folder import ScoredFolder

# Whether an answer was quick, and whether there was one, needs no opinion.
_MEASURED = ("speed", "speed_single", "speed_multi", "stability")
# Rubrics without review flags: seed 003, 6 wants items of 0 to 2 points looked at.
_LOW_POINTS = 2
_HASHES = 2**64


@dataclass(frozen=True)
class ReviewItem:
    """One answer to judge, or with an empty `round` all answers of a query together; `metrics` are what to judge."""

    query_id: str
    round: str
    question: str
    expected: str
    answer: str
    shown: str
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Review:
    """The items, query by query; `flagged` and `audited` count queries."""

    items: list[ReviewItem]
    flagged: int
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


def reviewed_metrics(run: ScoredFolder) -> tuple[Metric, ...]:
    """What people have an opinion about."""
    return tuple(metric for metric in run.rubric.metrics if metric.name not in _MEASURED)


def review_items(run: ScoredFolder, audit: Fraction, names: TeamNames = COMMON_NAMES) -> Review:
    """What to look at in `run`; `audit` is the share of the other queries, `names` what a team calls its columns.

    Raises:
        InputError: the copy of the input in `scores.xlsx` cannot be read.
    """
    lots = {query_id: _lot(run, query_id) for query_id in run.queries["query_id"]}
    flagged = set(_flagged(run))
    audited = {query_id for query_id, lot in lots.items() if query_id not in flagged and lot < audit * _HASHES}
    answers = read_testrun_file(run.folder / "scores.xlsx", names).queries
    chosen = sorted((flagged | audited) & answers.keys(), key=lambda query_id: (lots[query_id], query_id))
    metrics = reviewed_metrics(run)
    items = [
        item for query_id in chosen for item in _items(sorted(answers[query_id], key=attrgetter("round")), metrics)
    ]
    return Review(items, len(flagged), len(audited))


def _lot(run: ScoredFolder, query_id: str) -> int:
    """A number below `_HASHES` that only the run's content and the query decide."""
    digest = sha256(f"{run.summary['inputs'][0]['sha256']}\0{query_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


def _flagged(run: ScoredFolder) -> Iterable[str]:
    if "flag_manual_review" in run.queries.columns:
        return run.queries.filter("flag_manual_review")["query_id"]
    return run.scores.filter(pl.col("accuracy_score") <= _LOW_POINTS)["query_id"]


def _items(executions: list[Execution], metrics: Iterable[Metric]) -> Iterator[ReviewItem]:
    """An item per execution, and one of the whole query where there is something to compare."""
    first = executions[0]
    per_execution = tuple(metric.name for metric in metrics if metric.per_execution)
    per_query = tuple(metric.name for metric in metrics if not metric.per_execution)
    expected = "\n".join(filter(None, map(str.strip, _expectations(first))))
    answers = {str(execution.round): _answer(execution) for execution in executions}
    for round_, (answer, shown) in answers.items():
        yield ReviewItem(first.query_id, round_, first.query_text, expected, answer, shown, per_execution)
    if per_query and len(answers) > 1:
        together = "\n\n".join(f"[{round_}]\n{answer}" for round_, (answer, _) in answers.items())
        yield ReviewItem(first.query_id, "", first.query_text, expected, together, "", per_query)


def _expectations(execution: Execution) -> tuple[str, ...]:
    truth = f"정답 수치: {execution.ground_truth}" if execution.ground_truth.strip() else ""
    return (execution.expected_text, execution.expected_filters, execution.expected_datakeys, truth)


def _answer(execution: Execution) -> tuple[str, str]:
    """The message as the user read it, and the entries of `dataUIList` as JSON, a line each, links readable."""
    reading = parse_execution(execution)
    if reading.failure:
        return f"(실행 실패: {reading.failure})", ""
    values: Iterable[Mapping[str, object]] = reading.response.ui_values
    return reading.response.assistant_message, "\n".join(
        unquote(dumps(dict(value), ensure_ascii=False)) for value in values
    )
