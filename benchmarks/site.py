"""What building the report site costs, at first and again with nothing changed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.children import Cost, input_file, job
from benchmarks.report import Scale, table

ROWS_A_DAY = 10_000


def site(scale: Scale) -> str:
    """Two months of large days."""
    warehouse = input_file("warehouse", scale.days_of_site, ROWS_A_DAY)
    with tempfile.TemporaryDirectory() as folder:
        first, again = (job("build_site", warehouse, folder) for _ in range(2))
        first_page = (Path(folder) / "index.html").stat().st_size
        day_pages = [page.stat().st_size for page in Path(folder).glob("monitoring/*.html")]
    return table(
        f"Report site: {scale.days_of_site} days of {ROWS_A_DAY:,} rows (target: 20 CPU s, first page under 1 MB)",
        ("", "CPU s", "peak MB"),
        [_line("built", first), _line("built again, nothing changed", again)],
        f"First page {first_page / 1e6:.2f} MB, pages of days {max(day_pages) / 1e6:.2f} MB at most.",
    )


def _line(title: str, cost: Cost) -> Sequence[str]:
    return title, f"{cost.cpu_s:.1f}", f"{cost.peak_mb:,.0f}"
