"""What scoring costs: the rules alone, `aqb score` against SQL by hand, more rows, and its start."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.children import AQB, Cost, cost_of, input_file, interleaved, job
from benchmarks.report import Scale, table

SEED_ROWS = 12_831  # as many as the seed looked at (seed 002)


def rule_engine(scale: Scale) -> str:
    """The rules against the same rules in Python."""
    found = job("rule_engine", input_file("parquet_file", SEED_ROWS), str(scale.rounds)).printed
    rows, ours = found["rows"], found["ours"]

    def line(name: str, title: str) -> Sequence[str]:
        return title, f"{found[name]:.2f}", f"{rows / found[name]:,.0f}", f"{found[name] / ours:.1f}x"

    return table(
        f"Rule engine: {rows:,} rows, scoring alone (target: 25x)",
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
        ours, theirs = out / "ours", out / "duckdb.parquet"
        costs = interleaved(
            scale.rounds,
            {
                "ours": partial(score, source, ours),
                "duckdb": partial(job, "duckdb", source, out / "unordered.parquet"),
                "duckdb_same_table": partial(job, "duckdb_same_table", source, theirs),
                "read": partial(job, "read_only", source),
                "score": partial(job, "read_and_score", source),
            },
        )
        job("check_same_table", ours / "scores.parquet", theirs)
    whole = costs["ours"].cpu_s

    def line(name: str, title: str) -> Sequence[str]:
        cost = costs[name]
        return title, f"{cost.cpu_s:.1f}", f"{whole / cost.cpu_s:.2f}", f"{cost.peak_mb:,.0f}"

    read, scored = costs["read"].cpu_s, costs["score"].cpu_s
    shares = (
        f"Of ours, start and reading are {read / whole:.0%}, scoring with row keys {(scored - read) / whole:.0%}, "
        f"sums, ordering, writing and report {(whole - scored) / whole:.0%}."
    )
    text_gb = job("text_gb", source).printed["text_gb"]
    return table(
        f"End to end: {scale.rows:,} rows, {text_gb:.1f} GB of text in Parquet (target: half of DuckDB, 400 MB)",
        ("", "CPU s", "ours / it", "peak MB"),
        [
            line("ours", "`aqb score`: scores, KPIs, cross table, report, SHA-256 of the input"),
            line("duckdb_same_table", "DuckDB, SQL by hand: the same score table alone"),
            line("duckdb", "DuckDB, SQL by hand: rows as they come, equal keys not told apart"),
        ],
        f"The two score tables are equal in every column of every row. {shares}",
    )


def growth(scale: Scale) -> str:
    """`aqb score` on a fifth of the rows, on half of them, on all."""
    sources = {
        f"{rows:,} rows": input_file("parquet_file", rows) for rows in (scale.rows // 5, scale.rows // 2, scale.rows)
    }
    base = next(iter(sources))
    sources[f"{scale.rows:,} rows in one row group"] = input_file("one_group_file", scale.rows)
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
    """What a command costs before it has much to do."""
    seed, csv = (partial(score, input_file(kind, SEED_ROWS)) for kind in ("parquet_file", "csv_file"))
    with tempfile.TemporaryDirectory() as folder:
        costs = interleaved(
            scale.rounds,
            {
                "`aqb --help` (target: 0.5)": partial(cost_of, [AQB, "--help"]),
                f"`aqb score`, {SEED_ROWS:,} rows of Parquet (target: 3)": partial(seed, Path(folder) / "seed"),
                f"`aqb score`, {SEED_ROWS:,} rows of CSV (target: 3)": partial(csv, Path(folder) / "csv"),
            },
        )
    lines = [(title, f"{cost.cpu_s:.2f}", f"{cost.peak_mb:,.0f}") for title, cost in costs.items()]
    return table("Start-up", ("", "CPU s", "peak MB"), lines)


def score(source: str, out: Path) -> Cost:
    """What `aqb score` costs."""
    return cost_of([AQB, "score", source, "--out", out])
