import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from tasks.chat.sources import ChatRowFiles
from tasks.reports.chat_folder import write_score_folder
from tests.builders.chat_rows import PLAIN_ANSWER, RUBRIC, best, plain, refused, scored, write_rows

# SPEC 1.3, written out: names, order and types of the score table.
SCORE_COLUMNS = [
    ("score_date", "date32[day]"),
    ("row_id", "string"),
    ("timestamp", "timestamp[us, tz=UTC]"),
    ("tenant_id", "string"),
    ("session_id", "string"),
    ("user_input", "string"),
    ("llm_response", "string"),
    ("input_tokens", "double"),
    ("output_tokens", "double"),
    ("question_length", "int64"),
    ("answer_length", "int64"),
    ("token_ratio", "double"),
    ("length_ratio", "double"),
    ("answer_lines", "int64"),
    ("question_has_stock_code", "bool"),
    ("answer_has_table", "bool"),
    ("answer_has_number", "bool"),
    ("answer_has_date", "bool"),
    ("answer_has_bold", "bool"),
    ("answer_has_apology", "bool"),
    ("question_category", "string"),
    ("q_specificity", "int64"),
    ("q_intent", "int64"),
    ("q_context", "int64"),
    ("q_length", "int64"),
    ("q_formality", "int64"),
    ("q_score", "int64"),
    ("q_tier", "string"),
    ("a_volume", "int64"),
    ("a_structure", "int64"),
    ("a_data", "int64"),
    ("a_efficiency", "int64"),
    ("a_non_refusal", "int64"),
    ("a_score", "int64"),
    ("a_grade", "string"),
    ("i_match", "int64"),
    ("i_ratio", "int64"),
    ("i_information", "int64"),
    ("i_score", "int64"),
    ("final_score", "double"),
    ("final_grade", "string"),
    ("failure_type", "string"),
    ("alert_level", "string"),
    ("alert_rules", "list<element: string>"),
    ("cause", "string"),
    ("rubric", "string"),
    ("rubric_version", "string"),
    ("answer_says_no_data", "bool"),
    ("source_id", "string"),
]
# SPEC 1.4.
EXCLUDED_COLUMNS = [
    *("score_date", "timestamp", "tenant_id", "session_id", "input_tokens", "output_tokens", "reason"),
    *("alert_level", "alert_rules"),
]
SUMMARY_KEYS = {
    *("rubric", "rubric_version", "inputs", "counts", "rounds", "set", "distributions", "data_quality", "judge")
}
FILES = ["crosstab.parquet", "excluded.parquet", "kpis.parquet", "rejected.parquet", "report.md", "scores.parquet"]


def score_folder(source: Path, out: Path, staging: Path) -> dict[str, Any]:
    return write_score_folder(out, scored(source, staging), ChatRowFiles([source]).fingerprint)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of two files of rows: scored, excluded and rejected ones."""
    write_rows(tmp_path / "in" / "a.jsonl", [best(0), refused(1, session_id="s2"), plain(24 * 60)])
    write_rows(
        tmp_path / "in" / "b.jsonl",
        [
            plain(2, llm_response=None),
            plain(3, output_tokens=-1),
            plain(4, timestamp="2026-02-13T03:04:00", session_id="s3"),
        ],
    )
    score_folder(tmp_path / "in", tmp_path / "out", tmp_path / "staging")
    return tmp_path / "out"


def summary_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_text("utf-8"))
    return found


def test_folder_holds_tables_report_and_summary_and_nothing_else(out: Path) -> None:
    assert sorted(path.name for path in out.iterdir()) == [*FILES, "summary.json"]


def test_score_table_has_exactly_the_columns_of_the_specification(out: Path) -> None:
    schema = pq.read_schema(out / "scores.parquet")
    assert [(field.name, str(field.type)) for field in schema] == SCORE_COLUMNS


def test_every_column_of_every_table_is_described(out: Path) -> None:
    for name in FILES:
        if name.endswith(".parquet"):
            schema = pq.read_schema(out / name)
            assert [field.name for field in schema if not field.metadata.get(b"description")] == []


def test_table_without_rows_has_the_same_columns(tmp_path: Path) -> None:
    score_folder(write_rows(tmp_path / "rows.jsonl", []), tmp_path / "out", tmp_path / "staging")
    schema = pq.read_schema(tmp_path / "out" / "scores.parquet")
    assert [(field.name, str(field.type)) for field in schema] == SCORE_COLUMNS
    assert summary_of(tmp_path / "out")["counts"]["rows_in"] == 0


def test_other_tables_hold_what_was_not_scored(out: Path) -> None:
    excluded, rejected = pl.read_parquet(out / "excluded.parquet"), pl.read_parquet(out / "rejected.parquet")
    assert excluded.columns == EXCLUDED_COLUMNS
    assert excluded["reason"].to_list() == ["llm_response_null"]
    assert rejected.select("line", "column", "code").rows() == [(2, "output_tokens", "negative_tokens")]


def test_summary_has_the_keys_of_the_specification(out: Path) -> None:
    summary = summary_of(out)
    assert set(summary) >= SUMMARY_KEYS
    assert (summary["rubric"], summary["rubric_version"]) == ("ola-monitoring", RUBRIC.version)
    assert summary["counts"] == {"rows_in": 6, "scored": 4, "excluded": 1, "rejected": 1}
    assert summary["data_quality"] == {
        "excluded": {"llm_response_null": 1},
        "rejected": {"negative_tokens": 1},
        "naive_timestamps": 1,
        "naive_zone": "UTC",
        "repeated": 0,
        "failed_files": [],
    }


def test_summary_names_what_was_read(out: Path, tmp_path: Path) -> None:
    for entry, name in zip(summary_of(out)["inputs"], ("a.jsonl", "b.jsonl"), strict=True):
        path = tmp_path / "in" / name
        assert entry == {"name": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "rows": 3}


def test_summary_says_what_the_tables_say(out: Path) -> None:
    summary, scores = summary_of(out), pl.read_parquet(out / "scores.parquet")
    assert summary["distributions"]["final_grade"] == {"B": 2, "F": 1, "STAR": 1}
    assert summary["distributions"]["alert_level"] == {"none": 3, "critical": 1}
    assert summary["distributions"]["failure_type"] == {"none": 3, "refused_advice": 1}
    for column, value in summary["set"].items():
        mean = scores[column].mean()
        assert isinstance(mean, float)
        assert value["n"] == 4
        assert value["mean"] == pytest.approx(mean, abs=1e-9)
    assert summary["kpis"]["failure_rate"] == {
        "value": 0.25,
        "target": 0.03,
        "met": False,
        "n": 4,
        "low": 0.0,  # two days are the witnesses, and their own intervals the bound
        "high": pytest.approx(0.7934506856),
        "verdict": "undecided",
        "text": "25.0% (95% 구간 0.0~79.3%) · 목표 3% 이하 · 판단 보류(n 125 이상이어야 달성 가능) · n=4",
    }


def test_report_counts_answers_without_data_beside_the_failure_types(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", [plain(0), plain(1, llm_response=f"{PLAIN_ANSWER} 데이터가 없습니다.")])
    score_folder(rows, tmp_path / "out", tmp_path / "staging")
    _, after = (tmp_path / "out" / "report.md").read_text("utf-8").split("## 실패 유형")
    failures, _ = after.split("## 알림")
    assert "- 데이터가 없다고 한 답변: 1행 (50.0%)" in failures


def test_scoring_again_replaces_the_folder_with_the_same_bytes(out: Path, tmp_path: Path) -> None:
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    score_folder(tmp_path / "in", out, tmp_path / "staging again")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


def test_failed_file_stands_in_the_summary(tmp_path: Path) -> None:
    write_rows(tmp_path / "in" / "a.jsonl", [best(0)])
    (tmp_path / "in" / "b.parquet").write_bytes(b"")
    summary = score_folder(tmp_path / "in", tmp_path / "out", tmp_path / "staging")
    (failed,) = summary["data_quality"]["failed_files"]
    assert failed["name"] == str(tmp_path / "in" / "b.parquet")
    assert "empty" in failed["error"]
    assert summary["counts"]["scored"] == 1
