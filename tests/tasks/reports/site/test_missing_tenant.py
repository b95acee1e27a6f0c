"""What report, pages and messages say of a day that lacks the rows of a tenant."""

from datetime import date, timedelta
from pathlib import Path

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.messages import RouteFilter
from scoring.alerting.watch import AlertPolicy
from tasks.alerts.day_digest import day_digest
from tasks.chat.tables import write_alerts
from tasks.files.report_paths import ReportPaths
from tasks.reports.chat_folder import write_day_report
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.alert_days import kpi_row, met
from tests.builders.chat_rows import RUBRIC, best, of_sessions, write_rows
from tests.builders.kpi_tables import write_kpis
from tests.builders.scored_days import write_scored_day
from tests.builders.site import build, page, write_day

MONDAY = date(2026, 3, 23)
FRIDAY = MONDAY + timedelta(4)
SAID = "이날은 20행뿐입니다(업무일 평소 60행) — 테넌트 acme: 행 없음(평소 40행)."


def test_report_and_page_name_the_tenant_whose_rows_the_day_lacks(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path
) -> None:
    others = of_sessions(best(tenant_id="globex") for _ in range(20))
    for number in range(5):
        acme = [] if number == 4 else of_sessions(best(tenant_id="acme") for _ in range(40))
        write_day(warehouse, MONDAY + timedelta(number), [*others, *acme])
    build(warehouse, site)
    assert SAID in page(site, f"monitoring/{FRIDAY}.html").text
    rows = [{**row, "timestamp": f"{FRIDAY}T03:{minute:02}:00Z"} for minute, row in enumerate(others)]
    outcome, tables = write_scored_day(warehouse, FRIDAY, write_rows(tmp_path / "rows.jsonl", rows), RUBRIC)
    facts = write_alerts(warehouse, FRIDAY, RUBRIC, 0)
    out = tmp_path / "out"
    report = write_day_report(warehouse, FRIDAY, outcome, tables, facts, out / "report.md", str(FRIDAY), AlertPolicy())
    assert report.sentences[0].startswith(SAID)
    assert len(report.sentences) <= 3


def test_digest_of_a_scored_day_has_the_tenant_that_vanished(tmp_path: Path) -> None:
    warehouse, day = FolderWarehouse(tmp_path), MONDAY
    usual = {MONDAY - timedelta(back): {"acme": 40, "globex": 360} for back in range(42, 0, -1)}
    days = usual | {MONDAY: {"globex": 360}}
    rows = {
        day: [met(kpi_row({}, count, tenant=tenant)) for tenant, count in {"*": sum(of.values()), **of}.items()]
        for day, of in days.items()
    }
    write_kpis(warehouse, rows)
    digest = day_digest(warehouse, RUBRIC, day, [], ReportPaths(tmp_path / "reports"), AlertPolicy())
    (message,) = day_messages(digest, RouteFilter())
    assert "행이 하나도 없음 · 새로 나타남 (테넌트 acme)" in readable(message.blocks)
