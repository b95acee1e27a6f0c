"""Tables with a column for each day of a month or for each KPI: names of rows stay, and paper loses no column."""

from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page as Tab

from scoring.chat.periods import month_of
from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import DESKTOP, IN_CHROMIUM, PHONE
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.site import build, write_day

pytestmark = IN_CHROMIUM

DAYS = [DAY.replace(day=1) + timedelta(days=place) for place in range(28)]
MONTH, LAST = (f"monitoring/{key}.html" for key in (month_of(DAY).key, DAYS[-1]))
CUT = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"
LEFT_OF_NAMES = """(all) => all.map((one) => {
  one.scrollLeft = one.scrollWidth;
  return one.querySelector("tbody th").getBoundingClientRect().left - one.getBoundingClientRect().left;
})"""


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


@pytest.mark.parametrize("name", [MONTH, LAST])
def test_paper_shows_every_column(tab: Tab, site: Path, name: str) -> None:
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 688, "height": 1123})  # A4 within its margins
    tab.goto((site / name).as_uri())
    assert tab.locator(".scroll").evaluate_all(CUT) == []
