"""The pages of weeks, months and chosen days: beside those before them, day by day."""

import re
import time
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.alerting.watch import AlertPolicy
from scoring.chat.periods import Period, week_of
from tasks.reports.markdown.period import period_report
from tasks.reports.site import listed_rows
from tasks.reports.site.build import build_pages
from tasks.reports.site.day_tables import question_text
from tasks.reports.site.patterns import Questions, summed_questions
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import RUBRIC, best, refused
from tests.builders.site import build, of_version, page, write_day


def test_week_is_compared_with_the_one_before_and_counts_repeated_questions(
    warehouse: FolderWarehouse, site: Path
) -> None:
    monday = date(2026, 2, 9)
    for offset in range(-7, 7):
        write_day(warehouse, monday + timedelta(days=offset), [best()] * 3 + [refused(tenant_id="t2")] * (offset >= 0))
    build(warehouse, site)
    text = page(site, f"monitoring/week-{monday}.html").text
    assert "이 주 25.0%" in text[text.index("실패율 목표 3% 이하") :]
    assert "이 주을" not in text
    assert "올라감" in text
    assert "{낱말} (예: 살까, 7번) 7 1 1 1 1 1 1 1" in text
    assert "t2 7" in text
    assert "앞 주에 없던 테넌트 t2: 2월 9일(월)부터 7행" in text
    assert f"monitoring/week-{monday}.html" in (page(site).source)


def test_week_says_how_many_days_of_another_rubric_version_its_kpis_leave_out(
    warehouse: FolderWarehouse, site: Path
) -> None:
    monday = date(2026, 2, 9)
    for offset, version in enumerate("0011"):
        rows = [best()] * offset + [refused()]
        write_day(warehouse, monday + timedelta(days=offset), rows, of_version(version))
    build(warehouse, site)
    said = "2일 동안 7행을 채점했습니다. 다른 채점 기준이나 버전으로 채점한 2일 3행은 지표에 넣지 않았습니다."
    text = page(site, f"monitoring/week-{monday}.html").text
    assert f"{said} 날짜별 표와 그 아래의 합계에는 있습니다." in text
    assert "답변 실패 4 1 1 1 1" in text


@pytest.mark.long
def test_week_says_first_which_tenant_made_most_of_a_rise(warehouse: FolderWarehouse, site: Path) -> None:
    monday = date(2026, 2, 9)
    for offset in range(-7, 7):
        rows = [best()] * 5 + [refused(tenant_id="t2")] * (2 if offset >= 0 else 0)
        write_day(warehouse, monday + timedelta(days=offset), rows)
    build(warehouse, site)
    said = "가장 먼저 볼 것은 주로 테넌트 t2에서 앞 주보다 늘어난 '답변 실패' 14 행입니다."
    assert said in page(site, f"monitoring/week-{monday}.html").text


@pytest.mark.long
def test_week_names_what_called_people_in_it(warehouse: FolderWarehouse, site: Path) -> None:
    monday, wednesday = date(2026, 2, 9), date(2026, 2, 11)
    for offset in range(-7, 7):
        day = monday + timedelta(days=offset)
        write_day(warehouse, day, [best()] * 40 + [refused()] * (30 if day == wednesday else 2))
    build(warehouse, site)
    week = period_report(warehouse, RUBRIC, week_of(monday), "Asia/Seoul", AlertPolicy())
    for text in (page(site, f"monitoring/week-{monday}.html").text, week):
        assert re.search(r"2월 11일\(수\) 긴급 알림: .*답변 실패 · (급증|새로 나타남), 평소의 \d+\.\d배", text)
        assert text.count("긴급 알림: ") == 1


@pytest.mark.long
def test_month_and_chosen_days_have_pages_beside_those_before_them(warehouse: FolderWarehouse, site: Path) -> None:
    first = date(2026, 1, 30)
    for offset in range(16):
        day = first + timedelta(days=offset)
        write_day(warehouse, day, [best()] * 3 + [refused(tenant_id="t2")] * (day.month == 2))
    build(warehouse, site)
    month = page(site, "monitoring/month-2026-02.html")
    assert "이 달 25.0%" in month.text[month.text.index("실패율 목표 3% 이하") :]
    assert re.search(r"n 앞 기간 이 달 25\.0% ■ 미달 \S+% 56 0\.0%", month.text)
    assert ("← 2026년 1월", "month-2026-01.html") in [(text, href.rpartition("/")[2]) for text, href in month.links]
    chosen = Period(date(2026, 2, 3), date(2026, 2, 5))
    build_pages(warehouse, RUBRIC, site, "Asia/Seoul", span=2, chosen=chosen)
    text = page(site, f"monitoring/{chosen.key}.html").text
    # before: January 31 to February 2
    assert re.search(r"이 기간 25\.0% ▲ 판단 보류\(n 125 이상이어야 달성 가능\) \S+% 12 18\.2%", text)
    assert "실패율에 포함된 행 3 1 1 1" in text
    build(warehouse, site, span=3)  # weeks later, when the days of the month have left the span
    assert page(site, "monitoring/month-2026-02.html").source == month.source
    assert {f"monitoring/{name}.html" for name in ("month-2026-02", "month-2026-01", chosen.key)} <= {
        href for _, href in page(site).links
    }


@pytest.mark.parametrize(
    ("question", "shown"),
    [("배송 언제 와요?", "배송 언제 와요"), ("하늘전자 주가?", "{종목} 주가 (예: 하늘전자 주가?, 3번)")],
)
def test_question_is_an_example_only_of_what_its_template_leaves_open(question: str, shown: str) -> None:
    assert question_text(Questions(RUBRIC.template(question), Counter({question: 3}), Counter())) == shown


def test_questions_of_many_days_are_summed_without_a_walk_through_those_of_the_days_before() -> None:
    days = [[Questions("{낱말}", {f"{day} {number}": 1 for number in range(5_000)}, {"kpi": day})] for day in range(60)]
    began = time.process_time()
    (summed,) = summed_questions(days)
    assert time.process_time() - began < 2  # 5 s with the walk, 0.2 s without
    assert (summed.rows, summed.counts) == (300_000, {"kpi": sum(range(60))})


def test_period_says_where_days_have_more_rows_than_its_questions_are_counted_among(
    warehouse: FolderWarehouse, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday = date(2026, 2, 9)
    write_day(warehouse, monday, [refused()] * 5)
    build(warehouse, site)
    assert "까지 셈" not in page(site, f"monitoring/week-{monday}.html").text
    monkeypatch.setattr(listed_rows, "MOST_ROWS", 3)
    write_day(warehouse, monday, [refused()] * 6)
    build(warehouse, site)
    text = page(site, f"monitoring/week-{monday}.html").text
    assert "반복된 질문(하루 10,000행까지 셈)" in text
    assert "(예: 살까, 3번) 3 3, 목록은 일부" in text
