"""The headers of test runs, as people and programs write them."""

import json
import unicodedata
from pathlib import Path

import pytest

from scoring.catalog import TestRunChoices, plan_of
from scoring.errors import InputError
from scoring.rubrics.aqb.summary import AqbSummary
from scoring.testruns.executions import AgentType, Execution, LatencyClass, parse_execution
from scoring.testruns.scoring import score_testrun
from scoring.testruns.team_names import TeamNames
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, write_csv

NAMES = ["ID", "질의", "기대 필터", "ground_truth", "1차 답변", "1차 답변 시간(초)", "1차 buttonUrl"]


def executions(path: Path, header: list[str]) -> list[Execution]:
    row = ["A1", "몇 명?", "보훈", "3", "3명", "4", "/grid"]
    run = read_testrun_file(write_csv(path, [header, row]))
    return [execution for of_query in run.queries.values() for execution in of_query]


@pytest.mark.parametrize(
    ("header", "written"),
    [
        ("1차 buttonUrl", "1차 ButtonUrl"),
        ("1차 답변", "1차답변"),
        ("1차 답변", "1회차 답변"),
        ("1차 답변 시간(초)", "1회차 답변시간(초)"),
        ("1차 답변 시간(초)", "１차 답변 시간（초）"),
        ("ground_truth", "GROUND_TRUTH"),
        ("질의", unicodedata.normalize("NFD", "질의")),
        ("ID", "id"),
        ("기대 필터", "기대필터"),
    ],
)
def test_header_is_known_in_any_case_width_and_spacing(tmp_path: Path, header: str, written: str) -> None:
    otherwise = [written if name == header else name for name in NAMES]
    assert executions(tmp_path / "o.csv", otherwise) == executions(tmp_path / "r.csv", NAMES)


def test_cells_mean_the_same_with_their_syllables_composed_or_not(tmp_path: Path) -> None:
    rows = [LONG_HEADER, long_row(기대결과="답변에 '평가기간'이 언급되어 있는가", 상태="정상", 질의="C:\\평가 어디?")]
    apart = [[unicodedata.normalize("NFD", cell) for cell in row] for row in rows]
    composed, decomposed = (read_testrun_file(write_csv(tmp_path / "r.csv", one)) for one in (rows, apart))
    assert decomposed.queries == composed.queries


def test_mark_behind_an_escaped_line_break_leaves_raw_json_readable(tmp_path: Path) -> None:
    said = "첫 줄\n\u0303둘째 줄 e\u0301"
    cell = unicodedata.normalize("NFD", json.dumps({"assistantMessage": said}, ensure_ascii=False))
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [LONG_HEADER, long_row(**{"Raw JSON": cell})]))
    ((one,),) = run.queries.values()
    assert parse_execution(one).response.assistant_message == "첫 줄\n\u0303둘째 줄 é"


@pytest.mark.parametrize(
    ("header", "written"), [("방/반복", "방 / 반복"), ("Raw JSON", "raw json"), ("Query ID", "QUERYID")]
)
def test_long_layout_is_recognised_in_any_case_and_spacing(tmp_path: Path, header: str, written: str) -> None:
    otherwise = [written if name == header else name for name in LONG_HEADER]
    assert read_testrun_file(write_csv(tmp_path / "r.csv", [otherwise, long_row()])).counts.scored == 1


def test_name_that_only_resembles_one_of_ours_gives_way_to_the_one_as_we_write_it(tmp_path: Path) -> None:
    """Exports of a database have an `id` of their own beside the one of the query."""
    rows = [["id", "query_id", "질의", "응답"], ["7f", "A1", "몇 명?", "3명"]]
    assert list(read_testrun_file(write_csv(tmp_path / "r.csv", rows)).queries) == ["A1"]


@pytest.mark.parametrize(
    ("header", "doubled"),
    [([*WIDE_HEADER, "1차답변"], "1차 답변, 1차답변"), (["Id", "iD", *WIDE_HEADER[1:]], "Id, iD")],
)
def test_two_spellings_of_one_name_are_one_column_twice(tmp_path: Path, header: list[str], doubled: str) -> None:
    with pytest.raises(InputError, match=f"more than once: {doubled}\n"):
        read_testrun_file(write_csv(tmp_path / "r.csv", [header]))


def test_rejects_name_columns_as_the_file_does(tmp_path: Path) -> None:
    names = TeamNames({"Query ID": "문항", "방/반복": "몇 번째", "Raw JSON": "원본", "latency_ms": "걸린 시간"})
    rows = [["A1", "1/1", "{}", "8"], ["A1", "1/1", "{}", "8"], ["A2", "하나", "{}", "8"], ["A3", "1/1", "{}", "여덟"]]
    path = write_csv(tmp_path / "r.csv", [["문항", "몇 번째", "원본", "걸린 시간"], *rows])
    rejects = read_testrun_file(path, names).rejects
    assert [(reject.code, reject.column) for reject in rejects] == [
        ("duplicate_execution", "몇 번째"),
        ("bad_round", "몇 번째"),
        ("not_a_number", "걸린 시간"),
    ]
    ours = ("방/반복", "latency_ms")
    assert all(str(reject.column) in reject.reason and not any(map(reject.reason.count, ours)) for reject in rejects)


@pytest.mark.parametrize(
    ("header", "field"),
    [
        *((name, "executed_at") for name in ("실행시각", "실행 시각", "실행일시")),
        *((name, "ground_truth") for name in ("ground_truth", "검증 API 결과", "정답 수치", "ground truth", "gt")),
        *((name, "ttft_s") for name in ("ttft(초)", "ttft", "ttft_sec", "첫 응답 시간(초)")),
        *((name, "expected_text") for name in ("기대 URL", "기대 buttonUrl")),
    ],
)
def test_column_has_any_of_the_names_that_teams_give_it(tmp_path: Path, header: str, field: str) -> None:
    rows = [["ID", "질의", "1차 답변", header], ["A1", "몇 명?", "12명", "12"]]
    ((one,),) = read_testrun_file(write_csv(tmp_path / "r.csv", rows)).queries.values()
    assert "12" in str(getattr(one, field))


def test_number_may_have_its_unit_behind_it(tmp_path: Path) -> None:
    times = [long_row(latency_ms="5300ms"), long_row(round_="1/2", latency_ms="1,200 밀리초")]
    (found,) = read_testrun_file(write_csv(tmp_path / "long.csv", [LONG_HEADER, *times])).queries.values()
    assert [one.latency_ms for one in found] == [5300.0, 1200.0]
    rows = [["ID", "질의", "1차 답변", "도구 호출 수", "정확도 점수"], ["A1", "몇 명?", "12명", "2회", "4점"]]
    ((one,),) = read_testrun_file(write_csv(tmp_path / "wide.csv", rows)).queries.values()
    assert (one.tool_call_count, one.recorded_scores) == (2, {"accuracy": 4.0})


def test_words_may_be_typed_in_full_width(tmp_path: Path) -> None:
    header = [*LONG_HEADER, "latencyClass", "agent_type"]
    row = [*long_row(), "ＭＵＬＴＩ", "ｐｌａｎ＿ａｇｅｎｔ"]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [header, row]))
    ((one,),) = run.queries.values()
    assert (one.latency_class, one.agent_type, run.notes) == (LatencyClass.MULTI, AgentType.PLAN, {})


@pytest.mark.parametrize(("cell", "score"), [("4점", 4.0), ("３.5", 3.5), ("4.5 점", 4.5), ("좋음", None), ("-", None)])
def test_recorded_score_is_read_alike_in_both_layouts(tmp_path: Path, cell: str, score: float | None) -> None:
    header = [*LONG_HEADER, "정확도 점수"]
    judged = [header, [*long_row(**{"LLM 점수": cell}), cell]]
    ((one,),) = read_testrun_file(write_csv(tmp_path / "long.csv", judged)).queries.values()
    assert (one.recorded_score, one.recorded_scores.get("accuracy")) == (score, score)


@pytest.mark.parametrize(
    "shown", ["#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#N/A", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#FIELD!"]
)
def test_what_excel_shows_where_a_formula_fails_is_no_answer(tmp_path: Path, shown: str) -> None:
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [["ID", "질의", "1차 답변"], ["A1", "몇 명?", shown]]))
    assert [(reject.column, reject.code) for reject in run.rejects] == [("1차 답변", "excel_error")]


@pytest.mark.parametrize("error", ["오류", "에러"])
def test_error_without_a_number_is_that_of_the_only_round(tmp_path: Path, error: str) -> None:
    one_round = [["ID", "질의", "1차 답변", error], ["A1", "질문", "12명", "timeout"], ["A2", "질문", "", "timeout"]]
    run = read_testrun_file(write_csv(tmp_path / "one.csv", one_round))
    assert [(one.round.room, one.error) for (one,) in run.queries.values()] == [(1, "timeout"), (1, "timeout")]
    several = [["ID", "질의", "1차 답변", "2차 답변", error], ["A1", "몇 명?", "12명", "12명", "timeout"]]
    (both,) = read_testrun_file(write_csv(tmp_path / "two.csv", several)).queries.values()
    assert [one.error for one in both] == ["", ""]


def test_filter_of_a_team_stands_in_reasons_and_report_with_its_name(tmp_path: Path) -> None:
    header = ["ID", "질의", "기대 필터", "1차 답변", "1차 답변 시간(초)", "1차 감지된 필터"]
    rows = [header, ["A1", "몇 명?", "별자리", "1명", "2", "ZODIAC"]]
    path = write_csv(tmp_path / "resume_agent_1.csv", rows)
    names = TeamNames(filters={"별자리": "ZODIAC"})
    scored = score_testrun(plan_of(read_testrun_file(path, names), TestRunChoices("aqb-1.2"), {}), {})
    (execution,) = scored.queries[0].executions
    assert execution.scores["accuracy"].reason.startswith("기대한 필터 정확히 사용: 별자리(ZODIAC);")
    assert isinstance(scored.summary, AqbSummary)
    assert [one["filters"] for one in scored.summary.slowest_filter_combinations] == [["별자리(ZODIAC)"]]
