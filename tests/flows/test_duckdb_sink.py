"""A warehouse that the product does not know, in one file, from a package that offers it for its URL scheme."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from scoring.errors import UsageError
from scoring.rules.arrow_types import empty_frame
from tasks.config.settings import MonitoringSettings, Settings
from tasks.warehouse import Warehouse, open_warehouse
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import shaped
from tests.builders.chat_rows import DAY, best, plain, refused, write_rows
from tests.builders.flows import nightly
from tests.flows.conftest import TABLES

pytestmark = pytest.mark.long


class DuckDBWarehouse(Warehouse):
    """Score tables in a DuckDB file, with locks and staging folders beside it."""

    def __init__(self, url: str, _settings: Settings | None = None, _labels: Mapping[str, str] | None = None) -> None:
        self.url = url
        self._file = Path(url.removeprefix("duckdb://"))
        self._beside = FolderWarehouse(self._file.with_suffix(".locks"))

    def replace_day(
        self,
        table: str,
        day: date,
        schema: pa.Schema,
        frames: Iterable[pl.DataFrame],
        only: Mapping[str, str] | None = None,
        most: Mapping[str | None, int] | None = None,
    ) -> None:
        new = pl.concat([empty_frame(schema), *(frame.select(schema.names) for frame in frames)]).to_arrow()
        same = {"score_date": day, **(only or {})}
        where = " AND ".join(f"{column} = ?" for column in same)
        with self._tables() as tables, tables.cursor() as connection:
            connection.register("new", new)
            connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM new LIMIT 0")
            for name, kind, *_ in connection.execute("DESCRIBE new").fetchall():  # a later version has more columns
                connection.execute(f'ALTER TABLE {table} ADD COLUMN IF NOT EXISTS "{name}" {kind}')
            connection.begin()
            connection.execute(f"DELETE FROM {table} WHERE {where}", [*same.values()])
            connection.execute(f"INSERT INTO {table} BY NAME FROM new")
            connection.commit()

    def read(
        self, table: str, days: Sequence[date] | None = None, schema: pa.Schema | None = None
    ) -> pl.LazyFrame | None:
        wanted = [day for day in self.days(table) if days is None or day in days]
        if not wanted:
            return None
        with self._tables() as tables:
            found = tables.sql(f"FROM {table} WHERE list_contains(?, score_date)", params=[wanted])
            rows = pl.LazyFrame(found.to_arrow_table())
        return rows if schema is None else shaped(rows, schema)

    def days(self, table: str) -> list[date]:
        with self._tables() as tables:
            if (table,) not in tables.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                return []
            return [day for (day,) in tables.execute(f"SELECT DISTINCT score_date FROM {table} ORDER BY 1").fetchall()]

    def day_versions(self, table: str, days: Sequence[date]) -> None:
        """Nothing is known without a query."""

    def staging(self, name: str, wait_s: float = 0.0) -> AbstractContextManager[Path]:
        return self._beside.staging(name, wait_s)

    def lock(self, name: str, wait_s: float | None = None) -> AbstractContextManager[None]:
        return self._beside.lock(name, wait_s)

    def remove_leftovers(self, before: datetime, *, dry_run: bool) -> int:
        return self._beside.remove_leftovers(before, dry_run=dry_run)

    @contextmanager
    def _tables(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._beside.lock("file"), duckdb.connect(self._file) as connection:
            yield connection


def install(offered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs a package that offers a class for `duckdb://`."""
    info = tmp_path / "packages" / "duckdb_sink-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: duckdb-sink\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[aqb.warehouses]\nduckdb = {offered}\n", "utf-8")
    monkeypatch.syspath_prepend(info.parent)


def scored(folder: Path, warehouse: str) -> Settings:
    """A night's run with its reports in a folder."""
    settings = Settings(
        warehouse=warehouse,
        reports=str(folder / "reports"),
        state_url=f"sqlite:///{folder / 'state.db'}",
        monitoring=MonitoringSettings(source=str(folder.parent / "source")),
    )
    assert nightly(settings, DAY).own.outcome
    return settings


def rows_of(settings: Settings, table: str) -> list[dict[str, Any]]:
    rows = open_warehouse(settings.warehouse, settings).read(table, [DAY])
    return [] if rows is None else sorted(rows.collect().to_dicts(), key=repr)


@pytest.mark.usefixtures("site_is_built")
def test_sink_of_another_package_serves_nightly_report_and_alerts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(f"{__name__}:DuckDBWarehouse", tmp_path, monkeypatch)
    write_rows(tmp_path / "source" / "a.jsonl", [best(0), refused(1), refused(2), plain(3, llm_response=None)])
    in_folder = scored(tmp_path / "one", str(tmp_path / "one" / "warehouse"))
    in_duckdb = scored(tmp_path / "two", f"duckdb://{tmp_path / 'two' / 'scores.duckdb'}")
    for table in TABLES:
        assert rows_of(in_duckdb, table) == rows_of(in_folder, table), table
    assert rows_of(in_duckdb, "alerts")
    reports = [path for path in Path(in_folder.reports).rglob("*") if path.is_file() and path.name != "days.json"]
    assert len(reports) > 2
    for path in reports:
        same = Path(in_duckdb.reports) / path.relative_to(in_folder.reports)
        assert same.read_bytes() == path.read_bytes(), path.name


def test_sink_takes_the_columns_that_a_later_version_writes(tmp_path: Path) -> None:
    later = pa.schema([("score_date", pa.date32()), ("rows", pa.int64()), ("added", pa.list_(pa.string()))])
    found = []
    for warehouse in (DuckDBWarehouse(f"duckdb://{tmp_path / 'scores.duckdb'}"), FolderWarehouse(tmp_path / "folder")):
        for day, schema in ((DAY - timedelta(days=1), later.remove(2)), (DAY, later)):
            row = {"score_date": day, "rows": 1, "added": ["x"]}
            warehouse.replace_day("monitoring_kpis", day, schema, [pl.DataFrame([row])])
        rows = warehouse.read("monitoring_kpis", schema=later)
        assert rows is not None
        found.append(rows.sort("score_date").collect().to_dicts())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("offered", "reason"), [("duckdb_sinc:Sink", "No module named 'duckdb_sinc'"), (f"{__name__}:Sink", "'Sink'")]
)
def test_sink_that_cannot_be_loaded_is_named_with_the_reason(
    offered: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(offered, tmp_path, monkeypatch)
    with pytest.raises(UsageError, match=re.escape(f"{offered}, which a package offers for duckdb://")) as refused:
        open_warehouse("duckdb:///data/scores.duckdb")
    assert reason in refused.value.what


def test_sink_that_no_package_offers_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError, match="no installed package offers the warehouse 'clickhouse://host'") as refused:
        open_warehouse("clickhouse://host")
    assert "bigquery://" in refused.value.fix
