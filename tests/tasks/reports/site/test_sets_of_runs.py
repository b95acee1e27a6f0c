"""What the page of a test set says of runs of one day, and of runs that were scored late."""

import json
from pathlib import Path

import polars as pl
import pytest

from scoring.rules.arrow_types import frame_of
from tasks.testruns.warehouse import SUMMARIES, SUMMARIES_SCHEMA
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.site import Page, build, page, write_run
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, wide_row, write_csv

FIRST_CHANGE = {"name", "sha256", "when", "paired", "only_before", "only_now", "obstacle", "metrics", "worse", "better"}
"""What the first version that compared a run with the one before it stored of that, beside `worst`."""


def set_page(warehouse: FolderWarehouse, site: Path) -> Page:
    build(warehouse, site)
    (path,) = (site / "test-runs").glob("set-*.html")
    return Page(path)


def write_run_at(warehouse: FolderWarehouse, folder: Path, name: str, when: str) -> None:
    rows = [[*plan_row(f"Q{n}", question=f"평가기간을 {n}일로 바꿔줘"), when] for n in range(40)]
    write_run(warehouse, write_csv(folder / name, [[*LONG_HEADER, "실행시각"], *rows]), DAY)


@pytest.mark.parametrize("names", [("plan_agent_a.csv", "plan_agent_b.csv"), ("a/plan_agent.csv", "b/plan_agent.csv")])
def test_runs_of_one_day_are_told_apart(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path, names: tuple[str, str]
) -> None:
    for name, hour in zip(names, ("09", "15"), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_run_at(warehouse, tmp_path, name, f"2026-03-02T{hour}:20:40")
    found = set_page(warehouse, site)
    chart = found.charts["history-accuracy"]
    assert chart["days"] == ["3/2", "3/2 (2)"]
    assert len({point["label"] for point in chart["points"]}) == 2
    assert f"최근 테스트 런({Path(names[1]).name}, 2026-03-02 15:20)" in found.text
    assert f"{Path(names[0]).name} 2026-03-02 09:20 40" in found.text


def test_run_that_was_scored_before_the_one_preceding_it_is_no_first_run(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    for day in ("2026-03-02", "2026-03-01"):
        write_run_at(warehouse, tmp_path, f"plan_agent_{day}.csv", day)
    found = set_page(warehouse, site)
    why = "비교 안 함. 지난 실행(plan_agent_2026-03-01.csv, 2026-03-01)이 나중에 채점되어 비교하지 않음."
    assert f"최근 테스트 런(plan_agent_2026-03-02.csv, 2026-03-02): {why}" in found.text
    assert found.text.count("첫 실행") == 1  # of the other one
    assert f"비교 안 함 {why.removeprefix('비교 안 함. ')[:-1]}" in page(site, "test-runs/index.html").text


def test_run_of_which_nothing_was_scored_says_so_and_shows_no_empty_sections(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    rows = [long_row("Q1", "01월 01일"), long_row("Q2", "01월 01일")]
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", [LONG_HEADER, *rows]), DAY)
    found = set_page(warehouse, site)
    assert "채점 안 됨. 행 2건 = 제외 0 + 거부 2." in found.text
    assert "첫 실행" not in found.text + page(site, "test-runs/index.html").text
    (path,) = (site / "test-runs").glob("plan_agent_x*.html")
    text = Page(path).text
    assert "채점한 것이 없습니다" in text and "2행 = 채점 0 + 제외 0 + 거부 2" in text
    for section in ("세트 평균", "가장 많이 실패한 것", "수기로 확인할 질의가 없습니다", "비교할 지난 실행이"):
        assert section not in text


def test_ground_truth_that_is_new_in_a_run_makes_no_agent_better(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    for day, truth in (("20260301", ""), ("20260302", "12")):
        expected = {"기대 필터": "보훈", "정답 수치": truth}
        rows = [wide_row(f"A{n}", **{"질의": f"보훈 대상 {n}명이야?", **expected}) for n in range(40)]
        header = [*WIDE_HEADER, "1차 감지된 필터", "2차 감지된 필터"]
        write_run(
            warehouse,
            write_csv(tmp_path / f"resume_agent_{day}.csv", [header, *([*row, "PATRIOT", "PATRIOT"] for row in rows)]),
            DAY,
        )
    chart = set_page(warehouse, site).charts["history-accuracy"]
    assert [(point["value"], point["segment"]) for point in chart["points"]] == [(4.0, 0), (5.0, 1)]
    (path,) = (site / "test-runs").glob("resume_agent_20260302*.html")
    text = Page(path).text
    assert "나아졌는지 판단 보류: 기대 결과나 정답 수치의 유무가 모두 바뀜" in text
    assert "좋아짐" not in text and "판단 보류(미판정 질의가 많음)" not in text  # no table of what is not compared
    assert "기대 결과가 바뀌거나 정답 수치가 생기거나 없어져 비교에서 뺀 질의 40개" in text


def test_comparison_that_an_earlier_version_stored_is_shown(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    for day in ("2026-03-01", "2026-03-02"):
        write_run_at(warehouse, tmp_path, f"plan_agent_{day}.csv", day)
    rows = []
    for row in pl.read_parquet(warehouse.path(SUMMARIES, DAY)).iter_rows(named=True):
        summary = json.loads(row["summary"])
        if change := summary["change"]:
            summary["change"] = {name: change[name] for name in (*FIRST_CHANGE, "worst")}
        rows.append({**row, "summary": json.dumps(summary)})
    warehouse.replace_day(SUMMARIES, DAY, SUMMARIES_SCHEMA, [frame_of(SUMMARIES_SCHEMA, rows)])
    build(warehouse, site)
    (path,) = (site / "test-runs").glob("plan_agent_2026-03-02*.html")
    assert "같은 테스트 세트의 지난 실행은 plan_agent_2026-03-01.csv" in Page(path).text
