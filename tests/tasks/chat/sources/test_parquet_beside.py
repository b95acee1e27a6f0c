"""Columns of Parquet that nobody reads, beside those that are."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.chat.rows import RowBatch
from tasks.chat.sources import ChatRowFiles
from tests.builders.chat_rows import plain


@pytest.mark.parametrize("kind", [pa.list_view(pa.string()), pa.large_list_view(pa.string_view())], ids=str)
def test_views_into_lists_are_passed_over_in_silence(
    tmp_path: Path, kind: pa.DataType, capfd: pytest.CaptureFixture[str]
) -> None:
    path, table, views = tmp_path / "rows.parquet", pa.Table.from_pylist([plain()]), pa.array([["a"]], kind)
    for column in (views, pa.StructArray.from_arrays([views], ["tags"])):
        pq.write_table(table.append_column("trace", column), path)
        (batch,) = ChatRowFiles([path]).batches(None)
        assert isinstance(batch, RowBatch) and batch.rows.height == 1
    assert capfd.readouterr().err == ""
