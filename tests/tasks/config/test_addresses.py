"""Addresses of BigQuery, and which sources and warehouses they lead to; without BigQuery."""

import pytest

from scoring.errors import UsageError
from tasks.config.addresses import DatasetName, TableName, dataset_of, is_bigquery, table_of
from tasks.config.settings import load_settings


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("bigquery://my-project.chat.rows", TableName("my-project", "chat", "rows")),
        ("bigquery://my-project/chat/rows", TableName("my-project", "chat", "rows")),
        ("bigquery://example.com:my-project.chat.rows_2026", TableName("example.com:my-project", "chat", "rows_2026")),
        ("bigquery://my-project.chat.대화 기록", TableName("my-project", "chat", "대화 기록")),
    ],
)
def test_view_is_named_with_dots_or_slashes(url: str, found: TableName) -> None:
    assert table_of(url) == found


@pytest.mark.parametrize("url", ["bigquery://my-project/scores", "bigquery://my-project.scores"])
def test_dataset_is_named_with_a_dot_or_a_slash(url: str) -> None:
    assert dataset_of(url) == DatasetName("my-project", "scores")


@pytest.mark.parametrize(
    "url",
    ["bigquery://", "bigquery://p", "bigquery://p.d", "bigquery://p.d.t.x", "bigquery://p.d.`t", "p.d.t", "s3://p/d/t"],
)
def test_what_names_no_view_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        table_of(url)
    assert (refused.value.where, "bigquery://" in refused.value.fix) == (url, True)


def test_tables_of_a_wildcard_are_to_be_named_by_a_view() -> None:
    with pytest.raises(UsageError, match="names several tables"):
        table_of("bigquery://my-project.chat.events_*")


@pytest.mark.parametrize("url", ["bigquery://p", "bigquery://p/d/t", "bigquery://p/d/"])
def test_what_names_no_dataset_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        dataset_of(url)


def test_file_is_not_in_bigquery() -> None:
    assert [is_bigquery(url) for url in ("bigquery://p.d.t", "data/bigquery.parquet")] == [True, False]


@pytest.mark.parametrize(
    "wrong", [{"columns": {"question": "q"}}, {"columns": {"user_input": "a`b"}}, {"prefix": "a b."}, {"retry_s": -1}]
)
def test_settings_that_could_not_be_meant_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"settings are wrong: bigquery\."):
        load_settings(bigquery=wrong)
