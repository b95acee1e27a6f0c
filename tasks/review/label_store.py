"""Stores all labels of people in the state database: a row each, never updated. Only the note of a label is deleted
when the session that it is about is erased.

Reviewers who change their mind give a later label of the same item: the newest of each reviewer counts. An empty label
withdraws the one before.

Source: SPEC 12.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from tasks.files.atomic import write_text
from tasks.files.excel import excel_csv
from tasks.review.labels import COLUMNS, Label, Problem, label_rows, refuse
from tasks.review.pairing import Labelled
from tasks.state.database import STATE_TABLES, StateDatabase, columns_for, columns_of
from tasks.testruns.files import text_table

_ROWS_PER_QUERY = 500


@dataclass(frozen=True, kw_only=True)
class KeptLabel:
    """One label of one person for one item, and the content and versions that they saw.

    An item is a `row_id`, or a query of the test run with this content; the columns of the other kind are ''. `round`
    is '' for the query as a whole. `epoch` is the judge of the metric, None for a metric scored by rules. `probability`
    is the item's sampling probability, None if it was not sampled. An empty `label` withdraws the reviewer's earlier
    ones.
    """

    labelled_at: datetime
    rubric: str
    rubric_version: str
    input_sha256: str = ""
    file: str = ""
    query_id: str = ""
    round: str = ""
    row_id: str = ""
    metric: str
    label: str = ""
    reviewer: str = ""
    note: str = ""
    epoch: str | None = None
    probability: float | None = None

    @property
    def item(self) -> tuple[str, ...]:
        """The item of the label."""
        return (self.rubric, self.input_sha256, self.query_id, self.round, self.row_id, self.metric)

    @property
    def given(self) -> tuple[str, ...]:
        """The reviewer and the item."""
        return (*self.item, self.reviewer)

    def in_file(self, file: str, line: int = 0) -> Label:
        """The label as it stands in a file of labels; `file` is what that file calls its test run."""
        cells = {name: getattr(self, name) for name in COLUMNS}
        probability = "" if self.probability is None else str(self.probability)
        return Label(**cells | {"file": file, "probability": probability}, line=line)


_TEXTS = [one.name for one in fields(KeptLabel) if one.type is str]
_labels = sa.Table(
    "labels",
    STATE_TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    *columns_for(KeptLabel),
    sa.Index("ix_labels_labelled_at", "labelled_at"),
    sa.Index("labels_by_item", "input_sha256", "row_id"),
)


def kept_labels(labels: Iterable[Label], labelled: Labelled, at: datetime) -> list[KeptLabel]:
    """Labels of a file, matched with these scores, as they are stored at time `at`."""
    only = next(iter(labelled.contents)) if len(labelled.contents) == 1 else ""
    return [
        KeptLabel(
            **one.cells
            | {"file": one.file or only, "probability": float(one.probability) if one.probability else None},
            labelled_at=at,
            rubric=labelled.rubric,
            rubric_version=labelled.rubric_version,
            input_sha256=labelled.contents.get(one.file or only, ""),
            epoch=labelled.epochs.get(one.metric),
        )
        for one in labels
    ]


class LabelStore:
    """The labels of a state database. Every method is one transaction.

    Raises:
        StorageError: the state database cannot be used; every method may raise it.
    """

    def __init__(self, database: StateDatabase) -> None:
        database.create_tables(_labels)
        self._database = database

    def add(self, labels: Sequence[KeptLabel]) -> int:
        """Adds the new labels and returns their number: adding the same file twice adds nothing.

        Withdrawing a label that was never given adds nothing either.
        """
        of_inputs = _labels.c.input_sha256.in_({one.input_sha256 for one in labels})
        row_ids = sorted({one.row_id for one in labels})
        with self._database.transaction(alone_in=_labels) as connection:
            known = [
                label
                for start in range(0, len(row_ids), _ROWS_PER_QUERY)
                for label in _read(
                    connection, of_inputs, _labels.c.row_id.in_(row_ids[start : start + _ROWS_PER_QUERY])
                )
            ]
            said = {one.given: (one.label, one.note) for one in known}
            new = [one for one in labels if said.get(one.given, ("", "")) != (one.label, one.note)]
            if new:
                connection.execute(sa.insert(_labels), [vars(one) for one in new])
        return len(new)

    def restore(self, labels: Sequence[KeptLabel]) -> int:
        """Adds labels with their original times, and returns the number of new ones.

        A later label of the same reviewer and item stays the newest.
        """
        last = {one.given: one.labelled_at for one in sorted(self.every_label(), key=lambda one: one.labelled_at)}
        return self.add([one for one in labels if one.given not in last or one.labelled_at > last[one.given]])

    def every_label(self) -> list[KeptLabel]:
        """All labels in the order in which they were given."""
        with self._database.transaction() as connection:
            return _read(connection)

    def labels_of(self, rubric: str, input_sha256: str, row_ids: Sequence[str]) -> list[KeptLabel]:
        """The labels of a test run (its `row_ids` are '' alone) or of chat rows, in the order of time."""
        of_input = (_labels.c.rubric == rubric, _labels.c.input_sha256 == input_sha256)
        with self._database.transaction() as connection:
            return _read(connection, *of_input, _labels.c.row_id.in_(row_ids))

    def forget_notes(self, row_ids: Sequence[str], *, dry_run: bool) -> int:
        """Deletes the notes of the labels of these rows, which may quote them; returns how many labels had one."""
        mine = set(row_ids)  # a session may have more rows than a statement takes parameters
        noted = self._database.rows(sa.select(_labels.c.id, _labels.c.row_id).where(_labels.c.note != ""))
        quoting = _labels.c.id.in_([number for number, row_id in noted if row_id in mine])
        emptied = sa.update(_labels).where(quoting, _labels.c.note != "").values(note="")
        return self._database.take_away(emptied, dry_run=dry_run)

    def newest_at(self) -> datetime | None:
        """The time of the latest label; None if there is none."""
        return self._database.value(sa.select(sa.func.max(_labels.c.labelled_at)))


def newest(labels: Iterable[KeptLabel]) -> list[KeptLabel]:
    """The newest label of each reviewer on each item, from labels in the order in which they were given.

    Items whose label was withdrawn have none.
    """
    return [one for one in {one.given: one for one in labels}.values() if one.label]


def _read(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[KeptLabel]:
    query = sa.select(*columns_of(_labels, KeptLabel)).where(*conditions).order_by(_labels.c.id)
    return [KeptLabel(**row._mapping) for row in connection.execute(query)]


def exported_labels(path: Path) -> list[KeptLabel] | None:
    """The labels of a file written by `write_kept_labels`; None for a label file written by people.

    Raises:
        InputError: no such file, no table, or an invalid time or probability.
    """
    if path.suffix.lower() == ".xlsx":
        return None
    table = text_table(path)
    if not {field.name for field in fields(KeptLabel)} <= set(table.columns):
        return None
    found: list[KeptLabel] = []
    problems: list[Problem] = []
    for line, cells in label_rows(table, problems):
        try:
            at, probability = datetime.fromisoformat(cells["labelled_at"]), cells["probability"]
            own = {name: cells[name] for name in _TEXTS}
            drawn_with = float(probability) if probability else None
            if at.tzinfo is None:
                raise ValueError
            found.append(KeptLabel(labelled_at=at, epoch=cells["epoch"] or None, probability=drawn_with, **own))
        except ValueError:
            problems.append((line, "labelled_at is no time with its zone, or probability no number"))
    refuse(problems, path)
    return found


def labels_about(kept: Iterable[KeptLabel], rubric: str, files: Mapping[str, str]) -> list[Label]:
    """The labels of a rubric's runs as `read_labels` returns them, `files` by their hashes; without files those of chat
    rows.
    """
    return [
        one.in_file(files.get(one.input_sha256, ""))
        for one in kept
        if (one.rubric == rubric and one.input_sha256 in files if files else one.row_id)
    ]


def write_kept_labels(path: Path, labels: Iterable[KeptLabel]) -> None:
    """Writes labels with all their columns; `exported_labels` and `read_labels` can read the file.

    Raises:
        StorageError: the file cannot be written.
    """
    names = [field.name for field in fields(KeptLabel)]
    rows = ([str(value) if (value := getattr(one, name)) is not None else "" for name in names] for one in labels)
    write_text(path, excel_csv([names, *rows]))
