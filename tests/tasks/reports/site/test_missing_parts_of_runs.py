"""What the pages of test runs say of what is not there."""

from pathlib import Path

import pytest

from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.site import Page, build, write_run
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv


def testrun_page(site: Path, beginning: str) -> Page:
    (path,) = (site / "test-runs").glob(f"{beginning}*.html")
    return Page(path)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "파일에 행이 없습니다."),
        ([wide_row(**{"1차 답변": "", "1차 답변 시간(초)": "", "2차 답변": ""})], "거부한 행 1개 말고는"),
    ],
)
def test_a_run_of_which_nothing_was_scored_claims_nothing_of_its_rows(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path, rows: list[list[str]], said: str
) -> None:
    write_run(warehouse, write_csv(tmp_path / "resume_agent_none.csv", [WIDE_HEADER, *rows]), DAY)
    build(warehouse, site)
    text = testrun_page(site, "resume_agent_none").text
    assert said in text
    assert "이 채점 기준은 수기 확인 대상을 따로 정하지 않습니다" not in text
    assert ("데이터 상태 빠진 것이 없습니다" in text) == (not rows)
