"""The report for a meeting: a week, a month or other days beside those before them."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.alerting.watch import AlertPolicy
from scoring.chat.periods import Period, month_of, week_of
from scoring.errors import InputError
from tasks.reports.markdown.period import period_report
from tasks.reports.site.patterns import Questions, summed_questions
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import REFUSAL, RUBRIC, best, plain, refused
from tests.builders.site import of_version, write_day

pytestmark = pytest.mark.slow

MONDAY = date(2026, 2, 9)


@pytest.fixture(scope="module")
def two_weeks(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    """Two weeks; only in the second one a tenant is refused every day, and a good question once."""
    folder = FolderWarehouse(tmp_path_factory.mktemp("weeks") / "warehouse")
    for offset in range(-7, 7):
        bad = [refused(tenant_id="t2")] * 2 if offset >= 0 else []
        gold = [best(llm_response=REFUSAL, output_tokens=20.0)] if offset == 3 else []
        write_day(folder, MONDAY + timedelta(days=offset), [*[best()] * 5, *bad, *gold])
    return folder


@pytest.fixture
def warehouse(two_weeks: FolderWarehouse, tmp_path: Path) -> FolderWarehouse:
    """A copy of them."""
    return FolderWarehouse(Path(shutil.copytree(two_weeks.folder, tmp_path / "warehouse")))


def report(warehouse: FolderWarehouse, day: date = MONDAY + timedelta(days=2)) -> str:
    return period_report(warehouse, RUBRIC, week_of(day), "Asia/Seoul", AlertPolicy())


def test_period_report_compares_a_week_with_the_one_before(warehouse: FolderWarehouse) -> None:
    text = report(warehouse)
    assert text.startswith("# 주식 분석 챗봇 운영 모니터링 — 2026-02-09 ~ 2026-02-15 주간\n\n목표 미달은 2개입니다: ")
    (line,) = (line for line in text.splitlines() if line.startswith("| 실패율 | "))
    assert line.startswith("| 실패율 | 30.0% | ")
    assert " | 3% 이하 | 미달 | 50 | 0.0% | 올라감 " in line
    assert "| 답변 실패 | 15 (30.0%) | 0 (0.0%) |" in text
    assert "| t2 | 14 | 0.0% 판단 보류 (앞 주 –) |" in text


@pytest.mark.long
def test_period_report_names_the_tenant_that_made_most_of_a_rise(warehouse: FolderWarehouse) -> None:
    assert "가장 먼저 볼 것은 주로 테넌트 t2에서 앞 주보다 늘어난 '답변 실패' 15행입니다." in report(warehouse)
    for offset in range(7):
        day = MONDAY + timedelta(days=offset)
        write_day(warehouse, day, [*[best()] * 5, refused(tenant_id="t2"), refused(tenant_id="t3")])
    assert "가장 먼저 볼 것은 앞 주보다 늘어난 '답변 실패' 14행입니다." in report(warehouse)


def test_period_report_lists_gold_mine_rows_and_repeated_questions(warehouse: FolderWarehouse) -> None:
    text = report(warehouse)
    gold = text[text.index("## GOLD MINE(좋은 질문") : text.index("## 반복된 질문")]
    assert gold.count("하늘전자 005930") == 1
    assert "2026-02-12" in gold
    assert "| {낱말} (예: 살까, 14번) | 14 | 14 (100.0%) | 0 (0.0%) |" in text


def test_period_report_sums_the_questions_of_all_days_at_once(
    warehouse: FolderWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Summed day by day, those of a year of different questions took a minute."""
    sums = list[list[Questions]]()

    def summing(days: Iterable[Sequence[Questions]]) -> list[Questions]:
        sums.append(summed_questions(days))
        return sums[-1]

    monkeypatch.setattr("tasks.reports.markdown.period.summed_questions", summing)
    assert "(예: 살까, 14번)" in report(warehouse)
    assert len(sums) == 1


def test_period_report_leaves_out_days_of_another_rubric_version(warehouse: FolderWarehouse) -> None:
    for offset in range(3):
        write_day(warehouse, MONDAY + timedelta(days=offset), [plain()] * 9, of_version("0"))
    left_out = "다른 채점 기준이나 버전으로 채점한 3일 27행은 지표에 넣지 않았습니다."
    assert f"4일 동안 29행을 채점했습니다. {left_out} 채점 기준 버전 1.\n\n" in report(warehouse)


def test_period_report_of_one_rubric_version_leaves_nothing_out(warehouse: FolderWarehouse) -> None:
    assert "넣지 않았습니다" not in report(warehouse)


def test_period_report_of_a_week_without_a_scored_day_is_refused(warehouse: FolderWarehouse) -> None:
    with pytest.raises(InputError, match="no day from 2026-03-02 to 2026-03-08"):
        report(warehouse, date(2026, 3, 4))


def test_period_report_counts_a_day_without_rows_apart(warehouse: FolderWarehouse) -> None:
    write_day(warehouse, MONDAY + timedelta(days=1), [])
    assert "6일 동안 43행을 채점했습니다. 채점한 행이 없는 날은 1일입니다. 채점 기준 버전" in report(warehouse)


def test_period_report_counts_a_day_without_rows_among_those_that_the_week_before_lacks(
    warehouse: FolderWarehouse,
) -> None:
    write_day(warehouse, MONDAY - timedelta(days=1), [])
    write_day(warehouse, MONDAY - timedelta(days=2), [*[best()] * 5, best(tenant_id="t2")])
    text = report(warehouse)
    assert "| 앞 주(6일) | 앞 주(6일) 대비 |" in text
    assert "| t2 | 14 | 0.0% 판단 보류 (앞 주 100.0% (1일치)) |" in text


@pytest.mark.long
def test_period_report_compares_a_month_with_the_one_before_and_other_days_with_as_many(
    warehouse: FolderWarehouse,
) -> None:
    for offset in range(-12, -7):
        write_day(warehouse, MONDAY + timedelta(days=offset), [refused(), best()])
    month = period_report(warehouse, RUBRIC, month_of(MONDAY), "Asia/Seoul", AlertPolicy())
    assert month.startswith("# 주식 분석 챗봇 운영 모니터링 — 2026-02-01 ~ 2026-02-28 월간\n")
    assert "15일 동안 87행을 채점했습니다." in month  # February 1 has two rows
    assert "| 답변 실패 | 16 (18.4%) | 4 (50.0%) |" in month
    assert "이 달 | 95% 구간" in month
    assert "| 앞 달(4일) | 앞 달(4일) 대비 |" in month  # of January four days are scored, of February fifteen
    days = period_report(warehouse, RUBRIC, Period(MONDAY, MONDAY + timedelta(days=2)), "Asia/Seoul", AlertPolicy())
    assert days.startswith("# 주식 분석 챗봇 운영 모니터링 — 2026-02-09 ~ 2026-02-11 3일\n")
    assert "| 답변 실패 | 6 (28.6%) | 0 (0.0%) |" in days
    assert "| 이 기간 | 95% 구간 | 목표 | 판단 | n | 앞 기간 | 앞 기간 대비 |" in days


def test_period_report_counts_blocked_calls_among_scored_and_excluded_rows(warehouse: FolderWarehouse) -> None:
    blocked = plain(llm_response=None, output_tokens=0.0)
    write_day(warehouse, MONDAY, [*[best()] * 5, *[blocked] * 5])
    assert "| LLM 호출 자체가 차단됨 | 5 (9.4%) | 0 (0.0%) |" in report(warehouse)


def test_period_report_without_days_before_it_says_nothing_of_them_beside_each_tenant(
    warehouse: FolderWarehouse,
) -> None:
    text = report(warehouse, MONDAY - timedelta(days=7))
    assert "| t1 | 35 | 100.0% 달성 | 0.0% 판단 보류 |" in text


def test_period_report_names_tenants_and_kinds_of_questions_that_the_week_before_had_not(
    warehouse: FolderWarehouse,
) -> None:
    text = report(warehouse)
    assert "- 앞 주에 없던 테넌트 t2: 2월 9일(월)부터 14행" in text
    assert "- 앞 주에 없던 질문 유형 '열 글자 이하 질문': 2월 9일(월)부터 14행" in text
    assert "없던" not in report(warehouse, MONDAY - timedelta(days=7))  # nothing is known of the week before it


def test_period_report_leaves_out_days_of_another_rubric_with_the_same_version(warehouse: FolderWarehouse) -> None:
    for offset in range(3):
        write_day(warehouse, MONDAY + timedelta(days=offset), [plain()] * 9, replace(RUBRIC, id="other-bot"))
    assert "다른 채점 기준이나 버전으로 채점한 3일 27행은 지표에 넣지 않았습니다." in report(warehouse)
