"""The sections of the benchmark and the machine they ran on, as markdown."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.children import PYTHON, Cost, cost_of, interleaved, job

Inputs = Mapping[str, Any]
SEED_ROWS = 12_831  # as many as the seed looked at (seed 002, head)
_AQB = Path(PYTHON).with_name("aqb")
_LIBRARIES = ("polars", "pyarrow", "pandas", "duckdb")


def sections(rows: int, rounds: int) -> Iterator[str]:
    """Each section as soon as it is measured; `rows` is the size of the largest input.

    Nothing large is imported or held here: a child's peak starts at what its parent holds.
    """
    yield f"# Benchmarks\n\n{_machine()}"
    inputs = job("inputs", str(SEED_ROWS), str(rows)).printed
    yield _rule_engine(inputs, rounds)
    with tempfile.TemporaryDirectory() as folder:
        yield _end_to_end(inputs, rows, rounds, Path(folder))
        yield _growth(inputs, rows, rounds, Path(folder))
        yield _start_up(inputs, rounds, Path(folder))
    from benchmarks.site import site_section

    yield site_section()


def _machine() -> str:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory_gb:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}, {libraries}.\n\n"
        "Synthetic rows. CPU seconds are user + system of all threads; times are the best, peaks the worst of the "
        "interleaved rounds."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _rule_engine(inputs: Inputs, rounds: int) -> str:
    found = job("rule_engine", inputs["seed"], str(rounds)).printed
    rows, ours = found["rows"], found["ours"]

    def line(name: str, title: str) -> Sequence[str]:
        return title, f"{found[name]:.2f}", f"{rows / found[name]:,.0f}", f"{found[name] / ours:.1f}x"

    return _section(
        f"Rule engine: {rows:,} rows, scoring alone (target: 25x)",
        ("", "CPU s", "rows per CPU s", "ours is faster by"),
        [
            line("ours", "rules as Polars expressions"),
            line("apply", "`DataFrame.apply` with `re`"),
            line("loop", "the same functions in a bare loop, no DataFrame"),
        ],
        "Every column is equal on every row.",
    )


def _end_to_end(inputs: Inputs, rows: int, rounds: int, out: Path) -> str:
    source, ours, theirs = inputs["many"], out / "ours", out / "duckdb.parquet"
    costs = interleaved(
        rounds,
        {
            "ours": partial(_score, source, ours),
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

    read, score = costs["read"].cpu_s, costs["score"].cpu_s
    shares = (
        f"Of ours, start and reading are {read / whole:.0%}, scoring with row keys {(score - read) / whole:.0%}, "
        f"sums, ordering, writing and report {(whole - score) / whole:.0%}."
    )
    return _section(
        f"End to end: {rows:,} rows, {inputs['text_gb']:.1f} GB of text in Parquet (target: half of DuckDB, 400 MB)",
        ("", "CPU s", "ours / it", "peak MB"),
        [
            line("ours", "`aqb score`: scores, KPIs, cross table, report, SHA-256 of the input"),
            line("duckdb_same_table", "DuckDB, SQL by hand: the same score table alone"),
            line("duckdb", "DuckDB, SQL by hand: rows as they come, equal keys not told apart"),
        ],
        f"The two score tables are equal in every column of every row. {shares}",
    )


def _growth(inputs: Inputs, rows: int, rounds: int, out: Path) -> str:
    files = ("few", "many", "one_group")
    costs = interleaved(rounds, {name: partial(_score, inputs[name], out / name) for name in files})

    def line(name: str, title: str) -> Sequence[str]:
        cost, base = costs[name], costs["few"]
        ratios = (f"{cost.cpu_s / base.cpu_s:.1f}x", f"{cost.peak_mb / base.peak_mb:.2f}x")
        return title, f"{cost.cpu_s:.1f}", ratios[0], f"{cost.peak_mb:,.0f}", ratios[1]

    return _section(
        "Growth (target: 5x the CPU and 1x the memory for 5x the rows)",
        ("", "CPU s", "", "peak MB", ""),
        [
            line("few", f"{rows // 5:,} rows"),
            line("many", f"{rows:,} rows"),
            line("one_group", f"{rows:,} rows in one row group"),
        ],
    )


def _start_up(inputs: Inputs, rounds: int, out: Path) -> str:
    seed, csv = partial(_score, inputs["seed"]), partial(_score, inputs["seed_csv"])
    costs = interleaved(
        rounds,
        {
            "`aqb --help` (target: 0.5)": partial(cost_of, [_AQB, "--help"]),
            f"`aqb score`, {SEED_ROWS:,} rows of Parquet (target: 3)": partial(seed, out / "seed"),
            f"`aqb score`, {SEED_ROWS:,} rows of CSV (target: 3)": partial(csv, out / "csv"),
        },
    )
    lines = [(title, f"{cost.cpu_s:.2f}", f"{cost.peak_mb:,.0f}") for title, cost in costs.items()]
    return _section("Start-up", ("", "CPU s", "peak MB"), lines)


def _score(source: str, out: Path) -> Cost:
    return cost_of([_AQB, "score", source, "--out", out])


def _section(title: str, header: Sequence[str], lines: Sequence[Sequence[str]], remark: str = "") -> str:
    table = [header, ["---", *["---:"] * (len(header) - 1)], *lines]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
    return "\n\n".join(part for part in (f"## {title}", body, remark) if part)
