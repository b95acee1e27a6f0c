"""Files and queries in a real browser, whatever they are called: they are found by name, and links open them."""

from pathlib import Path
from unicodedata import normalize

from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import IN_CHROMIUM
from tests.builders.chat_rows import DAY
from tests.builders.site import build, write_run
from tests.builders.testruns import LONG_HEADER, long_row, write_csv

pytestmark = IN_CHROMIUM


def test_file_from_a_mac_is_found_by_its_name_and_a_query_with_a_percent_sign_by_its_link(
    tmp_path: Path, tab: Tab
) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    named = ("질의-%41", "질의 100%")
    rows = [LONG_HEADER, *(long_row(name, "1/1", 기대결과="@check formType=SELECT") for name in named)]
    for number in (1, 2):
        name = normalize("NFD", f"plan_agent_3월 {number}차.csv")
        write_run(warehouse, write_csv(tmp_path / name, rows[: number + 1]), DAY)
    build(warehouse, tmp_path / "site")
    tab.goto((tmp_path / "site" / "test-runs" / "index.html").as_uri())
    tab.get_by_label("찾기").fill("3월 2차")
    expect(tab.locator("form.filter output")).to_have_text("2개 가운데 1개")
    tab.locator("section[aria-labelledby=list] tbody a:visible").click()
    links = tab.locator("a[href^='#query-']").all()[:2]
    assert len(links) == len(named)
    for link in links:
        link.click()
        name = link.evaluate("(one) => decodeURIComponent(one.hash.slice(1))")
        assert tab.evaluate("(id) => document.querySelector(':target').id === id", name)
