"""The cost of building the report site: initially, with one more day, and again without changes."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.children import Cost, input_file, job
from benchmarks.report import Scale, table

ROWS_A_DAY = 10_000


def site(scale: Scale) -> str:
    """Two months of large days."""
    before, after = (input_file("warehouse", scale.days_of_site - more, ROWS_A_DAY) for more in (1, 0))
    with tempfile.TemporaryDirectory() as folder:
        first, later, again = (job("build_site", warehouse, folder) for warehouse in (before, after, after))
        first_page = (Path(folder) / "index.html").stat().st_size
        day_pages = [page.stat().st_size for page in Path(folder).glob("monitoring/*.html")]
    return table(
        f"Report site: {scale.days_of_site} days of {ROWS_A_DAY:,} rows (target: 20 CPU s, first page under 1 MB)",
        ("", "CPU s", "of which building", "peak MB"),
        [
            _line(f"built, {scale.days_of_site - 1} days", first),
            _line("one day more (target: 1.5)", later),
            _line("built again, nothing changed", again),
        ],
        "The rest is the start of Python and imports, which a night has behind it when it builds the site. "
        f"First page {first_page / 1e6:.2f} MB, pages of days {max(day_pages) / 1e6:.2f} MB at most.",
    )


def _line(title: str, cost: Cost) -> Sequence[str]:
    return title, f"{cost.cpu_s:.1f}", f"{cost.printed['cpu_s']:.1f}", f"{cost.peak_mb:,.0f}"
