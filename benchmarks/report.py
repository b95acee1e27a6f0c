"""The sections by name, their sizes, the machine, and the common layout."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

SECTIONS = {
    "rule_engine": "scored_files",
    "end_to_end": "scored_files",
    "growth": "scored_files",
    "large": "large_files",
    "start_up": "scored_files",
    "reading": "table_files",
    "folder": "table_files",
    "rubric_file": "any_agent",
    "spans": "any_agent",
    "nightly": "flow_runs",
    "backfill": "flow_runs",
    "judge": "judge",
    "judged_runs": "judged_runs",
    "site": "site",
    "web": "web",
    "web_morning": "web_morning",
    "masking": "masking",
    "alerts": "alerts",
}
"""The function of each section and its module, in the order of the report."""

USUAL = [name for name in SECTIONS if name != "large"]
"""The sections measured by default: the other one needs ten gigabytes of files."""

_BY_HAND = "by_hand"
_MARK = re.compile(r"^<!-- (\w+) -->\n", re.MULTILINE)
_LIBRARIES = ("polars", "pyarrow", "pandas", "duckdb", "prefect", "openai")


class Scale(NamedTuple):
    """The sizes: rows of the largest file and number of such files, days of the backfill, and so on."""

    rows: int
    rounds: int
    large_files: int
    rows_of_night: int
    days: int
    questions: int
    days_of_site: int
    texts_a_kind: int
    seeds: int


FULL = Scale(
    rows=500_000,
    rounds=3,
    large_files=20,
    rows_of_night=10_000,
    days=365,
    questions=2_000,
    days_of_site=60,
    texts_a_kind=10_000,
    seeds=20,
)
QUICK = Scale(
    rows=100_000,
    rounds=1,
    large_files=4,
    rows_of_night=1_000,
    days=20,
    questions=200,
    days_of_site=10,
    texts_a_kind=1_000,
    seeds=2,
)


def section(name: str, scale: Scale) -> str:
    """Measures one section; its markdown. Only its own module is imported: a child's peak starts at its parent's."""
    measured: str = getattr(import_module(f"benchmarks.{SECTIONS[name]}"), name)(scale)
    return measured


def head() -> str:
    """How to repeat the benchmarks, the machine, and the meaning of the numbers."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return (
        "# Benchmarks\n\n"
        "`make bench` repeats all but `large` in about an hour, best with nothing else running; "
        "`.venv/bin/python -m benchmarks --write` also writes this page, but for its last section. One section alone: "
        f"`--only NAME`, with {', '.join(f'`{name}`' for name in SECTIONS)}.\n\n"
        f"{os.cpu_count()} cores ({_processor()}), {memory_gb:.0f} GB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {libraries}.\n\n"
        "Synthetic rows. CPU seconds are user + system of all threads; times are the best, peaks the worst of the "
        "interleaved rounds."
    )


def renewed(page: str, measured: Mapping[str, str]) -> str:
    """The page of results with the measured sections replaced; other sections and manual text stay."""
    _, *parts = _MARK.split(page)
    sections = {**dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True)), **measured}
    marked = (f"<!-- {name} -->\n{sections[name]}" for name in (*SECTIONS, _BY_HAND) if name in sections)
    return "\n\n".join([head(), *marked]) + "\n"


def table(title: str, header: Sequence[str], lines: Sequence[Sequence[str]], remark: str = "") -> str:
    """A section as markdown."""
    rows = [header, ["---", *["---:"] * (len(header) - 1)], *lines]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return "\n\n".join(part for part in (f"## {title}", body, remark) if part)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
