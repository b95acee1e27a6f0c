"""Reads labels of people from a CSV or TSV file: a row per labelled item.

An item of a test run is a file, a query, a round ('' for a metric of the whole query) and a metric; an item of chat
rows is a `row_id` and a grade. Several people may label one item, each once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.inputs import BrokenRow
from tasks.files.atomic import write_text
from tasks.files.excel import excel_csv, unguarded
from tasks.testruns.files import TextTable, text_table

COLUMNS = ("file", "query_id", "round", "row_id", "metric", "label", "reviewer", "note", "probability")
_REQUIRED = ("metric", "label")
_SHOWN_PROBLEMS = 5

Problem = tuple[int, str]
"""The line of a label, and what is wrong with it."""


@dataclass(frozen=True)
class Label:
    """One label of one person; `label` as written. Either `row_id` or `query_id` is set, the other is ''.

    `probability` is the item's sampling probability, '' if it was not sampled.
    """

    metric: str
    label: str
    file: str = ""
    query_id: str = ""
    round: str = ""
    row_id: str = ""
    reviewer: str = ""
    note: str = ""
    probability: str = ""
    line: int = 0

    @property
    def cells(self) -> dict[str, Any]:
        """Its cells in a file of labels."""
        return {name: getattr(self, name) for name in COLUMNS}


def read_labels(path: Path) -> list[Label]:
    """The labels of a file in its order. Rows with an empty `label` are not labelled yet and left out.

    Raises:
        InputError: no such file, no table, a column is missing, a row names no item, or a person labels an item twice.
    """
    if path.suffix.lower() == ".xlsx":
        raise InputError(
            "a workbook is no file of labels",
            where=str(path),
            fix="`aqb review import` makes one of a review workbook; else save it as CSV in UTF-8",
        )
    table = text_table(path)
    if missing := [name for name in _REQUIRED if name not in table.columns]:
        raise InputError(
            f"columns are missing: {', '.join(missing)}",
            where=str(path),
            fix=f"a file of labels has the columns {', '.join(COLUMNS)}; `aqb review import` writes one",
        )
    problems: list[Problem] = []
    labels = [
        Label(**{name: cell for name, cell in cells.items() if name in COLUMNS}, line=line)
        for line, cells in label_rows(table, problems)
        if cells["label"]
    ]
    return one_each(labels, problems, path)


def label_rows(table: TextTable, problems: list[Problem]) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the cells by column of each row; rows that cannot be read are added to the `problems`."""
    for row in table.rows():
        if isinstance(row, BrokenRow):
            problems.append((row.line, row.reason))
        else:
            cells = zip(table.columns, row.cells, strict=True)
            yield row.line, {name: unguarded(cell.strip()) for name, cell in cells}


def one_each(labels: Iterable[Label], problems: Iterable[Problem], path: Path) -> list[Label]:
    """The labels of a file that names an item for each, and no item twice per person.

    Raises:
        InputError: it does not, or there are `problems` already: (line, what is wrong).
    """
    found, kept = [*problems], dict[tuple[str, ...], Label]()
    for label in labels:
        item = (label.file, label.query_id, label.round, label.row_id, label.metric, label.reviewer)
        if bool(label.query_id) == bool(label.row_id):
            found.append((label.line, "either query_id or row_id must be given"))
        elif not _is_probability(label.probability):
            found.append((label.line, f"'{label.probability}' is no probability above 0 and up to 1"))
        elif item in kept:
            found.append((label.line, f"the same item as in line {kept[item].line}, by the same reviewer"))
        else:
            kept[item] = label
    refuse(found, path)
    return list(kept.values())


def _is_probability(text: str) -> bool:
    try:
        return not text or 0 < float(text) <= 1
    except ValueError:
        return False


def refuse(problems: Sequence[Problem], path: Path) -> None:
    """Raises InputError for invalid labels: a figure over the remaining ones would look complete."""
    if problems:
        shown = "; ".join(f"line {line}: {problem}" for line, problem in sorted(problems)[:_SHOWN_PROBLEMS])
        more = f"; and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
        raise InputError(shown + more, where=str(path), fix="correct these labels, or take them out")


def write_labels(path: Path, labels: Iterable[Label]) -> None:
    """Writes a file for `read_labels`, in UTF-8 with the byte-order mark that Excel needs.

    Raises:
        StorageError: the file cannot be written.
    """
    write_text(path, excel_csv([COLUMNS, *(list(label.cells.values()) for label in labels)]))
