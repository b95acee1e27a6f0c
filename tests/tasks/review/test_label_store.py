"""Labels that are kept, and what they say of the scores that the warehouse holds."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa

from scoring.errors import InputError
from tasks.review.label_store import KeptLabel, LabelStore, exported_labels, labels_about, newest, write_kept_labels
from tasks.review.labels import read_labels
from tasks.review.trust import _with_points as with_points
from tasks.review.trust import judge_trust
from tasks.state.database import STATE_TABLES, StateDatabase
from tasks.testruns.trusted_metrics import read_agreements
from tasks.waiting import begun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import RUBRIC
from tests.builders.scored_testruns import plan_row
from tests.builders.site import write_run
from tests.builders.state import opened
from tests.builders.testruns import LONG_HEADER, write_csv

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
GIVEN = KeptLabel(
    labelled_at=AT,
    rubric="plan-agent",
    rubric_version="1",
    input_sha256="ab" * 32,
    file="a.csv",
    query_id="Q1",
    round="1/1",
    metric="accuracy",
    label="4",
    reviewer="kim",
    probability=0.05,
)
_WAITING = sa.text("SELECT 1 FROM pg_locks WHERE NOT granted")


def test_label_that_is_known_is_kept_once(tmp_path: Path) -> None:
    with opened(LabelStore, f"sqlite:///{tmp_path}/state.db") as store:
        assert store.add([GIVEN]) == 1
        assert store.add([replace(GIVEN, labelled_at=AT + timedelta(days=1))]) == 0
        assert store.every_label() == [GIVEN]
        assert store.newest_at() == AT


def test_label_that_two_give_at_once_is_kept_once(state_url: str) -> None:
    with StateDatabase(state_url) as state, opened(LabelStore, state_url) as second:
        LabelStore(state)
        with state.transaction(alone_in=STATE_TABLES.tables["labels"]) as connection:
            added = begun(lambda: second.add([GIVEN]))
            while not state.is_sqlite and not connection.execute(_WAITING).first():
                continue
            connection.execute(sa.insert(STATE_TABLES.tables["labels"]).values(**vars(GIVEN)))
        assert added() == 0
        assert second.every_label() == [GIVEN]


def test_who_changes_their_mind_gives_the_label_that_counts_and_the_first_one_stays(tmp_path: Path) -> None:
    later = replace(GIVEN, label="2", labelled_at=AT + timedelta(hours=1))
    other = replace(GIVEN, reviewer="lee")
    with opened(LabelStore, f"sqlite:///{tmp_path}/state.db") as store:
        assert [store.add([one]) for one in (GIVEN, later, other, GIVEN)] == [1, 1, 1, 1]
        assert store.every_label() == [GIVEN, later, other, GIVEN]
        assert newest(store.every_label()) == [GIVEN, other]


def test_notes_of_a_session_of_more_rows_than_a_statement_takes_are_deleted(tmp_path: Path) -> None:
    row_ids = [f"{number:032x}" for number in range(300_000)]
    mine, other = (replace(GIVEN, input_sha256="", row_id=one, note="이름") for one in (row_ids[-1], "of-another"))
    with opened(LabelStore, f"sqlite:///{tmp_path}/state.db") as store:
        store.add([mine, other])
        assert store.forget_notes(row_ids, dry_run=True) == 1
        assert store.forget_notes(row_ids, dry_run=False) == 1
        assert [one.note for one in store.every_label()] == ["", "이름"]


@pytest.mark.parametrize(
    "other",
    [
        {"input_sha256": "cd" * 32},
        {"query_id": "Q2"},
        {"round": "2/1"},
        {"metric": "speed"},
        {"rubric": "recruit-agent"},
        {"query_id": "", "row_id": "r1"},
    ],
)
def test_verdict_replaces_none_of_another_run_query_round_or_metric(other: dict[str, str]) -> None:
    assert newest([GIVEN, replace(GIVEN, **other)]) == [GIVEN, replace(GIVEN, **other)]  # type: ignore[arg-type]


def test_exported_label_is_read_again_with_its_probability(tmp_path: Path) -> None:
    write_kept_labels(tmp_path / "labels.csv", [replace(GIVEN, note="=1+1")])
    (read,) = read_labels(tmp_path / "labels.csv")
    assert (read.file, read.query_id, read.label, read.reviewer) == ("a.csv", "Q1", "4", "kim")
    assert (read.note, read.probability) == ("=1+1", "0.05")
    with (tmp_path / "labels.csv").open(encoding="utf-8-sig") as lines:
        (row,) = csv.DictReader(lines)
    assert (row["input_sha256"], row["rubric_version"], row["epoch"]) == ("ab" * 32, "1", "")


def test_exported_file_gives_back_what_was_kept_and_its_older_verdicts_stay_old(tmp_path: Path) -> None:
    of_chat = replace(GIVEN, rubric="ola-monitoring", input_sha256="", file="", query_id="", row_id="ab12", epoch="m+1")
    later = replace(GIVEN, label="1", labelled_at=GIVEN.labelled_at + timedelta(minutes=5))
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    write_kept_labels(old, [GIVEN, of_chat])
    write_kept_labels(new, [later])
    with opened(LabelStore, f"sqlite:///{tmp_path / 'state.db'}") as store:
        told = [store.restore(exported_labels(path) or []) for path in (old, new, old, new)]
        assert told == [2, 1, 0, 0]
        assert newest(store.every_label()) == [later, of_chat]


def test_of_an_exported_file_the_labels_of_a_run_or_of_chat_rows_are_taken(tmp_path: Path) -> None:
    of_chat = replace(GIVEN, rubric="ola-monitoring", input_sha256="", file="", query_id="", row_id="ab12")
    of_other_run = replace(GIVEN, input_sha256="cd" * 32)
    write_kept_labels(tmp_path / "labels.csv", [GIVEN, of_chat, of_other_run])
    exported = exported_labels(tmp_path / "labels.csv")
    assert exported == [GIVEN, of_chat, of_other_run]
    (of_run,) = labels_about(exported, GIVEN.rubric, {GIVEN.input_sha256: "elsewhere/a.csv"})
    assert (of_run.file, of_run.query_id, of_run.label) == ("elsewhere/a.csv", "Q1", "4")
    assert [one.row_id for one in labels_about(exported, "", {})] == ["ab12"]


def test_file_of_labels_that_people_wrote_is_none_that_was_exported(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("query_id,metric,label\nQ1,accuracy,5\n", encoding="utf-8")
    assert exported_labels(tmp_path / "labels.csv") is None


def test_exported_label_without_a_time_is_refused_with_its_line(tmp_path: Path) -> None:
    write_kept_labels(tmp_path / "labels.csv", [GIVEN])
    text = (tmp_path / "labels.csv").read_text("utf-8-sig")
    (tmp_path / "labels.csv").write_text(text.replace(str(GIVEN.labelled_at), "yesterday"), encoding="utf-8")
    with pytest.raises(InputError, match="line 2: labelled_at is no time"):
        exported_labels(tmp_path / "labels.csv")


DAY = date(2026, 3, 2)
PEOPLE_AGREE = [replace(GIVEN, query_id=f"Q{place}", label="5" if place % 2 else "0") for place in range(60)]


def scored_run(folder: Path, day: date = DAY, name: str = "a.csv", note: str = "") -> FolderWarehouse:
    """A warehouse with a run of 60 queries, of which every other one passes."""
    rows = [plan_row(f"Q{place}", passes=bool(place % 2), question=f"평가기간 바꿔줘{note}") for place in range(60)]
    source = write_csv(folder / name, [LONG_HEADER, *rows])
    warehouse = FolderWarehouse(folder / "warehouse")
    write_run(warehouse, source, day, "plan-agent")
    return warehouse


def of_the_run(folder: Path, name: str = "a.csv") -> str:
    """The content by which the run is known."""
    return sha256((folder / name).read_bytes()).hexdigest()


def test_trust_is_what_labels_say_of_the_scores_of_now(tmp_path: Path) -> None:
    warehouse = scored_run(tmp_path)
    labels = [replace(one, input_sha256=of_the_run(tmp_path)) for one in PEOPLE_AGREE]
    assert judge_trust(labels, RUBRIC, warehouse, DAY, 0.6) == {"plan-agent": 60}
    (row,) = read_agreements(warehouse).to_dicts()
    assert (row["metric"], row["n"], row["exact"], row["trusted"]) == ("accuracy", 60, 60, True)
    assert (row["score_date"], row["epoch"]) == (DAY, None)
    disagree = [replace(one, label="5" if one.label == "0" else "0") for one in labels]
    judge_trust(disagree, RUBRIC, warehouse, DAY, 0.6)
    (row,) = read_agreements(warehouse).to_dicts()
    assert (row["exact"], row["trusted"]) == (0, False)


def test_label_of_a_run_that_the_warehouse_does_not_hold_is_left_out(tmp_path: Path) -> None:
    warehouse = scored_run(tmp_path)
    mine = replace(GIVEN, input_sha256=of_the_run(tmp_path))
    unknown = [GIVEN, replace(mine, query_id="Q99"), replace(mine, query_id="", row_id="none", rubric=RUBRIC.id)]
    assert judge_trust(unknown, RUBRIC, warehouse, DAY, 0.6) == {}
    assert judge_trust([mine, *unknown], RUBRIC, warehouse, DAY, 0.6) == {"plan-agent": 1}


class ReadWarehouse(FolderWarehouse):
    """A warehouse that counts how often it is read: in BigQuery each time is a job."""

    reads = 0

    def read(
        self, table: str, days: Sequence[date] | None = None, schema: pa.Schema | None = None
    ) -> pl.LazyFrame | None:
        self.reads += 1
        return super().read(table, days, schema)


@pytest.mark.parametrize("runs", [1, 4])
def test_tables_are_read_once_however_many_runs_are_labelled(tmp_path: Path, runs: int) -> None:
    names = [f"{number}.csv" for number in range(runs)]
    for number, name in enumerate(names):
        scored_run(tmp_path, DAY + timedelta(number % 2), name, note=str(number))
    labels = [replace(one, input_sha256=of_the_run(tmp_path, name)) for one in PEOPLE_AGREE for name in names]
    warehouse = ReadWarehouse(tmp_path / "warehouse")
    assert judge_trust(labels, RUBRIC, warehouse, DAY, 0.6) == {"plan-agent": 60 * runs}
    assert warehouse.reads == 3
    (row,) = read_agreements(warehouse).to_dicts()
    assert (row["n"], row["exact"], row["clusters"]) == (60 * runs, 60 * runs, 60 * runs)


def test_runs_without_labels_are_left_in_their_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()

    def counting(rows: pl.DataFrame) -> pl.DataFrame:
        read.append(rows["input_sha256"].n_unique())
        return with_points(rows)

    monkeypatch.setattr("tasks.review.trust._with_points", counting)
    warehouse, *_ = [scored_run(tmp_path, name=name, note=name) for name in ("a.csv", "b.csv", "c.csv")]
    mine = replace(PEOPLE_AGREE[0], input_sha256=of_the_run(tmp_path, "b.csv"))
    assert judge_trust([mine], RUBRIC, warehouse, DAY, 0.6) == {"plan-agent": 1}
    assert read == [1, 1]
