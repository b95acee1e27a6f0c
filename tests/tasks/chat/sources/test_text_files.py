import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scoring.chat.reading import Reading
from scoring.chat.rows import BATCH_ROWS, CHAT_ROW_SCHEMA, RowBatch
from scoring.days import Window
from tasks.chat.sources import ChatRowFiles
from tests.builders.row_files import failure, read, rejects, rows

HEADER = "user_input,llm_response,input_tokens,output_tokens,timestamp"
DAY = Window(datetime(2026, 2, 13, tzinfo=UTC), datetime(2026, 2, 14, tzinfo=UTC))


def csv_file(folder: Path, *lines: str, header: str = HEADER, encoding: str = "utf-8") -> Path:
    path = folder / "rows.csv"
    path.write_bytes("\n".join([header, *lines, ""]).encode(encoding))
    return path


def json_file(folder: Path, *rows: object) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def turn(**changes: object) -> dict[str, object]:
    usual = {"user_input": "질문", "llm_response": "답", "input_tokens": 10, "output_tokens": 5}
    return {**usual, "timestamp": "2026-02-13T01:00:00Z", **changes}


def test_csv_row_becomes_a_row_of_the_schema(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "질문,답,10,5.5,2026-02-13T16:44:52Z")
    (batch,) = read(path)
    assert batch.rows.schema == CHAT_ROW_SCHEMA
    moment = datetime(2026, 2, 13, 16, 44, 52, tzinfo=UTC)
    assert list(batch.rows.to_dicts()[0].values()) == ["질문", "답", 10.0, 5.5, moment, None, None, None, 2]


def test_empty_csv_cells_are_empty_texts_and_null_elsewhere(tmp_path: Path) -> None:
    path = csv_file(tmp_path, ",,,,2026-02-13Z,,,", header=f"{HEADER},tenant_id,session_id,source_id")
    (row,) = rows(path)
    assert list(row.values()) == ["", "", None, None, datetime(2026, 2, 13, tzinfo=UTC), None, None, None, 2]


@pytest.mark.parametrize(("name", "delimiter"), [("rows.csv", ","), ("rows.tsv", "\t")])
def test_rows_of_empty_cells_are_blank_lines(tmp_path: Path, name: str, delimiter: str) -> None:
    lines = [
        f"{HEADER},id",
        "a,b,1,1,2026-02-13Z,1",
        ",,,,,",
        " ,,,,, ",
        "",
        ",,,,,7",
        "c,d,1,1,2026-02-13Z,2",
        ",,,,,",
    ]
    path = tmp_path / name
    path.write_text("\n".join(lines).replace(",", delimiter), encoding="utf-8")
    (batch,) = read(path)
    assert (batch.rows_in, len(batch.rejects)) == (3, 0)
    assert [row["line"] for row in batch.rows.to_dicts()] == [2, 6, 7]


def test_csv_columns_stand_in_any_order_and_others_are_ignored(tmp_path: Path) -> None:
    header = "x_enc_data,timestamp,tenant_id,output_tokens,llm_response,session_id,input_tokens,user_input"
    (row,) = rows(csv_file(tmp_path, "secret,2026-02-13 UTC,t,5,답,s,10,질문", header=header))
    assert [row[name] for name in ("user_input", "llm_response", "input_tokens", "tenant_id", "session_id")] == [
        *("질문", "답", 10.0, "t", "s")
    ]
    assert "secret" not in row.values()


@pytest.mark.parametrize("unseen", ["\u200b", "\xa0", "\ufeff", "\u2060 ", "\u200e\t"])
def test_csv_columns_are_found_whatever_is_unseen_around_their_names(tmp_path: Path, unseen: str) -> None:
    header = ",".join(f"{unseen}{name}{unseen}" for name in HEADER.split(","))
    (row,) = rows(csv_file(tmp_path, f"{unseen}질문,답{unseen},1,1,2026-02-13Z", header=header))
    assert (row["user_input"], row["llm_response"]) == (f"{unseen}질문", f"답{unseen}")
    named = csv_file(tmp_path, "질문,답,1,1,2026-02-13Z", header=header.replace("user_input", f"question{unseen}"))
    for called in ("question", f"question{unseen}"):
        (batch,) = ChatRowFiles([named], reading=Reading({"user_input": called})).batches()
        assert isinstance(batch, RowBatch)
        assert batch.rows["user_input"].to_list() == ["질문"]


def test_csv_line_counts_line_breaks_inside_texts(tmp_path: Path) -> None:
    path = csv_file(tmp_path, '"a\nb","c\n\nd",1,1,2026-02-13Z', "e,f,1,1,2026-02-13Z")
    assert [row["line"] for row in rows(path)] == [2, 6]


def test_cp949_is_read_as_korean_excel_saves_it(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "비츠로 전망은?,상승,1,1,2026-02-13Z", encoding="cp949")
    assert rows(path)[0]["user_input"] == "비츠로 전망은?"


def test_tsv_is_split_at_tabs(tmp_path: Path) -> None:
    path = tmp_path / "rows.TSV"
    path.write_text(HEADER.replace(",", "\t") + "\na, b\tc\t1\t2\t2026-02-13Z\n")
    assert rows(path)[0]["user_input"] == "a, b"


@pytest.mark.parametrize(
    ("header", "cell", "session"),
    [
        ("session_id", "s1", "s1"),
        ("request_metadata", '"{""session_id"": ""s2"", ""x_enc_data"": ""zz""}"', "s2"),
        ("request_metadata", "damaged", None),
        ("request_metadata", "", None),
    ],
)
def test_csv_gives_the_session_of_its_column_or_of_the_metadata(
    tmp_path: Path, header: str, cell: str, session: str | None
) -> None:
    path = csv_file(tmp_path, f"a,b,1,1,2026-02-13Z,{cell}", header=f"{HEADER},{header}")
    assert rows(path)[0]["session_id"] == session


def test_flat_session_stands_above_the_metadata(tmp_path: Path) -> None:
    header = f"{HEADER},request_metadata,session_id"
    path = csv_file(tmp_path, 'a,b,1,1,2026-02-13Z,"{""session_id"": ""m""}",s', header=header)
    assert rows(path)[0]["session_id"] == "s"


def test_each_csv_problem_rejects_its_row_with_place_and_reason(tmp_path: Path) -> None:
    path = csv_file(
        tmp_path,
        *("a,b,1,1,2026-02-13Z", "a,b,many,1,2026-02-13Z", "a,b,1,x,2026-02-13Z", "a,b,1,1,어제", "a,b,1,1"),
        *('"a"b,c,1,1,2026-02-13Z', "가,나,1,1,2026-02-13Z"),
    )
    damaged = path.read_bytes() + "다,".encode() + b"\xff,1,1,2026-02-13Z\n"
    path.write_bytes(damaged)
    assert [(found.line, found.column, found.code) for found in rejects(path)] == [
        (3, "input_tokens", "not_a_number"),
        (4, "output_tokens", "not_a_number"),
        (5, "timestamp", "not_a_timestamp"),
        (6, None, "wrong_field_count"),
        (7, None, "broken_quotes"),
        (9, "llm_response", "broken_encoding"),
    ]
    assert [row["line"] for row in rows(path)] == [2, 8]
    assert {found.file for found in rejects(path)} == {str(path)}


def test_damaged_bytes_in_a_column_that_is_not_read_cost_nothing(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "가,나,1,1,2026-02-13Z,", header=f"{HEADER},x_enc_data")
    path.write_bytes(path.read_bytes() + "가,나,1,1,2026-02-13Z,".encode() + b"\xff\xfe\n")
    assert len(rows(path)) == 2


def test_row_with_two_problems_is_rejected_once(tmp_path: Path) -> None:
    (found,) = rejects(csv_file(tmp_path, "a,b,many,more,never"))
    assert found.column == "timestamp"


def test_rows_outside_the_window_are_left_out_even_when_they_are_damaged(tmp_path: Path) -> None:
    path = csv_file(
        tmp_path,
        *("a,b,1,1,2026-02-12T23:59:59.999999Z", "a,b,1,1,2026-02-13T00:00:00Z", "a,b,1,1,2026-02-13T23:59:59.999999Z"),
        *("a,b,1,1,2026-02-14T00:00:00Z", "a,b,many,1,2026-02-20Z", "a,b,many,1,2026-02-13Z", "a,b,1,1,"),
    )
    (batch,) = read(path, DAY)
    assert [row["line"] for row in batch.rows.to_dicts()] == [3, 4, 8]
    assert [found.line for found in batch.rejects] == [7]
    assert (batch.rows_in, batch.outside_window) == (7, 3)


def test_timestamps_without_zone_are_utc_and_counted_where_they_stay(tmp_path: Path) -> None:
    path = csv_file(
        tmp_path,
        *("a,b,1,1,2026-02-13 10:00:00", "a,b,1,1,2026-02-13", "a,b,1,1,2026-02-13T10:00:00+09:00", "a,b,1,1,"),
        *("a,b,many,1,2026-02-13 10:00:00", "a,b,1,1,2026-02-20 10:00:00"),
    )
    (batch,) = read(path, DAY)
    assert batch.naive_timestamps == 2
    assert batch.rows["timestamp"][0] == datetime(2026, 2, 13, 10, tzinfo=UTC)


def test_nan_tokens_are_null_and_infinite_ones_are_left_to_the_rules(tmp_path: Path) -> None:
    (row,) = rows(csv_file(tmp_path, "a,b,NaN,-inf,2026-02-13Z"))
    assert (row["input_tokens"], row["output_tokens"]) == (None, float("-inf"))


def test_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    assert rows(csv_file(tmp_path)) == []


@pytest.mark.parametrize("missing", HEADER.split(","))
def test_csv_without_a_required_column_is_refused_by_name(tmp_path: Path, missing: str) -> None:
    header = ",".join(name for name in HEADER.split(",") if name != missing)
    assert f"missing: {missing}; found {header.replace(',', ', ')}" in failure(csv_file(tmp_path, header=header))


def test_headers_of_a_file_that_lacks_columns_are_named_masked(tmp_path: Path) -> None:
    message = failure(csv_file(tmp_path, header="user_input,질문,홍길순010-9876-5432,kim@naver.com 에게 답장해 주세요"))
    assert "found user_input, 질문, 홍길순[전화번호], [이메일] 에게" in message


def test_csv_without_header_is_refused_without_showing_its_row(tmp_path: Path) -> None:
    message = failure(csv_file(tmp_path, header="개인적인 질문,답,1,2,2026-02-13Z"))
    assert "found 5 columns without a known name" in message
    assert "개인적인" not in message


def test_columns_in_capitals_are_missing_and_shown(tmp_path: Path) -> None:
    message = failure(csv_file(tmp_path, header=HEADER.upper()))
    assert "missing: user_input, llm_response" in message
    assert "found USER_INPUT, LLM_RESPONSE" in message
    assert "[monitoring.columns]" in message


def test_doubled_column_is_refused(tmp_path: Path) -> None:
    assert "more than once: user_input" in failure(csv_file(tmp_path, header=f"{HEADER}, user_input"))


def test_column_that_is_not_read_may_be_doubled(tmp_path: Path) -> None:
    assert len(rows(csv_file(tmp_path, "a,b,1,1,2026-02-13Z,,", header=f"{HEADER},,"))) == 1


def test_long_csv_files_come_in_several_batches_that_add_up(tmp_path: Path) -> None:
    count = 2 * BATCH_ROWS + 1
    path = csv_file(tmp_path, *(f"q{number},a,1,1,2026-02-13Z" for number in range(count)))
    batches = read(path)
    assert len(batches) > 2
    assert [row for batch in batches for row in batch.rows["line"].to_list()] == list(range(2, count + 2))


def test_json_null_and_the_empty_text_stay_apart(tmp_path: Path) -> None:
    found = rows(json_file(tmp_path, turn(user_input="", tenant_id=""), turn(user_input=None, tenant_id=None)))
    assert [(row["user_input"], row["tenant_id"]) for row in found] == [("", ""), (None, None)]


def test_json_keys_that_are_left_out_are_null(tmp_path: Path) -> None:
    partial = turn()
    del partial["llm_response"], partial["input_tokens"]
    assert [(row["llm_response"], row["input_tokens"]) for row in rows(json_file(tmp_path, partial, turn()))] == [
        (None, None),
        ("답", 10.0),
    ]


def test_json_numbers_may_be_texts_as_bigquery_writes_them(tmp_path: Path) -> None:
    (row,) = rows(json_file(tmp_path, turn(input_tokens="5955", output_tokens=1.5)))
    assert (row["input_tokens"], row["output_tokens"]) == (5955.0, 1.5)


@pytest.mark.parametrize(
    ("changes", "session"),
    [
        ({"request_metadata": {"session_id": "s1", "x_enc_data": "zz"}}, "s1"),
        ({"request_metadata": '{"session_id": "s2"}'}, "s2"),
        ({"request_metadata": None}, None),
        ({"session_id": 77}, "77"),
        ({"session_id": None, "request_metadata": {"session_id": "m"}}, None),
        ({}, None),
    ],
)
def test_json_lines_give_the_session_of_their_key_else_of_the_metadata(
    tmp_path: Path, changes: dict[str, object], session: str | None
) -> None:
    assert rows(json_file(tmp_path, turn(**changes)))[0]["session_id"] == session


def test_each_json_problem_rejects_its_line_with_a_code(tmp_path: Path) -> None:
    path = json_file(
        tmp_path,
        turn(),
        '{"user_input": "비밀',
        *("[1, 2]", '"text"', "[" * 200_000, '{"n": ' + "9" * 5000 + "}"),
        *(turn(user_input=5), turn(llm_response=["비밀"]), turn(input_tokens=True), turn(timestamp=1770000000)),
        *(turn(timestamp="never"), turn(user_input="\ud800"), turn(tenant_id=1.5)),
    )
    found = rejects(path)
    assert [(reject.line, reject.column, reject.code) for reject in found] == [
        (2, None, "not_json"),
        *((3, None, "not_an_object"), (4, None, "not_an_object"), (5, None, "not_json"), (6, None, "not_json")),
        *((7, "user_input", "not_text"), (8, "llm_response", "not_text"), (9, "input_tokens", "not_a_number")),
        *((10, "timestamp", "not_a_timestamp"), (11, "timestamp", "not_a_timestamp")),
        *((12, "user_input", "broken_encoding"), (13, "tenant_id", "not_text")),
    ]
    assert not any("비밀" in reject.reason for reject in found)
    assert found[0].reason == "JSON으로 읽을 수 없습니다: 16번째 글자에서 형식이 어긋나거나 줄이 잘렸습니다."


def test_json_bytes_that_are_no_utf8_reject_their_row(tmp_path: Path) -> None:
    path = json_file(tmp_path, turn(), turn())
    path.write_bytes(path.read_bytes() + json.dumps(turn(user_input="?")).encode().replace(b"?", b"\xb0\xa1") + b"\n")
    (found,) = rejects(path)
    assert (found.line, found.column, found.code) == (3, "user_input", "broken_encoding")
    assert len(rows(path)) == 2


def test_json_bom_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(turn()).encode() + b"\r\n\r\n" + json.dumps(turn()).encode())
    assert [row["line"] for row in rows(path)] == [1, 3]


def test_key_that_no_object_has_is_a_missing_column(tmp_path: Path) -> None:
    without = turn()
    del without["timestamp"]
    assert "missing: timestamp" in failure(json_file(tmp_path, without, without))


def test_key_that_only_the_last_object_has_is_there(tmp_path: Path) -> None:
    without = turn()
    del without["timestamp"]
    assert len(rows(json_file(tmp_path, without, without, turn()))) == 3


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff\r\n"])
def test_file_of_no_lines_is_that_of_a_day_without_rows(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content, "utf-8")
    assert rows(path) == []


@pytest.mark.parametrize("content", ["no json\n", "null\n", json.dumps([turn()], indent=1)])
def test_file_without_objects_is_no_json_lines(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    assert "no line holds an object" in failure(path)


@pytest.mark.parametrize("packed", [json.dumps(turn()).encode("utf-16"), gzip.compress(json.dumps(turn()).encode())])
def test_json_lines_that_are_packed_or_in_utf_16_are_told_to_be_in_neither(tmp_path: Path, packed: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(packed)
    assert "a line in UTF-8, not packed, with the keys user_input" in failure(path)


def test_json_rows_outside_the_window_are_left_out(tmp_path: Path) -> None:
    path = json_file(tmp_path, turn(), turn(timestamp="2026-02-14T00:00:00Z"), turn(timestamp=None))
    (batch,) = read(path, DAY)
    assert (batch.rows.height, batch.outside_window) == (2, 1)
