"""`aqb` on folders, terminals and machines as people have them."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tasks.warehouse import open_warehouse
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.permissions import locked
from tests.builders.scored_days import write_scored_day
from tests.builders.scored_testruns import plan_row, scored_folder
from tests.flows.conftest import Command, done


def test_scores_in_a_folder_whose_name_looks_like_a_pattern_are_those_of_its_rows(aqb: Command, folder: Path) -> None:
    rows, others = write_rows(folder / "rows.jsonl", [best(0), refused(1)]), write_rows(folder / "o.jsonl", [best(0)])
    done(aqb, "score", others, "--out", folder / "1")
    done(aqb, "score", rows, "--out", "plain")
    done(aqb, "score", rows, "--out", folder / "[1]")
    for name in ("report.md", "scores.parquet"):
        assert (folder / "[1]" / name).read_bytes() == (folder / "plain" / name).read_bytes()


def test_pattern_below_a_folder_whose_name_looks_like_one_finds_its_files(aqb: Command, folder: Path) -> None:
    for name, rows in (("[1]", [best(0), refused(1)]), ("1", [best(0)])):
        (folder / name).mkdir()
        write_rows(folder / name / "rows.jsonl", rows)
    assert "rows in 2 =" in done(aqb, "score", folder / "[1]" / "*.jsonl", "--out", "out")
    assert "rows in 2 =" in done(aqb, "score", "[1]/*.jsonl", "--out", "out")


def test_comparison_of_folders_whose_names_look_like_patterns_is_of_these_two(aqb: Command, folder: Path) -> None:
    scored_folder(folder / "v1", [plan_row("Q1")])
    scored_folder(folder / "v[1]", [plan_row("Q1", passes=False)])
    told = done(aqb, "compare", folder / "v1", folder / "v[1]")
    assert "나빠진 질의 (1개)" in told


def test_scored_run_of_another_user_that_may_not_be_read_is_told_as_such(aqb: Command, folder: Path) -> None:
    folder.chmod(0o755)
    scored_folder(folder / "base", [plan_row("Q1")])
    with locked(Path("base/queries.parquet")):
        ended = aqb("compare", "base", "base")
    assert "base/queries.parquet: this table may not be read: Permission denied" in ended.err


def test_days_of_a_warehouse_whose_name_looks_like_a_pattern_are_its_own(folder: Path) -> None:
    rows = {"wh1": [best(0)], "wh[1]": [best(0), refused(1)]}
    for name, its_rows in rows.items():
        write_scored_day(
            open_warehouse(str(folder / name)), DAY, write_rows(folder / f"{len(its_rows)}.jsonl", its_rows)
        )
    found = open_warehouse(str(folder / "wh[1]")).read("monitoring_scores", [DAY])
    assert found is not None
    assert found.collect().height == 2


_EUC_KR = """
import locale
locale.getencoding = lambda: "euc-kr"  # what it answers in Korean locales without UTF-8, which not every machine has
from flows.cli import main
main()
"""


def test_terminal_of_another_encoding_shows_korean_while_a_pipe_has_utf8(folder: Path) -> None:
    command = [sys.executable, "-X", "utf8", "-c", _EUC_KR, "rubrics"]
    shell = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    screen, terminal = pty.openpty()
    with os.fdopen(screen, "rb", buffering=0) as shown, subprocess.Popen(command, stdout=terminal, env=shell):
        os.close(terminal)
        seen = b""
        with suppress(OSError):  # how a terminal ends
            while True:
                seen += shown.read(4096)
    piped = subprocess.run(command, capture_output=True, env=shell, check=True).stdout
    assert "실행" in piped.decode("utf-8")
    assert seen.replace(b"\r\n", b"\n").decode("euc-kr") == piped.decode("utf-8")


def test_text_in_other_bytes_than_utf8_is_refused_as_it_stands(aqb: Command, folder: Path) -> None:
    write_scored_day(open_warehouse("data/warehouse"), DAY, write_rows(folder / "rows.jsonl", [refused(0)]))
    why = os.fsdecode("점검".encode("euc-kr"))
    ended = aqb("alerts", "snooze", "weak_answer", "--until", "2999-01-01", "--why", why)
    assert ended.exit_code == 2
    assert r"\xc1\xa1\xb0\xcb: the bytes of this argument are no UTF-8" in ended.err


_WORK = """
import sys, threading
from flows.cli.app import app, main

class PanicException(BaseException):
    \"\"\"What Polars raises that cannot start its threads.\"\"\"

@app.command()
def work():
    WORK

sys.argv = ["aqb", "work"]
main()
"""


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("bytearray(1 << 62)", "-> give it more memory"),
        ("threading.stack_size(1 << 46); threading.Thread().start()", "-> allow it more threads"),
        ('raise PanicException("failed to spawn: Resource temporarily unavailable")', "-> allow it more threads"),
    ],
    ids=["memory", "thread", "panic"],
)
def test_machine_that_is_too_small_is_told_as_such_and_not_as_a_defect(folder: Path, work: str, said: str) -> None:
    program = [sys.executable, "-c", _WORK.replace("WORK", work)]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr, "defect" in ended.stderr) == (1, False, False)
    assert said in ended.stderr


def test_object_that_python_complains_about_at_its_very_end_leaves_no_traceback_of_ours(folder: Path) -> None:
    work = "class Late:\n        def __del__(self): raise ValueError('at the end')\n    threading.late = Late()"
    ended = subprocess.run(
        [sys.executable, "-c", _WORK.replace("WORK", work)], capture_output=True, text=True, check=False
    )
    assert "ValueError: at the end" in ended.stderr
    assert "_interrupt_again" not in ended.stderr
