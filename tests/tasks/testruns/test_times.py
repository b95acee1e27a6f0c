"""The cells of test runs that tell how long an answer took."""

from pathlib import Path

import pytest

from scoring.testruns.executions import parse_execution
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, wide_row, write_csv


@pytest.mark.parametrize("cell", ["타임아웃", "Timeout", "응답 시간 초과"])
def test_time_cell_that_says_timeout_is_a_failed_execution(tmp_path: Path, cell: str) -> None:
    wide = read_testrun_file(write_csv(tmp_path / "w.csv", [WIDE_HEADER, wide_row(**{"1차 답변 시간(초)": cell})]))
    long = read_testrun_file(write_csv(tmp_path / "l.csv", [LONG_HEADER, long_row(latency_ms=cell)]))
    (first, second), (only,) = wide.queries["A1"], long.queries["Q1"]
    assert [parse_execution(one).failure for one in (first, only)] == [f"응답 상태: {cell}"] * 2
    assert parse_execution(second).answered


@pytest.mark.parametrize("cell", ["timeout", "시간 초과"])
def test_ttft_cell_that_says_timeout_is_a_failed_execution_of_unknown_time(tmp_path: Path, cell: str) -> None:
    of_row = [[*WIDE_HEADER, "ttft(초)"], [*wide_row(**{"1차 응답 상태": "", "2차 응답 상태": ""}), cell]]
    of_round = [[*WIDE_HEADER, "1차 ttft(초)"], [*wide_row(), cell]]
    of_long = [[*LONG_HEADER, "ttft"], [*long_row(), cell]]
    for rows, query, others in ((of_row, "A1", 1), (of_round, "A1", 1), (of_long, "Q1", 0)):
        run = read_testrun_file(write_csv(tmp_path / "r.csv", rows))
        assert (run.counts.rows_in, run.counts.scored) == (1, 1)
        failed, *answered = map(parse_execution, run.queries[query])
        assert (failed.failure, failed.execution.ttft_s) == (f"응답 상태: {cell}", None)
        assert [one.answered for one in answered] == [True] * others


def test_time_may_set_its_thousands_apart(tmp_path: Path) -> None:
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [WIDE_HEADER, wide_row(**{"1차 답변 시간(초)": "1,234.5"})]))
    assert run.queries["A1"][0].answer_time_s == 1234.5


def test_digits_of_full_width_are_digits(tmp_path: Path) -> None:
    wide = read_testrun_file(
        write_csv(tmp_path / "w.csv", [WIDE_HEADER, wide_row(**{"1차 답변 시간(초)": "２７．５초"})])
    )
    long = read_testrun_file(
        write_csv(tmp_path / "l.csv", [LONG_HEADER, long_row(round_="２/１", latency_ms="８０００")])
    )
    assert (wide.queries["A1"][0].answer_time_s, long.queries["Q1"][0].latency_ms) == (27.5, 8000)
    assert str(long.queries["Q1"][0].round) == "2/1"


@pytest.mark.parametrize("cell", ["없음", "N/A", "미측정", "측정 불가"])
def test_time_that_was_not_measured_costs_no_row(tmp_path: Path, cell: str) -> None:
    wide = read_testrun_file(write_csv(tmp_path / "w.csv", [WIDE_HEADER, wide_row(**{"1차 답변 시간(초)": cell})]))
    long = read_testrun_file(write_csv(tmp_path / "l.csv", [LONG_HEADER, long_row(latency_ms=cell)]))
    assert (len(wide.queries["A1"]), wide.queries["A1"][0].answer_time_s) == (2, None)
    assert (wide.counts.rejected, long.counts.rejected, long.queries["Q1"][0].latency_ms) == (0, 0, None)


def test_time_of_another_form_is_rejected_with_what_to_write(tmp_path: Path) -> None:
    run = read_testrun_file(write_csv(tmp_path / "w.csv", [WIDE_HEADER, wide_row(**{"1차 답변 시간(초)": "27 안팎"})]))
    assert "0 이상의 초여야 하는데 다른 값입니다. 값이 없으면 비워 두세요." in run.rejects[0].reason
