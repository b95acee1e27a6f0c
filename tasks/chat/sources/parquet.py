"""Reads chat rows from Parquet: decodes only the columns used for scoring, some thousand rows at a time.

A file may be one row group of gigabytes. It is read through a small buffer, page by page, so memory does not grow
with the group. If row groups are small, Polars decodes the texts of a few at once: it does not copy them out of their
pages and takes half the time of pyarrow. The sizes in a file are those of what it stores: a text that thousands of rows
repeat is stored once. So no more rows are decoded at once than fit in memory if each has the longest stored text, the
bytes of their texts are counted, and rows with too much text are scored in several batches.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path
from typing import BinaryIO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

from scoring.chat.arrow_rows import Leaf, array_at, holds_text, leaves_to_read, read_batch, texts_at
from scoring.chat.cells import microseconds_of
from scoring.chat.reading import UTC_ZONE, Reading, SoughtKeys
from scoring.chat.row_ids import TEXTS
from scoring.chat.rows import BATCH_BYTES, BATCH_ROWS, CHAT_ROW_SCHEMA, RowBatch
from scoring.days import Window
from scoring.errors import InputError
from scoring.limits import LARGEST_TEXT_RATIO, SMALL_UNPACKED
from tasks.chat.sources.pieces import FilePiece, refuse_replaced

_BUFFER_BYTES = 1024 * 1024
_BYTES_AT_ONCE = 96 * 1024 * 1024
_TEXT_AT_ONCE = 256 * 1024 * 1024
_FEW_ROWS = 256
_MEASURED = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
_ZONE = re.compile(r"timestamp\[\w+, tz=([^]]+)")
_WHOLE_HOURS = re.compile(r"[+-](?:0[0-9]|1[0-2]):?00")
_IN_PLACE = frozenset({"PLAIN", "RLE", "BIT_PACKED", "RLE_DICTIONARY", "PLAIN_DICTIONARY"})
"""The encodings in which Polars does not copy a text for the rows that repeat it."""
# The start of a page header in Thrift's compact protocol: the kind of page, then its size before compression as a
# zigzag varint (seven bits per byte, lowest first; the lowest bit is the sign).
_DATA_PAGE = re.compile(rb"\x15[\x00\x06]\x15")
_DICTIONARY_PAGE = re.compile(rb"\x15\x04\x15([\x80-\xff]*[\x00-\x7f])", re.DOTALL)
_LONGEST_PAGE_SIZES = 8
_TICKS_IN_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}


def read_parquet(piece: FilePiece, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """Yields batches of the rows of row groups; groups outside the window by their statistics are only counted.

    Timestamps may be of any unit, dates, or text as in the text files; they are truncated to microseconds. A column
    `session_id` takes precedence over `request_metadata`, which is a struct or JSON text.
    Raises InputError for a missing column, one whose type cannot hold its values, or one of whose JSON objects none has
    the key that `[monitoring.columns]` names.

    Source: SPEC 1.1.
    """
    path = piece.path
    with opened_parquet(path) as source:
        refuse_replaced(piece, source.opened)
        leaves = leaves_to_read(str(path), source.file.schema_arrow, reading.names)
        _refuse_missing_keys(source, leaves, reading)
        line = piece.first_line
        wanted = source.groups[piece.start : piece.stop]
        for outside, groups in _runs_of_row_groups(source, wanted, window, leaves["timestamp"], reading.naive_zone):
            if outside:
                rows = source.rows(groups)
                yield RowBatch(str(path), pl.DataFrame(schema=CHAT_ROW_SCHEMA), (), 0, rows, rows)
                line += rows
                continue
            for batch, texts in _decoded(source, leaves, groups, line - 1):
                yield read_batch(str(path), batch, leaves, line, texts, window, reading.naive_zone)
                line += batch.num_rows
                del batch, texts  # frees their memory before the next ones are decoded


def cut_parquet(path: Path, window: Window | None, reading: Reading, piece_bytes: int) -> Iterator[FilePiece]:
    """Splits a file between row groups into pieces that have about `piece_bytes` to read; a row group is never split.

    Raises:
        InputError, OSError, ArrowException: as `read_parquet`.
    """
    with opened_parquet(path) as source:
        status, groups = source.status, source.groups
        leaves = leaves_to_read(str(path), source.file.schema_arrow, reading.names)
        start, line, first_line, size = 0, 1, 1, 0
        for outside, run in _runs_of_row_groups(source, groups, window, leaves["timestamp"], reading.naive_zone):
            for group in run:
                own = 0 if outside else source.unpacked_bytes([group])
                if size and size + own > piece_bytes:
                    yield FilePiece(path, start, group, first_line, size, status.st_ino, status.st_size)
                    start, first_line, size = group, line, 0
                size += own
                line += source.rows([group])
        yield FilePiece(path, start, None, first_line, size, status.st_ino, status.st_size)


class ParquetSource:
    """A file that is opened once for both readers, because it may be replaced meanwhile."""

    def __init__(self, path: Path, opened: BinaryIO, file: pq.ParquetFile) -> None:
        self.path, self.opened, self.file = path, opened, file
        self.status = os.fstat(opened.fileno())
        self.groups = range(file.metadata.num_row_groups)
        self._text_bytes = 0

    def rows(self, groups: Iterable[int]) -> int:
        """The rows of some row groups."""
        return sum(self.file.metadata.row_group(group).num_rows for group in groups)

    def unpacked_bytes(self, groups: Iterable[int]) -> int:
        """The bytes of the groups before compression, according to the footer; most of them are texts."""
        return sum(self.file.metadata.row_group(group).total_byte_size for group in groups)

    def chunks(self, group: int, columns: Collection[str]) -> list[pq.ColumnChunkMetaData]:
        """What the footer says of these columns in a row group.

        It is validated first, by reading no rows, which raises OSError where it is damaged, inconsistent or encrypted:
        otherwise C++ would abort the process.
        """
        schema = self.file.schema
        places = [place for place in range(len(schema)) if schema.column(place).path in columns]
        if places:  # of no column, no rows cannot be read
            next(self.file.reader.iter_batches(0, row_groups=[group], column_indices=places, use_threads=False), None)
        return [self.file.metadata.row_group(group).column(place) for place in places]

    def rows_that_fit(self, columns: Collection[str], groups: Iterable[int]) -> int:
        """The rows that fit in memory if each has the longest text that these columns may store for several."""
        longest = 1
        for group in groups:
            of_group = sum(_longest_shared_text(self.opened, chunk) for chunk in self.chunks(group, columns))
            longest = max(longest, of_group)
        return max(1, _TEXT_AT_ONCE // longest)

    def count_text(self, size: int) -> None:
        """Counts the text bytes of some rows: a repeated text counts for each row, however the file stores it.

        Raises:
            InputError: the texts are so much larger than their file that it is taken for a decompression bomb.
        """
        self._text_bytes += size
        if self._text_bytes > max(SMALL_UNPACKED, LARGEST_TEXT_RATIO * self.status.st_size):
            raise InputError(
                f"refused: {self.status.st_size:,} bytes hold {self._text_bytes:,} bytes of text and more "
                f"(at most {LARGEST_TEXT_RATIO:,} times their size)",
                where=str(self.path),
                fix="find out who made this file; one with such texts in earnest is read as JSON Lines",
            )


@contextmanager
def opened_parquet(path: Path) -> Iterator[ParquetSource]:
    """The file, open within the block."""
    with (
        path.open("rb") as opened,
        pq.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER_BYTES, coerce_int96_timestamp_unit="us") as file,
    ):
        yield ParquetSource(path, opened, file)


def _refuse_missing_keys(source: ParquetSource, leaves: Mapping[str, Leaf], reading: Reading) -> None:
    """Refuses a file of whose JSON objects none has a configured key; reads a usual file's first rows."""
    sought = SoughtKeys({name: leaf.keys for name, leaf in leaves.items()}, reading.names)
    if not sought.left:
        return
    columns = _columns([leaves[name] for name in sought.left])
    few = min(_FEW_ROWS, source.rows_that_fit(columns, source.groups))
    batches = source.file.iter_batches(few, columns=columns, use_threads=False)
    found = ({name: texts_at(batch, leaves[name]) for name in sought.left} for batch in batches)
    sought.refuse_lacking(str(source.path), found)


def _decoded(
    source: ParquetSource, leaves: Mapping[str, Leaf], groups: list[int], first_row: int
) -> Iterator[tuple[pa.RecordBatch, pl.DataFrame | None]]:
    """Yields the columns of neighbouring row groups in batches; the texts are separate if Polars has decoded them.

    The result of a group does not depend on its neighbours: if Polars cannot read something, each group is read alone.
    """
    for together in _within_memory(source, groups):
        texts = _texts(source, leaves, together, first_row)
        others = None if texts is None else _without_texts(source, leaves, together)
        if texts is not None and others is not None:
            yield from _side_by_side(source, leaves, others, texts)
        else:
            yield from ((batch, None) for batch in _copied(source, leaves, together))
        first_row += source.rows(together)
        texts = others = None  # frees their memory before the next ones are decoded


def _side_by_side(
    source: ParquetSource, leaves: Mapping[str, Leaf], others: Sequence[pa.RecordBatch], texts: pl.DataFrame
) -> Iterator[tuple[pa.RecordBatch, pl.DataFrame]]:
    """Yields the other columns with the texts of the same rows, in parts of bounded size."""
    columns = [leaf for name, leaf in leaves.items() if name not in TEXTS and holds_text(leaf.kind)]
    done = 0
    for batch in others:
        own = texts.slice(done, batch.num_rows)
        lengths = [own[name].str.len_bytes() for name in TEXTS]
        source.count_text(sum(int(one.sum()) for one in lengths))
        for start, rows in _parts([*lengths, *(_lengths(array_at(batch, leaf)) for leaf in columns)]):
            yield batch.slice(start, rows), own.slice(start, rows)
        done += batch.num_rows


def _copied(source: ParquetSource, leaves: Mapping[str, Leaf], groups: list[int]) -> Iterator[pa.RecordBatch]:
    """Yields the columns decoded by pyarrow, which copies the texts out of their pages.

    It decodes a few rows at once, which are combined to batches by the size of the copied texts.
    """
    for group in groups:
        yield from _counted(source, [*leaves.values()], [group], _FEW_ROWS, BATCH_ROWS, BATCH_BYTES // 4)


def _without_texts(source: ParquetSource, leaves: Mapping[str, Leaf], groups: list[int]) -> list[pa.RecordBatch] | None:
    """The columns other than the texts, which are small; None if one of them cannot be read."""
    rows = max(1, min(BATCH_ROWS, BATCH_BYTES * source.rows(groups) // max(1, source.unpacked_bytes(groups))))
    others = [leaf for name, leaf in leaves.items() if name not in TEXTS]
    try:
        return [*_counted(source, others, groups, rows, rows, BATCH_BYTES)]
    except (pa.ArrowException, OSError):
        return None


def _counted(
    source: ParquetSource,
    leaves: Sequence[Leaf],
    groups: Sequence[int],
    rows_at_once: int,
    batch_rows: int,
    batch_bytes: int,
) -> Iterator[pa.RecordBatch]:
    """Yields batches of these columns: decodes as many rows at once as fit in memory, and counts their text bytes."""
    columns = _columns(leaves)
    rows_at_once = min(rows_at_once, source.rows_that_fit(columns, groups))
    texts = [leaf for leaf in leaves if holds_text(leaf.kind)]
    few, size, rows = list[pa.RecordBatch](), 0, 0
    # One thread: two are not faster here, and hold twice as many pages.
    for batch in source.file.iter_batches(rows_at_once, groups, columns, use_threads=False):
        few.append(batch)
        own = sum(_text_bytes(array_at(batch, leaf)) for leaf in texts)
        source.count_text(own)
        size += own
        rows += batch.num_rows
        if size >= batch_bytes or rows >= batch_rows:
            yield pa.concat_batches(few)
            few, size, rows = [], 0, 0
    if few:
        yield pa.concat_batches(few)


def _columns(leaves: Iterable[Leaf]) -> list[str]:
    return list(dict.fromkeys(".".join(leaf.path) for leaf in leaves))


def _longest_shared_text(opened: BinaryIO, chunk: pq.ColumnChunkMetaData) -> int:
    """The maximum bytes of a text that a column chunk stores once for several rows: in a dictionary, or as a prefix."""
    if chunk.physical_type != "BYTE_ARRAY":
        return 0
    if "DELTA_BYTE_ARRAY" in chunk.encodings:
        return int(chunk.total_uncompressed_size)
    opened.seek(max(0, chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset))
    header = opened.read(_LONGEST_PAGE_SIZES)
    if _DATA_PAGE.match(header):
        return 0
    size = _DICTIONARY_PAGE.match(header)
    digits = enumerate(size[1]) if size else ()
    return sum((digit & 127) << 7 * place for place, digit in digits) >> 1 or int(chunk.total_uncompressed_size)


def _parts(columns: Sequence[pl.Series]) -> Iterator[tuple[int, int]]:
    """Splits a batch into parts of about BATCH_BYTES; yields the first row and the number of rows of each.

    `columns` has the lengths in bytes of the texts of each column.
    """
    lengths = reduce(add, (one.cast(pl.Int64).fill_null(0) for one in columns))
    if lengths.sum() <= 2 * BATCH_BYTES:
        yield 0, len(lengths)
        return
    rows = ((lengths.cum_sum() - lengths) // BATCH_BYTES).rle().struct["len"]
    yield from zip(rows.cum_sum() - rows, rows, strict=True)


def _text_bytes(array: pa.Array) -> int:
    """The bytes of all texts of a column, counting a repeated text for each row; of a plain array also its offsets."""
    return int(_lengths(array).sum()) if types.is_dictionary(array.type) else int(array.nbytes)


def _lengths(array: pa.Array) -> pl.Series:
    """The length of each text of a column in bytes; NULL for NULL."""
    texts = array.dictionary if types.is_dictionary(array.type) else array
    lengths = pc.binary_length(texts if texts.type in _MEASURED else texts.cast(pa.large_binary()))
    return pl.Series(lengths if texts is array else lengths.take(array.indices))


def _within_memory(source: ParquetSource, groups: list[int]) -> Iterator[list[int]]:
    """Yields neighbouring groups, as many at once as fit in memory together; a larger one comes alone."""
    together: list[int] = []
    size = 0
    for group in groups:
        own = source.unpacked_bytes([group])
        if together and size + own > _BYTES_AT_ONCE:
            yield together
            together, size = [], 0
        together.append(group)
        size += own
    yield together


def _texts(source: ParquetSource, leaves: Mapping[str, Leaf], groups: list[int], first_row: int) -> pl.DataFrame | None:
    """The two text columns of the groups, validated as UTF-8; None if pyarrow has to read them.

    That is the case if they are too large for memory, not of a plain text type, in an encoding whose texts Polars would
    copy, or unreadable: pyarrow then identifies the row. Any column with an unknown time zone or with list views would
    make Polars panic and print a message.
    """
    plain = (pa.string(), pa.large_string(), pa.string_view())
    found = {name: leaves[name] for name in TEXTS}
    if any(leaf.kind not in plain or leaf.keys or len(leaf.path) > 1 for leaf in found.values()):
        return None
    kinds = " ".join(str(field.type) for field in source.file.schema_arrow)  # also those within structs
    if "list_view<" in kinds or any(map(_is_unknown_zone, _ZONE.findall(kinds))):
        return None
    if source.unpacked_bytes(groups) > _BYTES_AT_ONCE:
        return None
    names = {leaf.path[0] for leaf in found.values()}
    if not all(_IN_PLACE.issuperset(chunk.encodings) for group in groups for chunk in source.chunks(group, names)):
        return None
    try:
        source.opened.seek(0)  # Polars reads the file from the current position
        rows = pl.scan_parquet(source.opened).select(pl.col(leaf.path[0]).alias(name) for name, leaf in found.items())
        texts = rows.slice(first_row, source.rows(groups)).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None
    # A damaged footer may call them bytes, or tell Polars of fewer rows.
    return texts if set(texts.dtypes) == {pl.String} and texts.height == source.rows(groups) else None


def _is_unknown_zone(zone: str) -> bool:
    """Whether Polars may not know a time zone; it knows the fixed offsets that are in the time zone database."""
    if _WHOLE_HOURS.fullmatch(zone):
        return False
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):  # ValueError: a name that could be a path
        return True
    return False


def _runs_of_row_groups(
    source: ParquetSource, wanted: Sequence[int], window: Window | None, leaf: Leaf, naive_zone: str
) -> Iterator[tuple[bool, list[int]]]:
    """Yields runs of neighbouring row groups: whether they are certainly outside the window, and their numbers."""
    path = ".".join(leaf.path)
    columns = map(source.file.schema.column, range(len(source.file.schema)))
    timestamp = next(column for column in columns if column.path == path)
    unit = json.loads(timestamp.logical_type.to_json()).get("timeUnit")
    if naive_zone != UTC_ZONE and getattr(leaf.kind, "tz", None) is None:
        unit = None  # the statistics are local times

    def outside(group: int) -> bool:
        (chunk,) = source.chunks(group, [path])
        if window is None or chunk.physical_type != timestamp.physical_type:  # C++ would abort
            return False
        return _surely_outside(chunk.statistics, _TICKS_IN_SECOND.get(unit), window)

    for is_outside, groups in groupby(wanted, outside):
        yield is_outside, list(groups)


def _surely_outside(statistics: pq.Statistics | None, ticks: int | None, window: Window) -> bool:
    """Whether certainly no row of the group is in the window. A NULL timestamp always is: a later stage rejects it."""
    if ticks is None or statistics is None or not statistics.has_min_max:
        return False
    if not statistics.has_null_count or statistics.null_count:
        return False
    # Raw integers, because pyarrow imports pandas to convert them to datetimes.
    first, last = (raw * 1_000_000 // ticks for raw in (statistics.min_raw, statistics.max_raw))
    return bool(first >= microseconds_of(window.end) or last < microseconds_of(window.start))
