"""Small disks, to be full or read-only."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Callable[[str], None]]:
    """A disk of its own at `folder` (`size=40k`, `ro`); gives what changes its options.

    The test is skipped where none can be made.
    """
    if sys.platform != "linux":
        pytest.skip("tmpfs is Linux's")
    folder.mkdir(exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"this machine mounts no disk for tests: {made.stderr.decode().strip()}")

    def change(options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)

    try:
        yield change
    finally:
        subprocess.run(["umount", folder], check=True)
