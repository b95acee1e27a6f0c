"""What the pages of test runs say of what is not there."""

from pathlib import Path

import pytest

from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.site import Page, build, write_run
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, raw, wide_row, write_csv


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
def test_run_of_which_nothing_was_scored_claims_nothing_of_its_rows(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path, rows: list[list[str]], said: str
) -> None:
    write_run(warehouse, write_csv(tmp_path / "resume_agent_none.csv", [WIDE_HEADER, *rows]), DAY)
    build(warehouse, site)
    text = testrun_page(site, "resume_agent_none").text
    assert said in text
    assert "이 채점 기준은 수기 확인 대상을 따로 정하지 않습니다" not in text
    assert ("데이터 상태 빠진 것이 없습니다" in text) == (not rows)


@pytest.mark.parametrize(
    ("name", "rows", "left_out"),
    [
        ("resume_agent_x.csv", [WIDE_HEADER, wide_row()], 0),
        ("plan_agent_x.csv", [LONG_HEADER, long_row(오류="Timeout", **{"Raw JSON": ""})], 0),
        (
            "plan_agent_x.csv",
            [LONG_HEADER, *(long_row(f"Q{n}", **{"Raw JSON": raw("글" * 4_000)}) for n in range(20))],
            4,
        ),
    ],
)
def test_page_misses_raw_json_that_had_no_room_alone(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path, name: str, rows: list[list[str]], left_out: int
) -> None:
    write_run(warehouse, write_csv(tmp_path / name, rows), DAY)
    build(warehouse, site)
    found = testrun_page(site, name.partition(".")[0])
    assert ("Raw JSON 없이" in found.text) == bool(left_out)
    if left_out:
        assert f"질의 {left_out}개는 Raw JSON 없이" in found.text
        assert [tag for tag, _ in found.elements].count("pre") == 20 - left_out
