"""What `aqb doctor` checks of the dataset of score tables: nothing expires by itself, and tables may be written."""

from datetime import timedelta
from typing import TYPE_CHECKING

from scoring.errors import InputError, UsageError, counted
from tasks.config.addresses import dataset_of
from tasks.warehouse.bigquery.client import REQUEST_TIMEOUT_S, JobClient
from tasks.warehouse.bigquery.errors import as_aqb_errors
from tasks.warehouse.bigquery.tables import STAGING

if TYPE_CHECKING:
    from tasks.config.settings import Settings

_WRITING = tuple(f"bigquery.tables.{right}" for right in ("getData", "update", "updateData", "delete"))


def refuse_expiring(settings: "Settings") -> None:
    """Checks the dataset of the score tables and all its tables but the temporary ones of runs.

    Raises:
        UsageError: a table, or one that will be created, expires with all its days.
        InputError, StorageError: as for `BigQueryWarehouse`.
    """
    name = dataset_of(settings.warehouse)
    client = JobClient(settings, name.project, None)
    with as_aqb_errors(str(name)):
        dataset = client.api.get_dataset(str(name), retry=client.retry, timeout=REQUEST_TIMEOUT_S)
        tables = [*client.api.list_tables(dataset, retry=client.retry, timeout=REQUEST_TIMEOUT_S)]
    expiring = sorted((one.expires, one.table_id) for one in tables if one.expires and STAGING not in one.table_id)
    switch_off = f"ALTER SCHEMA `{name}` SET OPTIONS (default_table_expiration_days = NULL)"
    if expiring:
        first, table = expiring[0]
        others = f" and {counted(len(expiring) - 1, 'other table')}" if len(expiring) > 1 else ""
        raise UsageError(
            f"BigQuery drops {table}{others} with all days, from {first:%Y-%m-%d %H:%M} UTC on",
            where=str(name),
            fix=f"{switch_off}, and ALTER TABLE ... SET OPTIONS (expiration_timestamp = NULL) of each",
        )
    # Where partitions have a default too, BigQuery takes that one for tables in days.
    if dataset.default_table_expiration_ms and not dataset.default_partition_expiration_ms:
        after = counted(timedelta(milliseconds=dataset.default_table_expiration_ms).days, "day")
        raise UsageError(
            f"BigQuery drops each table {after} after it was made, with all days", where=str(name), fix=switch_off
        )


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
