"""Long texts that all rows repeat, of which a Parquet file stores one."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.builders.row_files import failure, read
from tests.tasks.chat.sources.test_parquet import parquet


@pytest.mark.parametrize(
    "options",
    [{}, {"use_dictionary": False, "column_encoding": {"user_input": "DELTA_BYTE_ARRAY"}}, {"binary": True}],
    ids=str,
)
def test_long_text_that_all_rows_repeat_is_scored_in_batches_of_a_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """The file stores it once, and says that it is small."""
    text, count, kind = "긴 글 " * 1_000, 2_000, pa.binary() if options.pop("binary", False) else pa.string()
    path = parquet(tmp_path, {"user_input": pa.array([text] * count, kind)}, rows=count, compression="zstd", **options)
    assert 100 * path.stat().st_size < count * len(text.encode())
    monkeypatch.setattr("tasks.chat.sources.parquet.BATCH_BYTES", 1_000_000)
    monkeypatch.setattr("tasks.chat.sources.parquet._FEW_ROWS", 16)
    batches = read(path)
    assert max(batch.rows["user_input"].str.len_bytes().sum() for batch in batches) <= 2_000_000
    assert [row for batch in batches for row in batch.rows["line"]] == list(range(1, count + 1))
    assert {one for batch in batches for one in batch.rows["user_input"].unique()} == {text}


def test_file_of_a_text_that_was_made_to_harm_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.chat.sources.parquet.SMALL_UNPACKED", 1_000_000)
    path = parquet(tmp_path, {"user_input": ["x" * 500_000] * 200}, rows=200, compression="zstd")
    assert f"refused: {path.stat().st_size:,} bytes hold 100,000,600 bytes of text and more" in failure(path)


SHARED: dict[str, dict[str, Any]] = {
    "dictionary": {"dictionary_pagesize_limit": 1 << 30, "store_schema": False},
    "dictionary of Arrow": {"dictionary_pagesize_limit": 1 << 30},
    "prefix": {"use_dictionary": False, "store_schema": False},
}
"""How a column may store a text once for all rows."""

READ = """
import sys
from pathlib import Path
import pyarrow as pa
from tasks.chat.sources import ChatRowFiles, parquet
parquet.SMALL_UNPACKED, parquet._TEXT_AT_ONCE = 1_000_000, 2_000_000
for path in map(Path, sys.argv[1:]):
    *_, found = ChatRowFiles([path]).batches()
    print(": refused: " in str(found.error), pa.default_memory_pool().max_memory())
"""
"""Reads files one after the other; says of each whether it was refused, and how much memory Arrow has held so far."""


def test_text_that_all_rows_repeat_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    """Whatever column it stands in: none is decoded for all rows before its bytes are counted."""
    text, count, paths = "x" * 100_000, 2_000, list[Path]()
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    for how, options in SHARED.items():
        for column in ("tenant_id", "source_id", "timestamp", "request_metadata", "user_input"):
            encoding = {"column_encoding": {column: "DELTA_BYTE_ARRAY"}} if how == "prefix" else {}
            folder = tmp_path / how / column
            folder.mkdir(parents=True)
            paths.append(parquet(folder, {column: repeated}, rows=count, compression="zstd", **options, **encoding))
    read = subprocess.run([sys.executable, "-c", READ, *map(str, paths)], capture_output=True, text=True, check=True)
    refused, most_bytes = zip(*map(str.split, read.stdout.splitlines()), strict=True)
    assert refused == ("True",) * len(paths)
    assert max(map(int, most_bytes)) < 50_000_000 < count * len(text)
