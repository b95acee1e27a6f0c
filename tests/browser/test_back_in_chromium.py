"""Back to a page with a filter: what its form says is what is listed, and what a link asks for."""

from pathlib import Path

from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import IN_CHROMIUM
from tests.builders.chat_rows import DAY, plain, refused
from tests.builders.settings import settings_in
from tests.builders.site import build, write_day, write_run
from tests.builders.uploads import RESUME
from tests.builders.web import served

pytestmark = IN_CHROMIUM


def test_back_to_the_queries_of_a_run_lists_those_that_the_form_says(tab: Tab, tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_run(warehouse, RESUME, DAY)
    build(warehouse, tmp_path / "site")
    (run,) = (tmp_path / "site" / "test-runs").glob("resume*.html")
    tab.goto(run.as_uri())
    tab.locator("select[name=review]").select_option("yes")
    expect(tab.locator("output")).to_have_text("11개 가운데 2개")
    tab.get_by_role("link", name="테스트 런 목록").click()
    tab.wait_for_url("**/index.html")
    tab.go_back()
    expect(tab.locator("select[name=review]")).to_have_value("yes")
    expect(tab.locator("#query-list > li:visible")).to_have_count(2)
    left_out = tab.locator("#query-list > li:not([data-review=yes])").first
    link = tab.locator(f"main a[href='#{left_out.get_attribute('id')}']").first
    link.click()
    expect(left_out).to_be_in_viewport()


def test_back_to_scored_rows_shows_the_conditions_that_they_meet(tab: Tab, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    write_day(FolderWarehouse(Path(settings.warehouse)), DAY, [plain(), refused(tenant_id="t2")])
    heading, tenant = tab.get_by_role("heading", level=1), tab.locator("input[name=tenant][value=t2]")
    with served(settings) as address:
        tab.goto(f"{address}/rows")
        tab.get_by_text("테넌트·등급·유형·알림·시각").click()
        tenant.check()
        tab.get_by_role("button", name="보기").click()
        expect(heading).to_contain_text("1행")
        tab.go_back()
        expect(heading).to_contain_text("2행")
        expect(tenant).not_to_be_checked()
