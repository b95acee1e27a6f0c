"""The right to write score tables, as far as BigQuery tells without anything being written."""

from typing import TYPE_CHECKING

from scoring.errors import InputError, UsageError
from tasks.config.addresses import dataset_of
from tasks.warehouse.bigquery.client import REQUEST_TIMEOUT_S, JobClient
from tasks.warehouse.bigquery.errors import as_aqb_errors
from tasks.warehouse.bigquery.tables import STAGING

if TYPE_CHECKING:
    from tasks.config.settings import Settings

_WRITING = tuple(f"bigquery.tables.{right}" for right in ("getData", "update", "updateData", "delete"))


def refuse_unwritable(settings: "Settings", table: str) -> str:
    """Checks whether tables of the dataset may be made, and `table` be written; returns what was tested, in words.

    Making one is tried as a dry run. BigQuery tells the rights on a table that exists, none on a dataset.

    Raises:
        UsageError: it refuses one of them.
        InputError, StorageError: as for `BigQueryWarehouse`.
    """
    name = dataset_of(settings.warehouse)
    client = JobClient(settings, name.project, None)
    client.bytes_of(f"CREATE TABLE `{name}.doctor{STAGING}dry_run` (score_date DATE)", [], str(name))
    try:
        with as_aqb_errors(str(name)):
            place = f"{name}.{table}"
            client.table(place)  # of one that is not there BigQuery may tell no rights
            rights = client.api.test_iam_permissions(place, _WRITING, retry=client.retry, timeout=REQUEST_TIMEOUT_S)
    except InputError:
        return "a dry run makes a table, and there is none yet of which BigQuery would tell whether it may be written"
    if missing := [right for right in _WRITING if right not in rights.get("permissions", ())]:
        raise UsageError(
            f"no permission {', '.join(missing)}",
            where=place,
            fix="grant roles/bigquery.dataEditor on the dataset; docs/bigquery.md lists the roles",
        )
    return f"{table} may be written"
