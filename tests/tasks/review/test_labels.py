"""Files of labels: what is read, and what is refused with its line."""

from dataclasses import replace
from pathlib import Path

import pytest

from scoring.errors import InputError
from tasks.review.labels import Label, read_labels, write_labels
from tests.builders.testruns import write_csv

HEADER = ["query_id", "round", "metric", "label", "reviewer"]


def labels_file(folder: Path, *rows: list[str], header: list[str] = HEADER) -> Path:
    return write_csv(folder / "labels.csv", [header, *rows])


def test_row_without_a_label_is_not_labelled_yet(tmp_path: Path) -> None:
    path = labels_file(tmp_path, ["Q1", "1/1", "accuracy", "5", ""], ["Q2", "1/1", "accuracy", "", ""])
    assert [label.query_id for label in read_labels(path)] == ["Q1"]


def test_columns_that_nobody_knows_are_carried_past(tmp_path: Path) -> None:
    path = labels_file(tmp_path, ["Q1", "accuracy", "4", "?"], header=["query_id", "metric", "label", "기타"])
    assert read_labels(path) == [Label("accuracy", "4", query_id="Q1", line=2)]


def test_two_people_may_label_one_item(tmp_path: Path) -> None:
    path = labels_file(tmp_path, ["Q1", "1/1", "accuracy", "5", "kim"], ["Q1", "1/1", "accuracy", "4", "lee"])
    assert len(read_labels(path)) == 2


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (["Q1", "1/1", "accuracy", "4", "kim"], "line 3: the same item as in line 2"),
        (["", "", "accuracy", "4", "kim"], "line 3: either query_id or row_id"),
        (["Q2", "1/1", "accuracy"], "line 3: 칸이 3개입니다"),
    ],
)
def test_wrong_row_is_refused_with_its_line(tmp_path: Path, row: list[str], problem: str) -> None:
    path = labels_file(tmp_path, ["Q1", "1/1", "accuracy", "5", "kim"], row)
    with pytest.raises(InputError, match=problem):
        read_labels(path)


@pytest.mark.parametrize("probability", ["0", "1.1", "-0.2", "nan", "20%"])
def test_label_that_was_drawn_with_no_probability_is_refused(tmp_path: Path, probability: str) -> None:
    path = labels_file(
        tmp_path, ["Q1", "accuracy", "5", probability], header=["query_id", "metric", "label", "probability"]
    )
    with pytest.raises(InputError, match=f"line 2: '{probability}' is no probability above 0 and up to 1"):
        read_labels(path)


def test_many_wrong_rows_are_counted_not_listed(tmp_path: Path) -> None:
    path = labels_file(tmp_path, *[["Q1", "1/1", "accuracy", "5", "kim"]] * 9)
    with pytest.raises(InputError, match="and 3 more"):
        read_labels(path)


def test_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="columns are missing: label"):
        read_labels(labels_file(tmp_path, ["Q1", "accuracy"], header=["query_id", "metric"]))


def test_written_labels_are_read_again(tmp_path: Path) -> None:
    labels = [Label("accuracy", "5", "런.csv", "Q,1", "1/1", reviewer="김", note='"인용"\n둘째 줄')]
    write_labels(tmp_path / "out.csv", labels)
    read = read_labels(tmp_path / "out.csv")
    assert [vars(label) | {"line": 0} for label in read] == [vars(label) for label in labels]


def test_no_label_becomes_a_formula_and_each_is_read_as_it_was(tmp_path: Path) -> None:
    label = Label("accuracy", "5", "＝런.csv", "=1+1", "-1/1", reviewer="@kim", note="=HYPERLINK(1)")
    write_labels(tmp_path / "out.csv", [label])
    assert ",'=HYPERLINK(1)" in (tmp_path / "out.csv").read_text(encoding="utf-8-sig")
    assert [replace(read, line=0) for read in read_labels(tmp_path / "out.csv")] == [label]
