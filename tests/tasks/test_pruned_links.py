"""What retention removes leaves no link behind, though the pages beside it are made no more."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tasks.config.settings import Settings
from tasks.reports.site.build import build_pages
from tasks.retention import prune
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, RUBRIC, best, refused, write_rows
from tests.builders.scored_days import write_scored_day
from tests.builders.settings import settings_in
from tests.builders.state import in_context

_DAYS = [DAY + timedelta(days=number) for number in range(5)]
_HREF = re.compile(r'href"?[=:]"([^":?#]+)["?#]')  # of the page, and in the data of its charts


def dead_links(folder: Path) -> list[str]:
    """The links of the pages below a folder that lead nowhere."""
    pages = folder.rglob("*.html")
    links = [(page, link) for page in pages for link in _HREF.findall(page.read_text(encoding="utf-8"))]
    return [f"{page.name} -> {link}" for page, link in links if not (page.parent / link).exists()]


def site(settings: Settings, tmp_path: Path) -> Path:
    """The pages of `_DAYS`."""
    warehouse, reports = FolderWarehouse(Path(settings.warehouse)), Path(settings.reports)
    for number, day in enumerate(_DAYS):
        rows = [refused(number * 24 * 60), best(number * 24 * 60 + 1)]
        write_scored_day(warehouse, day, write_rows(tmp_path / "source" / f"{day}.jsonl", rows))
    build_pages(warehouse, RUBRIC, reports, settings.time_zone)
    return reports


def test_pages_that_stay_do_not_lead_to_pages_that_retention_has_removed(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    reports = site(settings, tmp_path)
    page = reports / "monitoring" / f"{_DAYS[2]}.html"
    assert f'href="{_DAYS[1]}.html" rel="prev"' in page.read_text(encoding="utf-8")
    assert dead_links(reports) == []

    in_context(prune, settings, _DAYS[2], datetime.now(UTC), dry_run=False)

    assert not (reports / "monitoring" / f"{_DAYS[1]}.html").exists()
    assert f"← {_DAYS[1]}" in page.read_text(encoding="utf-8")
    assert dead_links(reports) == []


def test_first_page_leads_to_no_day_where_retention_has_removed_all(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    reports = site(settings, tmp_path)
    (reports / "theirs.html").write_bytes("<p>남의 페이지</p>".encode("euc-kr"))

    in_context(prune, settings, _DAYS[-1] + timedelta(days=1), datetime.now(UTC), dry_run=False)

    assert [page.name for page in (reports / "monitoring").iterdir()] == []
    (reports / "theirs.html").unlink()
    assert dead_links(reports) == []
