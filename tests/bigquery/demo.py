"""Scores a day of the bundled sample four ways and shows that the tables are the same.

A local BigQuery is started (`sh .ci/local-bigquery` sets it up) and the sample loaded behind a view. `aqb nightly` then
runs twice from files into a folder, and twice from the view into a dataset with each engine. Run it from the project's
folder:

    .venv/bin/python -m tests.bigquery.demo
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import typer
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.bigquery import Client, LoadJobConfig

from tasks.config.bigquery import BigQuerySettings
from tasks.config.settings import MonitoringSettings, Settings
from tasks.samples import SAMPLE_FIRST_DAY, SAMPLE_PATH
from tasks.warehouse import open_warehouse
from tests.fakes.local_bigquery import PROJECT, Emulator, is_set_up, running

TABLES = ("monitoring_scores", "monitoring_excluded", "monitoring_kpis", "monitoring_crosstab", "rejected", "alerts")
Engine = Literal["local", "bigquery"]
AQB = Path(sys.executable).with_name("aqb")
VIEW = f"bigquery://{PROJECT}.chat.view_chat_rows"


def main() -> None:
    """Runs everything in a temporary folder and prints rows and checksums by table."""
    if not is_set_up():
        raise SystemExit("There is no local BigQuery: run `sh .ci/local-bigquery`, which needs Python 3.13.")
    with TemporaryDirectory(prefix="aqb-bigquery-") as name:
        folder = Path(name)
        with running(folder) as emulator:
            _load_sample(emulator)
            ways = {
                "files -> folder": _settings(folder / "files", emulator, str(SAMPLE_PATH), str(folder / "warehouse")),
                "view -> dataset, here": _settings(folder / "here", emulator, VIEW, _dataset("aqb_here"), "local"),
                "view -> dataset, inside": _settings(
                    folder / "inside", emulator, VIEW, _dataset("aqb_inside"), "bigquery"
                ),
            }
            found = {}
            for way, settings in ways.items():
                for turn in ("first", "second"):
                    _nightly(settings, folder)
                    found[f"{way}, {turn} run"] = _checksums(settings)
        _show(found)


def _load_sample(emulator: Emulator) -> None:
    client = Client(
        project=PROJECT,
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
        client_options=ClientOptions(api_endpoint=emulator.rest),
    )
    for dataset in ("chat", "aqb_here", "aqb_inside"):
        client.create_dataset(dataset)
    with SAMPLE_PATH.open("rb") as rows:
        config = LoadJobConfig(source_format="PARQUET")
        client.load_table_from_file(rows, f"{PROJECT}.chat.rows", job_config=config).result()
    view = f"CREATE VIEW `{PROJECT}.chat.view_chat_rows` AS SELECT * FROM `{PROJECT}.chat.rows`"
    client.query_and_wait(view)
    client.close()  # type: ignore[no-untyped-call]


def _dataset(name: str) -> str:
    return f"bigquery://{PROJECT}/{name}"


def _settings(folder: Path, emulator: Emulator, source: str, warehouse: str, engine: Engine = "local") -> Settings:
    return Settings(
        warehouse=warehouse,
        reports=str(folder / "reports"),
        state_url=f"sqlite:///{folder / 'state.db'}",
        monitoring=MonitoringSettings(source=source, engine=engine),
        bigquery=BigQuerySettings(endpoint=emulator.rest, anonymous=True, scratch=str(folder / "scratch")),
    )


def _nightly(settings: Settings, folder: Path) -> None:
    """`aqb nightly`, with the settings as variables."""
    variables = {
        "AQB_WAREHOUSE": settings.warehouse,
        "AQB_REPORTS": settings.reports,
        "AQB_STATE_URL": settings.state_url,
        "AQB_MONITORING__SOURCE": settings.monitoring.source,
        "AQB_MONITORING__ENGINE": settings.monitoring.engine,
        "AQB_BIGQUERY__ENDPOINT": settings.bigquery.endpoint,
        "AQB_BIGQUERY__ANONYMOUS": "true",
        "AQB_BIGQUERY__SCRATCH": settings.bigquery.scratch,
    }
    command = [str(AQB), "nightly", "--date", str(SAMPLE_FIRST_DAY), "--json"]
    finished = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    if not finished.stdout.startswith("{"):
        raise SystemExit(finished.stderr)


def _checksums(settings: Settings) -> dict[str, str]:
    """Rows and a sum over all of them, by table; without `file` and `line`, which a view does not have."""
    warehouse = open_warehouse(settings.warehouse, settings)
    found = {}
    for table in TABLES:
        rows = warehouse.read(table, [SAMPLE_FIRST_DAY])
        dicts = rows.collect().to_dicts() if rows is not None else []
        texts = [
            json.dumps({name: row[name] for name in sorted(row) if name not in ("file", "line")}, default=str)
            for row in dicts
        ]
        total = sum(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts) % (1 << 64)
        found[table] = f"{len(texts):6,}  {total:016x}"
    return found


def _show(found: dict[str, dict[str, str]]) -> None:
    for table in TABLES:
        typer.echo(table)
        for way, checksums in found.items():
            typer.echo(f"  {way:<36}{checksums[table]}")
    same = all(len({checksums[table] for checksums in found.values()}) == 1 for table in TABLES)
    typer.echo("equal everywhere" if same else "NOT EQUAL")
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
