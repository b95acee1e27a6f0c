"""The cells of test runs that tell how long an answer took."""

from pathlib import Path

import pytest

from scoring.testruns.executions import parse_execution
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, wide_row, write_csv


@pytest.mark.parametrize("cell", ["타임아웃", "Timeout", "응답 시간 초과"])
def test_a_time_cell_that_says_timeout_is_a_failed_execution(tmp_path: Path, cell: str) -> None:
    wide = read_testrun_file(write_csv(tmp_path / "w.csv", [WIDE_HEADER, wide_row(**{"1차 답변 시간(초)": cell})]))
    long = read_testrun_file(write_csv(tmp_path / "l.csv", [LONG_HEADER, long_row(latency_ms=cell)]))
    (first, second), (only,) = wide.queries["A1"], long.queries["Q1"]
    assert [parse_execution(one).failure for one in (first, only)] == [f"응답 상태: {cell}"] * 2
    assert parse_execution(second).answered


def test_a_time_may_set_its_thousands_apart(tmp_path: Path) -> None:
    run = read_testrun_file(write_csv(tmp_path / "r.csv", [WIDE_HEADER, wide_row(**{"1차 답변 시간(초)": "1,234.5"})]))
    assert run.queries["A1"][0].answer_time_s == 1234.5
