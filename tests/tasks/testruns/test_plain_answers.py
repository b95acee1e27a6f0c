"""Answers in plain text, without Raw JSON."""

from pathlib import Path

import pytest

from scoring.errors import InputError
from tasks.testruns.files import read_testrun_file
from tests.builders.testruns import executions, write_csv


@pytest.mark.parametrize("round_column", ["회차", "방/반복"])
@pytest.mark.parametrize("spelling", ["{}", "{}/1", "{}차"])
def test_plain_answers_have_one_row_per_execution(tmp_path: Path, round_column: str, spelling: str) -> None:
    rows = [["Q1", spelling.format(number), "안녕", "네", "3"] for number in (1, 2)]
    run = read_testrun_file(
        write_csv(tmp_path / "r.csv", [["ID", round_column, "질의", "응답", "응답 시간(초)"], *rows])
    )
    assert [(str(one.round), one.answer_time_s) for one in executions(run)] == [("1/1", 3.0), ("2/1", 3.0)]


def test_plain_answers_below_the_headers_of_raw_json_are_told_the_others(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_testrun_file(write_csv(tmp_path / "r.csv", [["Query ID", "방/반복", "질의", "응답", "응답 시간(초)"]]))
    assert refused.value.fix.endswith("call the columns ID, 회차 (1, 2, 3), 질의, 응답 and 응답 시간(초) instead")
