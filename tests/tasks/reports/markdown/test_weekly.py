"""The report for the weekly meeting: a week beside the week before."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.errors import InputError
from tasks.reports.markdown.weekly import weekly_report
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import REFUSAL, RUBRIC, best, plain, refused
from tests.builders.site import of_version, write_day

MONDAY = date(2026, 2, 9)


@pytest.fixture
def warehouse(tmp_path: Path) -> FolderWarehouse:
    """Two weeks; only in the second one a tenant is refused every day, and a good question once."""
    folder = FolderWarehouse(tmp_path / "warehouse")
    for offset in range(-7, 7):
        bad = [refused(tenant_id="t2")] * 2 if offset >= 0 else []
        gold = [best(llm_response=REFUSAL, output_tokens=20.0)] if offset == 3 else []
        write_day(folder, MONDAY + timedelta(days=offset), [*[best()] * 5, *bad, *gold])
    return folder


def report(warehouse: FolderWarehouse, day: date = MONDAY + timedelta(days=2)) -> str:
    monday, text = weekly_report(warehouse, RUBRIC, day, "Asia/Seoul")
    assert monday == MONDAY
    return text


def test_weekly_report_compares_the_week_with_the_one_before(warehouse: FolderWarehouse) -> None:
    text = report(warehouse)
    assert text.startswith("# 주식 분석 챗봇 운영 모니터링 — 2026-02-09 ~ 2026-02-15 주간\n\n목표 미달은 2개입니다: ")
    (line,) = (line for line in text.splitlines() if line.startswith("| 실패율 | "))
    assert line.startswith("| 실패율 | 30.0% | ")
    assert " | 3% 이하 | 미달 | 50 | 0.0% | 올라감 " in line
    assert "| 답변 실패 | 15 | 0 |" in text
    assert "| t2 | 14 | 0.0% 판단 보류 (앞 주 –) |" in text


def test_weekly_report_lists_gold_mine_rows_and_repeated_questions(warehouse: FolderWarehouse) -> None:
    text = report(warehouse)
    gold = text[text.index("## GOLD MINE(좋은 질문") : text.index("## 반복된 질문")]
    assert gold.count("하늘전자 005930") == 1
    assert "2026-02-12" in gold
    assert "| {낱말} (예: 살까, 14번) | 14 | 14 (100.0%) | 0 (0.0%) |" in text


def test_weekly_report_leaves_out_days_of_another_rubric_version(warehouse: FolderWarehouse) -> None:
    for offset in range(3):
        write_day(warehouse, MONDAY + timedelta(days=offset), [plain()] * 9, of_version("0"))
    assert "4일 동안 29행을 채점했습니다." in report(warehouse)


def test_weekly_report_of_a_week_without_a_scored_day_is_refused(warehouse: FolderWarehouse) -> None:
    with pytest.raises(InputError, match="no day from 2026-03-02 to 2026-03-08"):
        weekly_report(warehouse, RUBRIC, date(2026, 3, 4), "Asia/Seoul")
