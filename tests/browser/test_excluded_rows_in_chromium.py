"""Rows without an answer: what the lists of rows say of them."""

from pathlib import Path

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from scoring.chat.periods import month_of
from tasks.warehouse.folder import FolderWarehouse
from tests.browser.chromium import IN_CHROMIUM
from tests.builders.chat_rows import DAY, best, plain
from tests.builders.site import build, write_day

pytestmark = IN_CHROMIUM


@pytest.mark.parametrize("name", [str(DAY), month_of(DAY).key])
def test_row_without_an_answer_is_none_whose_texts_were_not_kept(tab: Tab, tmp_path: Path, name: str) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    write_day(warehouse, DAY, [best(), plain(llm_response=None, output_tokens=0)])
    build(warehouse, tmp_path / "site")
    tab.goto(f"{(tmp_path / 'site/monitoring' / f'{name}-rows.html').as_uri()}#alert=llm_blocked")
    item = tab.locator("#listed-rows li")
    expect(item).to_contain_text("채점하지 않음")
    expect(item.locator(".question")).to_have_text("질문이나 답변이 없는 행")
