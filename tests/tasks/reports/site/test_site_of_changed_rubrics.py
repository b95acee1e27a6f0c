"""Days that were scored before a rubric file renamed its grades or columns stay on the pages."""

from datetime import timedelta
from pathlib import Path

import pytest

from scoring.catalog import row_rubric_of_text
from tasks.reports.site.build import build_pages
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, refused
from tests.builders.rubric_files import STARTERS
from tests.builders.site import Page, write_day

STARTER = (STARTERS / "starter_rubric.toml").read_text("utf-8")
REFUSED = refused(llm_response="I cannot do that.", output_tokens=0.0)


@pytest.mark.parametrize(
    ("renamed", "shown"),
    [
        ({"POOR": "WEAK", '"refused"': '"declined"', "HELPS": "DOES"}, "POOR 18.0점"),
        ({"total_grade": "verdict", "total_score": "overall", "failure_type": "went_wrong"}, "– –점"),
    ],
    ids=["codes", "columns"],
)
def test_site_shows_days_from_before_grades_and_columns_were_renamed(
    renamed: dict[str, str], shown: str, tmp_path: Path
) -> None:
    changed = STARTER.replace('version = "1"', 'version = "2"')
    for old, new in renamed.items():
        changed = changed.replace(old, new)
    warehouse, now = FolderWarehouse(tmp_path / "warehouse"), row_rubric_of_text(changed)
    write_day(warehouse, DAY, [REFUSED] * 2, row_rubric_of_text(STARTER))
    write_day(warehouse, DAY + timedelta(days=1), [REFUSED] * 2, now)
    build_pages(warehouse, now, tmp_path / "site", "Asia/Seoul")
    assert shown in Page(tmp_path / "site" / "monitoring" / f"{DAY}.html").text
