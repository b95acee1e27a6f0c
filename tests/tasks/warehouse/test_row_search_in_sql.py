"""The search that BigQuery answers finds what Polars finds: Google's own evaluator on the same rows."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from google.cloud.bigquery import ArrayQueryParameter

from scoring.chat.row_filter import RowFilter
from tasks.warehouse.bigquery.client import QueryParameter
from tasks.warehouse.bigquery.score_queries import BigQueryRowSearch, ScoreTable
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.row_search import RowOrder
from tasks.warehouse.tables import SCORES
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, refused
from tests.builders.site import write_day
from tests.fakes.googlesql import answers_over

pytestmark = pytest.mark.long

ALL = RowFilter(DAY, DAY + timedelta(days=1))
ROWS = [
    *(refused(tenant_id=tenant, session_id=f"s{n}") for n, tenant in enumerate(["t1", "t2", None, "-"])),
    refused(user_input="PER 3.5(%) 알려줘 ' [a-z]"),
    refused(user_input="하늘전자 주가 어때"),
    best(),
    *(plain(session_id=f"p{n}") for n in range(3)),
]
_KINDS = {"DATE": pa.date32(), "FLOAT64": pa.float64(), "INT64": pa.int64(), "STRING": pa.string()}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    warehouse = FolderWarehouse(tmp_path_factory.mktemp("search"))
    write_day(warehouse, DAY, ROWS, apart=timedelta(minutes=15))
    write_day(warehouse, DAY + timedelta(days=1), ROWS[3:])
    return warehouse


def in_sql(warehouse: FolderWarehouse) -> BigQueryRowSearch:
    """The search of BigQuery over the rows of a folder."""
    scores = warehouse.read(SCORES, None, RUBRIC.scores_schema)
    assert scores is not None
    rows = scores.collect().to_dicts()

    def typed(one: QueryParameter) -> tuple[pa.DataType, Any]:
        if isinstance(one, ArrayQueryParameter):
            return pa.list_(_KINDS[str(one.array_type)]), one.values
        return _KINDS[str(one.type_)], one.value

    def ask(query: str, parameters: Sequence[QueryParameter]) -> list[dict[str, Any]]:
        bound = {str(one.name): typed(one) for one in parameters}
        return answers_over(query, {"scores": (RUBRIC.scores_schema, rows)}, bound)

    return BigQueryRowSearch(RUBRIC, ScoreTable("scores", RUBRIC.scores_schema.names), ask)


EVERYTHING = {
    "tenants": ("t1", None),
    "codes": {"final_grade": ("F", "C"), "failure_type": (None, "refused_advice")},
    "rules": ("answer_failed", "llm_blocked"),
    "lowest": 1.0,
    "highest": 99.5,
    "text": "법률 자문",
    "session": "s0",
}


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"tenants": (None, "-"), "highest": 20.0},
        {"text": "per 3.5(%) 알려줘 ' [A-Z]"},
        {"kpi": "failure_rate"},
        {"hours": (13,), "time_zone": "Asia/Seoul"},
        {"hours": (0, 23), "time_zone": "America/St_Johns"},
        {"kpi": "answer_excellent_rate"},
        EVERYTHING,
    ],
)
def test_row_search_in_sql_counts_and_shows_the_same_rows(warehouse: FolderWarehouse, wanted: dict[str, Any]) -> None:
    asked = RowFilter(ALL.first, ALL.last, **wanted)
    columns, order = ["score_date", "row_id", "tenant_id", "alert_rules", "user_input"], RowOrder("tenant_id")
    here, there = warehouse.row_search(RUBRIC), in_sql(warehouse)
    keys = RUBRIC.crosstab.keys
    assert there.counts(asked).sort(keys).rows() == here.counts(asked).sort(keys).rows() != []
    assert there.rows(asked, columns, order, 1, 4).to_dicts() == here.rows(asked, columns, order, 1, 4).to_dicts()


def test_row_search_in_sql_gives_the_same_texts(warehouse: FolderWarehouse) -> None:
    here, there = (search.texts(ALL, ["주가", "어때"]) for search in (warehouse.row_search(RUBRIC), in_sql(warehouse)))
    assert there.sort("row_id").rows() == here.sort("row_id").rows()
    assert there.height == 2
    assert in_sql(warehouse).texts(ALL, ["주가", "어때"], most=1).height == 1
    ids = tuple(pl.concat([there, here])["row_id"])
    found = in_sql(warehouse).counts(RowFilter(ALL.first, ALL.last, row_ids=ids))
    assert int(found["rows"].sum()) == 2


def test_row_search_in_sql_of_a_table_that_is_not_there_is_empty(tmp_path: Path) -> None:
    missing = ScoreTable("scores", ())
    search = BigQueryRowSearch(RUBRIC, missing, lambda *_: pytest.fail("asked a table that is not there"))
    assert search.counts(ALL).is_empty()
    assert search.rows(ALL, ["row_id"], RowOrder(), 0, 9).is_empty()
