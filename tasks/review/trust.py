"""Agreement of the scores with people's labels, recomputed from all stored labels.

Labels judge an answer, not its score: they are compared with the current scores of the warehouse.

Source: SPEC 12.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations

import polars as pl
import pyarrow as pa

from scoring.catalog import testrun_rubric_of_summary
from scoring.chat.rubric import RowRubric
from scoring.stats.agreement import Pair, agreements
from scoring.stats.intervals import Coefficient, krippendorff_alpha
from scoring.testruns.rubric import AnyTestRunRubric
from scoring.testruns.scoring import epochs_of
from tasks.review.label_store import KeptLabel
from tasks.review.labels import Label
from tasks.review.pairing import ScoredItems, row_pairs, testrun_pairs
from tasks.testruns.trusted_metrics import Measured, write_agreements
from tasks.testruns.warehouse import QUERIES, QUERIES_SCHEMA, SCORES, SCORES_SCHEMA, SUMMARIES, SUMMARIES_SCHEMA
from tasks.warehouse import Warehouse, table_rows

ComparedLabel = tuple[KeptLabel, Pair]
_Run = tuple[str, str]
"""Rubric and content of the file."""
_ITEM = ("score_date", "rubric", "input_sha256", "query_id", "round", "agent_type", "scores")


@dataclass(frozen=True)
class ComparedLabels:
    """Labels of one rubric, each paired with the score of its item.

    `version` names the versions of the rubric that scored them; `epoch` is the judge of their metrics, None for metrics
    scored by rules.
    """

    rubric: str
    version: str
    epoch: str | None
    pairs: Sequence[ComparedLabel]


def judge_trust(
    labels: Sequence[KeptLabel], rubric: RowRubric | None, warehouse: Warehouse, day: date, trusted_from: float
) -> dict[str, int]:
    """Writes, as of `day`, the agreement of these labels with the scores; returns the compared labels by rubric.

    `rubric` is that of the chat rows; None leaves them out. A label is left out if its row or run is not in the
    warehouse.

    Raises:
        StorageError: the warehouse cannot be read or written.
    """
    measured: dict[str, list[Measured]] = {}
    compared: Counter[str] = Counter()
    for one in compared_labels(labels, rubric, warehouse):
        pairs = [pair for _, pair in one.pairs]
        epochs = {pair.metric: one.epoch for pair in pairs} if one.epoch else {}
        measured.setdefault(one.rubric, []).append(Measured(one.version, agreements(pairs), epochs))
        compared[one.rubric] += len(pairs)
    for name, found in measured.items():
        write_agreements(warehouse, day, name, found, trusted_from)
    return dict(compared)


def compared_labels(
    labels: Sequence[KeptLabel], rubric: RowRubric | None, warehouse: Warehouse
) -> Iterator[ComparedLabels]:
    """These labels paired with the scores of the warehouse, by rubric and by judge of the metrics.

    `rubric` and the omissions are as in `judge_trust`.

    Raises:
        StorageError: the warehouse cannot be read.
    """
    of_rows = [one for one in labels if rubric and one.row_id and one.rubric == rubric.id]
    if rubric and of_rows:
        pairs, _, version = row_pairs(rubric, _lines(of_rows, ""), warehouse)
        if pairs:
            yield ComparedLabels(rubric.id, version, None, [(of_rows[one.line], pair) for one, pair in pairs])
    runs: dict[_Run, list[KeptLabel]] = {}
    for one in labels:
        if not one.row_id:
            runs.setdefault((one.rubric, one.input_sha256), []).append(one)
    groups: dict[tuple[str, str | None], list[tuple[str, KeptLabel, Pair]]] = {}
    for run in _stored_runs(warehouse, runs):
        mine = runs[run.rubric.id, run.sha256]
        for label, pair in testrun_pairs(_lines(mine, run.file), {run.file: run.items})[0]:
            found = groups.setdefault((run.rubric.id, run.epochs.get(pair.metric)), [])
            found.append((run.version, mine[label.line], pair))
    for (name, epoch), found in groups.items():
        versions = ", ".join(sorted({version for version, _, _ in found}))
        yield ComparedLabels(name, versions, epoch, [(kept, pair) for _, kept, pair in found])


def _lines(kept: Sequence[KeptLabel], file: str) -> list[Label]:
    """Labels as lines of a file; the line number of each is its position."""
    return [one.in_file(file, place) for place, one in enumerate(kept)]


def _said_of_items(pairs: Iterable[ComparedLabel]) -> list[dict[str, Pair]]:
    """The label of each person, item by item."""
    by_item: dict[tuple[str, ...], dict[str, Pair]] = {}
    for kept, pair in pairs:
        by_item.setdefault(kept.item, {})[kept.reviewer] = pair
    return list(by_item.values())


@dataclass(frozen=True)
class PeopleAgreement:
    """The agreement of all people who labelled one metric, over the items labelled by more than one of them."""

    metric: str
    people: int
    items: int
    alpha: Coefficient


def agreement_of_people(pairs: Iterable[ComparedLabel]) -> list[PeopleAgreement]:
    """The agreement on every metric with an item labelled by two or more people."""
    by_metric: dict[str, list[dict[str, Pair]]] = {}
    for said in _said_of_items(pairs):
        if len(said) > 1:
            by_metric.setdefault(next(iter(said.values())).metric, []).append(said)
    return [
        PeopleAgreement(
            metric,
            len({name for said in found for name in said}),
            len(found),
            krippendorff_alpha(
                [[pair.label for pair in said.values()] for said in found],
                [next(iter(said.values())).cluster for said in found],
            ),
        )
        for metric, found in by_metric.items()
    ]


def pairs_of_people(pairs: Iterable[ComparedLabel]) -> dict[tuple[str, str], list[Pair]]:
    """The pairs of labels that two people gave to the same items, by their names in alphabetical order.

    The label of the first person takes the place of the score.
    """
    found: dict[tuple[str, str], list[Pair]] = {}
    for said in _said_of_items(pairs):
        for first, second in combinations(sorted(said), 2):
            both = replace(said[second], agent_type=None, score=said[first].label)
            found.setdefault((first, second), []).append(both)
    return found


@dataclass(frozen=True)
class _StoredRun:
    """A test run in the warehouse; `epochs` are the judges of the judged metrics."""

    rubric: AnyTestRunRubric
    file: str
    sha256: str
    version: str
    epochs: dict[str, str]
    items: ScoredItems


def _stored_runs(warehouse: Warehouse, wanted: Mapping[_Run, Sequence[KeptLabel]]) -> Iterator[_StoredRun]:
    """The labelled runs in the warehouse, with the latest scores of their labelled queries."""
    summaries = table_rows(warehouse, SUMMARIES, SUMMARIES_SCHEMA)
    rows = summaries.filter(pl.col("input_sha256").is_in([sha256 for _, sha256 in wanted])).collect()
    last = {(row["rubric"], row["input_sha256"]): row for row in rows.sort("score_date").iter_rows(named=True)}
    stored = {run: last[run] for run in wanted if run in last}
    days = sorted({row["score_date"] for row in stored.values()})
    labels = [label for run in stored for label in wanted[run]]
    scores, queries = (_by_run(warehouse, table, days, labels) for table in (SCORES, QUERIES))
    for run, row in stored.items():
        summary = json.loads(row["summary"])
        rubric = testrun_rubric_of_summary(summary)
        if rubric is None:
            continue
        epochs, place = epochs_of(summary), (row["score_date"], *run)
        yield _StoredRun(
            rubric=rubric,
            file=row["input_name"],
            sha256=run[1],
            version=row["rubric_version"],
            epochs={metric.name: epoch for metric in rubric.metrics if (epoch := metric.epoch(epochs))},
            items=ScoredItems(rubric, scores.get(place, pl.DataFrame()), queries.get(place, pl.DataFrame())),
        )


def _by_run(
    warehouse: Warehouse, table: str, days: Sequence[date], labels: Collection[KeptLabel]
) -> dict[tuple[object, ...], pl.DataFrame]:
    """The rows of labelled queries by day, rubric and content, with a column for each metric, as in the table of a
    run's folder.
    """
    if not days:
        return {}
    known = SCORES_SCHEMA if table == SCORES else QUERIES_SCHEMA
    rows = table_rows(warehouse, table, pa.schema([one for one in known if one.name in _ITEM]), days)
    of_runs = pl.col("input_sha256").is_in({label.input_sha256 for label in labels})  # other runs have the same queries
    found = rows.filter(of_runs, pl.col("query_id").is_in({label.query_id for label in labels})).collect()
    by_run = found.partition_by("score_date", "rubric", "input_sha256", as_dict=True)
    return {place: _with_points(of_run) for place, of_run in by_run.items()}


def _with_points(rows: pl.DataFrame) -> pl.DataFrame:
    points = [{f"{one['metric']}_score": one["score"] for one in scores} for scores in rows["scores"].to_list()]
    return pl.concat([rows.drop("scores"), pl.DataFrame(points, infer_schema_length=None)], how="horizontal")
