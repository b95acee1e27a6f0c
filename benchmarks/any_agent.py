"""The cost of scoring any agent: a rubric in TOML against the same one in Python, spans against hand-written SQL."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.children import Cost, input_file, interleaved, work
from benchmarks.report import Scale, table
from benchmarks.scored_files import score

_RUBRIC_FILE = Path(__file__).parents[1] / "docs" / "examples" / "ola-monitoring.toml"
_PAIRS = 5
"""Minimum number of rounds: the difference is about two percent."""


def rubric_file(scale: Scale) -> str:
    """`aqb score` by `ola-monitoring` as a TOML file and as it is built in."""
    source = input_file("parquet_file", scale.rows)
    with tempfile.TemporaryDirectory() as folder:
        built_in, file = Path(folder) / "built_in", Path(folder) / "file"
        costs = interleaved(
            max(_PAIRS, scale.rounds),
            {
                "built in": partial(score, source, built_in),
                "from TOML (target: 1.02)": partial(score, source, file, rubric=_RUBRIC_FILE),
            },
        )
        if (built_in / "scores.parquet").read_bytes() != (file / "scores.parquet").read_bytes():
            raise AssertionError("the rubric from TOML gave other bytes")
    ours = costs["built in"].cpu_s
    return table(
        f"A rubric in TOML: `aqb score` of {scale.rows:,} rows by `ola-monitoring`, one process",
        ("", "CPU s", "of built in", "peak MB"),
        [
            (title, f"{cost.cpu_s:.2f}", f"{cost.cpu_s / ours:.3f}", f"{cost.peak_mb:,.0f}")
            for title, cost in costs.items()
        ],
        "Both wrote the same bytes of scores.",
    )


def spans(scale: Scale) -> str:
    """Spans of OpenTelemetry read as chat rows, against DuckDB."""
    source = input_file("spans_file", scale.rows // 100)
    costs = interleaved(
        max(_PAIRS, scale.rounds),
        {
            "our reader": partial(work, "read_spans", source),
            "DuckDB, SQL by hand, one thread": partial(work, "read_spans_duckdb", source),
        },
    )
    ours, theirs = (cost.printed for cost in costs.values())
    if {**ours, "cpu_s": 0} != {**theirs, "cpu_s": 0}:
        raise AssertionError(f"our reader and DuckDB read other rows: {ours} and {theirs}")
    megabytes = Path(source).stat().st_size / 1e6
    return table(
        f"Spans: {ours['rows']:,} chat rows from {megabytes:,.0f} MB of OTLP JSON lines (target: 1.2 of DuckDB)",
        ("", "CPU s", "MB per CPU s", "ours / it", "peak MB"),
        [_spans_line(title, cost, costs["our reader"], megabytes) for title, cost in costs.items()],
        "CPU seconds of reading alone, imports before. Both find question, answer, time, tokens, session and span of "
        "the same calls of the model.",
    )


def _spans_line(title: str, cost: Cost, ours: Cost, megabytes: float) -> Sequence[str]:
    speed = f"{megabytes / cost.cpu_s:,.0f}"
    return title, f"{cost.cpu_s:.2f}", speed, f"{ours.cpu_s / cost.cpu_s:.2f}", f"{cost.peak_mb:,.0f}"
