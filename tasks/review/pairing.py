"""Pairs labels with scores of the same items, from folders of scored test runs or from the warehouse's chat rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError
from scoring.stats.agreement import Pair
from scoring.testruns.rubric import BEST_POINTS, WORST_POINTS, AnyTestRunRubric
from tasks.review.labels import Label, Problem, refuse
from tasks.testruns.read_folder import ScoredFolder
from tasks.warehouse import Warehouse, rows_with_ids

_RowKey = tuple[str, str]
LabelledPair = tuple[Label, Pair]
"""A label, and its value on the scale of the score."""


@dataclass(frozen=True)
class Labelled:
    """Pairs of labels and scores, their rubric, and the titles of its metrics. Items without a score are left out.

    `epochs` are the judges of the judged metrics, `contents` the SHA-256 of each file of a test run. `grades` are the
    codes of metrics whose points are ranks, the worst first.
    """

    pairs: list[Pair]
    rubric: str
    rubric_version: str
    titles: Mapping[str, str]
    epochs: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, str] = field(default_factory=dict)
    grades: Mapping[str, Sequence[str]] = field(default_factory=dict)


def labelled_testruns(labels: Sequence[Label], runs: Sequence[ScoredFolder], path: Path) -> Labelled:
    """The labels of test runs paired with their scores; `path` is the label file.

    Raises:
        InputError: a label names no item or no metric of these runs, or is no number of points.
        UsageError: the runs were scored by different rubrics or versions, judged by different models or prompts, or two
            of them have the same file.
    """
    versions = {(run.rubric.id, run.version) for run in runs}
    if len(versions) > 1:
        raise UsageError(
            "these runs were scored by different rubrics or versions", fix="give runs of one rubric and version"
        )
    if len({run.file for run in runs}) < len(runs):
        raise UsageError("two of these runs are of the same file", fix="give each run once")
    scored = {run.file: ScoredItems(run.rubric, run.scores, run.queries) for run in runs}
    pairs, problems = testrun_pairs(labels, scored)
    refuse(problems, path)
    epochs = _epochs(runs, {pair.metric for _, pair in pairs})
    contents = {run.file: run.sha256 for run in runs}
    return Labelled([pair for _, pair in pairs], runs[0].rubric.id, runs[0].version, runs[0].titles, epochs, contents)


def testrun_pairs(
    labels: Sequence[Label], by_file: Mapping[str, "ScoredItems"]
) -> tuple[list[LabelledPair], list[Problem]]:
    """The pairs of labels and scores of these runs, and the problems of the other lines."""
    pairs, problems = [], []
    for label in labels:
        try:
            pair = _run_pair(label, by_file)
        except _LabelError as problem:
            problems.append((label.line, str(problem)))
        else:
            pairs += [(label, pair)] if pair else []
    return pairs, problems


def _epochs(runs: Sequence[ScoredFolder], metrics: Collection[str]) -> dict[str, str]:
    """The judges of these metrics, if known."""
    epochs: dict[str, str] = {}
    for metric in runs[0].rubric.metrics:
        if metric.name not in metrics:
            continue
        epoch, *others = {metric.epoch(run.epochs) for run in runs}
        if others:
            raise UsageError(
                f"{metric.name} of these runs was judged by different models or prompts",
                fix="give runs that one judge has judged: their judge.epochs in summary.json are the same",
            )
        if epoch:
            epochs[metric.name] = epoch
    return epochs


def labelled_rows(
    rubric: RowRubric, labels: Sequence[Label], warehouse: Warehouse, path: Path, *, are_exported: bool = False
) -> Labelled:
    """The labels of chat rows paired with their grades, both as ranks on the scale, 0 for the worst.

    Of labels that `are_exported` some may be of another service, and are left out.

    Raises:
        InputError: a label names no scored row or no grade.
        UsageError: no exported label is about a row that is scored here.
    """
    pairs, problems, version = row_pairs(rubric, labels, warehouse)
    if not are_exported:
        refuse(problems, path)
    elif not pairs:
        fix = "choose the service of its rows: aqb --service NAME agreement ..."
        raise UsageError("no label is about a row that is scored here", where=str(path), fix=fix)
    return Labelled([pair for _, pair in pairs], rubric.id, version, rubric.titles, grades=_grades(rubric))


def row_pairs(
    rubric: RowRubric, labels: Sequence[Label], warehouse: Warehouse
) -> tuple[list[LabelledPair], list[Problem], str]:
    """The pairs of labels and grades of scored rows, the problems of the other lines, and the versions of the rubric
    that scored the rows.
    """
    scales = _grades(rubric)
    columns = ["score_date", "row_id", "session_id", "tenant_id", "rubric_version"]
    columns += [scale.column for scale in rubric.scales]
    scored = rows_with_ids(warehouse, rubric, {label.row_id for label in labels}, columns)
    rows = {row["row_id"]: row for row in scored.iter_rows(named=True)}
    pairs: list[LabelledPair] = []
    problems: list[Problem] = []
    for label in labels:
        scale = scales.get(label.metric)
        row = rows.get(label.row_id)
        if scale is None:
            problems.append((label.line, f"no metric '{label.metric}'; there are {', '.join(scales)}"))
        elif label.label not in scale:
            problems.append((label.line, f"'{label.label}' is no {label.metric}; use {', '.join(scale)}"))
        elif row is None:
            problems.append((label.line, f"no scored row '{label.row_id}'"))
        else:
            session = row["session_id"] or label.row_id
            score, given = scale.index(row[label.metric]), scale.index(label.label)
            pairs.append((label, Pair(label.metric, row["tenant_id"], session, score, given)))
    return pairs, problems, ", ".join(sorted({row["rubric_version"] for row in rows.values()}))


def _grades(rubric: RowRubric) -> dict[str, Sequence[str]]:
    """Metric -> its codes, the worst first."""
    return {scale.column: scale.codes[::-1] for scale in (*rubric.crosstab_scales, rubric.final_scale)}


class _LabelError(Exception):
    """A label is invalid: the item that it names does not exist, or it is no number of points."""


class ScoredItems:
    """The scores of one test run by (query, round), those of whole queries at round ''.

    `scores` has a row per execution, `queries` one per query, with a column `<metric>_score` each.
    """

    def __init__(self, rubric: AnyTestRunRubric, scores: pl.DataFrame, queries: pl.DataFrame) -> None:
        self._metrics = {metric.name: metric for metric in rubric.metrics}
        rows = scores.iter_rows(named=True)
        self._rows: dict[_RowKey, Mapping[str, Any]] = {(row["query_id"], row["round"]): row for row in rows}
        self._rows |= {(row["query_id"], ""): row for row in queries.iter_rows(named=True)}

    def row(self, label: Label) -> Mapping[str, Any]:
        """The row of the item that a label names."""
        metric = self._metrics.get(label.metric)
        if metric is None:
            raise _LabelError(f"no metric '{label.metric}'; there are {', '.join(self._metrics)}")
        if label.round and not metric.per_execution:
            raise _LabelError(f"{label.metric} is one score of the whole query: leave its round empty")
        row = self._rows.get((label.query_id, label.round))
        if row is None:
            place = f" in round {label.round}" if label.round else ""
            raise _LabelError(f"no query '{label.query_id}'{place}")
        return row


def _run_pair(label: Label, by_file: Mapping[str, ScoredItems]) -> Pair | None:
    items = by_file.get(label.file) if label.file or len(by_file) > 1 else next(iter(by_file.values()))
    if items is None:
        raise _LabelError(f"no run of the file '{label.file}'; there are {', '.join(by_file)}")
    row = items.row(label)
    score, points = row[f"{label.metric}_score"], _points(label.label)
    return None if score is None else Pair(label.metric, row["agent_type"], (label.file, label.query_id), score, points)


def _points(label: str) -> float:
    try:
        points = float(label)
    except ValueError:
        points = -1
    if not WORST_POINTS <= points <= BEST_POINTS:
        raise _LabelError(f"'{label}' is no number of points from {WORST_POINTS} to {BEST_POINTS}")
    return points
