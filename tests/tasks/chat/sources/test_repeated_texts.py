"""Long texts that all rows repeat, of which a Parquet file stores one."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scoring.chat.rows import FileFailure
from tasks.chat.sources import ChatRowFiles
from tests.tasks.chat.sources.test_parquet import failure, parquet, read


@pytest.mark.parametrize(
    "options",
    [{}, {"use_dictionary": False, "column_encoding": {"user_input": "DELTA_BYTE_ARRAY"}}, {"binary": True}],
    ids=str,
)
def test_a_long_text_that_all_rows_repeat_is_scored_in_batches_of_a_bounded_size(
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


def test_a_file_of_a_text_that_was_made_to_harm_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.chat.sources.parquet.SMALL_UNPACKED", 1_000_000)
    path = parquet(tmp_path, {"user_input": ["x" * 500_000] * 200}, rows=200, compression="zstd")
    assert f"refused: {path.stat().st_size:,} bytes hold 100,000,600 bytes of text and more" in failure(path)


@pytest.mark.parametrize("column", ["tenant_id", "source_id", "timestamp", "request_metadata", "user_input"])
@pytest.mark.parametrize(
    "options",
    [
        {"dictionary_pagesize_limit": 1 << 30, "store_schema": False},
        {"dictionary_pagesize_limit": 1 << 30},
        {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY", "store_schema": False},
    ],
    ids=["dictionary", "dictionary_of_arrow", "prefix"],
)
def test_a_text_that_all_rows_repeat_is_refused_before_it_takes_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], column: str
) -> None:
    """Whatever column it stands in: none is decoded for all rows before its bytes are counted."""
    monkeypatch.setattr("tasks.chat.sources.parquet.SMALL_UNPACKED", 1_000_000)
    monkeypatch.setattr("tasks.chat.sources.parquet._TEXT_AT_ONCE", 2_000_000)
    if encoding := options.get("column_encoding"):
        options = {**options, "column_encoding": {column: encoding}}
    text, count = "x" * 100_000, 2_000
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    path = parquet(tmp_path, {column: repeated}, rows=count, compression="zstd", write_statistics=False, **options)
    usual, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        *_, found = ChatRowFiles([path]).batches()
    finally:
        pa.set_memory_pool(usual)
    assert isinstance(found, FileFailure)
    assert "refused: " in str(found.error)
    assert pool.max_memory() < 20_000_000 < count * len(text)
