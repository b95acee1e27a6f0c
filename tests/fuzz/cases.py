"""One case of fuzzing, and its surroundings: a folder of its own and nobody's settings."""

import os
import random
import resource
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzz.targets import KINDS

MOST_CPU_S, MOST_MB = 5.0, 700


def run_case(kind: str, seed: int, folder: Path) -> str:
    """Runs the case of a seed in an empty folder and says what became of it; the same seed is the same case."""
    before = Path.cwd()
    folder.mkdir(parents=True)
    os.chdir(folder)
    try:
        return KINDS[kind](random.Random(f"{kind} {seed}"))
    finally:
        os.chdir(before)


def work(channel: Connection) -> None:
    """Says that it is ready, then runs the cases that come through `channel` until None comes."""
    os.environ["NO_PROXY"] = "*"
    channel.send("ready")
    while (case := channel.recv()) is not None:
        kind, seed, folder = case
        began = time.process_time()
        try:
            outcome, error = run_case(kind, seed, folder), ""
        except BaseException:  # noqa: BLE001  whatever it is, it is what is looked for
            outcome, error = "FAILED", traceback.format_exc()
        spent_s = time.process_time() - began
        used_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if spent_s > MOST_CPU_S:
            error += f"\ntook {spent_s:.1f} s of CPU"
        if used_mb > MOST_MB:
            error += f"\nneeded {used_mb:.0f} MB"
        channel.send((outcome, error, spent_s, used_mb))
