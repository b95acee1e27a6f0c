"""What was asked, on a phone: whole rows, without moving the table aside."""

from pathlib import Path

import pytest
from playwright.sync_api import Page as Tab

from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import IN_CHROMIUM, PHONE
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.site import build, write_day

pytestmark = IN_CHROMIUM

CUT_CELLS = """() => [...document.querySelectorAll("section:has(#patterns) :is(th, td)")]
  .filter((cell) => cell.checkVisibility() && cell.getBoundingClientRect().right > innerWidth)
  .map((cell) => cell.textContent.trim())"""


@pytest.mark.parametrize("name", ["index.html", f"monitoring/{DAY}.html"])
def test_phone_shows_how_often_each_kind_of_question_failed(tab: Tab, tmp_path: Path, name: str) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    question = "하늘전자 목표주가가 최근 2개월 동안 어떻게 조정됐는지 궁금해요"
    write_day(warehouse, DAY, [*[best(minute) for minute in range(9)], *[refused(user_input=question)] * 3])
    build(warehouse, tmp_path / "site")
    tab.set_viewport_size(PHONE)
    tab.goto((tmp_path / "site" / name).as_uri())
    assert tab.locator("section:has(#patterns) td", has_text="3 (100.0%)").count() > 1
    assert tab.evaluate(CUT_CELLS) == []
