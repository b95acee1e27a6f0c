"""What the pages and the report of a day say of a rise that lasts."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from scoring.alerting.watch import AlertPolicy
from tasks.chat.tables import write_alerts
from tasks.reports.chat_folder import write_day_report
from tasks.reports.markdown.monitoring import MonitoringReport
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.alert_days import kpi_row, met
from tests.builders.chat_rows import DAY, RUBRIC, best, of_sessions, refused, write_rows
from tests.builders.kpi_tables import write_kpis
from tests.builders.scored_days import write_scored_day
from tests.builders.site import build, page, write_day

USUAL_DAYS, RISEN_DAYS = 10, 7
LAST = DAY + timedelta(USUAL_DAYS + RISEN_DAYS - 1)
SAID = "주로 테넌트 가에서 평소보다 늘어난 '답변 실패'"


def turns(failed: int) -> list[dict[str, object]]:
    """A day of three tenants with twenty turns each, of which as many of the first failed."""
    of_first = [refused(tenant_id="가")] * failed + [best(tenant_id="가")] * (20 - failed)
    return of_sessions(of_first + [turn(tenant_id=name) for name in "나다" for turn in (refused, *[best] * 19)])


@pytest.fixture
def risen(warehouse: FolderWarehouse) -> FolderWarehouse:
    """Days at the usual rate, then a week on which one tenant's rate is higher."""
    for offset in range(USUAL_DAYS + RISEN_DAYS):
        write_day(warehouse, DAY + timedelta(offset), turns(1 if offset < USUAL_DAYS else 14))
    return warehouse


def test_pages_name_the_tenant_of_a_rise_on_each_of_its_days(risen: FolderWarehouse, site: Path) -> None:
    build(risen, site)
    for offset in range(USUAL_DAYS, USUAL_DAYS + RISEN_DAYS):
        assert SAID in page(site, f"monitoring/{DAY + timedelta(offset)}.html").text, offset
    assert SAID in page(site).text


@pytest.fixture
def report(risen: FolderWarehouse, tmp_path: Path) -> MonitoringReport:
    """The report of the last day."""
    rows = [{**row, "timestamp": f"{LAST}T03:{minute:02}:00Z"} for minute, row in enumerate(turns(14))]
    outcome, tables = write_scored_day(risen, LAST, write_rows(tmp_path / "rows.jsonl", rows), RUBRIC)
    facts = write_alerts(risen, LAST, RUBRIC, 0)
    return write_day_report(
        risen, LAST, outcome, tables, facts, tmp_path / "out" / "report.md", str(LAST), AlertPolicy()
    )


def test_report_names_the_tenant_of_a_rise_on_its_last_day(report: MonitoringReport) -> None:
    assert SAID in " ".join(report.sentences)


def test_report_has_the_alerts_that_the_page_of_its_day_has(
    risen: FolderWarehouse, site: Path, report: MonitoringReport
) -> None:
    build(risen, site)
    source = page(site, f"monitoring/{LAST}.html").source.split("<caption>전체 테넌트의 알림</caption>")[1]
    headings = re.findall(r'<th scope="row">(.*?)</th>', source.split("</table>")[0], re.DOTALL)
    of_page = {title.strip(): changes for title, *changes in map(_alert, headings)}
    alerts = report.markdown().split("\n## 알림\n")[1].split("\n## ")[0]
    assert {"실패율 목표 미달", "답변 실패"} <= of_page.keys()
    assert any(of_page.values())
    for title, changes in of_page.items():
        shown = title + "".join(f" ({change})" for change in changes)
        assert f" | {shown} | " in alerts, shown
    assert "| Warning | 실패율 목표 미달 | – | 26.7% (목표 3% 이하) |" in alerts


def _alert(heading: str) -> list[str]:
    """The title of an alert of a page, then what has changed of its rate."""
    return [heading.split("<")[0], *re.findall(r'<span class="tag[^"]*">(.*?)</span>', heading)]


def test_card_compares_its_longest_window_too(warehouse: FolderWarehouse, site: Path) -> None:
    """What rose over a month is the same in the last two weeks."""
    rates = [0.05] * 28 + [0.1] * 28
    days = {DAY + timedelta(n): [met(kpi_row({})) | {"failure_rate": rate}] for n, rate in enumerate(rates)}
    write_kpis(warehouse, days)
    build(warehouse, site)
    text = page(site, f"monitoring/{max(days)}.html").text
    card = text[text.index("실패율, 기간별") : text.index("GOLD MINE 비율, 기간별")]
    assert "최근 7일, 앞 기간과 비교: 달라졌다고 할 수 없음 (95% 구간 " in card
    assert re.search(r"최근 28일, 앞 기간과 비교: 올라감 \(95% 구간 \+4\.\d~\+5\.\d%p\)", card)
