"""Test runs read from CSV, TSV and XLSX in both layouts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import InputError
from scoring.testruns.executions import AgentType, LatencyClass, parse_execution
from scoring.testruns.expected import parse_expected
from scoring.testruns.team_names import TeamNames
from scoring.testruns.testrun import TestRunFile
from scoring.testruns.tool_usage import tool_usage_of
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, executions, long_row, raw, wide_row, write_csv, write_xlsx


def codes(run: TestRunFile) -> list[tuple[int | None, str | None, str]]:
    return [(reject.line, reject.column, reject.code) for reject in run.rejects]


@pytest.mark.parametrize(
    ("name", "encoding", "delimiter"),
    [
        ("run.csv", "utf-8", ","), ("run.csv", "utf-8-sig", ","), ("run.csv", "cp949", ","),
        ("run.tsv", "utf-8", "\t"), ("run.TSV", "cp949", "\t"),
    ],
)  # fmt: skip
def test_long_layout_is_read_in_every_encoding(tmp_path: Path, name: str, encoding: str, delimiter: str) -> None:
    message = raw("두 줄로\n말합니다, 그렇죠")
    rows = [LONG_HEADER, long_row(**{"Raw JSON": message, "LLM 점수": "4"}), long_row(round_=" 2 / 1 ")]
    run = read_testrun_file(write_csv(tmp_path / name, rows, encoding=encoding, delimiter=delimiter))
    first, second = executions(run)
    assert (run.counts.rows_in, run.counts.scored, run.counts.executions) == (2, 2, 2)
    assert (first.raw_json, first.query_text, first.recorded_score) == (message, "평가기간 바꿔줘", 4.0)
    assert [str(first.round), str(second.round)] == ["1/1", "2/1"]


def test_wide_row_is_an_execution_per_room(tmp_path: Path) -> None:
    row = wide_row(**{"2차 답변": "13명", "2차 응답 상태": "에러", "비고": "느림", "기대 필터": "보훈"})
    run = read_testrun_file(write_csv(tmp_path / "resume_agent_1.csv", [WIDE_HEADER, row]))
    first, second = executions(run)
    assert (run.counts.rows_in, run.counts.executions) == (1, 2)
    assert [(str(one.round), one.answer_text, one.answer_time_s, one.status) for one in (first, second)] == [
        ("1/1", "12명", 7.6, ""),
        ("2/1", "13명", None, "에러"),
    ]
    assert {first.agent_type, second.agent_type} == {AgentType.APPLICANT_MANAGEMENT}
    assert run.facts.has_expected_filters


@pytest.mark.parametrize("name", ["2차 오류", "2회차 에러"])
def test_error_of_a_round_is_its_failure(tmp_path: Path, name: str) -> None:
    rows = [[*WIDE_HEADER, name], [*wide_row(**{"2차 답변": "13명"}), "timeout"]]
    first, second = executions(read_testrun_file(write_csv(tmp_path / "r.csv", rows)))
    assert (first.error, second.error) == ("", "timeout")


@pytest.mark.parametrize("blank", ["", " ", "nan", "None", "-"])
def test_round_whose_cells_are_all_missing_was_not_run(tmp_path: Path, blank: str) -> None:
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [WIDE_HEADER, wide_row(**{"2차 답변": blank})]))
    assert [str(one.round) for one in executions(run)] == ["1/1"]


def test_row_without_any_round_is_excluded(tmp_path: Path) -> None:
    nothing = wide_row("A2", **{"1차 답변": "", "1차 답변 시간(초)": "-", "2차 답변": ""})
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [WIDE_HEADER, wide_row(), nothing]))
    assert (run.counts.rows_in, run.counts.scored, run.counts.excluded) == (2, 1, 1)
    assert run.excluded_lines == ("3",)


def test_agent_of_a_row_comes_before_that_of_the_file_name(tmp_path: Path) -> None:
    rows = [[*LONG_HEADER, "agent_type"], [*long_row(), "이동"], [*long_row("Q2"), ""]]
    run = read_testrun_file(write_csv(tmp_path / "plan_agent_1.csv", rows))
    assert [one.agent_type for one in executions(run)] == [AgentType.MOVE, AgentType.PLAN]


@pytest.mark.parametrize(("header", "rounds"), [(WIDE_HEADER, ["1/2", "2/2"]), (WIDE_HEADER[:8], ["2/1"])])
def test_turn_column_counts_repeats_or_rooms(tmp_path: Path, header: list[str], rounds: list[str]) -> None:
    row = [*wide_row()[: len(header)], "2회차"]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [[*header, "회차"], row]))
    assert [str(one.round) for one in executions(run)] == rounds


def test_kind_of_run_of_a_row_comes_before_that_of_the_file_name(tmp_path: Path) -> None:
    header = [*WIDE_HEADER, "실행 유형"]
    rows = [header, [*wide_row(ID="A"), "일반"], [*wide_row(ID="B"), ""]]
    named = executions(read_testrun_file(write_csv(tmp_path / "resume_agent_전문가.csv", rows)))
    assert {one.query_id: one.run_type for one in named} == {"A": "일반", "B": "전문가"}
    unnamed = executions(read_testrun_file(write_csv(tmp_path / "resume_agent_1.csv", rows)))
    assert {one.query_id: one.run_type for one in unnamed} == {"A": "일반", "B": ""}


def test_first_alias_with_a_value_counts(tmp_path: Path) -> None:
    header = [
        "질의ID",
        "질의",
        "기대 필터/열",
        "기대 필터",
        "검증 API 결과",
        "에이전트 유형",
        "도구 호출 수",
        "ttft(초)",
        "1차 답변",
    ]
    row = ["A1", "몇 명?", "-", "보훈", "12", "지원자 관리 에이전트", "2", "0.8", "12명"]
    (one,) = executions(read_testrun_file(write_csv(tmp_path / "r.csv", [header, row])))
    assert (one.expected_filters, one.ground_truth, one.tool_call_count, one.ttft_s) == ("보훈", "12", 2, 0.8)
    assert one.agent_type is AgentType.APPLICANT_MANAGEMENT


def test_unnumbered_opinion_is_not_used(tmp_path: Path) -> None:
    header = [*WIDE_HEADER, "감지된 필터", "정확도 점수"]
    (one, _) = executions(read_testrun_file(write_csv(tmp_path / "r.csv", [header, [*wide_row(), "보훈", "5"]])))
    assert one.detected_filters == ""


def test_execution_knows_which_columns_of_its_round_show_tools(tmp_path: Path) -> None:
    rows = [[*WIDE_HEADER[:6], "2차 답변", "2차 buttonUrl"], [*wide_row()[:6], "13명", "/grid"]]
    first, second = executions(read_testrun_file(write_csv(tmp_path / "r.csv", rows)))
    assert (first.tool_columns, second.tool_columns) == (frozenset(), frozenset({"button_url"}))
    (long,) = executions(read_testrun_file(write_csv(tmp_path / "l.csv", [LONG_HEADER, long_row()])))
    assert long.tool_columns == {"raw_json"}


def test_columns_of_the_long_layout_find_their_fields(tmp_path: Path) -> None:
    header = [*LONG_HEADER, "latencyClass", "LLM 평가기준", "응답", "Item ID 2"]
    row = [*long_row(latency_ms="5300", 오류="시간 초과"), "multi", '{"accuracyChecks": []}', "네", "덤"]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [header, row]))
    (one,) = executions(run)
    assert (one.latency_ms, one.latency_class, one.error, one.answer_text) == (
        5300.0,
        LatencyClass.MULTI,
        "시간 초과",
        "네",
    )
    assert run.facts.has_accuracy_checks


@pytest.mark.parametrize("written", ["1", "a/b", "", "1/", "0/1", "2026-01-01 00:00:00", "01월 01일", "1-Jan"])
def test_round_that_is_none_rejects_its_row_alone(tmp_path: Path, written: str) -> None:
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [LONG_HEADER, long_row(round_=written), long_row()]))
    assert codes(run) == [(2, "방/반복", "bad_round")]
    assert (run.counts.scored, run.counts.rejected) == (1, 1)
    assert ("날짜" in run.rejects[0].reason) == (written in ("2026-01-01 00:00:00", "01월 01일", "1-Jan"))


def test_second_row_of_the_same_run_query_and_round_is_rejected(tmp_path: Path) -> None:
    rows = [LONG_HEADER, long_row(), long_row(round_="1 / 1"), long_row(**{"Run ID": "other"}), long_row(round_="1/2")]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", rows))
    assert codes(run) == [(3, "방/반복", "duplicate_execution")]
    assert "시트" not in run.rejects[0].reason
    assert run.counts.scored == 3


@pytest.mark.parametrize(
    ("column", "cell"), [("latency_ms", "빠름"), ("latency_ms", "-5"), ("방/반복", "홍길동 010-1234-5678")]
)
def test_cell_of_the_wrong_type_rejects_its_row(tmp_path: Path, column: str, cell: str) -> None:
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [LONG_HEADER, long_row(**{column: cell}), long_row("Q2")]))
    (reject,) = run.rejects
    assert (reject.line, reject.column, reject.file) == (2, column, str(tmp_path / "r.csv"))
    assert cell not in reject.reason
    assert run.counts.scored == 1


def test_wide_row_is_rejected_with_all_its_rounds(tmp_path: Path) -> None:
    rows = [WIDE_HEADER, wide_row(**{"2차 답변 시간(초)": "스무 초"}), wide_row("A2")]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", rows))
    assert codes(run) == [(2, "2차 답변 시간(초)", "not_a_number")]
    assert (run.counts.rows_in, run.counts.scored, run.counts.executions) == (2, 1, 2)


def test_words_that_mean_nothing_are_noted_and_cost_no_row(tmp_path: Path) -> None:
    header = [*LONG_HEADER, "latencyClass", "agent_type"]
    row = [*long_row(**{"LLM 점수": "좋음"}), "FAST", "챗봇"]
    run = read_testrun_file(write_csv(tmp_path / "plan_agent_1.csv", [header, row]))
    (one,) = executions(run)
    assert run.notes == {"unknown_agent_type": 1, "unknown_latency_class": 1, "unknown_recorded_score": 1}
    assert (one.agent_type, one.latency_class, one.recorded_score) == (AgentType.PLAN, None, None)


def test_broken_bytes_reject_their_row_with_the_column(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "r.csv", [LONG_HEADER, long_row(질의="@@"), long_row("Q2")])
    path.write_bytes(path.read_bytes().replace(b"@@", b"\xff\xfe"))
    run = read_testrun_file(path)
    assert codes(run) == [(2, "질의", "broken_encoding")]
    assert run.counts.scored == 1


def test_row_with_too_few_cells_is_rejected_and_a_blank_one_is_none(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "r.csv", [LONG_HEADER, ["R", "I"], [""] * len(LONG_HEADER), long_row()])
    run = read_testrun_file(path)
    assert codes(run) == [(2, None, "wrong_field_count")]
    assert run.counts.rows_in == 2


def test_five_megabytes_fit_in_a_cell(tmp_path: Path) -> None:
    large = raw("x" * 5_000_000)
    (one,) = executions(
        read_testrun_file(write_csv(tmp_path / "r.csv", [LONG_HEADER, long_row(**{"Raw JSON": large})]))
    )
    assert one.raw_json == large


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ([name for name in LONG_HEADER if name != "Raw JSON"], "required columns are missing: Raw JSON"),
        ([name for name in LONG_HEADER if name != "방/반복"], "required columns are missing: 방/반복"),
        (WIDE_HEADER[1:], "required columns are missing: ID or query_id"),
        (["이름", "나이"], "no test run: .* found no known column; 2 columns have another name"),
        (["이름"], "found no known column; 1 column has another name or none"),
        (["번호", "질의", "기대결과"], "a list of questions, no test run"),
        ([*LONG_HEADER, "Query ID"], "more than once: Query ID"),
        ([*WIDE_HEADER, "1차 답변"], "more than once: 1차 답변"),
        (["user_input", "llm_response", "timestamp"], "found chat rows"),
    ],
)
def test_header_that_cannot_be_used_is_one_error_with_the_file(tmp_path: Path, header: list[str], says: str) -> None:
    path = write_csv(tmp_path / "r.csv", [header])
    with pytest.raises(InputError, match=says) as refused:
        read_testrun_file(path)
    assert refused.value.where == str(path)


@pytest.mark.parametrize(
    ("header", "example"),
    [
        (["질문", "회차", "답변"], '"질의" = "Question"'),
        ([name for name in LONG_HEADER if name != "방/반복"], '"방/반복" = "..."'),
        (["번호", "질의", "대답"], '"N차 답변" = "Answer {n}"'),
    ],
)
def test_header_of_other_names_is_answered_with_the_setting_for_them(
    tmp_path: Path, header: list[str], example: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_testrun_file(write_csv(tmp_path / "r.csv", [header]))
    assert f"in aqb.toml under [test_runs.columns] what columns are called here: {example}" in refused.value.fix


def test_file_without_a_header_is_refused_without_quoting_its_first_row(tmp_path: Path) -> None:
    first = ["홍길동", "010-9876-5432", "leak.me@example.com", "900101-1234567", "4111-1111-1111-1111"]
    path = write_csv(tmp_path / "plan_agent_1.csv", [first, first])
    with pytest.raises(InputError) as refused:
        read_testrun_file(path)
    assert not any(cell in str(refused.value) for cell in first)


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.xlsx", "r.json", "r.eval"])
@pytest.mark.parametrize(
    ("head", "product"), [(b"SCDSA002\x00\x01", "SoftCamp"), (b"\x9b\x20DRMONE  This Document is encrypted", "Fasoo")]
)
def test_file_under_document_drm_is_refused_as_such(tmp_path: Path, name: str, head: bytes, product: str) -> None:
    (tmp_path / name).write_bytes(head + b"\xff\xfe\x00" * 300)
    with pytest.raises(InputError, match=f"document DRM .{product}"):
        read_testrun_file(tmp_path / name)


def test_row_without_an_id_has_its_row_number_and_is_counted(tmp_path: Path) -> None:
    rows = [WIDE_HEADER, wide_row("2"), wide_row("", **{"2차 답변": "2명"}), wide_row("-"), wide_row("4")]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", rows))
    assert list(run.queries) == ["2", "3", "4행", "4"]  # 4 is the id of another row
    assert (run.notes, run.counts.rejected) == ({"blank_query_id": 2}, 0)
    assert {one.query_id for one in run.queries["3"]} == {"3"}


def test_characters_without_width_make_no_other_query_status_or_round(tmp_path: Path) -> None:
    """Chats and web pages leave them in what people copy, and nobody sees them in a cell."""
    rows = [LONG_HEADER, long_row("Q1", "1/1\u200b"), long_row("Q1\u200b", "2/1"), long_row("\u2060Q1\ufeff", "3/1")]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", rows))
    assert ({query_id: len(found) for query_id, found in run.queries.items()}, run.rejects) == ({"Q1": 3}, ())
    rows = [WIDE_HEADER, wide_row(**{"1차 응답 상태": "정상\u200b", "1차 답변 시간(초)": "\u200b7.6"})]
    first = executions(read_testrun_file(write_csv(tmp_path / "w.csv", rows)))[0]
    assert (first.answer_time_s, parse_execution(first).answered) == (7.6, True)


def test_time_to_the_first_token_that_stands_once_in_a_row_is_one_measurement(tmp_path: Path) -> None:
    answers = {"1차 답변": "가", "2차 답변": "나"}
    rows = [[*WIDE_HEADER, "ttft(초)"], [*wide_row(**answers), "0.8"]]
    assert [one.ttft_s for one in executions(read_testrun_file(write_csv(tmp_path / "r.csv", rows)))] == [0.8, None]
    rows = [[*WIDE_HEADER, "1차 ttft(초)", "2차 ttft(초)"], [*wide_row(**answers), "0.8", "0.9"]]
    assert [one.ttft_s for one in executions(read_testrun_file(write_csv(tmp_path / "s.csv", rows)))] == [0.8, 0.9]


@pytest.mark.parametrize("header", ["LLM 판단 기준(정확도)", "LLM 판단 기준", "기대결과"])
def test_expected_result_has_several_names_in_both_layouts(tmp_path: Path, header: str) -> None:
    checks = '{"accuracyChecks": [{"path": "error"}]}'
    wide = read_testrun_file(write_csv(tmp_path / "w.csv", [[*WIDE_HEADER, header], [*wide_row(), checks]]))
    names = [header if name == "기대결과" else name for name in LONG_HEADER]
    long = read_testrun_file(write_csv(tmp_path / "l.csv", [names, long_row(기대결과=checks)]))
    assert {executions(run)[0].expected_text for run in (wide, long)} == {checks}
    # A further name of the column changes no file's rubric.
    assert {run.facts.has_accuracy_checks for run in (wide, long)} == {header == "기대결과"}


def test_checked_field_with_its_value_is_a_check(tmp_path: Path) -> None:
    header = [*LONG_HEADER, "검증 필드", "기대값"]
    row = [*long_row(기대결과="친절한 답변"), "dataUIList[*].uiValue.buttonUrl", "/agent/setting"]
    (one,) = executions(read_testrun_file(write_csv(tmp_path / "r.csv", [header, row])))
    expected = parse_expected(one.expected_text)
    assert (expected.prose, len(expected.declared), expected.problems) == ("친절한 답변", 1, ())


def test_single_run_needs_no_numbered_columns(tmp_path: Path) -> None:
    header = [
        "ID",
        "query",
        "응답",
        "응답 시간(초)",
        "에러",
        "detected_filters",
        "사용 datakey",
        "gt",
        "expected_filters",
    ]
    rows = [header, ["A1", "몇 명?", "12명", "3.5", "", "PATRIOT", "EVAL", "12", "보훈"]]
    (one,) = executions(read_testrun_file(write_csv(tmp_path / "r.csv", rows)))
    assert (str(one.round), one.query_text, one.answer_text, one.answer_time_s) == ("1/1", "몇 명?", "12명", 3.5)
    used = tool_usage_of(parse_execution(one))
    assert (set(used.filters), set(used.datakeys)) == ({"PATRIOT"}, {"EVAL"})
    assert (one.ground_truth, one.expected_filters) == ("12", "보훈")


def test_numbered_columns_of_older_files_are_read(tmp_path: Path) -> None:
    header = ["ID", "질의", "1차 raw", "1차 detected_filterTypes", "tool_calls", "첫 응답 시간(초)", "detected_filters"]
    rows = [header, ["A1", "몇 명?", raw("12명"), "PATRIOT", "2", "0.9", "LICENSE"]]
    (one,) = executions(read_testrun_file(write_csv(tmp_path / "r.csv", rows)))
    assert (one.raw_json, one.detected_filters, one.tool_call_count, one.ttft_s) == (raw("12명"), "PATRIOT", 2, 0.9)


def test_columns_and_filters_have_the_names_of_a_team(tmp_path: Path) -> None:
    names = TeamNames({"질의": "문제", "N차 답변": "{n}회 응답"}, {"외국어 시험": "FOREIGN_EXAM"})
    rows = [["ID", "문제", "1회 응답", "2회 응답", "기대 필터"], ["A1", "몇 명?", "12명", "13명", "외국어 시험"]]
    first, second = executions(read_testrun_file(write_csv(tmp_path / "r.csv", rows), names))
    assert (first.query_text, first.answer_text, second.answer_text) == ("몇 명?", "12명", "13명")
    assert first.filter_names.expected(first.expected_filters).filters == {"FOREIGN_EXAM"}


def test_headers_with_line_breaks_are_read_from_text_and_workbooks(tmp_path: Path) -> None:
    header = ["ID", "질의", "1차\n답변", "1차\xa0답변\n시간(초)"]
    rows = [header, ["A1", "몇 명?", "12명", "1.5"]]
    for path in (write_csv(tmp_path / "r.csv", rows), write_xlsx(tmp_path / "r.xlsx", {"결과": rows})):
        (one,) = executions(read_testrun_file(path))
        assert (one.answer_text, one.answer_time_s) == ("12명", 1.5)


def test_headers_that_differ_in_their_line_breaks_alone_are_doubled(tmp_path: Path) -> None:
    rows = [["ID", "질의", "1차\n답변", "1차 답변"], ["A1", "몇 명?", "12명", "13명"]]
    with pytest.raises(InputError, match="columns are there more than once: 1차 답변"):
        read_testrun_file(write_csv(tmp_path / "r.csv", rows))


def test_scores_of_an_earlier_tool_are_kept_beside_ours_in_both_layouts(tmp_path: Path) -> None:
    scores = ["4", "-"]
    wide = [[*WIDE_HEADER, "정확도 점수", "총점"], [*wide_row(), *scores]]
    long = [[*LONG_HEADER, "정확도 점수", "총점"], [*long_row(), *scores]]
    for rows in (wide, long):
        (one, *_) = executions(read_testrun_file(write_csv(tmp_path / "r.csv", rows)))
        assert one.recorded_scores == {"accuracy": 4.0}


def test_unknown_columns_may_have_one_name_or_none(tmp_path: Path) -> None:
    header = [*LONG_HEADER, "비고", "비고", ""]
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [header, [*long_row(), "가", "나", "다"]]))
    assert run.counts.scored == 1


@pytest.mark.parametrize("name", ["r.csv", "r.xlsx", "r.parquet", "r"])
def test_empty_file_or_one_of_another_kind_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match=r"empty|ending in") as refused:
        read_testrun_file(tmp_path / name)
    assert name in refused.value.where


def test_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_testrun_file(tmp_path / "none.csv")


@given(st.lists(st.sampled_from(["1/1", "2/1", "3/2", "1", "", "x"]), max_size=12))
def test_every_row_is_scored_or_rejected(tmp_path_factory: pytest.TempPathFactory, rounds: list[str]) -> None:
    path = write_csv(
        tmp_path_factory.mktemp("run") / "r.csv", [LONG_HEADER, *(long_row(round_=each) for each in rounds)]
    )
    counts = read_testrun_file(path).counts
    good = {each for each in rounds if "/" in each}
    assert (counts.rows_in, counts.scored, counts.rejected) == (len(rounds), len(good), len(rounds) - len(good))


def test_test_run_with_more_rows_than_memory_should_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(",".join(LONG_HEADER) + "\n" + "broken\n" * 50_001)
    with pytest.raises(InputError, match=r"a test run with more than 50,000 rows\n  -> split the file"):
        read_testrun_file(path)
