"""`aqb score` killed (SIGKILL) before one of its changes of files: its folder is as before, or as it is to be."""

import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tasks.samples import SAMPLE_INBOX
from tests.builders.cases import portion
from tests.builders.chat_rows import best, plain, write_rows
from tests.faults.processes import CHANGES, started_command

KILLS = int(os.environ.get("SCORE_KILLS", "2"))
OUT, SUMMARY = "out", "summary.json"
PLACES = {"AQB_STATE_URL": "sqlite:///state.db", "AQB_WAREHOUSE": "warehouse", "AQB_REPORTS": "reports"}


def before_and_after(kind: str, folder: Path) -> tuple[list[str], list[str]]:
    """Two calls that write different files into one folder, of chat rows also some that the other does not write."""
    if kind == "chat rows":
        write_rows(folder / "before.jsonl", [best(0), plain(1)])
        write_rows(folder / "after.jsonl", [plain(0), plain(1), best(2)])
        return ["score", "before.jsonl", "--also", "xlsx"], ["score", "after.jsonl", "--also", "csv"]
    return (
        ["score", str(SAMPLE_INBOX / "resume_agent_sample.xlsx")],
        ["score", str(SAMPLE_INBOX / "url_agent_sample.csv")],
    )


def ended(arguments: list[str], folder: Path, dies_at: int = 0) -> int:
    process = started_command([*arguments, "--out", OUT], folder, PLACES, dies_at)
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode


def files_of(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / OUT).glob("[!.]*")}


@pytest.mark.slow
@pytest.mark.parametrize("kind", portion(["chat rows", "test run"]))
def test_score_that_is_killed_leaves_the_files_of_before_or_those_of_the_call(kind: str, tmp_path: Path) -> None:
    before, after = before_and_after(kind, tmp_path)
    assert ended(before, tmp_path) == 0
    old = files_of(tmp_path)
    shutil.copytree(tmp_path / OUT, tmp_path / "old")
    assert ended(after, tmp_path) == 0
    new = files_of(tmp_path)
    assert old != new
    changes = int((tmp_path / CHANGES).read_text())
    exchange = changes - (2 * len(new) + 2)  # each is removed or renamed, at the end
    draw = random.Random(KILLS)
    moments = draw.sample(range(1, exchange), KILLS) + draw.sample(range(exchange, changes), KILLS)
    kept = Counter[str]()
    for moment in moments:
        shutil.rmtree(tmp_path / OUT)
        shutil.copytree(tmp_path / "old", tmp_path / OUT)
        assert ended(after, tmp_path, moment) == -signal.SIGKILL
        found = files_of(tmp_path)
        kept["old" if found == old else "new" if found == new else "mixed"] += 1
        assert found in (old, new) or SUMMARY not in found, moment
    assert kept["old"]
    assert kept["mixed"]  # without a summary: it was killed while files were exchanged
    assert ended(after, tmp_path) == 0
    assert files_of(tmp_path) == new
    assert not list((tmp_path / OUT).glob(".*"))
