"""The how-to about adding a rubric: the rubric that it shows is found and scores."""

import json
import re
from pathlib import Path

import pytest

from tests.builders.chat_rows import plain, write_rows
from tests.builders.toy_row_rubric import row_rubric_in
from tests.flows.conftest import Command

_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-rubric.md"
_FILE = re.compile(r"^```python\n# scoring/rubrics/brevity/(\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_rubric_of_the_page_scores_once_its_folder_is_there(
    folder: Path, aqb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = dict(_FILE.findall(_PAGE.read_text("utf-8")))
    rows = write_rows(
        folder / "a.jsonl", [plain(0), plain(1, llm_response="가" * 2_000), plain(2, llm_response="가" * 2_001)]
    )
    with row_rubric_in(folder / "rubrics", monkeypatch, "brevity", files):
        ended = aqb("score", str(rows), "--rubric", "brevity", "--out", "out")
        assert (ended.exit_code, ended.err) == (0, "")
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    assert {name: score["mean"] for name, score in summary["set"].items()} == {
        "answer_points": pytest.approx(200 / 3),
        "question_points": 100.0,
        "total": pytest.approx(250 / 3),
    }
    assert summary["distributions"]["failure_type"] == {"none": 2, "too_long": 1}
