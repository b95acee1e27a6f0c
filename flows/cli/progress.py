"""How far long work is, on standard error: a bar on a terminal, a line every ten seconds elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[int, int | None, str], None]
"""Takes how much is done, of how much (None where nobody knows), and what else there is to say."""

_SECONDS_BETWEEN_LINES = 10.0


def show_nobody(_done: int, _total: int | None, _note: str) -> None:
    """For work that nobody watches."""


@contextmanager
def progress(title: str, unit: str) -> Iterator[Show]:
    """Shows what the block tells: `title`, then how many of the `unit`."""
    if not sys.stderr.isatty():
        yield _lines(title, unit)
        return
    # Only a terminal needs it, and it is slow to import.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    said = TextColumn("{task.fields[said]}")
    times = (TextColumn("left"), TimeRemainingColumn(), TextColumn("of"), TimeElapsedColumn())
    with Progress(TextColumn("{task.description}"), BarColumn(), said, *times, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None, said="")

        def show(done: int, total: int | None, note: str) -> None:
            bar.update(task, completed=done, total=total, said=_said(done, total, unit, note))

        yield show


def _lines(title: str, unit: str) -> Show:
    last_s = time.monotonic()

    def show(done: int, total: int | None, note: str) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= _SECONDS_BETWEEN_LINES:
            last_s = time.monotonic()
            sys.stderr.write(f"{title}: {_said(done, total, unit, note)}\n")

    return show


def _said(done: int, total: int | None, unit: str, note: str) -> str:
    counted = f"{done:,} {unit}" if total is None else f"{done:,} of {total:,} {unit}"
    return f"{counted}, {note}" if note else counted
