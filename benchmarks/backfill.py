"""`python -m benchmarks.backfill [--days N]`: a year of days from one file, and what Prefect costs of it.

The same days are scored twice: by `aqb backfill`, with a Prefect server that is up before; and by the same functions
without Prefect, without task runs and artifacts. Then once more, when everything is up to date.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.children import PYTHON, Cost, cost_of
from benchmarks.inputs import FOLDER
from tasks.samples.chat_rows import SCHEMA, chat_row_batches

ROWS_A_DAY = 535  # as many as the seed's production has (seed 002)
FIRST = date(2025, 1, 1)
_SEED = 3
_AQB = Path(PYTHON).with_name("aqb")


def source(days: int) -> Path:
    """One Parquet file with the rows of all days, in the order of time."""
    path = FOLDER / f"{days}_days.parquet"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        table = pa.Table.from_batches(chat_row_batches(FIRST, days, ROWS_A_DAY, _SEED), SCHEMA)
        pq.write_table(table, path, row_group_size=20_000)
    return path


def without_prefect(days: int, rows: str, folder: str) -> None:
    """The days through the same functions, called as what they are."""
    from flows import backfill, day
    from tasks.day_plan import backfill_plan, portions
    from tasks.settings import Settings

    steps: Any = day
    for name in ("extract", "score", "write", "summarise"):
        setattr(steps, name, getattr(steps, name).fn)
    steps.create_markdown_artifact = steps.create_table_artifact = lambda **_: None
    settings = Settings(**_settings(rows, folder))
    plan = backfill_plan(settings, FIRST, FIRST + timedelta(days=days - 1), date.max)
    for some in portions(plan.days):
        for one in backfill._scored(settings, some, Path(folder) / "spool"):
            assert one.complete, one.problems


def _settings(rows: str, folder: str) -> dict[str, Any]:
    return {
        "warehouse": f"{folder}/warehouse",
        "reports": f"{folder}/reports",
        "state_url": f"sqlite:///{folder}/state.db",
        "monitoring": {"source": rows},
    }


@contextmanager
def prefect_server(home: Path) -> Iterator[str]:
    """A Prefect server of its own, up and migrated."""
    from flows.prefect_home import prepare_prefect

    os.environ["PREFECT_HOME"] = str(home)
    prepare_prefect(home)
    from prefect.settings import PREFECT_API_URL
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield str(PREFECT_API_URL.value())


def timed(command: list[str | Path]) -> tuple[Cost, float]:
    """What a command costs, and how long it takes."""
    began = time.monotonic()
    return cost_of(command), time.monotonic() - began


def main(days: int) -> None:
    rows = source(days)
    last = FIRST + timedelta(days=days - 1)
    backfill: list[str | Path] = [_AQB, "backfill", "--from", str(FIRST), "--to", str(last), "--json"]
    me = [PYTHON, "-m", "benchmarks.backfill", "--days", str(days)]
    with tempfile.TemporaryDirectory() as folder, prefect_server(Path(folder) / "prefect") as url:
        with_, without = f"{folder}/with", f"{folder}/without"
        os.environ |= {"PREFECT_API_URL": url, "AQB_MONITORING__SOURCE": str(rows)}
        os.environ |= {"AQB_WAREHOUSE": f"{with_}/warehouse", "AQB_REPORTS": f"{with_}/reports"}
        os.environ["AQB_STATE_URL"] = f"sqlite:///{with_}/state.db"
        whole, again = timed(backfill), timed(backfill)
        plain = timed([*me, "--without-prefect", str(rows), without])
    lines = [
        ("`aqb backfill`", whole),
        ("the same without Prefect", plain),
        ("`aqb backfill` again: up to date", again),
    ]
    sys.stdout.write(
        f"## Backfill: {days} days of {ROWS_A_DAY} rows from one file of {rows.stat().st_size / 1e6:,.0f} MB\n\n"
    )
    sys.stdout.write("|  | s | days a second | CPU s |\n| --- | ---: | ---: | ---: |\n")
    for title, (cost, seconds) in lines:
        sys.stdout.write(f"| {title} | {seconds:.0f} | {days / seconds:.1f} | {cost.cpu_s:.0f} |\n")
    overhead = (whole[0].cpu_s - plain[0].cpu_s) / days
    sys.stdout.write(f"\nPrefect costs {1000 * overhead:.0f} ms of CPU a day here, and what its server does beside.\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backfill")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--without-prefect", nargs=2, metavar=("ROWS", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.without_prefect:
        without_prefect(options.days, *options.without_prefect)
    else:
        main(options.days)
