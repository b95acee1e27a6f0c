from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.chat.reading import READ_COLUMNS
from scoring.chat.rows import CHAT_ROW_SCHEMA, FileFailure, RowBatch
from scoring.days import Window
from tasks.chat.sources import ChatRowFiles
from tests.builders.row_files import failure, read, rejects, rows

MOMENT = datetime(2026, 2, 13, 16, 44, 52, tzinfo=UTC)
DAY = Window(datetime(2026, 2, 13, tzinfo=UTC), datetime(2026, 2, 14, tzinfo=UTC))
TEXT_TYPES = [
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()),
    *(pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.large_string())),
]


def parquet(folder: Path, columns: dict[str, Any] | None = None, rows: int = 1, **options: Any) -> Path:
    usual = {
        "user_input": ["질문"] * rows,
        "llm_response": ["답"] * rows,
        "input_tokens": [10.0] * rows,
        "output_tokens": [5.0] * rows,
        "timestamp": pa.array([MOMENT] * rows, pa.timestamp("us", "UTC")),
    }
    table = {name: values for name, values in {**usual, **(columns or {})}.items() if values is not None}
    path = folder / "rows.parquet"
    pq.write_table(pa.table(table), path, **options)
    return path


def test_parquet_row_becomes_a_row_of_the_schema(tmp_path: Path) -> None:
    (batch,) = read(parquet(tmp_path, {"tenant_id": ["t"], "x_enc_data": ["secret"]}))
    assert batch.rows.schema == CHAT_ROW_SCHEMA
    assert list(batch.rows.to_dicts()[0].values()) == ["질문", "답", 10.0, 5.0, MOMENT, "t", None, None, 1]


@pytest.mark.parametrize("kind", TEXT_TYPES, ids=str)
def test_texts_of_every_layout_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array(["가 \0\r\n", "", None], pa.string())
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    column = texts.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else texts.cast(kind)
    assert binary or column.to_pylist() == texts.to_pylist()
    found = rows(parquet(tmp_path, {"user_input": column, "tenant_id": column}, rows=3))
    assert [row["user_input"] for row in found] == texts.to_pylist()
    assert [row["tenant_id"] for row in found] == texts.to_pylist()


@pytest.mark.parametrize(
    "options",
    [
        *({"compression": codec} for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd")),
        {"use_dictionary": False},
        {"use_dictionary": False, "column_encoding": {"user_input": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "column_encoding": {"user_input": "DELTA_LENGTH_BYTE_ARRAY"}},
        {"data_page_version": "2.0", "data_page_size": 512},
        {"version": "1.0", "dictionary_pagesize_limit": 64},
    ],
    ids=str,
)
@pytest.mark.parametrize("rows_in_group", [pytest.param(7, marks=pytest.mark.long), 100, 1_000])
def test_texts_are_the_same_in_small_and_in_large_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], rows_in_group: int
) -> None:
    texts = [(None, "", "짧다", "열두 바이트가 넘는 글 😀\0\r\n", "긴 글 " * 300)[number % 5] for number in range(299)]
    answers = [f"{number}" for number in range(299)]
    columns = {"user_input": texts, "llm_response": answers}
    path = parquet(tmp_path, columns, rows=299, row_group_size=rows_in_group, **options)
    # However large a group is, its texts are read as those of one that is too large to be held.
    monkeypatch.setattr("tasks.chat.sources.parquet._BYTES_AT_ONCE", 0)
    paged = rows(path)
    monkeypatch.undo()
    assert [(row["user_input"], row["llm_response"]) for row in paged] == list(zip(texts, answers, strict=True))
    for batch_rows in (10, 8_192):
        monkeypatch.setattr("tasks.chat.sources.parquet.BATCH_ROWS", batch_rows)
        assert rows(path) == paged


def test_texts_of_small_row_groups_are_all_decoded_the_fast_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path, rows=100, row_group_size=7)
    monkeypatch.setattr("tasks.chat.sources.parquet._BYTES_AT_ONCE", 1_000)  # several groups at once, not all
    monkeypatch.delattr("scoring.chat.arrow_rows._text_column")  # the slow way, which would hide a failure of the other
    assert len(rows(path)) == 100


def test_file_that_is_replaced_while_it_is_read_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.chat.sources.parquet._BYTES_AT_ONCE", 1_000)
    path = parquet(tmp_path, rows=100, row_group_size=7)
    batches = ChatRowFiles([path]).batches()
    found = [next(batches)]
    (tmp_path / "new").mkdir()
    parquet(tmp_path / "new", {"user_input": ["새 질문"] * 100}, rows=100, row_group_size=7).replace(path)
    found += batches
    read_rows = [row for batch in found if isinstance(batch, RowBatch) for row in batch.rows.to_dicts()]
    assert len(found) > 2 and [row["user_input"] for row in read_rows] == ["질문"] * 100


@pytest.mark.parametrize("name", ["day=2026-02-13/rows.parquet", "[a].parquet", "*.parquet", "a{b,c}?.parquet"])
def test_names_of_files_mean_nothing(tmp_path: Path, name: str) -> None:
    parquet(tmp_path, {"user_input": ["이 파일"]})
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    (tmp_path / "rows.parquet").rename(path)
    parquet(tmp_path, {"user_input": ["다른 파일"]}).rename(path.with_name("a.parquet"))
    assert [row["user_input"] for row in rows(path)] == ["이 파일"]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Seoul"])
def test_timestamps_of_every_unit_and_zone(tmp_path: Path, unit: str, zone: str | None) -> None:
    column = pa.array([MOMENT, None], pa.timestamp("us", "UTC")).cast(pa.int64()).cast(pa.timestamp("us", zone))
    (batch,) = read(parquet(tmp_path, {"timestamp": column.cast(pa.timestamp(unit, zone))}, rows=2))
    assert batch.rows["timestamp"].to_list() == [MOMENT, None]
    assert batch.naive_timestamps == (1 if zone is None else 0)


@pytest.mark.parametrize("zone", ["Mars/Base", "+05:30", "-03:30", "+09:00"])
def test_zone_that_some_library_does_not_know_is_read_in_silence(tmp_path: Path, zone: str, capfd: Any) -> None:
    at = pa.array([MOMENT], pa.timestamp("us", zone))
    for columns in ({"timestamp": at}, {"trace": pa.StructArray.from_arrays([at], ["at"])}):
        assert [row["timestamp"] for row in rows(parquet(tmp_path, columns))] == [MOMENT]
    assert capfd.readouterr().err == ""


def test_nanoseconds_are_cut_to_microseconds_also_before_1970(tmp_path: Path) -> None:
    column = pa.array([1_999, -1], pa.timestamp("ns", "UTC"))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    found = [row["timestamp"] for row in rows(parquet(tmp_path, {"timestamp": column}, rows=2))]
    assert found == [epoch + timedelta(microseconds=1), epoch - timedelta(microseconds=1)]


def test_old_96_bit_timestamps_are_read_in_all_their_years(tmp_path: Path) -> None:
    column = pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp("ns"))
    (batch,) = read(parquet(tmp_path, {"timestamp": column}, use_deprecated_int96_timestamps=True))
    assert (batch.rows["timestamp"].to_list(), batch.naive_timestamps) == ([MOMENT], 1)


def test_dates_are_midnight_without_zone(tmp_path: Path) -> None:
    for kind in (pa.date32(), pa.date64()):
        (batch,) = read(parquet(tmp_path, {"timestamp": pa.array([date(2026, 2, 13)], kind)}))
        assert batch.rows["timestamp"].to_list() == [DAY.start]
        assert batch.naive_timestamps == 1


def test_timestamps_may_be_texts_with_and_without_zone(tmp_path: Path) -> None:
    texts = ["2026-02-13 16:44:52 UTC", "2026-02-13T16:44:52", None, "어제"]
    (batch,) = read(parquet(tmp_path, {"timestamp": texts}, rows=4))
    assert batch.rows["timestamp"].to_list() == [MOMENT, MOMENT, None]
    assert batch.naive_timestamps == 1
    assert [(found.line, found.code) for found in batch.rejects] == [(4, "not_a_timestamp")]


@pytest.mark.parametrize(
    ("unit", "per_second"),
    [("ms", 1_000), ("us", 1_000_000)],
)
def test_moments_that_have_no_date_in_some_zone_are_rejected(tmp_path: Path, unit: str, per_second: int) -> None:
    first, after_last = -62_135_510_400 * per_second, 253_402_214_400 * per_second
    column = pa.array([first, first - 1, after_last - 1, after_last, None], pa.timestamp(unit, "UTC"))
    (batch,) = read(parquet(tmp_path, {"timestamp": column}, rows=5), None)
    assert [(found.line, found.code) for found in batch.rejects] == [
        (2, "timestamp_out_of_range"),
        (4, "timestamp_out_of_range"),
    ]
    assert batch.rows["line"].to_list() == [1, 3, 5]


def test_statistics_beyond_the_years_of_python_do_not_stop_a_window(tmp_path: Path) -> None:
    column = pa.array([300_000_000_000_000, 1_770_000_000_000], pa.timestamp("ms", "UTC"))
    assert [found.line for found in rejects(parquet(tmp_path, {"timestamp": column}, rows=2), DAY)] == [1]


@pytest.mark.parametrize(
    "column",
    [
        *(pa.array([12, None], pa.int64()), pa.array([12, None], pa.uint8()), pa.array([12, None], pa.float32())),
        *(
            pa.array([Decimal("12.00"), None], pa.decimal128(9, 2)),
            pa.array(["12", ""]),
            pa.array([12, None], pa.float16()),
        ),
        pa.array(["12.0", None]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_every_type_are_float64(tmp_path: Path, column: pa.Array) -> None:
    found = rows(parquet(tmp_path, {"input_tokens": column}, rows=2))
    assert [row["input_tokens"] for row in found] == [12.0, None]


def test_nan_tokens_are_null_and_infinite_ones_stay(tmp_path: Path) -> None:
    found = rows(parquet(tmp_path, {"output_tokens": [float("nan"), float("inf"), -1.0]}, rows=3))
    assert [row["output_tokens"] for row in found] == [None, float("inf"), -1.0]


def test_numbers_in_texts_that_are_none_reject_their_rows(tmp_path: Path) -> None:
    columns = {"input_tokens": ["1", "many", "3"], "output_tokens": ["x", "y", "3"]}
    assert [(found.line, found.column) for found in rejects(parquet(tmp_path, columns, rows=3))] == [
        (1, "output_tokens"),
        (2, "input_tokens"),
    ]


def test_column_that_is_null_throughout_may_have_no_type(tmp_path: Path) -> None:
    nothing = pa.nulls(1)
    names = [name for name in READ_COLUMNS if name != "request_metadata"]
    assert list(rows(parquet(tmp_path, dict.fromkeys(names, nothing)))[0].values()) == [*[None] * 8, 1]


def test_text_that_is_no_utf8_rejects_its_row_only(tmp_path: Path) -> None:
    raw = pa.array(["가".encode(), b"ab\xb0", None, "나".encode()])
    broken = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    path = parquet(tmp_path, {"llm_response": broken}, rows=4)
    assert [row["llm_response"] for row in rows(path)] == ["가", None, "나"]
    (found,) = rejects(path)
    assert (found.line, found.column, found.code) == (2, "llm_response", "broken_encoding")
    assert "0xB0" in found.reason and "3번째 글자" in found.reason


METADATA = pa.struct([("session_id", pa.string()), ("x_enc_data", pa.string())])


@pytest.mark.parametrize(
    ("columns", "sessions"),
    [
        ({"session_id": ["s", None]}, ["s", None]),
        ({"session_id": [7, None]}, ["7", None]),
        ({"request_metadata": pa.array([{"session_id": "s", "x_enc_data": "z"}, None], METADATA)}, ["s", None]),
        ({"request_metadata": pa.array([{"x_enc_data": "z"}, None])}, [None, None]),
        ({"request_metadata": ['{"session_id": "s"}', "damaged"]}, ["s", None]),
        ({"session_id": ["s", None], "request_metadata": ['{"session_id": "m"}'] * 2}, ["s", None]),
        ({}, [None, None]),
    ],
)
def test_parquet_gives_the_session_of_its_column_else_of_the_metadata(
    tmp_path: Path, columns: dict[str, Any], sessions: list[str | None]
) -> None:
    assert [row["session_id"] for row in rows(parquet(tmp_path, columns, rows=2))] == sessions


def test_null_struct_hides_the_session_below_it(tmp_path: Path) -> None:
    below = pa.array(["hidden", "s"])
    metadata = pa.StructArray.from_arrays([below], ["session_id"], mask=pa.array([True, False]))
    assert [row["session_id"] for row in rows(parquet(tmp_path, {"request_metadata": metadata}, rows=2))] == [None, "s"]


@pytest.mark.parametrize("missing", ["user_input", "llm_response", "timestamp", "input_tokens", "output_tokens"])
def test_parquet_without_a_required_column_is_refused_by_name(tmp_path: Path, missing: str) -> None:
    message = failure(parquet(tmp_path, {missing: None}))
    assert f"missing: {missing}; found " in message


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        ("user_input", [1], "user_input is int64, expected text"),
        ("input_tokens", [True], "input_tokens is bool, expected a number"),
        ("timestamp", [1770000000], "timestamp is int64, expected a timestamp, a date or text"),
        ("tenant_id", [["t"]], "tenant_id is list<element: string>, expected text"),
        ("request_metadata", [{"session_id": [1]}], "expected a struct with a session_id of text, or JSON text"),
    ],
)
def test_column_of_an_impossible_type_is_refused(tmp_path: Path, name: str, column: Any, said: str) -> None:
    assert said in failure(parquet(tmp_path, {name: column}))


def test_all_columns_of_impossible_types_are_named_at_once(tmp_path: Path) -> None:
    message = failure(parquet(tmp_path, {"input_tokens": [True], "output_tokens": [b"x".hex() == ""]}))
    assert "input_tokens is bool" in message and "output_tokens is bool" in message


def test_doubled_columns_are_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.append_column("user_input", table["user_input"]), path)
    assert "more than once: user_input" in failure(path)


@pytest.mark.parametrize("kept", [0, 3, 100, -1])
def test_truncated_parquet_is_one_clear_error(tmp_path: Path, kept: int) -> None:
    path = parquet(tmp_path, rows=50)
    path.write_bytes(path.read_bytes()[:kept])
    assert "cannot be read: expected a whole table (.parquet)" in failure(path)


def damage(path: Path, group: int) -> None:
    """Overwrites the answers of one row group, as a bad disk would."""
    metadata = pq.read_metadata(path).row_group(group)
    chunk = next(
        metadata.column(number) for number in range(5) if metadata.column(number).path_in_schema == "llm_response"
    )
    content = bytearray(path.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)


def three_days(folder: Path, nulls: bool = False) -> Path:
    """A row group a day from the 12th to the 14th, ten rows each."""
    moments = [MOMENT + timedelta(days=day) for day in (-1, 0, 1) for _ in range(10)]
    column = [None if nulls and number == 5 else moment for number, moment in enumerate(moments)]
    timestamps = pa.array(column, pa.timestamp("us", "UTC"))
    return parquet(folder, {"timestamp": timestamps}, rows=30, row_group_size=10)


def test_damage_in_the_middle_keeps_what_was_read_before(tmp_path: Path) -> None:
    path = parquet(tmp_path, rows=20_000, row_group_size=10_000)
    damage(path, group=1)
    *batches, failed = ChatRowFiles([path]).batches()
    assert isinstance(failed, FileFailure)
    assert "cannot be read" in str(failed.error)
    assert batches and all(isinstance(batch, RowBatch) for batch in batches)


def test_row_groups_outside_the_window_are_counted_without_being_read(tmp_path: Path) -> None:
    path = three_days(tmp_path)
    damage(path, group=0)
    damage(path, group=2)
    batches = read(path, DAY)
    assert sum(batch.rows_in for batch in batches) == 30
    assert sum(batch.outside_window for batch in batches) == 20
    assert [line for batch in batches for line in batch.rows["line"].to_list()] == list(range(11, 21))


def test_row_group_with_a_null_timestamp_is_read(tmp_path: Path) -> None:
    batches = read(three_days(tmp_path, nulls=True), DAY)
    assert [line for batch in batches for line in batch.rows["line"].to_list()] == [6, *range(11, 21)]
    assert sum(batch.outside_window for batch in batches) == 19


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("zone", ["UTC", None, "Asia/Seoul"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_window_is_half_open_with_and_without_statistics(
    tmp_path: Path, statistics: bool, zone: str | None, unit: str
) -> None:
    ticks = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[unit]
    start, end = (int(moment.timestamp()) * ticks for moment in (DAY.start, DAY.end))
    column = pa.array([start - 1, start, end - 1, end], pa.timestamp(unit, zone))
    path = parquet(tmp_path, {"timestamp": column}, rows=4, row_group_size=1, write_statistics=statistics)
    assert [row["line"] for row in rows(path, DAY)] == [2, 3]


def test_damaged_rows_outside_the_window_are_left_out(tmp_path: Path) -> None:
    columns = {"input_tokens": ["many", "many"], "timestamp": ["2026-02-13Z", "2026-02-20Z"]}
    (batch,) = read(parquet(tmp_path, columns, rows=2), DAY)
    assert ([found.line for found in batch.rejects], batch.outside_window) == ([1], 1)


def test_parquet_without_rows_is_a_day_without_rows(tmp_path: Path) -> None:
    assert rows(parquet(tmp_path, rows=0), DAY) == []


def test_many_row_groups_are_read_in_order(tmp_path: Path) -> None:
    path = parquet(tmp_path, {"user_input": [str(number) for number in range(100)]}, rows=100, row_group_size=7)
    assert [(row["line"], row["user_input"]) for row in rows(path)] == [(n + 1, str(n)) for n in range(100)]


def test_column_whose_name_is_no_utf8_is_a_failure_of_its_file(tmp_path: Path) -> None:
    path = parquet(tmp_path, {"another": [1]}, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"another", b"an\xff\xfeher"))
    assert "expected a whole table (.parquet), found: a column whose name is no UTF-8" in failure(path)


@pytest.mark.parametrize("window", [None, DAY])
@pytest.mark.parametrize("name", ["footer_that_contradicts_itself", "footer_of_an_unknown_type"])
def test_footer_that_contradicts_itself_is_a_failure_of_its_file(name: str, window: Window | None) -> None:
    path = Path(f"tests/fuzz/corpus/chat_{name}.parquet").resolve()
    (failure,) = ChatRowFiles([path]).batches(window)
    assert isinstance(failure, FileFailure)
    assert "expected a whole table (.parquet)" in failure.error.what
