"""Whether people's labels bear the scores out, judged anew from every label that was kept.

Labels say something of an answer, not of its score: they are compared with the scores that the warehouse holds now.

Source: SPEC 12.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import polars as pl

from scoring.catalog import rubrics
from scoring.chat.rubric import RowRubric
from scoring.stats.agreement import ALL_AGENTS, Pair, agreements
from scoring.testruns.rubric import AnyTestRunRubric, TestRunRubric
from tasks.review.label_store import KeptLabel
from tasks.review.labels import Label
from tasks.review.pairing import row_pairs, testrun_pairs
from tasks.testruns.trusted_metrics import Measured, write_agreements
from tasks.testruns.warehouse import QUERIES, QUERIES_SCHEMA, SCORES, SCORES_SCHEMA, SUMMARIES, SUMMARIES_SCHEMA
from tasks.warehouse import Warehouse

_Run = tuple[str, str]
"""Rubric and content of the file."""


def judge_trust(
    labels: Sequence[KeptLabel], rubric: RowRubric | None, warehouse: Warehouse, day: date, trusted_from: float
) -> dict[str, int]:
    """Writes, as of `day`, how far these labels agree with the scores; returns the compared labels by rubric.

    `rubric` is that of the chat rows; None leaves them out. A label is left out whose row or run the warehouse does not
    hold.

    Raises:
        StorageError: the warehouse cannot be read or written.
    """
    compared = {}
    for name, measured in _measured(labels, rubric, warehouse):
        write_agreements(warehouse, day, name, measured, trusted_from)
        compared[name] = sum(one.n for group in measured for one in group.found if one.agent_type == ALL_AGENTS)
    return compared


def _measured(
    labels: Sequence[KeptLabel], rubric: RowRubric | None, warehouse: Warehouse
) -> Iterator[tuple[str, list[Measured]]]:
    of_rows = [_label(one, "") for one in labels if rubric and one.row_id and one.rubric == rubric.id]
    pairs, _, version = row_pairs(rubric, of_rows, warehouse) if rubric and of_rows else ([], [], "")
    if rubric and pairs:
        yield rubric.id, [Measured(version, agreements(pairs), {})]
    runs: dict[_Run, list[KeptLabel]] = {}
    for one in labels:
        if not one.row_id:
            runs.setdefault((one.rubric, one.input_sha256), []).append(one)
    by_rubric: dict[str, dict[str | None, list[tuple[str, Pair]]]] = {}
    for run in _stored_runs(warehouse, runs):
        mine = [_label(one, run.file) for one in runs[run.rubric.id, run.sha256]]
        for pair in testrun_pairs(mine, [run])[0]:
            groups = by_rubric.setdefault(run.rubric.id, {})
            groups.setdefault(run.epochs.get(pair.metric), []).append((run.version, pair))
    for name, groups in by_rubric.items():
        yield name, [_of_judge(epoch, found) for epoch, found in groups.items()]


def _of_judge(epoch: str | None, found: Sequence[tuple[str, Pair]]) -> Measured:
    pairs = [pair for _, pair in found]
    versions = ", ".join(sorted({version for version, _ in found}))
    return Measured(versions, agreements(pairs), {pair.metric: epoch for pair in pairs} if epoch else {})


def _label(kept: KeptLabel, file: str) -> Label:
    return Label(kept.metric, kept.label, file, kept.query_id, kept.round, kept.row_id, kept.reviewer)


@dataclass(frozen=True)
class _StoredRun:
    """A test run as the warehouse holds it; `epochs` is what judged the metrics that are judged."""

    rubric: AnyTestRunRubric
    file: str
    sha256: str
    version: str
    epochs: dict[str, str]
    scores: pl.DataFrame
    queries: pl.DataFrame


def _stored_runs(warehouse: Warehouse, wanted: Iterable[_Run]) -> Iterator[_StoredRun]:
    """Those of the wanted runs that the warehouse holds, each as it was scored last."""
    summaries = warehouse.read(SUMMARIES, schema=SUMMARIES_SCHEMA)
    if summaries is None:
        return
    rows = summaries.filter(pl.col("input_sha256").is_in([sha256 for _, sha256 in wanted])).collect()
    last = {(row["rubric"], row["input_sha256"]): row for row in rows.sort("score_date").iter_rows(named=True)}
    for run in wanted:
        rubric, row = rubrics().get(run[0]), last.get(run)
        if row is None or not isinstance(rubric, TestRunRubric):
            continue
        epochs = json.loads(row["summary"])["judge"].get("epochs") or {}
        yield _StoredRun(
            rubric=rubric,
            file=row["input_name"],
            sha256=run[1],
            version=row["rubric_version"],
            epochs={metric.name: epoch for metric in rubric.metrics if (epoch := metric.epoch(epochs))},
            scores=_table(warehouse, SCORES, row["score_date"], run),
            queries=_table(warehouse, QUERIES, row["score_date"], run),
        )


def _table(warehouse: Warehouse, table: str, day: date, run: _Run) -> pl.DataFrame:
    """The rows of a run with a column for each metric, as the table in its folder has them."""
    schema = SCORES_SCHEMA if table == SCORES else QUERIES_SCHEMA
    rows = warehouse.read(table, [day], schema)
    if rows is None:
        return pl.DataFrame()
    found = rows.filter((pl.col("rubric") == run[0]) & (pl.col("input_sha256") == run[1])).collect()
    points = [{f"{one['metric']}_score": one["score"] for one in scores} for scores in found["scores"].to_list()]
    return pl.concat([found.drop("scores"), pl.DataFrame(points, infer_schema_length=None)], how="horizontal")
