"""Columns of Parquet that nobody reads, beside those that are."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from scoring.chat.rows import RowBatch
from tasks.chat.sources import ChatRowFiles
from tests.builders.chat_rows import plain
from tests.builders.row_files import failure


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


class _Keys(pe.KmsClient):  # type: ignore[misc]
    """Hands keys out as they are."""

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return key_bytes.hex().encode()

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return bytes.fromhex(wrapped_key.decode())


def encrypted(folder: Path, column: str) -> Path:
    path, table = folder / "rows.parquet", pa.Table.from_pylist([{**plain(), "trace": "a"}])
    how = pe.EncryptionConfiguration(footer_key="footer", plaintext_footer=True, column_keys={"columns": [column]})
    keys = pe.CryptoFactory(lambda _: _Keys()).file_encryption_properties(pe.KmsConnectionConfig(), how)
    with pq.ParquetWriter(path, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)
    return path


def test_column_that_is_encrypted_is_passed_over_where_nobody_reads_it(tmp_path: Path) -> None:
    (batch,) = ChatRowFiles([encrypted(tmp_path, "trace")]).batches(None)
    assert isinstance(batch, RowBatch) and batch.rows.height == 1


@pytest.mark.parametrize("column", ["user_input", "timestamp", "input_tokens", "session_id"])
def test_column_that_is_encrypted_is_a_failure_of_its_file_and_not_the_end_of_the_process(
    tmp_path: Path, column: str
) -> None:
    assert "found: Cannot decrypt" in failure(encrypted(tmp_path, column))
