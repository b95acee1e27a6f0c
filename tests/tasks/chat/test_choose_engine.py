from typing import Literal

import pytest

from scoring.errors import UsageError
from tasks.chat.choose_engine import uses_pushdown
from tasks.config.settings import MonitoringSettings, Settings

VIEW, DATASET = "bigquery://team.chat.rows", "bigquery://team/aqb"


def settings(source: str, warehouse: str, engine: Literal["auto", "local", "bigquery"]) -> Settings:
    return Settings(warehouse=warehouse, monitoring=MonitoringSettings(source=source, engine=engine))


def test_rows_are_scored_where_they_and_their_tables_are() -> None:
    assert uses_pushdown(settings(VIEW, DATASET, "auto"))
    assert uses_pushdown(settings(VIEW, DATASET, "bigquery"))
    for source, warehouse in ((VIEW, "data/warehouse"), ("data/rows", DATASET), ("data/rows", "data/warehouse")):
        assert not uses_pushdown(settings(source, warehouse, "auto"))


def test_this_machine_scores_what_it_is_told_to() -> None:
    assert not uses_pushdown(settings(VIEW, DATASET, "local"))


@pytest.mark.parametrize(
    ("source", "warehouse", "named"),
    [
        ("data/rows", DATASET, 'but monitoring.source = "data/rows"\n'),
        (VIEW, "data/warehouse", 'but warehouse = "data/warehouse"\n'),
        ("data/rows", "w", 'but monitoring.source = "data/rows" and warehouse = "w"\n'),
    ],
)
def test_scoring_inside_bigquery_what_is_not_there_is_refused(source: str, warehouse: str, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        uses_pushdown(settings(source, warehouse, "bigquery"))
    assert named in str(refused.value)
