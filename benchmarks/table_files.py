"""The cost of reading chat rows from files, against the one-line alternatives of a data team."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from benchmarks.children import Cost, input_file, interleaved, job, work
from benchmarks.inputs import FIRST_DAY
from benchmarks.report import Scale, table

_ROWS_A_DAY = 535
_FORMATS = {
    "Parquet": ("parquet_file", "read_parquet"),
    "CSV": ("csv_file", "read_csv"),
    "JSON Lines": ("json_lines_file", "read_json"),
}
"""The input of each format, and its pandas reader."""


def folder(scale: Scale) -> str:
    """The last day of a folder with a file per day: all files are read, because rows may come late."""
    folders, last = Path(input_file("day_files", scale.days, _ROWS_A_DAY)), FIRST_DAY + timedelta(days=scale.days - 1)
    lines = []
    for kind in _FORMATS:
        (of_day,) = (folders / kind).glob(f"{last}.*")
        sources = {"all": str(folders / kind), "one": str(of_day)}
        runs = {name: partial(job, "score_day", source, str(last)) for name, source in sources.items()}
        costs = interleaved(scale.rounds, runs)
        lines.append((kind, *(f"{costs[name].printed['cpu_s']:.2f}" for name in sources)))
    return table(
        f"A day of {_ROWS_A_DAY} rows in a folder with {scale.days} files",
        ("", "CPU s", "of its file alone"),
        lines,
        "Without imports, which a night has behind it by then.",
    )


def reading(scale: Scale) -> str:
    """Our readers against pandas and DuckDB, each kind of file."""
    rows = scale.rows // 5
    lines: list[Sequence[str]] = []
    rejected = 0
    for kind, (made, in_pandas) in _FORMATS.items():
        source = input_file(made, rows)
        costs = interleaved(
            scale.rounds,
            {
                "our reader": partial(work, "read_ours", source),
                f"`pandas.{in_pandas}`": partial(work, "read_pandas", source),
                "DuckDB": partial(work, "read_duckdb", source),
            },
        )
        if any(cost.printed["rows"] != rows for cost in costs.values()):
            raise AssertionError(f"rows of {source} were lost")
        ours = costs["our reader"]
        rejected += ours.printed["rejected"]
        lines += [_reading_line(f"{kind}: {reader}", cost, ours) for reader, cost in costs.items()]
    return table(
        f"Reading: the same columns of {rows:,} chat rows",
        ("", "CPU s", "rows per CPU s", "ours / it", "peak MB"),
        lines,
        "CPU seconds of reading alone, imports before. Ours checks every cell, finds the session, tells for each row "
        f"that cannot be read its line and the reason (here {rejected}), and streams; so does DuckDB here, but with "
        "the first bad cell it fails. pandas holds all rows, of JSON Lines all columns.",
    )


def _reading_line(title: str, cost: Cost, ours: Cost) -> Sequence[str]:
    speed = cost.printed["rows"] / cost.cpu_s
    return title, f"{cost.cpu_s:.2f}", f"{speed:,.0f}", f"{ours.cpu_s / cost.cpu_s:.2f}", f"{cost.peak_mb:,.0f}"
