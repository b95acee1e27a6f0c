"""The pages of rows that a rubric scored which nothing knows: its columns, grades and words."""

from pathlib import Path

import pytest

from scoring.catalog import row_rubric
from tasks.config.settings import MonitoringSettings
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, plain
from tests.builders.settings import settings_in
from tests.builders.site import write_day
from tests.builders.toy_row_rubric import toy_row_rubric
from tests.builders.web import browser, opened_page


def test_rows_pages_serve_any_row_rubric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with toy_row_rubric(tmp_path / "rubrics", monkeypatch):
        settings = settings_in(tmp_path, monitoring=MonitoringSettings(rubric="toy-chat"))
        answers = ["몰라요.", "네, 안녕하세요. 감사합니다. " * 4]
        rows = [plain(llm_response=answers[n % 2], session_id=f"s{n}") for n in range(6)]
        write_day(FolderWarehouse(Path(settings.warehouse)), DAY, rows, row_rubric("toy-chat"))
        with browser(settings) as client:
            page = opened_page(client, "/rows?delight=SAD&mishap=shrug&sort=joy")
            assert f"{DAY}, 3행" in page.text
            assert "만족 등급: ✕ 아쉬움" in page.text
            assert "사고: 모른다고 함" in page.text
            (row, *_) = [href for _, href in page.links if href.startswith(f"/rows/{DAY}")]
            shown = opened_page(client, row).text
            assert "만족 0.0점, 아쉬움" in shown
            assert "무뚝뚝한 답변" in shown
            lines = client.get("/rows.csv").text.splitlines()
            assert len(lines) == 1 + 6
            assert lines[0].startswith("\ufeff시각,테넌트,만족 점수,말투 점수,내용 점수,만족 등급")
            assert client.get("/alerts").status_code == 200
