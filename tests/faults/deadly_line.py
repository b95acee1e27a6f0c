"""Death of this process at the n-th line of our code: as a power cut would choose it, but repeatable."""

import os
import signal
import sys
from types import FrameType
from typing import Any, Self


class DeadlyLine:
    """Counts the lines that run in some of our files inside of the block, and kills the process at one; 0 is none."""

    def __init__(self, line: int, files: tuple[str, ...]) -> None:
        self.lines = 0
        self._line = line
        self._files = files

    def __enter__(self) -> Self:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(self._files):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._line:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._trace
