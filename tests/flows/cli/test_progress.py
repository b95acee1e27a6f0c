"""People see how far long work is: a bar where they sit at a terminal, lines in a log."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import terminal
from flows.cli.terminal import progress
from tasks.samples import SAMPLE_PATH

AQB = Path(sys.executable).with_name("aqb")


@pytest.mark.long
def test_terminal_shows_how_many_rows_are_read_and_a_program_still_gets_its_json(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command: list[str | Path] = [AQB, "score", SAMPLE_PATH, "--out", tmp_path, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as running:
        os.close(theirs)
        seen = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        assert running.stdout
        assert running.stdout.read().startswith(b"{")
    assert running.returncode == 0
    assert b"2,000 rows" in seen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that nobody writes to it any more
        return b""


def test_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with progress("backfill", "days") as show:
        show(1, 30, "")
        monkeypatch.setattr(terminal, "_SECONDS_BETWEEN_LINES", 0.0)
        show(2, 30, "1,070 rows/s")
    assert capsys.readouterr().err == "backfill: 2 of 30 days, 1,070 rows/s\n"
