"""What reads whole blocks of text files gives the same rows and rejects as what reads them row by row."""

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.chat.reading import AS_IT_IS, Reading, column_places
from scoring.chat.rows import CHAT_ROW_SCHEMA, RowBatch, RowBuilder
from scoring.days import Window, day_window
from scoring.errors import InputError
from tasks.chat.sources import delimited, json_lines
from tasks.chat.sources.json_objects import json_objects
from tasks.chat.sources.pieces import FilePiece, cut_lines
from tasks.files.csv_reader import DelimitedRows, DelimitedText
from tests.builders.chat_rows import DAY, plain
from tests.fuzz.mutations import NASTY_TEXTS, mutated_bytes, mutated_lines, mutated_rows
from tests.fuzz.mutations import delimited as written

SEOUL = Reading(naive_zone="Asia/Seoul")
TIMES = (
    *("2026-02-13T03:00:00Z", "2026-02-13 03:00:00.123456 UTC", "2026-02-13T12:00:00+09:00"),
    *(
        "2026-02-13T03:00:00.5-0000",
        "2026-02-13",
        "2026-02-13T03:00:00",
        "2026-02-30T00:00:00Z",
        "2026-02-13T24:00:00Z",
    ),
    *("2026-02-13T23:59:60Z", " ", "", "0001-01-01T00:00:00+01:00", "2026-02-13T03:00:00.1234567Z"),
    *("2026-02-13T03:00:00 +09:00", "2026-02-13t03:00:00z", "2026-02-13T03:00:00+09"),
)
NUMBERS = (
    *("1", "-1", "0", "-0", "1.5", "1e3", " 7 ", "nan", "inf", "", "1_000", "١"),
    *("12345678901234567890", "0.1234567", "999999999999999.999999"),
)
TEXTS = ('a "quoted" word', "line\nbreak", "a,b\tc", "", " ", "끝\r\n", '"', "가나다", *NASTY_TEXTS[:12])


def drawn_rows(draw: random.Random) -> list[dict[str, object]]:
    """A few rows whose cells are written in every way that people and programs do."""
    return [
        plain(
            number,
            user_input=draw.choice(TEXTS),
            llm_response=draw.choice(TEXTS) * draw.randint(1, 30),
            timestamp=draw.choice(TIMES) if draw.random() < 0.3 else f"2026-02-13T03:{number:02}:00Z",
            output_tokens=draw.choice(NUMBERS) if draw.random() < 0.3 else str(number),
            request_metadata=draw.choice(("", "{}", '{"session_id": "s"}', '{"session_id": 5}', "{")),
        )
        for number in range(draw.randint(1, 30))
    ]


def as_csv(draw: random.Random) -> bytes:
    """A CSV file, sometimes damaged."""
    rows = drawn_rows(draw)
    names = [name for name in rows[0] if name != draw.choice(("session_id", "request_metadata"))]
    table = [names, *([str(row[name]) for name in names] for row in rows)]
    if draw.random() < 0.3:
        return written([names, *mutated_rows(table[1:], draw)], draw, ",")
    quoting: Literal[0, 1] = draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator=draw.choice(("\n", "\r\n"))).writerows(table)
    data = text.getvalue().encode()
    start = data.index(b"\n") + 1
    return data[:start] + mutated_bytes(data[start:], draw, 2) if draw.random() < 0.5 else data


def as_json_lines(draw: random.Random) -> bytes:
    """A JSON Lines file, sometimes damaged; numbers are numbers in most of them."""
    rows = drawn_rows(draw)
    for row in rows:
        row["output_tokens"] = (
            draw.choice((1, 2.5, -0.0, 0, 10**17 + 1, 10**400, None, 1e400)) if draw.random() < 0.3 else 7
        )
        metadata = draw.choice((None, {"session_id": "m", "x": [1, {}]}, {"session_id": None}, {}))
        row["request_metadata"] = metadata if draw.random() < 0.9 else row["request_metadata"]
        if draw.random() < 0.7:
            del row["session_id" if draw.random() < 0.8 else "tenant_id"]
        if draw.random() < 0.1:
            row["extra"] = draw.choice((json.loads("[" * 900 + "]" * 900), 10**4200, {"session_id": 1}, "-0"))
    if draw.random() < 0.3:
        return mutated_lines(rows, draw)
    data = "".join(json.dumps(row, ensure_ascii=draw.random() < 0.5) + "\n" for row in rows).encode()
    return mutated_bytes(data, draw, 2) if draw.random() < 0.5 else data


Found = tuple[pl.DataFrame, list[object], int, int, int]


def all_of(batches: Iterator[RowBatch]) -> Found:
    """Rows, rejects and counts of all batches."""
    found = [*batches]
    rejects = sorted((reject for batch in found for reject in batch.rejects), key=lambda reject: reject.line or 0)
    naive, rows_in = sum(batch.naive_timestamps for batch in found), sum(batch.rows_in for batch in found)
    frames = [pl.DataFrame(schema=CHAT_ROW_SCHEMA), *(batch.rows for batch in found)]
    return pl.concat(frames), [*rejects], naive, rows_in, sum(batch.outside_window for batch in found)


def csv_row_by_row(path: Path, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """All rows by the csv module."""
    text = DelimitedText(path)
    places = column_places(str(path), text.columns, reading.names)
    columns = {name: (text.columns.index(place.column), place.keys) for name, place in places.items()}
    with text.opened() as file:
        rows = DelimitedRows(text, file, text.below_header)
        yield from RowBuilder(str(path), window, reading.naive_zone).batches(delimited._row_by_row(rows, columns))


def json_line_by_line(path: Path, window: Window | None, reading: Reading) -> Iterator[RowBatch]:
    """All lines by the json module."""
    with path.open("rb") as file:
        yield from RowBuilder(str(path), window, reading.naive_zone).batches(json_objects(FilePiece(path), file))


def assert_equal(found: Found, expected: Found) -> None:
    assert found[1:] == expected[1:]
    assert found[0].equals(expected[0])
    assert str(found[0].to_dict()) == str(expected[0].to_dict())  # tells 0 from -0


def check_csv(seed: int) -> None:
    """Blocks and pieces of any size against the csv module."""
    draw = random.Random(seed)
    window, reading = draw.choice((None, day_window(DAY, "Asia/Seoul"))), draw.choice((AS_IT_IS, SEOUL))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "rows.csv"
        path.write_bytes(as_csv(draw))
        try:
            expected = all_of(csv_row_by_row(path, window, reading))
        except InputError:
            return  # the header is gone
        for block_bytes in (10**6, 2_000, 300):
            patch.setattr(delimited, "BLOCK_BYTES", block_bytes)
            assert_equal(all_of(delimited.read_delimited(FilePiece(path), window, reading)), expected)
            pieces = delimited.cut_delimited(path, draw.choice((500, 5_000)))
            apart = (batch for piece in pieces for batch in delimited.read_delimited(piece, window, reading))
            assert_equal(all_of(apart), expected)


def check_json(seed: int) -> None:
    """Blocks and pieces of any size against the json module."""
    draw = random.Random(seed)
    window, reading = draw.choice((None, day_window(DAY, "Asia/Seoul"))), draw.choice((AS_IT_IS, SEOUL))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(as_json_lines(draw))
        expected = all_of(json_line_by_line(path, window, reading))
        try:
            for block_bytes in (10**6, 2_000, 300):
                patch.setattr(json_lines, "BLOCK_BYTES", block_bytes)
                assert_equal(all_of(json_lines.read_json_lines(FilePiece(path), window, reading)), expected)
                pieces = cut_lines(path, draw.choice((500, 5_000)))
                apart = (batch for piece in pieces for batch in json_lines.read_json_lines(piece, window, reading))
                assert_equal(all_of(apart), expected)
        except InputError:
            return  # no line has all keys


@pytest.mark.parametrize("check", [check_csv, check_json])
@given(seed=st.integers(0, 2**32))
def test_plain_text_is_read_as_row_by_row(check: Callable[[int], None], seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_plain_csv_needs_no_csv_module(ending: str, quoting: Literal[0, 1], tmp_path: Path) -> None:
    rows = [plain(number, llm_response='줄\n"바꿈", 끝') for number in range(3)]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [*rows[0]], lineterminator=ending, quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    path = tmp_path / "rows.csv"
    path.write_bytes(text.getvalue().encode())
    table = DelimitedText(path)
    block = path.read_bytes()[table.below_header.position :]
    found = delimited._plain_rows(block, table)
    assert found and found.rows == 3 and found.size == len(block)


def test_plain_json_needs_no_json_module() -> None:
    lines = [json.dumps(plain(number), ensure_ascii=bool(number)) for number in range(3)]
    table = json_lines._plain_table(bytearray("\n".join(lines).encode()))
    assert table and table.num_rows == 3
