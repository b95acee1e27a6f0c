"""Writes the tables and the state database of an earlier version that tests read with today's code, and its chat rows.

It is run with the code of that version, once, so that the tables are what that version really wrote:

    git worktree add ../earlier b23f049 && make -C ../earlier setup
    cp tests/earlier_version/make_tables.py ../earlier/
    cd ../earlier && .venv/bin/python make_tables.py <this folder>

Four days of a few rows of the bundled sample and one of its test runs; the last day is in the source only.
"""
# mypy: ignore-errors
# The modules are those of that version.

import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from tasks.samples.chat_rows import SAMPLE_FIRST_DAY, SAMPLE_PATH
from tasks.settings import InboxSettings, MonitoringSettings, Settings

from flows.backfill import backfill
from flows.nightly import nightly

_ROWS_A_DAY = 9


def main(out: Path) -> None:
    """Replaces `chat_rows`, `warehouse` and `state.sql` in a folder."""
    for name in ("chat_rows", "warehouse"):
        shutil.rmtree(out / name, ignore_errors=True)
    (out / "chat_rows").mkdir(parents=True)
    days = [SAMPLE_FIRST_DAY + timedelta(days=number) for number in range(4)]
    sample = pl.read_parquet(SAMPLE_PATH)
    local_day = pl.col("timestamp").dt.convert_time_zone("Asia/Seoul").dt.date()
    for day in days:
        rows = sample.filter(local_day == day)
        few = rows.gather_every(rows.height // _ROWS_A_DAY).head(_ROWS_A_DAY)
        few.write_parquet(out / "chat_rows" / f"{day}.parquet")
    with TemporaryDirectory() as name:
        folder = Path(name)
        inbox = folder / "inbox"
        inbox.mkdir()
        smallest = min((SAMPLE_PATH.parent / "inbox").iterdir(), key=lambda path: path.stat().st_size)
        shutil.copy(smallest, inbox)
        settings = Settings(
            warehouse=str(out / "warehouse"),
            reports=str(folder / "reports"),
            state_url=f"sqlite:///{folder / 'state.db'}",
            monitoring=MonitoringSettings(source=str(out / "chat_rows")),
            test_runs=InboxSettings(inbox=str(inbox)),
        )
        backfill(days[0], days[-3], settings=settings)
        nightly(settings, days[-2])
        with closing(sqlite3.connect(folder / "state.db")) as state:
            dump = "\n".join(state.iterdump()).replace(f"{out}/", "").replace(f"{folder}/", "")
        (out / "state.sql").write_text(dump + "\n", encoding="utf-8")
    shutil.rmtree(out / "warehouse" / ".staging", ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
