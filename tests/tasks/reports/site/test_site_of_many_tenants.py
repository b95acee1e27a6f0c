"""The site of a service with thousands of tenants: what it shows of each, and what it says of the others."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from scoring.alerting.watch import AlertPolicy
from scoring.chat.periods import week_of
from tasks.reports.markdown.period import period_report
from tasks.reports.site.scored_days import ScoredSpan
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, RUBRIC, best, refused
from tests.builders.kpi_tables import CountedRows
from tests.builders.site import build, page, write_day

TENANTS = 90
LARGE = "기업-007"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> FolderWarehouse:
    """Ten days of as many tenants, one of which has most rows; each has a failure."""
    found = FolderWarehouse(tmp_path_factory.mktemp("tenants") / "warehouse")
    names = [f"기업-{number:03d}" for number in range(TENANTS)]
    rows = [turn(tenant_id=name) for name in names for turn in (best, refused)] + [best(tenant_id=LARGE)] * 30
    for offset in range(10):
        write_day(found, DAY + timedelta(offset), rows, apart=timedelta(seconds=30))
    return found


@pytest.fixture(scope="module")
def site(warehouse: FolderWarehouse, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(warehouse, folder)
    return folder


@pytest.mark.parametrize("name", ["index.html", f"monitoring/{DAY + timedelta(9)}.html"])
def test_day_shows_its_largest_tenants_and_sums_the_others(site: Path, name: str) -> None:
    source = page(site, name).source
    table = source[source.rindex("테넌트별 핵심 지표") :].split("</table>")[0]
    lines = table.split("<tr>")[2:]
    assert len(lines) == 41
    assert LARGE in lines[0]
    of_others = page(site, name).text.split("그 밖의 테넌트 50곳")[-1].split()
    assert of_others[:2] == ["100", "0"]  # rows and excluded
    assert "monitoring_kpis" in page(site, name).text


def test_day_lists_a_hundred_alerts_of_tenants_and_says_how_many_there_are(site: Path) -> None:
    found = page(site, f"monitoring/{DAY + timedelta(9)}.html")
    total = int(found.text.split("테넌트별 알림 ")[1].split("건")[0])
    table = found.source[found.source.rindex("테넌트별 알림") :].split("</table>")[0]
    assert total > table.count('<th scope="row">') == 100
    assert "100건입니다" in found.text


def test_report_of_a_week_names_its_largest_tenants_and_counts_the_others(warehouse: FolderWarehouse) -> None:
    report = period_report(warehouse, RUBRIC, week_of(DAY + timedelta(9)), "Asia/Seoul", AlertPolicy())
    assert report.count("| 기업-") == 40
    assert "그 밖의 테넌트 50곳" in report


def test_week_names_ten_of_many_new_tenants_and_counts_the_others(tmp_path: Path) -> None:
    """A chatbot that had one tenant until the week began."""
    monday = week_of(DAY + timedelta(9)).first
    grown = FolderWarehouse(tmp_path / "warehouse")
    names = [f"새-{number:02d}" for number in range(25)]
    for offset in range(-7, 7):
        new = [best(tenant_id=name) for name in names] if offset >= 0 else []
        write_day(grown, monday + timedelta(offset), [best(), *new])
    build(grown, tmp_path / "site")
    text = page(tmp_path / "site", f"monitoring/week-{monday}.html").text
    assert text.count("앞 주에 없던 테넌트 새-") == 10
    assert "앞 주에 없던 테넌트나 질문 유형이 15가지 더 있음" in text


def test_rows_of_each_tenant_are_found_by_going_through_the_days_once() -> None:
    """For each of 2,000 tenants anew, a page of a week took minutes."""
    days = {
        DAY + timedelta(back): CountedRows({"tenant_id": f"t{number}"} for number in range(50)) for back in range(7)
    }
    span = ScoredSpan([], days)
    found = [span.rows_of(f"t{number}") for number in range(50)]
    assert all(list(of_tenant) == list(days) for of_tenant in found)
    assert {rows.times for rows in days.values()} == {1}


def test_long_name_is_cut_in_tables_and_whole_in_links(tmp_path: Path) -> None:
    """It pushed every figure of the table out of sight."""
    name = "회사" * 150
    grown = FolderWarehouse(tmp_path / "warehouse")
    write_day(grown, DAY, [refused(tenant_id=name), best()])
    build(grown, tmp_path / "site")
    found = page(tmp_path / "site", f"monitoring/{DAY}.html")
    assert name[:59] + "…" in found.text
    assert name not in found.text
    assert quote(name) in found.source
