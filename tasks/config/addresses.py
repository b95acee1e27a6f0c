"""Addresses of BigQuery tables and datasets: `bigquery://project.dataset.view`, `bigquery://project/dataset`.

Also the folder of a service's reports within that of all reports.
"""

import re
from dataclasses import dataclass

from scoring.errors import UsageError

SCHEME = "bigquery://"
SERVICES_FOLDER = "services"
# A project may have a domain prefix (`example.com:project`); a table name may be in any script.
_PROJECT = r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]*"
_PARTS = re.compile(rf"({_PROJECT})[./](\w+)(?:[./]([^./`\\]+))?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class DatasetName:
    """A dataset and its project."""

    project: str
    dataset: str

    def __str__(self) -> str:
        return f"{self.project}.{self.dataset}"


@dataclass(frozen=True)
class TableName:
    """A table or view, its dataset and its project."""

    project: str
    dataset: str
    table: str

    @property
    def quoted(self) -> str:
        """The name in GoogleSQL."""
        return f"`{self}`"

    def __str__(self) -> str:
        return f"{self.project}.{self.dataset}.{self.table}"


def is_bigquery(url: str) -> bool:
    """Whether a source or warehouse is in BigQuery."""
    return url.startswith(SCHEME)


def table_of(url: str) -> TableName:
    """The table or view of an address; its parts may be separated by dots or slashes.

    Raises:
        UsageError: it does not name a project, a dataset and one table.
    """
    project, dataset, table = _parts(url)
    if table is None:
        raise UsageError("names no table or view", where=url, fix=f"for example {SCHEME}my-project.my_dataset.my_view")
    if "*" in table:
        raise UsageError("names several tables", where=url, fix="make a view over them, and name that")
    return TableName(project, dataset, table)


def dataset_of(url: str) -> DatasetName:
    """The dataset of an address; its parts may be separated by dots or slashes.

    Raises:
        UsageError: it does not name a project and a dataset, or names a table too.
    """
    project, dataset, table = _parts(url)
    if table is not None:
        raise UsageError(
            f"names the table {table}; tables are made by their own names",
            where=url,
            fix=f"{SCHEME}{project}/{dataset}",
        )
    return DatasetName(project, dataset)


def _parts(url: str) -> tuple[str, str, str | None]:
    match = _PARTS.fullmatch(url.removeprefix(SCHEME)) if is_bigquery(url) else None
    if match is None:
        raise UsageError(
            "is no BigQuery address",
            where=url,
            fix=f"{SCHEME}project.dataset.view for rows, {SCHEME}project/dataset for tables",
        )
    project, dataset, table = match.groups()
    return project, dataset, table
