"""`python -m benchmarks [--quick] [--only NAME] [--write]`: prints the report, with `--write` also to RESULTS.md."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import FULL, QUICK, SECTIONS, USUAL, head, section

RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures AQB against its peers.")
    parser.add_argument("--quick", action="store_true", help="one round and small inputs, to see that it runs")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--only", choices=SECTIONS, help="one section")
    what.add_argument("--write", action="store_true", help=f"also write {RESULTS.name}")
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error(f"--quick measures too little for {RESULTS.name}: leave out one of --quick and --write")
    if options.only:
        sys.stdout.write(section(options.only, QUICK if options.quick else FULL) + "\n")
        return
    measured = []
    for part in report(["--quick"] if options.quick else []):
        sys.stdout.write(part + "\n\n")
        sys.stdout.flush()
        measured.append(part)
    if options.write:
        RESULTS.write_text("\n\n".join(measured) + "\n", encoding="utf-8")


def report(options: list[str]) -> Iterator[str]:
    """The head, then each section as soon as it is measured, in a process of its own: none holds what another left."""
    yield head()
    for name in USUAL:
        command = [sys.executable, "-m", "benchmarks", "--only", name, *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
        if done.returncode:
            raise SystemExit(f"the section {name} could not be measured: what it says stands above")
        yield done.stdout.strip()


if __name__ == "__main__":
    main()
