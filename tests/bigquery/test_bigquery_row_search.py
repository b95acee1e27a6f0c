"""Rows by what people ask for, found inside a local BigQuery as in a folder."""

from dataclasses import replace
from pathlib import Path

import pytest

from scoring.chat.row_filter import RowFilter
from scoring.days import day_window
from scoring.errors import UsageError
from tasks.chat.source_rows import window_of
from tasks.config.settings import Settings
from tasks.review.labels import Label
from tasks.review.pairing import row_pairs
from tasks.warehouse import Warehouse, open_warehouse
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.row_search import RowOrder
from tasks.warehouse.tables import SCORES
from tests.bigquery.conftest import Emulator
from tests.bigquery.test_pushdown import SEOUL, behind
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, refused
from tests.builders.site import write_day
from tests.builders.state import in_context
from tests.fakes.bigquery_proxy import proxy_to

VIEW, FILES = "bigquery://team-project.chat.rows", "a folder"
ALL = RowFilter(DAY, DAY)
ROWS = [
    refused(tenant_id=None, session_id="s0"),
    refused(tenant_id="t2", user_input="PER 3.5(%) ' 알려줘"),
    refused(user_input="하늘전자 주가 어때"),
    best(),
    *(plain(session_id=f"p{n}") for n in range(3)),
]
FILTERS = [
    ALL,
    replace(ALL, tenants=(None, "t2"), codes={"final_grade": ("F",), "failure_type": (None, "refused_advice")}),
    replace(ALL, text="per 3.5(%) '", lowest=1.0, highest=99.0),
    replace(ALL, rules=("answer_failed",), kpi="failure_rate"),
    replace(ALL, session="nobody"),
]


@pytest.fixture
def warehouses(tmp_path: Path, dataset: str, settings: Settings) -> tuple[Warehouse, Warehouse]:
    """The same day in a folder and in a dataset."""
    folder = FolderWarehouse(tmp_path / "folder")
    write_day(folder, DAY, ROWS)
    there = open_warehouse(f"bigquery://{dataset.replace('.', '/')}", settings)
    scores = folder.read(SCORES, [DAY], RUBRIC.scores_schema)
    assert scores is not None
    there.replace_day(SCORES, DAY, RUBRIC.scores_schema, [scores.collect()])
    return folder, there


def test_row_search_finds_the_same_rows_inside_bigquery(warehouses: tuple[Warehouse, Warehouse]) -> None:
    here, there = (warehouse.row_search(RUBRIC) for warehouse in warehouses)
    keys, order = RUBRIC.crosstab.keys, RowOrder("final_score", descending=False)
    columns = ["score_date", "row_id", "timestamp", "tenant_id", "final_score", "alert_rules", "user_input"]
    for wanted in FILTERS:
        assert there.counts(wanted).sort(keys).rows() == here.counts(wanted).sort(keys).rows()
        found = there.rows(wanted, columns, order, 0, 5)
        assert found.to_dicts() == here.rows(wanted, columns, order, 0, 5).to_dicts()
        ids = tuple(found["row_id"])
        assert there.counts(replace(ALL, row_ids=ids))["rows"].sum() == len(ids)
    assert there.texts(ALL, ["주가", "어때"]).rows() == here.texts(ALL, ["주가", "어때"]).rows()
    assert there.rows(ALL, ["row_id"], order, 5, 9).height == len(ROWS) - 5


def test_row_search_of_a_dataset_without_tables_is_empty(dataset: str, settings: Settings) -> None:
    search = open_warehouse(f"bigquery://{dataset.replace('.', '/')}", settings).row_search(RUBRIC)
    assert search.counts(ALL).is_empty()
    assert search.rows(ALL, ["row_id"], RowOrder(), 0, 9).is_empty()


def test_rows_to_explain_are_looked_for_inside_bigquery(
    warehouses: tuple[Warehouse, Warehouse], settings: Settings, emulator: Emulator
) -> None:
    _, there = warehouses
    first, second, *others = there.row_search(RUBRIC).rows(ALL, ["row_id"], RowOrder(), 0, 9)["row_id"]
    with proxy_to(emulator.rest) as proxy:
        through = behind(proxy, settings).model_copy(update={"warehouse": there.url})
        assert in_context(lambda context: window_of([first, second], FILES, context), through) == day_window(DAY, SEOUL)
        assert in_context(lambda context: window_of([first, "nowhere"], FILES, context), through) is None
        assert in_context(lambda context: window_of([first, "nowhere"], VIEW, context), through) == day_window(
            DAY, SEOUL
        )
        answers = b"".join(proxy.answers).decode()
    assert first in answers
    assert not any(row_id in answers for row_id in others)


@pytest.mark.parametrize("is_scored", [False, True])
def test_view_is_not_read_as_a_whole_for_rows_that_no_scored_day_has(
    warehouses: tuple[Warehouse, Warehouse], tmp_path: Path, settings: Settings, is_scored: bool
) -> None:
    url = warehouses[1].url if is_scored else str(tmp_path / "nothing scored")
    nowhere = settings.model_copy(update={"warehouse": url})
    with pytest.raises(UsageError, match="no scored day has these rows"):
        in_context(lambda context: window_of(["nowhere"], VIEW, context), nowhere)
    assert in_context(lambda context: window_of(["nowhere"], FILES, context), nowhere) is None


def test_labelled_rows_are_looked_for_inside_bigquery(
    warehouses: tuple[Warehouse, Warehouse], settings: Settings, emulator: Emulator
) -> None:
    """A night compares all labels with the scores of now: the other rows of years stay where they are."""
    here, there = warehouses
    first, *others = here.row_search(RUBRIC).rows(ALL, ["row_id"], RowOrder(), 0, 9)["row_id"]
    labels = [Label("a_grade", "B", row_id=row_id, line=line) for line, row_id in enumerate((first, "nowhere"))]
    with proxy_to(emulator.rest) as proxy:
        found = row_pairs(RUBRIC, labels, open_warehouse(there.url, behind(proxy, settings)))
        answers = b"".join(proxy.answers).decode()
    assert found == row_pairs(RUBRIC, labels, here)
    assert [label.row_id for label, _ in found[0]] == [first]
    assert not any(row_id in answers for row_id in others)
