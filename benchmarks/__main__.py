"""`python -m benchmarks [--quick] [--only NAME] [--write]`: prints figures, with `--write` also to RESULTS.md."""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.report import FULL, QUICK, SECTIONS, USUAL, head, renewed, section

RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures AQB against its peers.")
    parser.add_argument("--quick", action="store_true", help="one round and small inputs, to see that it runs")
    parser.add_argument("--only", choices=SECTIONS, help="one section")
    parser.add_argument("--write", action="store_true", help=f"put what was measured into {RESULTS.name}, too")
    options = parser.parse_args()
    if options.quick and options.write:
        parser.error(f"--quick measures too little for {RESULTS.name}: leave out one of --quick and --write")
    measured = {}
    if options.only:
        measured[options.only] = section(options.only, QUICK if options.quick else FULL)
        sys.stdout.write(measured[options.only] + "\n")
    else:
        sys.stdout.write(head() + "\n\n")
        for name in USUAL:
            measured[name] = _in_a_process(name, ["--quick"] if options.quick else [])
            sys.stdout.write(measured[name] + "\n\n")
            sys.stdout.flush()
    if options.write:
        RESULTS.write_text(renewed(RESULTS.read_text(encoding="utf-8"), measured), encoding="utf-8")


def _in_a_process(name: str, options: list[str]) -> str:
    """Measures a section in its own process, free of the state of other sections."""
    command = [sys.executable, "-m", "benchmarks", "--only", name, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
    if done.returncode:
        raise SystemExit(f"the section {name} could not be measured: what it says stands above")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
