"""Links to the page of a test run and to its queries, whatever files and queries are called."""

from pathlib import Path
from unicodedata import normalize
from urllib.parse import unquote

import pytest

from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.site import Page, build, write_run
from tests.builders.testruns import LONG_HEADER, long_row, write_csv


@pytest.mark.parametrize("query_id", ["질의-%41", "질의 100%", normalize("NFD", "질의 #1?a=b&c")])
def test_link_to_a_query_leads_to_it_whatever_its_id(
    warehouse: FolderWarehouse, site: Path, tmp_path: Path, query_id: str
) -> None:
    rows = [LONG_HEADER, long_row(query_id, "1/1", 기대결과="@check formType=SELECT")]
    write_run(warehouse, write_csv(tmp_path / "plan_agent_x.csv", rows), DAY)
    build(warehouse, site)
    (path,) = (site / "test-runs").glob("plan*.html")
    found = Page(path)
    links = {unquote(href) for _, href in found.links if href.startswith("#query-")}
    anchor = normalize("NFC", f"query-{query_id}")  # ids are read composed
    assert links == {f"#{anchor}"}
    assert anchor in found.ids


def test_page_has_the_name_of_a_file_from_a_mac(warehouse: FolderWarehouse, site: Path, tmp_path: Path) -> None:
    path = tmp_path / normalize("NFD", "실행 에이전트 3월.csv")
    write_run(warehouse, write_csv(path, [LONG_HEADER, long_row()]), DAY, "plan-agent")
    build(warehouse, site)
    assert len([*(site / "test-runs").glob("실행_에이전트_3월-*.html")]) == 1
