"""The cost of ten million rows, and the expected gain of more cores."""

import tempfile
from collections.abc import Sequence

from benchmarks.children import AQB, Cost, cost_of, input_file, job
from benchmarks.inputs import DAYS, FOLDER
from benchmarks.report import Scale, table

_CORES = (1, 2, 4, 16, 64)


def large(scale: Scale) -> str:
    """`aqb score` on one file, on a quarter of the files and on all of them, each five days of its own."""
    source = input_file("parquet_file", scale.rows)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:  # ten gigabytes
        files = [source]
        for later in range(1, scale.large_files):
            files.append(f"{folder}/{later}.parquet")
            job("days_later", source, files[-1], str(DAYS * later))
        counts = (1, scale.large_files // 4 or 1, scale.large_files)
        costs = {count: _scored(files[:count], 1) for count in counts}
        apart = _scored(files, 2)
    most = scale.large_files
    lines = [_line(f"{scale.rows * count:,} rows", scale.rows * count, cost) for count, cost in costs.items()]
    lines.append(_line("the same with two workers", scale.rows * most, apart))
    return table(
        f"Growth to {scale.rows * most:,} rows in {most} files: `aqb score`",
        ("", "CPU s", "CPU \N{MICRO SIGN}s a row", "s", "peak MB of the largest process"),
        lines,
        _more_cores(costs[most].wall_s, apart.wall_s),
    )


def _scored(files: Sequence[str], workers: int) -> Cost:
    with tempfile.TemporaryDirectory() as out:
        return cost_of([AQB, "score", *files, "--out", f"{out}/scored"], {"AQB_ENGINE__WORKERS": str(workers)})


def _line(title: str, rows: int, cost: Cost) -> Sequence[str]:
    return title, f"{cost.cpu_s:.1f}", f"{cost.cpu_s / rows * 1e6:.1f}", f"{cost.wall_s:.1f}", f"{cost.peak_mb:,.0f}"


def _more_cores(one_s: float, two_s: float) -> str:
    """An extrapolation by Amdahl's law from the times of one and of two processes."""
    serial = min(1.0, max(0.0, 2 * two_s / one_s - 1))
    times = ", ".join(f"{cores}: {serial + (1 - serial) / cores:.2f}" for cores in _CORES)
    return (
        f"By Amdahl's law from the last two times {serial:.0%} of the work is done by one process however many there "
        f"are; the time with N cores, of one core's, is then {times}. More than two were not measured."
    )
