"""Tables with a column for each day of a month or for each KPI: names of rows stay, and paper loses no column."""

from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page as Tab

from scoring.chat.periods import month_of
from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import DESKTOP, IN_CHROMIUM, PHONE
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.site import build, write_day, write_run
from tests.builders.uploads import PLAN

pytestmark = IN_CHROMIUM

DAYS = [DAY.replace(day=1) + timedelta(days=place) for place in range(28)]
MONTH, LAST = (f"monitoring/{key}.html" for key in (month_of(DAY).key, DAYS[-1]))
CUT = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"
LEFT_OF_NAMES = """(all) => all.map((one) => {
  one.scrollLeft = one.scrollWidth;
  return one.querySelector("tbody th").getBoundingClientRect().left - one.getBoundingClientRect().left;
})"""

COVERED = """(all) => all.filter((one) => {
  one.scrollLeft = one.scrollWidth;
  const right = (cell) => cell.getBoundingClientRect().right;
  const rows = [...one.querySelectorAll("tbody tr")].filter((row) => getComputedStyle(row).display === "table-row");
  return rows.some((row) => right(row.cells[0]) > right(row.lastElementChild) - 20);
}).map((one) => one.ariaLabel)"""
# What people paste into a chat, and what they call their customers and files.
WITHOUT_BLANKS = "https://example.com/" + "news/" * 50


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("month")
    warehouse = FolderWarehouse(folder / "warehouse")
    for day in DAYS:
        tenants = ("tenant-of-long-name", "other")
        write_day(warehouse, day, [row(tenant_id=one) for row in (best, refused) for one in tenants])
    build(warehouse, folder / "site")
    return folder / "site"


def test_phone_keeps_the_name_of_a_row_in_sight(tab: Tab, site: Path) -> None:
    tab.set_viewport_size(PHONE)
    tab.goto((site / MONTH).as_uri())
    assert set(map(round, tab.locator(".scroll").evaluate_all(LEFT_OF_NAMES))) <= {0, 1}


def test_desktop_shows_every_kpi_of_every_tenant_of_a_day(tab: Tab, site: Path) -> None:
    tab.set_viewport_size(DESKTOP)
    tab.goto((site / LAST).as_uri())
    assert tab.locator(".scroll").evaluate_all(CUT) == []


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_long_names_without_blanks_cover_no_figures(tab: Tab, tmp_path: Path, width: int) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_day(warehouse, DAY, [refused(user_input=WITHOUT_BLANKS, tenant_id="아주긴이름의고객사" * 5)] * 3)
    run = tmp_path / f"plan_agent_{'아주긴이름의결과' * 5}.csv"
    run.write_bytes(PLAN.read_bytes())
    write_run(warehouse, run, DAY)
    build(warehouse, tmp_path / "site")
    tab.set_viewport_size({"width": width, "height": 900})
    for page in sorted((tmp_path / "site").rglob("*.html")):
        tab.goto(page.as_uri())
        tab.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert tab.locator(".scroll:has(.figures)").evaluate_all(COVERED) == [], page.name


@pytest.mark.parametrize("name", [MONTH, LAST])
def test_paper_shows_every_column(tab: Tab, site: Path, name: str) -> None:
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 688, "height": 1123})  # A4 within its margins
    tab.goto((site / name).as_uri())
    assert tab.locator(".scroll").evaluate_all(CUT) == []
