"""Arrow schemas as BigQuery tables: types, descriptions, partitions, and the allowed changes of a table."""
# ruff: noqa: S608  (the SQL is made of names that were checked; values travel as parameters)

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

import polars as pl
import pyarrow as pa
from google.cloud.bigquery import ArrayQueryParameter, ScalarQueryParameter, SchemaField, Table, TimePartitioning
from pyarrow import types

from scoring.chat.erasure import session_hash
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.shrinkage import TENANT_MIN_ROWS
from scoring.errors import ExpiredDayError, UsageError
from scoring.rules.googlesql_backend import column_list
from tasks.config.addresses import TableName
from tasks.warehouse.bigquery.client import APP_LABEL
from tasks.warehouse.tables import SERVICE

DAY_COLUMN = "score_date"
STAGING = "_staging_"
"""What stands in the names of tables with rows on their way."""

_CLUSTERED_BY = (SERVICE, "tenant_id", "agent_type")
_TYPES = (
    (types.is_string, "STRING", pl.String()),
    (types.is_int64, "INTEGER", pl.Int64()),
    (types.is_float64, "FLOAT", pl.Float64()),
    (types.is_boolean, "BOOLEAN", pl.Boolean()),
    (types.is_date32, "DATE", pl.Date()),
    (types.is_timestamp, "TIMESTAMP", pl.Datetime("us", "UTC")),
)


def new_table(name: TableName, schema: pa.Schema) -> Table:
    """A table for rows of this schema, partitioned by day and clustered by service, tenant or agent if it has them."""
    table = Table(str(name), schema=fields_of(schema))
    table.time_partitioning = TimePartitioning(field=DAY_COLUMN)
    table.clustering_fields = [column for column in _CLUSTERED_BY if column in schema.names] or None
    table.labels = dict(APP_LABEL)
    return table


def fields_of(schema: pa.Schema) -> list[SchemaField]:
    """The columns of a table for rows of this schema."""
    return [_field(field) for field in schema]


def extended_schema(table: Table, schema: pa.Schema) -> list[SchemaField] | None:
    """The schema of a table with missing columns and newer descriptions added; None if it has all of them.

    Columns that only the table has stay, with NULL in new rows; so do policy tags, defaults and other properties of
    columns.

    Raises:
        UsageError: the table is not partitioned by day, or has an incompatible column: of another type, in another
            spelling of capitals, or an additional one that is required.
    """
    name = str(table.reference)
    partitioning = table.time_partitioning
    if partitioning is None or partitioning.field != DAY_COLUMN:
        raise UsageError(
            f"the table is not partitioned by {DAY_COLUMN}",
            where=name,
            fix="rename it; a new one is made by the next run",
        )
    wanted = {field.name: _field(field) for field in schema}
    present = {field.name: field for field in table.schema}
    unfit = [
        f"{column} is {_shown(present[column])}, to be written as {_shown(field)}"
        for column, field in wanted.items()
        if column in present and _shape(present[column]) != _shape(field)
    ]
    # To BigQuery names that differ in capitals alone are one: such a column is not found, and cannot be added.
    spelled = {column.lower(): column for column in wanted}
    for column in [column for column in present if column not in wanted]:
        if column.lower() in spelled:
            unfit.append(f"{column} is to be called {spelled[column.lower()]}")
        elif present[column].mode == "REQUIRED" and present[column].default_value_expression is None:
            unfit.append(f"{column} may not be NULL, and is not written")
    if unfit:
        raise UsageError(
            f"columns that do not fit: {'; '.join(unfit)}",
            where=name,
            fix="change these columns (ALTER TABLE ... RENAME COLUMN, ALTER COLUMN ... DROP NOT NULL) or rename the "
            "table: the next run makes new ones",
        )
    extended = [_described(field, wanted.get(column)) for column, field in present.items()]
    extended += [field for column, field in wanted.items() if column not in present]
    return extended if extended != list(table.schema) else None


def refuse_expired(table: Table, days: Iterable[date], now: datetime) -> None:
    """Refuses days whose partitions have expired: BigQuery accepts their rows and drops them at once.

    Raises:
        ExpiredDayError: there is one.
    """
    kept_ms = table.time_partitioning.expiration_ms if table.time_partitioning else None
    if kept_ms is None:
        return
    kept = timedelta(milliseconds=kept_ms)
    gone = [day for day in days if datetime.combine(day, time(), UTC) + kept <= now]
    if gone:
        raise ExpiredDayError(
            f"its partitions expire after {kept.days} days, and rows of {min(gone)} would be gone at once",
            where=str(table.reference),
            fix="leave out days that are older, or ALTER TABLE ... SET OPTIONS (partition_expiration_days = NULL)",
        )


def service_condition(table: Table, service: str | None, row: str = "") -> str:
    """The AND condition for the rows of a service (None: the one without a name), for the current columns of the table.
    `row` is their qualifier with a dot.
    """
    is_named = any(field.name == SERVICE for field in table.schema)
    if service is None:
        return f" AND {row}{SERVICE} IS NULL" if is_named else ""
    return f" AND {row}{SERVICE} = '{service}'" if is_named else " AND FALSE"


def of_service(table: Table, service: str | None) -> str:
    """The FROM item for the rows of a service: the table, or a query, whose unused columns cost nothing."""
    name = f"`{table.reference}`"
    condition = service_condition(table, service).removeprefix(" AND ")
    return f"(SELECT * FROM {name} WHERE {condition})" if condition else name


def replacing_query(
    table: Table, service: str | None, rows: str, columns: Sequence[str], same: Iterable[str], allowed: str
) -> str:
    """The MERGE that replaces the rows of a service on the days @days, with the values @only_0, @only_1, ... in the
    columns `same`, by `rows` (a table, or a query in brackets) if `allowed` (AND ...) is true.
    """
    old = "".join(f" AND old.`{column}` = @only_{place}" for place, column in enumerate(same))
    mine, named = service_condition(table, service, "old."), column_list(columns)
    return (
        f"MERGE `{table.reference}` AS old USING {rows} AS incoming ON FALSE\n"
        f"WHEN NOT MATCHED BY SOURCE AND old.{DAY_COLUMN} IN UNNEST(@days){mine}{old}{allowed} THEN DELETE\n"
        f"WHEN NOT MATCHED BY TARGET{allowed} THEN INSERT ({named}) VALUES ({named})"
    )


def clearing_query(table: Table, service: str | None, columns: Collection[str], session_id: str | None) -> str:
    """The UPDATE of a day (@day) that sets those of the columns that the table has to NULL, for one session (@session)
    or all rows of a service.
    """
    emptied = ", ".join(f"`{field.name}` = NULL" for field in table.schema if field.name in columns)
    mine = service_condition(table, service)
    of_one = "" if session_id is None else " AND TO_HEX(SHA256(session_id)) = @session"
    return f"UPDATE `{table.reference}` SET {emptied} WHERE {DAY_COLUMN} = @day{mine}{of_one}"


def of_session(session_id: str | None) -> list[ScalarQueryParameter]:
    """The parameter @session, a hash; none for all sessions."""
    return [] if session_id is None else [ScalarQueryParameter("session", "STRING", session_hash(session_id))]


def polars_schema(fields: Iterable[SchemaField]) -> dict[str, pl.DataType]:
    """The Polars schema of a table, without columns of unknown types."""
    found = {field.name: _polars_type(field) for field in fields}
    return {name: kind for name, kind in found.items() if kind is not None}


def _field(field: pa.Field) -> SchemaField:
    """The BigQuery field of an Arrow field, whose metadata has its description."""
    described = field.metadata or {}
    kind, repeated = field.type, types.is_list(field.type)
    if repeated:
        kind = kind.value_type
    inner = [_field(kind.field(position)) for position in range(kind.num_fields)] if types.is_struct(kind) else []
    return SchemaField(
        field.name,
        "RECORD" if inner else _name_of(kind),
        mode="REPEATED" if repeated else "NULLABLE",
        fields=inner,
        **({"description": described[b"description"].decode()} if b"description" in described else {}),
    )


def _described(present: SchemaField, wanted: SchemaField | None) -> SchemaField:
    """A column of a table with the wanted descriptions."""
    if wanted is None:
        return present
    inner = {field.name: field for field in wanted.fields}
    changed: dict[str, object] = {"description": wanted.description} if wanted.description else {}
    if present.fields:
        changed["fields"] = [_described(field, inner.get(field.name)).to_api_repr() for field in present.fields]
    return SchemaField.from_api_repr({**present.to_api_repr(), **changed})


def _name_of(kind: pa.DataType) -> str:
    for is_kind, name, _ in _TYPES:
        if is_kind(kind):
            return name
    raise TypeError(f"no BigQuery type for {kind}")


def _polars_type(field: SchemaField) -> pl.DataType | None:
    if field.field_type == "RECORD":
        inner = polars_schema(field.fields)
        kind: pl.DataType | None = pl.Struct(inner) if len(inner) == len(field.fields) else None
    else:
        kind = next((dtype for _, name, dtype in _TYPES if name == field.field_type), None)
    return pl.List(kind) if kind is not None and field.mode == "REPEATED" else kind


def _shape(field: SchemaField) -> tuple[str, bool, frozenset[object]]:
    """The properties in which two columns must agree for writers."""
    inner = frozenset((one.name, _shape(one)) for one in field.fields)
    return field.field_type, field.mode == "REPEATED", inner


def _shown(field: SchemaField) -> str:
    return f"ARRAY<{field.field_type}>" if field.mode == "REPEATED" else str(field.field_type)


def small_enough(rows: str, most: Mapping[str | None, int]) -> tuple[str, list[ArrayQueryParameter]]:
    """A condition for the MERGE of one day (@days) of `rows` (a FROM item) and its parameters: no tenant, nor all
    together (`*`), has more rows than `most`, and a tenant that is not in it has fewer than `TENANT_MIN_ROWS`.
    """
    tenant = "IFNULL(CONCAT('=', tenant_id), '-')"  # no tenant can be taken for none, or for all
    condition = (
        " AND NOT EXISTS (\n"
        f"  SELECT had.tenant FROM (\n"
        f"    SELECT {tenant} AS tenant, COUNT(*) AS row_count FROM {rows}\n"
        f"    WHERE {DAY_COLUMN} IN UNNEST(@days) GROUP BY tenant\n"
        f"    UNION ALL SELECT '*', COUNT(*) FROM {rows} WHERE {DAY_COLUMN} IN UNNEST(@days)\n"
        "  ) AS had LEFT JOIN (\n"
        "    SELECT tenant, @most_rows[OFFSET(place)] AS row_count\n"
        "    FROM UNNEST(@most_tenants) AS tenant WITH OFFSET place\n"
        "  ) AS most USING (tenant)\n"
        f"  WHERE had.row_count > IFNULL(most.row_count, 0) AND (tenant = '*' OR had.row_count >= {TENANT_MIN_ROWS})\n"
        ")"
    )
    names = [ALL_TENANTS if one == ALL_TENANTS else "-" if one is None else f"={one}" for one in most]
    return condition, [
        ArrayQueryParameter("most_tenants", "STRING", names),
        ArrayQueryParameter("most_rows", "INT64", list(most.values())),
    ]
