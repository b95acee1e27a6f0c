"""`aqb rows` and `aqb golden`: rows read again from the source, with their texts."""

import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from scoring import explain_rows, golden_rows
from scoring.errors import UsageError
from tests.builders.chat_rows import BEST_QUESTION, DAY, best, plain, write_rows
from tests.builders.disks import small_disk
from tests.flows.conftest import Command


def row_ids(aqb: Command, source: Path) -> list[str]:
    aqb("score", source, "--out", "scored")
    return list(pl.read_parquet("scored/scores.parquet")["row_id"])


def test_rows_are_shown_with_every_rule_and_missing_ones_named(aqb: Command, source: Path) -> None:
    star, failed, _ = row_ids(aqb, source)
    ended = aqb("rows", failed, "nothing", star)
    assert ended.exit_code == 1
    assert ended.err == "not in the source, or of an erased session: nothing\n"
    assert ended.out.index(f"행 {failed}") < ended.out.index(f"행 {star}")
    assert "종합 97.5점 = 등급 ★ (우수 · Golden Set 편입 후보)" in ended.out
    assert "실패 유형: 거절: 투자 자문(법률) (refused_advice" in ended.out
    assert "고정 템플릿 거절" in ended.out


def test_rows_tell_people_the_local_time_and_programs_utc(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    star = row_ids(aqb, source)[0]
    assert f"행 {star}   2026-02-13 12:00:00 Asia/Seoul   테넌트" in aqb("rows", star).out
    monkeypatch.setenv("AQB_TIME_ZONE", "America/New_York")
    assert f"행 {star}   2026-02-12 22:00:00 America/New_York   테넌트" in aqb("rows", star).out
    (row,) = json.loads(aqb("rows", star, "--json").out)
    assert row["timestamp"] == "2026-02-13 03:00:00+00:00"


def test_rows_as_json_hold_the_points_of_every_rule(aqb: Command, source: Path) -> None:
    star = row_ids(aqb, source)[0]
    ended = aqb("rows", star, "--source", source, "--json")
    assert ended.exit_code == 0
    (row,) = json.loads(ended.out)
    assert (row["row_id"], row["q_score"], row["a_score"], row["final_grade"]) == (star, 100, 100, "STAR")
    points = [finding["points"] for finding in row["findings"] if finding["column"] == "a_structure"]
    assert sum(points) == row["a_structure"] == 25


@pytest.mark.parametrize("obeyed", ["\x1b[2J", "\x9b2J", "\u202e"])
def test_rows_as_json_hold_nothing_that_a_terminal_obeys(aqb: Command, folder: Path, obeyed: str) -> None:
    hostile = f"배당률은? {obeyed}지움"
    source = write_rows(folder / "hostile.jsonl", [best(user_input=hostile)])
    (row_id,) = row_ids(aqb, source)
    printed = aqb("rows", row_id, "--source", source, "--json").out
    assert obeyed not in printed
    assert hostile in json.loads(printed)[0].values()


def test_row_that_may_be_in_a_broken_file_says_so(aqb: Command, source: Path) -> None:
    (source.parent / "b.parquet").write_bytes(b"")
    ended = aqb("rows", "nothing")
    assert ended.exit_code == 1
    assert "b.parquet" in ended.err


@pytest.mark.parametrize("command", [("rows", "0" * 32), ("golden", "--from", str(DAY), "--to", str(DAY))])
def test_rows_and_golden_of_several_services_want_one_chosen(
    aqb: Command, folder: Path, command: tuple[str, ...]
) -> None:
    """Whose rows are meant is asked before a source is looked for."""
    (folder / "aqb.toml").write_text(
        "".join(f'[[monitoring.service]]\nname = "{name}"\nsource = "{name}"\n' for name in ("hiring", "support"))
    )
    ended = aqb(*command)
    assert ended.exit_code == 2
    assert ended.err == (
        "error: there are several services: hiring, support\n"
        "  -> choose one before the command: aqb --service hiring ...\n"
    )


def test_golden_lists_star_rows_of_the_days_only(aqb: Command, source: Path) -> None:
    star = row_ids(aqb, source)[0]
    ended = aqb("golden", "--from", DAY.isoformat(), "--to", "2026-02-14")
    assert (ended.exit_code, ended.err) == (0, "")
    assert [line.split()[0] for line in ended.out.splitlines()] == [star, "1"]
    assert aqb("golden", "--from", "2026-02-14", "--to", "2026-02-14").out == "0 candidates\n"


def test_golden_writes_no_csv_under_an_ending_that_excel_refuses_it_with(aqb: Command, source: Path) -> None:
    ended = aqb("golden", "--from", DAY.isoformat(), "--to", DAY.isoformat(), "--out", "golden.xlsx")
    assert (ended.exit_code, "'golden.xlsx' is no CSV file" in ended.err) == (2, True)
    assert not Path("golden.xlsx").exists()


def test_rows_and_golden_leave_an_erased_session_out_though_the_source_has_it(aqb: Command, folder: Path) -> None:
    other_question = "바다통신 017670 주가 뉴스 PER 최근 3개월 비교 분석 알려주세요"
    erased, kept = best(0, session_id="mine"), best(1, session_id="other", user_input=other_question)
    source = write_rows(folder / "data" / "chat_rows" / "a.jsonl", [erased, kept])
    ids = row_ids(aqb, source)
    days = ("--from", DAY.isoformat(), "--to", DAY.isoformat())
    assert aqb("golden", *days).out.count(BEST_QUESTION) == 1
    assert aqb("erase", "--session", "mine").exit_code == 0
    assert [line.split()[0] for line in aqb("golden", *days).out.splitlines()] == [ids[1], "1"]
    ended = aqb("rows", *ids)
    assert ended.err == f"not in the source, or of an erased session: {ids[0]}\n"
    assert BEST_QUESTION not in ended.out
    assert other_question in ended.out


def test_golden_lists_one_row_per_question_template_and_at_most_the_limit(aqb: Command, folder: Path) -> None:
    questions = ("하늘전자(005930) 최근 실적과 주가 분석해줘", "바다통신(017670) 최근 실적과 주가 분석해줘")
    rows = [best(minute, user_input=question) for minute, question in enumerate(questions)]
    source = write_rows(folder / "best.jsonl", rows)
    ended = aqb("golden", "--from", DAY.isoformat(), "--to", DAY.isoformat(), "--source", source)
    first, counted = ended.out.splitlines()
    assert questions[0] in first
    assert "x2" in first
    assert counted == "1 candidates of 2 rows: one per question template, at most 100"
    refused = aqb("golden", "--from", DAY.isoformat(), "--to", DAY.isoformat(), "--limit", "0")
    assert refused.exit_code == 2


def test_golden_as_json_and_as_a_file_for_excel(aqb: Command, source: Path) -> None:
    days = ("--from", DAY.isoformat(), "--to", DAY.isoformat(), "--source", source)
    (candidate,) = json.loads(aqb("golden", *days, "--json").out)
    assert candidate["final_score"] == 97.5
    assert candidate["llm_response"].startswith("## 하늘전자")
    ended = aqb("golden", *days, "--out", "golden.csv")
    assert (ended.exit_code, ended.out) == (0, "1 candidates: golden.csv\n")
    assert Path("golden.csv").read_bytes().startswith(b"\xef\xbb\xbfrow_id,")
    (written,) = pl.read_csv("golden.csv", try_parse_dates=False).to_dicts()
    assert written["user_input"] == candidate["user_input"]
    assert (candidate["question_category"], written["question_category"]) == ("analysis", "종합 분석 질문")
    assert (candidate["timestamp"][:19], written["timestamp"]) == ("2026-02-13 03:00:00", "2026-02-13 12:00:00+09:00")
    aqb("golden", "--from", "2026-02-14", "--to", "2026-02-14", "--out", "golden.csv")
    assert pl.read_csv("golden.csv").is_empty()


def test_explain_rows_in_python_gives_the_points_of_aqb_rows(aqb: Command, source: Path) -> None:
    star, failed, _ = row_ids(aqb, source)
    said = [
        (row["row_id"], finding["column"], finding["label"], finding["points"])
        for row in json.loads(aqb("rows", failed, star, "--json").out)
        for finding in row["findings"]
        if isinstance(finding["points"], int)
    ]
    rows = pl.read_ndjson(source)
    assert explain_rows(rows, [failed, "nothing", star]).rows() == said
    assert len(said) > 20
    ids = pa.chunked_array([[failed, star]])
    assert explain_rows(rows.to_arrow(), ids).equals(explain_rows(rows.to_arrow(), [failed, star]))
    assert explain_rows(rows.to_arrow(), star).num_rows == sum(row_id == star for row_id, *_ in said)
    assert explain_rows(rows.to_arrow(), "nothing").num_rows == 0


def test_golden_rows_in_python_are_the_candidates_of_aqb_golden(aqb: Command, folder: Path) -> None:
    questions = (
        "하늘전자(005930) 최근 실적과 주가 분석해줘",
        "바다통신(017670) 최근 실적과 주가 분석해줘",
        BEST_QUESTION,
    )
    rows = [best(minute, user_input=question) for minute, question in enumerate(questions)]
    source = write_rows(folder / "best.jsonl", [*rows, plain(9)])
    said = json.loads(aqb("golden", "--from", f"{DAY}", "--to", f"{DAY}", "--source", source, "--json").out)
    frame = pl.read_ndjson(source)
    found = golden_rows(frame.to_pandas())
    assert list(found) == list(said[0])
    assert found.drop(columns="timestamp").to_dict("records") == [
        {name: value for name, value in row.items() if name != "timestamp"} for row in said
    ]
    assert [f"{time}" for time in found["timestamp"]] == [row["timestamp"] for row in said]
    assert golden_rows(frame, limit=1)["row_id"].to_list() == [said[0]["row_id"]]
    with pytest.raises(UsageError, match="limit cannot be 0"):
        golden_rows(frame, limit=0)


def test_golden_from_a_source_with_a_broken_file_is_incomplete_and_says_so(aqb: Command, source: Path) -> None:
    (source.parent / "b.parquet").write_bytes(b"")
    ended = aqb("golden", "--from", DAY.isoformat(), "--to", DAY.isoformat())
    assert ended.exit_code == 1
    assert "1 candidates" in ended.out
    assert "b.parquet" in ended.err


def test_golden_file_that_cannot_be_written_ends_with_1(aqb: Command, source: Path) -> None:
    ended = aqb("golden", "--from", DAY.isoformat(), "--to", DAY.isoformat(), "--out", source / "golden.csv")
    assert ended.exit_code == 1
    assert "cannot write" in ended.err


@pytest.mark.parametrize("command", [("rows", "0" * 32), ("golden", "--from", str(DAY), "--to", str(DAY))])
def test_rows_and_golden_name_the_full_disk_of_temporary_files(
    aqb: Command, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    with small_disk(tmp_path / "temporary", "size=4k"):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        ended = aqb(*command)
    assert ended.exit_code == 1
    assert f"{tmp_path}/temporary: cannot write: No space left on device" in ended.err
    assert "set TMPDIR" in ended.err
