"""Rows of which some readers come to nothing: what it takes to score them elsewhere."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scoring.chat.rows import FileFailure, RowBatch
from scoring.days import Window
from scoring.errors import InputError
from tasks.chat.sources import RowStream


@dataclass(frozen=True)
class DeadlyRows:
    """Rows of which the first reader is killed after the first batch."""

    rows: RowStream
    killed: Path

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        for batch in self.rows.batches(window):
            yield batch
            if not self.killed.exists():
                self.killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class RowsOfOneProcess:
    """Rows in a file that no other process sees."""

    rows: RowStream
    process: int

    def batches(self, window: Window | None = None) -> Iterator[RowBatch | FileFailure]:
        if os.getpid() == self.process:
            yield from self.rows.batches(window)
        else:
            yield FileFailure("rows.jsonl", InputError("no such file", where="rows.jsonl", fix="mount it"))
