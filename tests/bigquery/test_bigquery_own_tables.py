"""Score tables that people have made or changed by hand: written as far as it can be, else refused by column."""

import pytest
from google.cloud.bigquery import Client, SchemaField

from scoring.errors import UsageError
from tasks.config.settings import Settings
from tasks.warehouse import Warehouse, open_warehouse
from tests.bigquery.conftest import Emulator
from tests.bigquery.test_bigquery_warehouse import DAY, SCHEMA, behind, points_of, rows
from tests.bigquery.test_bigquery_warehouse import warehouse as warehouse
from tests.fakes.bigquery_proxy import proxy_to


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ("owner STRING NOT NULL", "owner may not be NULL, and is not written"),
        ("Points INT64", "Points is to be called points"),
    ],
)
def test_table_made_by_hand_that_cannot_be_written_is_refused_by_column(
    client: Client, dataset: str, warehouse: Warehouse, own: str, named: str
) -> None:
    client.query_and_wait(f"CREATE TABLE `{dataset}.scores` (score_date DATE, {own}) PARTITION BY score_date")
    with pytest.raises(UsageError, match=named) as refused:
        warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])
    assert (refused.value.where, "ALTER TABLE" in refused.value.fix) == (f"{dataset}.scores", True)


def test_columns_that_people_have_added_get_null_or_their_default(
    client: Client, dataset: str, warehouse: Warehouse
) -> None:
    own = "score_date DATE, note STRING, weight NUMERIC"
    client.query_and_wait(f"CREATE TABLE `{dataset}.scores` ({own}) PARTITION BY DATE_TRUNC(score_date, MONTH)")
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1, 2])])
    found = client.query_and_wait(f"SELECT points, note, weight FROM `{dataset}.scores` ORDER BY points")
    assert [tuple(row.values()) for row in found] == [(1, None, None), (2, None, None)]


def test_columns_with_policy_tags_are_written_without_the_right_to_assign_tags(
    client: Client, dataset: str, warehouse: Warehouse, settings: Settings, emulator: Emulator
) -> None:
    warehouse.replace_day("scores", DAY, SCHEMA, [rows(DAY, [1])])
    table = client.get_table(f"{dataset}.scores")
    tagged = {"policyTags": {"names": ["projects/p/locations/us/taxonomies/1/policyTags/2"]}}
    table.schema = [SchemaField.from_api_repr(column.to_api_repr() | tagged) for column in table.schema]
    client.update_table(table, ["schema"])
    with proxy_to(emulator.rest) as proxy:
        open_warehouse(warehouse.url, behind(proxy, settings)).replace_day("scores", DAY, SCHEMA, [rows(DAY, [2])])
        assert any(b"_staging_" in body for body in proxy.bodies)
        assert not any(b"policyTags" in body for body in proxy.bodies)
    assert points_of(warehouse, DAY) == [2]
    assert all(column.policy_tags for column in client.get_table(f"{dataset}.scores").schema)
