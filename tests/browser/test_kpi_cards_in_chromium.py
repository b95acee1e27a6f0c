"""The cards of the KPIs and their charts in a real browser: room on a phone, and a short way for the keyboard."""

from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Page as Tab

from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import IN_CHROMIUM, PHONE
from tests.builders.chat_rows import DAY, best, plain, refused
from tests.builders.site import build, write_day

pytestmark = IN_CHROMIUM

# What the last line of a card says at the production load after an outage, in the place of what a few rows say.
OF_A_MONTH = """(line) => {
  const cells = [...line.children];
  ["85.4%", "84.3~86.6%", "15,341", "86.5% (18일치)"].forEach((text, index) => {
    cells.at(index - 4).firstChild.textContent = text;
  });
  return line.closest(".card").getBoundingClientRect().right - cells.at(-1).getBoundingClientRect().right;
}"""


def test_card_of_a_kpi_holds_the_figures_of_a_month_on_a_phone(tmp_path: Path, tab: Tab) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_day(warehouse, DAY, [best(), refused(), *(plain() for _ in range(40))])
    build(warehouse, tmp_path / "site")
    tab.set_viewport_size(PHONE)
    tab.goto((tmp_path / "site" / "index.html").as_uri())
    lines = tab.locator(".windows tbody tr:last-child")
    room = [line.evaluate(OF_A_MONTH) for line in lines.all()]
    assert len(room) == 4
    assert min(room) >= 16


def test_keyboard_and_screen_reader_pass_over_points_whose_links_are_in_the_table(tmp_path: Path, tab: Tab) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for back in range(3):
        write_day(warehouse, DAY - timedelta(days=back), [best(), refused()])
    build(warehouse, tmp_path / "site")
    tab.goto((tmp_path / "site" / "index.html").as_uri())
    points = tab.locator("[data-chart] svg a")
    points.first.wait_for(state="attached")
    assert points.count() >= 3
    assert {one.get_attribute("tabindex") for one in points.all()} == {"-1"}
    heard = tab.locator("main").aria_snapshot()
    images = [line for line in heard.splitlines() if "- img " in line]
    assert len(images) == tab.locator("[data-chart]").count()
    assert not [line for line in images if line.endswith(":")], "an image has parts that a screen reader stops at"
