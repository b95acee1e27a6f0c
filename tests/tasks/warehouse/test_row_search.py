"""Rows by what people ask for: as many as SQL over the tables counts, each on one page and no other."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from scoring.chat.row_filter import RowFilter
from tasks.warehouse import rows_with_ids
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.row_search import RowOrder
from tasks.warehouse.tables import SCORES
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, refused
from tests.builders.site import write_day

DAYS = [DAY + timedelta(days=offset) for offset in range(3)]
ALL = RowFilter(DAYS[0], DAYS[-1])
ROWS = [
    *(refused(tenant_id=tenant, session_id=f"s{n}") for n, tenant in enumerate(["t1", "t2", None, "", "-"])),
    refused(user_input="PER 3.5(%) 알려줘 [a-z]"),
    refused(user_input="하늘전자 주가 어때"),
    refused(user_input="구름전자 주가 어때?"),
    best(),
    best(tenant_id="t2"),
    *(plain(session_id=f"p{n}") for n in range(4)),
]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    warehouse = FolderWarehouse(tmp_path_factory.mktemp("search"))
    for place, day in enumerate(DAYS):
        write_day(warehouse, day, ROWS[place:])
    return warehouse


def counted(warehouse: FolderWarehouse, wanted: RowFilter) -> int:
    return int(warehouse.row_search(RUBRIC).counts(wanted)["rows"].sum())


@pytest.mark.parametrize(
    ("wanted", "where"),
    [
        ({}, "TRUE"),
        ({"last": DAYS[0]}, f"score_date = '{DAYS[0]}'"),
        ({"tenants": ("t2",)}, "tenant_id = 't2'"),
        ({"tenants": (None, "-")}, "tenant_id IS NULL OR tenant_id = '-'"),
        ({"codes": {"final_grade": ("F", "C")}}, "final_grade IN ('F', 'C')"),
        ({"codes": {"failure_type": (None,)}}, "failure_type IS NULL"),
        ({"codes": {"q_tier": ("D",), "a_grade": ("F",)}}, "q_tier = 'D' AND a_grade = 'F'"),
        ({"rules": ("answer_failed", "final_failed")}, "list_has_any(alert_rules, ['answer_failed', 'final_failed'])"),
        ({"lowest": 50.0}, "final_score >= 50"),
        ({"highest": 13.8}, "final_score <= 13.8"),
        ({"session": "s1"}, "session_id = 's1'"),
        ({"text": "per 3.5(%)"}, "contains(lower(user_input), 'per 3.5(%)')"),
        ({"text": "[a-z]"}, "contains(user_input, '[a-z]')"),
        ({"text": "법률 자문"}, "contains(llm_response, '법률 자문')"),
        ({"text": "'; DROP TABLE rows; --"}, "FALSE"),
    ],
)
def test_row_search_counts_what_sql_over_the_tables_counts(
    warehouse: FolderWarehouse, wanted: dict[str, Any], where: str
) -> None:
    files = str(warehouse.folder / SCORES / "*.parquet")
    with duckdb.connect() as tables:
        found = tables.execute(
            f"SELECT score_date, count(*), sum(final_score) FROM '{files}' WHERE {where} GROUP BY 1"
        ).fetchall()
    counts = warehouse.row_search(RUBRIC).counts(replace(ALL, **wanted)).group_by("score_date")
    summed = counts.agg(pl.col("rows").sum(), pl.col("tenths").sum() / 10).sort("score_date")
    assert summed.rows() == [(day, rows, pytest.approx(total)) for day, rows, total in sorted(found)]


@pytest.mark.parametrize("descending", [False, True])
def test_row_search_shows_every_row_on_one_page_in_the_order_that_was_asked(
    warehouse: FolderWarehouse, *, descending: bool
) -> None:
    search, order = warehouse.row_search(RUBRIC), RowOrder("final_score", descending=descending)
    pages = [search.rows(ALL, ["row_id", "final_score"], order, start, 5) for start in range(0, 45, 5)]
    rows = pl.concat(pages)
    assert rows.height == counted(warehouse, ALL) == rows["row_id"].n_unique()
    assert rows["final_score"].is_sorted(descending=descending)


def test_row_search_finds_a_row_by_its_id_and_nothing_where_there_is_no_day(warehouse: FolderWarehouse) -> None:
    search = warehouse.row_search(RUBRIC)
    (row,) = search.rows(ALL, ["row_id"], RowOrder(), 3, 1).to_dicts()
    assert counted(warehouse, replace(ALL, text=row["row_id"])) == 1
    nowhere = RowFilter(DAYS[-1] + timedelta(days=1), DAYS[-1] + timedelta(days=9))
    assert counted(warehouse, nowhere) == 0
    assert search.rows(nowhere, ["row_id"], RowOrder(), 0, 5).is_empty()


def test_row_search_gives_the_kept_questions_that_have_some_words(warehouse: FolderWarehouse) -> None:
    found = warehouse.row_search(RUBRIC).texts(replace(ALL, last=DAYS[0]), ["주가", "어때"])
    assert sorted(found["user_input"]) == ["구름전자 주가 어때?", "하늘전자 주가 어때"]
    some = warehouse.row_search(RUBRIC).texts(replace(ALL, last=DAYS[0]), ["주가", "어때"], most=1)
    assert some.height == 1
    assert some["row_id"].is_in(found["row_id"]).all()


def test_row_search_reads_days_of_a_version_that_lacked_a_column(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path)
    write_day(warehouse, DAY, ROWS)
    path = warehouse.path(SCORES, DAY)
    pl.read_parquet(path).drop("answer_says_no_data", "cause").write_parquet(path)
    (row,) = warehouse.row_search(RUBRIC).rows(ALL, ["cause", "final_score"], RowOrder(), 0, 1).to_dicts()
    assert row["cause"] is None
    assert row["final_score"] > 0


def test_row_search_tells_rows_of_one_id_on_two_days_apart(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path)
    write_day(warehouse, DAYS[0], ROWS)
    scores = tmp_path / SCORES
    copied = pl.read_parquet(scores / f"{DAYS[0]}.parquet").with_columns(score_date=pl.lit(DAYS[1]))
    copied.write_parquet(scores / f"{DAYS[1]}.parquet")
    shown = warehouse.row_search(RUBRIC).rows(ALL, ["row_id"], RowOrder("final_score", descending=False), 0, 3)
    assert shown.height == 3
    assert shown["row_id"].n_unique() == 2


def test_rows_with_ids_come_from_all_days_the_earliest_first(warehouse: FolderWarehouse, tmp_path: Path) -> None:
    order = RowOrder("final_score", descending=False)
    ids = warehouse.row_search(RUBRIC).rows(ALL, ["row_id"], order, 0, 99)["row_id"].to_list()
    found = rows_with_ids(warehouse, RUBRIC, [*ids, "nowhere"], ["score_date", "row_id"])
    assert sorted(found["row_id"]) == sorted(ids)
    assert found["score_date"].is_sorted()
    assert found["score_date"].n_unique() == len(DAYS)
    assert rows_with_ids(warehouse, RUBRIC, [], ["score_date"]).is_empty()
    assert rows_with_ids(FolderWarehouse(tmp_path / "none"), RUBRIC, ids, ["score_date"]).is_empty()
