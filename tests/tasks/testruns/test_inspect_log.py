"""Logs of Inspect: what the real tool wrote of a support bot, and odd samples."""

import json
import sys
from collections.abc import Container
from pathlib import Path
from zipfile import ZIP_DEFLATED

import pytest

from scoring.errors import InputError
from scoring.limits import LARGEST_EXPORT
from scoring.testruns.executions import parse_execution
from scoring.testruns.testrun import TestRunFile
from tasks.testruns.files import read_testrun_file

if sys.version_info >= (3, 14):
    from zipfile import ZipFile
else:
    from backports.zstd.zipfile import ZipFile

RECORDED, PACKED = Path("tests/exports/inspect.json"), Path("tests/exports/inspect.eval")
SAMPLE = {
    "id": "greeting",
    "epoch": 1,
    "input": "Hello?",
    "target": "Hi.",
    "output": {"completion": "Hi."},
    "started_at": "2026-02-13T16:26:40.123456+00:00",
    "working_time": 1.5,
    "total_time": 9.0,
    "field_of_tomorrow": [1],
}
PICTURE = {"type": "image", "image": "data:"}
TALK = [
    {"role": "user", "content": "Hello?"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": [PICTURE, {"type": "text", "text": "Who are you?"}]},
]


def logged(folder: Path, *samples: object) -> TestRunFile:
    path = folder / "log.json"
    path.write_text(json.dumps({"version": 2, "eval": {"model": "my/bot"}, "samples": samples}), encoding="utf-8")
    return read_testrun_file(path)


def test_log_of_inspect_has_an_execution_for_each_sample_and_epoch() -> None:
    run = read_testrun_file(RECORDED)
    assert (run.counts.rows_in, run.counts.scored, run.counts.executions) == (8, 8, 8)
    found = {
        query_id: [(str(one.round), one.query_text, one.answer_text, one.expected_text) for one in asked]
        for query_id, asked in run.queries.items()
    }
    asked_once = {
        "1": ("Can I still change its address?", "I'm sorry, but I can't help with that.", "changed"),
        "2": (
            "I want my money back for the kettle.",
            "Of course. Send it back within 30 days:\n1. print a label\n2. post it.",
            "30 days",
        ),
        "4": ("Cancel my subscription, please.", "", "cancelled"),
        "delivery": ("배송은 얼마나 걸리나요?", "보통 2~3일 걸립니다.", "2~3일\n이틀"),
    }
    assert found == {query_id: [("1/1", *asked), ("2/1", *asked)] for query_id, asked in asked_once.items()}


def test_sample_of_inspect_that_failed_is_an_execution_with_its_error() -> None:
    queries = read_testrun_file(RECORDED).queries
    failures = {query_id: [parse_execution(one).failure for one in asked] for query_id, asked in queries.items()}
    assert all("InternalServerError" in failure for failure in failures.pop("4"))
    assert [failure for of_query in failures.values() for failure in of_query] == [""] * 6


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({}, "latency_ms", 1500),
        ({"working_time": 2}, "latency_ms", 2000),
        ({"working_time": None}, "latency_ms", None),
        ({"input": TALK}, "query_text", "Who are you?"),
        ({"input": TALK[:2]}, "query_text", "Hello?"),
        ({"error": {"message": "timeout", "traceback": "..."}}, "error", "timeout"),
        ({"error": {"message": ""}}, "error", "error"),
        ({"output": {}, "error": None}, "answer_text", ""),
        ({}, "category", "my/bot"),
    ],
    ids=["agent's time", "whole seconds", "no time", "parts", "messages", "a word", "no word", "no answer", "model"],
)
def test_sample_of_inspect_is_read_in_each_form(
    changed: dict[str, object], field: str, value: object, tmp_path: Path
) -> None:
    ((execution,),) = logged(tmp_path, SAMPLE | changed).queries.values()
    assert getattr(execution, field) == value


@pytest.mark.parametrize(
    ("odd", "reject"),
    [
        ("?", (1, None, "other_format")),
        ({"id": 1, "epoch": 1}, (1, None, "other_format")),
        (SAMPLE | {"epoch": 0}, (1, "방/반복", "bad_round")),
        (SAMPLE | {"working_time": -1.0}, (1, "latency_ms", "not_a_number")),
        (SAMPLE | {"working_time": 1e308}, (1, "latency_ms", "not_a_number")),
        (SAMPLE | {"working_time": 10**400}, (1, "latency_ms", "not_a_number")),
        (SAMPLE | {"working_time": float("nan")}, (1, "latency_ms", "not_a_number")),
    ],
    ids=[
        "no object",
        "no input",
        "no epoch",
        "a negative time",
        "a time beyond all",
        "hundreds of digits",
        "no number",
    ],
)
def test_odd_sample_of_inspect_is_rejected_and_its_neighbour_is_read(
    odd: object, reject: tuple[int, str | None, str], tmp_path: Path
) -> None:
    run = logged(tmp_path, odd, SAMPLE | {"epoch": 2})
    assert [(one.line, one.column, one.code) for one in run.rejects] == [reject]
    assert (run.counts.rows_in, run.counts.scored) == (2, 1)


def test_log_of_inspect_without_samples_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text('{"version": 2, "eval": {}}', encoding="utf-8")
    with pytest.raises(InputError, match="without its samples"):
        read_testrun_file(tmp_path / "log.json")


def packed(path: Path, without: Container[str] = (), changed: tuple[str, bytes] = ("", b"")) -> Path:
    """The recorded log packed anew by deflate, as Inspect did before it took zstd, with another entry of a name."""
    with ZipFile(PACKED) as log, ZipFile(path, "w", ZIP_DEFLATED) as copy:
        for entry in log.namelist():
            if entry not in without:
                copy.writestr(entry, changed[1] if entry == changed[0] else log.read(entry))
    return path


def test_packed_log_of_inspect_is_read_as_its_dump() -> None:
    dumped, read = read_testrun_file(RECORDED), read_testrun_file(PACKED)
    assert (read.counts, read.queries) == (dumped.counts, dumped.queries)


def test_packed_log_by_deflate_and_of_an_evaluation_that_has_not_ended_is_read(tmp_path: Path) -> None:
    unfinished = packed(tmp_path / "log.eval", without={"header.json", "samples/delivery_epoch_2.json"})
    run = read_testrun_file(unfinished)
    assert (run.counts.scored, {one.category for asked in run.queries.values() for one in asked}) == (
        7,
        {"openai-api/bot/gpt-4.1-mini"},
    )


@pytest.mark.parametrize("odd", [b"{", b"[]", b"\xff", b"[" * 100_000], ids=["cut", "no object", "no text", "too deep"])
def test_sample_of_a_packed_log_that_cannot_be_read_is_rejected_and_the_others_are_read(
    odd: bytes, tmp_path: Path
) -> None:
    run = read_testrun_file(packed(tmp_path / "log.eval", changed=("samples/2_epoch_1.json", odd)))
    assert [(one.line, one.code) for one in run.rejects] == [(2, "other_format")]
    assert (run.counts.rows_in, run.counts.scored) == (8, 7)


def test_damaged_sample_of_a_packed_log_is_rejected(tmp_path: Path) -> None:
    content = bytearray(PACKED.read_bytes())
    with ZipFile(PACKED) as log:
        entry = log.getinfo("samples/2_epoch_1.json")
    middle = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
    content[middle : middle + 8] = bytes(8)
    (tmp_path / "log.eval").write_bytes(content)
    assert [(one.line, one.code) for one in read_testrun_file(tmp_path / "log.eval").rejects] == [(2, "other_format")]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cannot be read as a packed log"),
        (b"PK\x05\x06" + bytes(18), "cannot be read as a packed log"),  # an archive without entries
        (PACKED.read_bytes()[:-100], "cannot be read as a packed log"),
        (RECORDED.read_bytes(), "cannot be read as a packed log"),
    ],
    ids=["empty", "nothing in it", "cut", "JSON"],
)
def test_file_that_is_no_packed_log_is_refused(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_testrun_file(tmp_path / "log.eval")


def test_packed_log_without_samples_is_refused(tmp_path: Path) -> None:
    with ZipFile(PACKED) as log:
        samples = {name for name in log.namelist() if name.startswith("samples/")}
    with pytest.raises(InputError, match="without its samples"):
        read_testrun_file(packed(tmp_path / "log.eval", without=samples))


@pytest.mark.parametrize("large", ["header.json", "samples/2_epoch_1.json"])
def test_packed_log_with_an_entry_that_unpacks_to_more_than_is_parsed_is_refused(large: str, tmp_path: Path) -> None:
    path = packed(tmp_path / "log.eval")
    with ZipFile(path, "a") as log:
        log.getinfo(large).file_size = LARGEST_EXPORT + 1
        log.comment = b"."  # the directory is written anew
    with pytest.raises(InputError, match=f"{large} has more than"):
        read_testrun_file(path)
