"""The queries that got worse since the run before: one click from the sentence that counts them."""

from pathlib import Path

from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import IN_CHROMIUM
from tests.builders.chat_rows import DAY
from tests.builders.scored_testruns import plan_row
from tests.builders.site import build, write_run
from tests.builders.testruns import LONG_HEADER, write_csv

pytestmark = IN_CHROMIUM


def test_count_of_worse_queries_opens_their_list(tab: Tab, tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for day, passing in (("20260301", 40), ("20260302", 20)):
        rows = [plan_row(f"Q{n}", question=f"평가기간을 {n}일로 바꿔줘", passes=n < passing) for n in range(40)]
        write_run(warehouse, write_csv(tmp_path / f"plan_agent_{day}.csv", [LONG_HEADER, *rows]), DAY)
    build(warehouse, tmp_path / "site")
    (page,) = (tmp_path / "site/test-runs").glob("plan_agent_20260302*.html")
    tab.goto(page.as_uri())
    listed = tab.locator("#worse a")
    expect(listed.first).to_be_hidden()
    tab.get_by_role("link", name="답변이 나빠진 질의 20개").click()
    expect(listed.first).to_be_visible()
    listed.first.click()
    expect(tab.locator("li:target").get_by_role("heading", name="기대한 결과")).to_be_visible()
