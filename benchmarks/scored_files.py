"""The cost of scoring: the rules alone, `aqb score` against hand-written SQL, more rows, and startup."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.children import AQB, PYTHON, Cost, cost_of, input_file, interleaved, job
from benchmarks.report import Scale, table

SEED_ROWS = 12_831  # as many as the seed looked at (seed 002)


def rule_engine(scale: Scale) -> str:
    """The rules against the same rules in Python."""
    found = job("rule_engine", input_file("parquet_file", SEED_ROWS), str(scale.rounds)).printed
    rows, ours = found["rows"], found["ours"]

    def line(name: str, title: str) -> Sequence[str]:
        return title, f"{found[name]:.2f}", f"{rows / found[name]:,.0f}", f"{found[name] / ours:.1f}x"

    return table(
        f"Rule engine: {rows:,} rows, scoring alone (target: 30x)",
        ("", "CPU s", "rows per CPU s", "ours is faster by"),
        [
            line("ours", "rules as Polars expressions"),
            line("apply", "`DataFrame.apply` with `re`"),
            line("loop", "the same functions in a bare loop, no DataFrame"),
        ],
        "Every column is equal on every row.",
    )


def end_to_end(scale: Scale) -> str:
    """`aqb score` against DuckDB."""
    source = input_file("parquet_file", scale.rows)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        ours, apart, theirs = out / "ours", out / "apart", out / "duckdb.parquet"
        costs = interleaved(
            scale.rounds,
            {
                "ours": partial(score, source, ours),
                "ours_apart": partial(score, source, apart, workers=2),
                "duckdb": partial(job, "duckdb", source, out / "unordered.parquet"),
                "duckdb_same_table": partial(job, "duckdb_same_table", source, theirs),
                "read": partial(job, "read_only", source),
                "score": partial(job, "read_and_score", source),
            },
        )
        job("check_same_table", ours / "scores.parquet", theirs)
        if (ours / "scores.parquet").read_bytes() != (apart / "scores.parquet").read_bytes():
            raise AssertionError("two workers wrote other bytes than one")
    whole = costs["ours"]

    def line(name: str, title: str) -> Sequence[str]:
        cost = costs[name]
        cpu_s, wall_s = (f"{cost.cpu_s:.1f}", f"{whole.cpu_s / cost.cpu_s:.2f}"), f"{cost.wall_s:.1f}"
        return title, *cpu_s, wall_s, f"{cost.wall_s / whole.wall_s:.2f}", f"{cost.peak_mb:,.0f}"

    read, scored = (costs[name].cpu_s / whole.cpu_s for name in ("read", "score"))
    shares = (
        f"With one process start and reading are {read:.0%}, scoring with row keys {scored - read:.0%}, sums, "
        f"ordering, writing and report {1 - scored:.0%}."
    )
    text_gb = job("text_gb", source).printed["text_gb"]
    return table(
        f"End to end: {scale.rows:,} rows, {text_gb:.1f} GB of text in Parquet (target: 0.4 of DuckDB, 400 MB)",
        ("", "CPU s", "ours / it", "s", "of one process", "peak MB of the largest process"),
        [
            line("ours", "`aqb score`: scores, KPIs, cross table, report, SHA-256 of the input; one process"),
            line("ours_apart", "the same with two workers (target: 0.6 of the time, 1.15 of the CPU)"),
            line("duckdb_same_table", "DuckDB, SQL by hand, on all cores: the same score table alone"),
            line("duckdb", "DuckDB, SQL by hand, on all cores: rows as they come, equal keys not told apart"),
        ],
        "Both of ours wrote the same bytes, and DuckDB's score table is equal to them in every column of every row. "
        f"{shares}",
    )


def growth(scale: Scale) -> str:
    """`aqb score` on a fifth of the rows, on half of them, on all; and on less convenient files."""
    sources = {
        f"{rows:,} rows": input_file("parquet_file", rows) for rows in (scale.rows // 5, scale.rows // 2, scale.rows)
    }
    base = next(iter(sources))
    sources[f"{scale.rows:,} rows in one row group"] = input_file("one_group_file", scale.rows)
    sources[f"{scale.rows:,} rows in no order"] = input_file("no_order_file", scale.rows)
    with tempfile.TemporaryDirectory() as folder:
        costs = interleaved(
            scale.rounds,
            {title: partial(score, source, Path(folder) / title) for title, source in sources.items()},
        )

    def line(title: str, cost: Cost) -> Sequence[str]:
        ratios = (f"{cost.cpu_s / costs[base].cpu_s:.1f}x", f"{cost.peak_mb / costs[base].peak_mb:.2f}x")
        return title, f"{cost.cpu_s:.1f}", ratios[0], f"{cost.peak_mb:,.0f}", ratios[1]

    return table(
        "Growth (target: 5x the CPU and 1x the memory for 5x the rows)",
        ("", "CPU s", "", "peak MB", ""),
        [line(title, cost) for title, cost in costs.items()],
    )


def start_up(scale: Scale) -> str:
    """The cost of a command before it has much to do."""
    seed, csv = (partial(score, input_file(kind, SEED_ROWS)) for kind in ("parquet_file", "csv_file"))
    with tempfile.TemporaryDirectory() as folder:
        costs = interleaved(
            scale.rounds,
            {
                "`aqb --help` (target: 0.5)": partial(cost_of, [AQB, "--help"]),
                "`import pandas`": partial(cost_of, [PYTHON, "-c", "import pandas"]),
                "the same and `from scoring import score` (target: 0.3 more)": partial(
                    cost_of, [PYTHON, "-c", "import pandas; from scoring import score"]
                ),
                f"`aqb score`, {SEED_ROWS:,} rows of Parquet (target: 3)": partial(seed, Path(folder) / "seed"),
                f"`aqb score`, {SEED_ROWS:,} rows of CSV (target: 3)": partial(csv, Path(folder) / "csv"),
            },
        )
    lines = [(title, f"{cost.cpu_s:.2f}", f"{cost.peak_mb:,.0f}") for title, cost in costs.items()]
    return table("Start-up", ("", "CPU s", "peak MB"), lines)


def score(source: str, out: Path, workers: int = 1, rubric: str | Path = "ola-monitoring") -> Cost:
    """The cost of `aqb score`."""
    command: list[str | Path] = [AQB, "score", source, "--out", out, "--rubric", rubric]
    return cost_of(command, {"AQB_ENGINE__WORKERS": str(workers)})
