"""`python -m benchmarks [--quick] [--write]`: runs everything, prints the report, with `--write` also to RESULTS.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.report import sections

RESULTS = Path(__file__).with_name("RESULTS.md")

parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures AQB against its peers.")
parser.add_argument("--quick", action="store_true", help="one round and a fifth of the rows, to see that it runs")
parser.add_argument("--write", action="store_true", help=f"also write {RESULTS.name}")
options = parser.parse_args()

measured = []
for section in sections(rows=100_000 if options.quick else 500_000, rounds=1 if options.quick else 3):
    sys.stdout.write(section + "\n\n")
    sys.stdout.flush()
    measured.append(section)
if options.write:
    RESULTS.write_text("\n\n".join(measured) + "\n", encoding="utf-8")
