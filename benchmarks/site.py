"""The report site of 60 days of 10,000 rows: `python -m benchmarks.site`. Targets: 20 CPU seconds, 1 MB a first page.

The warehouse is made once: five scored days, repeated twelve times under other dates.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import polars as pl

from benchmarks.children import PYTHON, cost_of
from benchmarks.inputs import FOLDER, parquet_file
from scoring.catalog import row_rubric
from scoring.days import day_window
from tasks.chat_rows import ChatRowFiles
from tasks.chat_scoring import score_chat_rows
from tasks.monitoring_tables import write_alerts, write_scored_day
from tasks.warehouse.folder import FolderWarehouse

DAYS, ROWS_PER_DAY = 60, 10_000
_SCORED_DAYS = 5
_FIRST_DAY = date(2026, 3, 2)
_TIME_ZONE = "Asia/Seoul"
_TABLES = ("monitoring_scores", "monitoring_kpis", "monitoring_crosstab", "alerts")


def site_section() -> str:
    """What building the site costs, first and again with nothing changed, as markdown."""
    warehouse = _warehouse(DAYS, ROWS_PER_DAY)
    with tempfile.TemporaryDirectory() as folder:
        first, again = (_build(warehouse, Path(folder)) for _ in range(2))
        first_page = (Path(folder) / "index.html").stat().st_size
        day_pages = [page.stat().st_size for page in Path(folder).glob("monitoring/*.html")]
    return (
        f"## Report site: {DAYS} days of {ROWS_PER_DAY:,} rows (target: 20 CPU s, first page under 1 MB)\n\n"
        "| | CPU s | peak MB |\n|---|---|---|\n"
        f"| built | {first[0]:.1f} | {first[1]:,.0f} |\n"
        f"| built again, nothing changed | {again[0]:.1f} | {again[1]:,.0f} |\n\n"
        f"First page {first_page / 1e6:.2f} MB, pages of days {max(day_pages) / 1e6:.2f} MB at most."
    )


def _build(warehouse: Path, folder: Path) -> tuple[float, float]:
    cost = cost_of([PYTHON, "-m", "benchmarks.site", str(warehouse), str(folder)])
    return cost.cpu_s, cost.peak_mb


def _warehouse(days: int, rows_per_day: int) -> Path:
    folder = FOLDER / f"site_{days}_{rows_per_day}"
    if not folder.exists():
        unfinished = folder.with_name(f"unfinished_{folder.name}")
        _fill(FolderWarehouse(unfinished), days, rows_per_day)
        unfinished.rename(folder)
    return folder


def _fill(warehouse: FolderWarehouse, days: int, rows_per_day: int) -> None:
    rubric, source = row_rubric("ola-monitoring"), parquet_file(_SCORED_DAYS * rows_per_day)
    for offset in range(_SCORED_DAYS):
        day = _FIRST_DAY + timedelta(days=offset)
        with warehouse.staging("benchmark") as staging:
            outcome = score_chat_rows(
                ChatRowFiles([source]),
                rubric,
                time_zone=_TIME_ZONE,
                window=day_window(day, _TIME_ZONE),
                staging=staging,
                keep_text="flagged",
            )
            write_scored_day(warehouse, day, outcome)
            write_alerts(warehouse, day, rubric, outcome.counts.rejected)
    for offset in range(_SCORED_DAYS, days):
        day = _FIRST_DAY + timedelta(days=offset)
        for table in _TABLES:
            rows = pl.read_parquet(warehouse.path(table, _FIRST_DAY + timedelta(days=offset % _SCORED_DAYS)))
            rows.with_columns(score_date=pl.lit(day)).write_parquet(warehouse.path(table, day))


def _child(warehouse: str, folder: str) -> None:
    from tasks.reports.site.build import build_pages

    build_pages(FolderWarehouse(Path(warehouse)), Path(folder), _TIME_ZONE)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        _child(*sys.argv[1:])
    else:
        sys.stdout.write(site_section() + "\n")
