"""A rubric in a file: written, checked and scored with from the command line, and named in the settings."""

import json
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from flows.cli.rules import bigquery_scoring_query
from scoring.errors import UsageError
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.files.rubric_file import rubric_of_file
from tests.builders.chat_rows import DAY, plain, write_rows
from tests.flows.conftest import Command


@pytest.fixture
def started(folder: Path, aqb: Command) -> str:
    """The name of the file that `aqb rubrics new` prints."""
    (folder / "support-bot.toml").write_text(aqb("rubrics", "new").out, "utf-8")
    return "support-bot.toml"


def test_rubric_file_that_is_printed_is_right_and_scores(aqb: Command, started: str, source: Path) -> None:
    checked = aqb("rubrics", "check", started)
    assert (checked.exit_code, checked.out.splitlines()[0]) == (
        0,
        "support-bot (version 1): 9 columns, 1 alert rule(s), 1 KPI(s) with a target",
    )
    scored = aqb("score", str(source), "--rubric", started, "--out", "out")
    assert scored.exit_code == 0, scored.err
    assert pl.read_parquet("out/scores.parquet")["rubric"].unique().to_list() == ["support-bot"]
    assert "Good answers" in Path("out/report.md").read_text("utf-8")


def test_wrong_rubric_file_ends_the_command_with_2_and_its_line(aqb: Command, started: str) -> None:
    text = Path(started).read_text("utf-8")
    Path(started).write_text(text.replace("output_tokens = 0", "output_tokens == 0"), "utf-8")
    checked = aqb("rubrics", "check", started)
    assert checked.exit_code == 2
    assert checked.err.startswith("error: support-bot.toml, line 43, column 23: expected")
    assert "write =" in checked.err


def test_schema_for_editors_is_printed_as_json(aqb: Command) -> None:
    assert json.loads(aqb("rubrics", "schema").out)["$defs"]["ColumnTable"]["additionalProperties"] is False


def test_setting_names_a_rubric_file(started: str) -> None:
    settings = Settings.model_validate({"monitoring": {"rubric": started}})
    with Context(settings) as context:
        assert context.rubric.id == "support-bot"
    assert "AS help_score" in bigquery_scoring_query("a.b.c", None, settings)


@pytest.mark.parametrize(
    ("content", "what", "where"),
    [
        (None, "cannot be read", "my.toml"),
        (b"\xef\xbb\xbfid =\n", "no TOML", "my.toml, line 1, column 5"),
        (b"a = 1\nb = '\xff'\n", "no UTF-8", "my.toml, line 2, column 1"),
        (b"id = 1\r\nid = 2\r\n", "Cannot overwrite a value", "my.toml, line 2, column 7"),
    ],
)
def test_rubric_file_that_cannot_be_read_is_refused(content: bytes | None, what: str, where: str, folder: Path) -> None:
    if content is not None:
        (folder / "my.toml").write_bytes(content)
    with pytest.raises(UsageError, match=what) as refused:
        rubric_of_file("my.toml")
    assert refused.value.where == where


def test_rubric_file_does_not_take_the_id_of_a_rubric_of_test_runs(started: str) -> None:
    text = Path(started).read_text("utf-8")
    Path(started).write_text(text.replace('id = "support-bot"', 'id = "plan-agent"'), "utf-8")
    with pytest.raises(UsageError, match="test runs"):
        rubric_of_file(started)


@pytest.mark.usefixtures("site_is_built")
@pytest.mark.parametrize("level", ["critical", "warning"])
def test_rubric_of_one_alert_level_reports_days_with_facts_of_the_other(aqb: Command, started: str, level: str) -> None:
    """A missed target is a Warning and a day without rows is Critical, whatever the levels of the rubric's rules."""
    text = Path(started).read_text("utf-8").replace('level = "critical"', f'level = "{level}"')
    Path(started).write_text(text, "utf-8")
    write_rows(
        Path("rows/1.jsonl"), [plain(minute, llm_response="죄송하지만 도와드릴 수 없습니다.") for minute in range(400)]
    )
    Path("aqb.toml").write_text(f'[monitoring]\nrubric = "{started}"\nsource = "rows"\n', "utf-8")
    for day, told in ((DAY, "| Warning | "), (DAY + timedelta(days=1), "| Critical | ")):
        assert aqb("nightly", "--date", str(day)).exit_code == 0
        (report,) = Path("data/reports").rglob(f"*{day}.md")
        assert told in report.read_text("utf-8")
