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


def test_rubric_of_the_page_scores_once_its_folder_is_there(
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


@pytest.mark.parametrize(
    ("written", "slip", "said"),
    [
        (
            'Quotient("long_rate", one_if(LONG)',
            'Quotient("long_rate", one_if(Compare(Column("answer_grade"), "=", Value("LONGER")))',
            "long_rate: there is no code LONGER here\n  -> did you mean LONG?",
        ),
        (
            'kept_grades=("BAD",)',
            'kept_grades=("BED",)',
            "kept_grades: there is no code BED here\n  -> did you mean BAD?",
        ),
        ('"질문", "question_grade")', '"질문", "question_grades")', "rubric brevity does not define question_grades"),
    ],
)
def test_slip_in_the_rubric_of_the_page_is_an_error_that_names_it(
    written: str, slip: str, said: str, folder: Path, aqb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = dict(_FILE.findall(_PAGE.read_text("utf-8")))
    assert written in files["__init__.py"]
    files["__init__.py"] = files["__init__.py"].replace(written, slip)
    rows = write_rows(folder / "a.jsonl", [plain(0)])
    with row_rubric_in(folder / "rubrics", monkeypatch, "brevity", files):
        ended = aqb("score", str(rows), "--rubric", "brevity", "--out", "out")
    assert ended.exit_code == 1
    assert said in ended.err
