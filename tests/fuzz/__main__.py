"""`python -m tests.fuzz`: as many cases as asked for, or as fit in a time, in processes that are watched.

A case fails where the product breaks its word (see `targets`), takes more than 5 s of CPU or half a minute, or needs
more than 700 MB. What failed is left in `fuzz-failures/` with its traceback; `--only KIND:SEED` runs one case again.
"""

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock

from tests.fakes.googlesql_evaluator import start_evaluator
from tests.fuzz.cases import work

FAILURES = Path("fuzz-failures")
MOST_WAIT_S = 30.0
_KINDS = ("csv", "tsv", "xlsx", "jsonl", "export", "parquet", "judge", "slack", "settings", "rubric")


@dataclass
class Tally:
    """What became of the cases of one kind, and how long the longest took (CPU seconds)."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    most_mb: float = 0.0


class Worker:
    """A process that runs cases; another takes its place when it hangs, dies, or has grown."""

    def __init__(self) -> None:
        self._channel, self._process = self._started()

    def run(self, kind: str, seed: int, folder: Path) -> tuple[str, str, float, float]:
        """Outcome, what is wrong ('' if nothing), CPU seconds, megabytes."""
        self._channel.send((kind, seed, folder))
        try:
            if self._channel.poll(MOST_WAIT_S):
                found: tuple[str, str, float, float] = self._channel.recv()
            else:
                found = "FAILED", f"did not end within {MOST_WAIT_S:.0f} s", MOST_WAIT_S, 0.0
        except (EOFError, ConnectionError):
            found = "FAILED", f"the process died: exit code {self._process.exitcode}", 0.0, 0.0
        if found[1]:
            self.stop()
            self._channel, self._process = self._started()
        return found

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.join()

    @staticmethod
    def _started() -> tuple[Connection, "multiprocessing.process.BaseProcess"]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        ours.recv()  # a case's time begins when everything is imported, which takes half a minute where others compute
        return ours, process


def fuzz(cases: list[tuple[str, int]], seconds: float, workers: int) -> dict[str, Tally]:
    """Runs the cases in their order until the time is over; keeps the folders of those that fail."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    left, lock, ends = iter(cases), Lock(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="aqb-fuzz-") as scratch:

        def run_some() -> None:
            worker = Worker()
            while time.monotonic() < ends:
                with lock:
                    case = next(left, None)
                if case is None:
                    break
                kind, seed = case
                folder = Path(scratch) / f"{kind}-{seed}"
                outcome, error, spent_s, used_mb = worker.run(kind, seed, folder)
                with lock:
                    tally = tallies[kind]
                    tally.outcomes["FAILED" if error else outcome] += 1
                    tally.slowest_s = max(tally.slowest_s, spent_s)
                    tally.most_mb = max(tally.most_mb, used_mb)
                if error:
                    kept = FAILURES / folder.name
                    shutil.rmtree(kept, ignore_errors=True)
                    shutil.copytree(folder, kept)
                    (kept / "error.txt").write_text(error, encoding="utf-8", errors="backslashreplace")
                    sys.stdout.write(f"{kind}:{seed} {error.strip().splitlines()[-1][:200]}\n")
                shutil.rmtree(folder, ignore_errors=True)
            worker.stop()

        with ThreadPoolExecutor(workers) as pool:
            for ended in [pool.submit(run_some) for _ in range(workers)]:
                ended.result()
    return tallies


def main() -> int:
    """Prints a line a kind; 1 where a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=_KINDS, default=_KINDS)
    parser.add_argument("--only", metavar="KIND:SEED", nargs="+", help="these cases alone")
    given = parser.parse_args()
    if given.only:
        cases = [(kind, int(seed)) for kind, _, seed in (one.partition(":") for one in given.only)]
    else:
        seeds = range(given.first, given.first + given.cases)
        cases = [(kind, seed) for seed, kind in product(seeds, given.kinds)]
    if any(kind == "rubric" for kind, _ in cases):
        # It is compiled once, which would count as the time and memory of a case; the peak of a process that begins
        # workers is theirs too, so another one does it.
        compiling = multiprocessing.get_context("spawn").Process(target=start_evaluator)
        compiling.start()
        compiling.join()
    tallies = fuzz(cases, given.seconds, given.workers)
    for kind, tally in tallies.items():
        sys.stdout.write(
            f"{kind:<9} {tally.outcomes.total():>6} cases  slowest {tally.slowest_s:.2f} s  most {tally.most_mb:.0f} MB"
            f"  {', '.join(f'{outcome} {count}' for outcome, count in tally.outcomes.most_common(8))}\n"
        )
    return int(any("FAILED" in tally.outcomes for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
