"""A test-run rubric in a file goes every way that test runs go: command, inbox, history, page, review, comparison."""

import json
from datetime import date
from pathlib import Path
from shutil import copy

import openpyxl
import polars as pl
import pytest

from scoring.catalog import TestRunChoices, row_rubric
from scoring.errors import UsageError
from tasks.config.settings import Settings, load_settings
from tasks.config.testruns import InboxSettings
from tasks.files.rubric_file import chosen_row_rubric
from tasks.judge.questions import questions_of
from tasks.reports.site.build import build_pages
from tasks.testruns.files import read_testrun_file
from tasks.testruns.plans import plan_of_run
from tasks.warehouse import open_warehouse
from tests.builders.flows import score_inbox
from tests.builders.rubric_files import EXAMPLES
from tests.builders.settings import settings_in
from tests.builders.testruns import write_csv
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.flows.conftest import Command

DAY, NEXT_DAY = date(2026, 3, 12), date(2026, 3, 13)
RUBRIC = "support-tests.toml"
HEADER = ["query_id", "query", "카테고리", "1차 답변", "1차 답변 시간(초)", "2차 답변", "2차 답변 시간(초)"]
RESET = ["t1", "How do I reset my password?", "how to", "Please open Settings.", "1.8", "Thanks: 1. Settings.", "2.4"]
PARCEL = ["t2", "Where is my parcel?", "order", "", "0.2", "I cannot do that.", "9.5"]
FOUND = ["t2", "Where is my parcel?", "order", "Thank you for asking.", "0.2", "Thank you for asking.", "0.5"]
WORDS_OF_OTHERS = ("안정성", "일관성", "응답 속도", "dataUIList", "에이전트를 모름")
"""Metrics, fields and agents of the shipped rubrics."""


@pytest.fixture
def started(folder: Path, aqb: Command) -> Path:
    """A test run beside the file that `aqb rubrics new --kind testrun` prints."""
    (folder / RUBRIC).write_text(aqb("rubrics", "new", "--kind", "testrun").out, "utf-8")
    return write_csv(folder / "run.csv", [HEADER, RESET, PARCEL])


def test_test_run_rubric_that_is_printed_is_right_and_scores(aqb: Command, started: Path) -> None:
    checked = aqb("rubrics", "check", RUBRIC)
    assert checked.out.splitlines()[0] == "support-tests (version 1): 3 metrics: accuracy, speed, consistency"
    scored = aqb("score", started, "--rubric", RUBRIC, "--out", "out")
    assert scored.exit_code == 0, scored.err
    assert pl.read_parquet("out/queries.parquet")["verdict"].to_list() == ["PASS", "FAIL"]
    report = Path("out/report.md").read_text("utf-8")
    assert all(part in report for part in ("# Support bot tests", "Pass 1개", "Passed checks ≥ 1", "No refusal"))
    assert "The test failed" in Path("out/review.csv").read_text("utf-8-sig")
    book = openpyxl.load_workbook("out/scores.xlsx")
    (_, *rows) = book["질의별 점수"].iter_rows(values_only=True)
    assert [("Fail" in row, "The test failed" in row) for row in rows] == [(False, False), (True, True)]


def test_wrong_test_run_rubric_ends_the_command_with_2_and_its_line(aqb: Command, started: Path) -> None:
    text = Path(RUBRIC).read_text("utf-8")
    Path(RUBRIC).write_text(text.replace("unanswered > 0", "unanswered >> 0"), "utf-8")
    for command in (("rubrics", "check", RUBRIC), ("score", started, "--rubric", RUBRIC, "--out", "out")):
        refused = aqb(*command)
        assert (refused.exit_code, Path("out").exists()) == (2, False)
        assert refused.err.startswith(f"error: {RUBRIC}, line 51, column 41")


@pytest.mark.parametrize(
    ("options", "says"), [((), "the path of its rubric file"), (("--rubric", "support-tests"), "which ends in .toml")]
)
def test_who_names_no_rubric_file_is_told_of_them(
    aqb: Command, started: Path, options: tuple[str, ...], says: str
) -> None:
    refused = aqb("score", started, *options, "--out", "out")
    assert (refused.exit_code, says in refused.err) == (2, True)


@pytest.mark.parametrize("shown", ["case", "ID"])
def test_rubric_file_is_recognised_by_a_column_as_the_file_or_as_aqb_calls_it(
    aqb: Command, started: Path, shown: str
) -> None:
    text = Path(RUBRIC).read_text("utf-8")
    Path(RUBRIC).write_text(text.replace('file_names = ["support_"]', f'columns = ["{shown}"]'), "utf-8")
    Path("aqb.toml").write_text(f'[test_runs]\nrubrics = ["{RUBRIC}"]\ncolumns = {{ "ID" = "case" }}\n', "utf-8")
    write_csv(started, [["case", *HEADER[1:]], RESET, PARCEL])
    scored = aqb("score", started, "--out", "out")
    assert (scored.exit_code, scored.out.splitlines()[0][:29]) == (0, "run.csv: support-tests 1, row"), scored.err


def test_scored_folder_is_compared_and_reviewed_without_the_rubric_file(
    aqb: Command, started: Path, folder: Path
) -> None:
    other = write_csv(folder / "other.csv", [HEADER, RESET, FOUND])
    for run in (started, other):
        assert aqb("score", run, "--rubric", RUBRIC, "--out", run.stem).exit_code == 0
    Path(RUBRIC).unlink()
    compared = aqb("compare", "run", "other").out
    assert "Accuracy" in compared
    assert not [word for word in WORDS_OF_OTHERS if word in compared]
    assert aqb("review", "export", "run", "--out", "review.xlsx").exit_code == 0


def test_test_run_rubric_scores_no_chat_rows(started: Path) -> None:
    with pytest.raises(UsageError, match="scores test runs"):
        chosen_row_rubric(RUBRIC)


@pytest.fixture
def example(folder: Path) -> Path:
    """The test set of the documentation, with the settings that name its columns."""
    for name in (RUBRIC, "support_release_12.csv"):
        copy(EXAMPLES / name, folder)
    columns = {"ID": "id", "질의": "question", "카테고리": "topic", "기대결과": "expected"}
    columns |= {"N차 답변": "answer {n}", "N차 답변 시간(초)": "seconds {n}"}
    lines = [f'"{ours}" = "{theirs}"' for ours, theirs in columns.items()]
    (folder / "aqb.toml").write_text("\n".join(["[test_runs.columns]", *lines]), "utf-8")
    return folder / "support_release_12.csv"


def test_example_is_judged_from_the_command_line_and_its_second_time_asks_nothing(
    aqb: Command, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI(Behaviour(latency_s=0.001)) as judge:
        endpoint = {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "sk-test"}
        for name, value in {**endpoint, "AQB_JUDGE__RPM": "0", "AQB_JUDGE__TPM": "0"}.items():
            monkeypatch.setenv(name, value)
        for out in ("first", "second"):
            done = aqb("score", example, "--rubric", RUBRIC, "--judge", "--out", out)
            assert done.exit_code == 0, done.err
        assert judge.stats()["asked"] == 4  # of seven answers two are out of scope, and one is too short to ask about
    tables = ("scores.parquet", "queries.parquet", "judgements.parquet")
    assert all(Path("first", name).read_bytes() == Path("second", name).read_bytes() for name in tables)
    judgements = pl.read_parquet("first/judgements.parquet")
    assert (set(judgements["kind"]), set(judgements["status"])) == ({"helpful"}, {"ok"})
    scores = pl.read_parquet("first/scores.parquet")
    assert scores["helpful_score"].is_null().to_list() == [False, False, True, True, False, False, False]
    summary = json.loads(Path("first/summary.json").read_text("utf-8"))
    assert list(summary["judge"]["epochs"]) == ["helpful"]
    assert "## 판정 모델" in Path("first/report.md").read_text("utf-8")


def test_what_a_judge_of_a_rubric_file_is_sent_is_masked(example: Path) -> None:
    settings = load_settings()
    run = read_testrun_file(example, settings.test_runs.names)
    plan = plan_of_run(run, TestRunChoices(RUBRIC), settings)
    sent = [question.payload for question in questions_of(plan, settings.judge)]
    assert "kim@example.com" in example.read_text("utf-8")
    assert len(sent) == 4 and not any("kim@example.com" in payload for payload in sent)


@pytest.fixture
def settings(started: Path, tmp_path: Path) -> Settings:
    """An inbox whose files tell the rubric by their names."""
    (tmp_path / "inbox").mkdir()
    inbox = InboxSettings(inbox=str(tmp_path / "inbox"), quiet_s=0, rubrics=(RUBRIC,))
    return settings_in(tmp_path, test_runs=inbox)


def test_files_of_the_inbox_that_show_the_rubric_are_scored_compared_and_shown(
    settings: Settings, tmp_path: Path
) -> None:
    write_csv(tmp_path / "inbox" / "support_1.csv", [HEADER, RESET, PARCEL])
    assert [run.name for run in score_inbox(settings, DAY).scored] == ["support_1.csv"]
    write_csv(tmp_path / "inbox" / "support_2.csv", [HEADER, RESET, FOUND])
    (second,) = score_inbox(settings, NEXT_DAY).scored
    assert "지난 실행" in (second.folder / "report.md").read_text("utf-8")
    Path(RUBRIC).unlink()  # what was scored with it is shown without it
    warehouse = open_warehouse(settings.warehouse)
    build_pages(warehouse, row_rubric("ola-monitoring"), tmp_path / "site", "Asia/Seoul")
    pages = sorted((tmp_path / "site" / "test-runs").glob("support_*-support-tests.html"))
    texts = [page.read_text("utf-8") for page in pages]
    assert len(texts) == 2
    assert all(part in text for text in texts for part in ("Support bot tests", "Accuracy", "Pass", "질의의 등급"))
    assert not any("반복 실행이 없습니다" in text for text in texts)  # there are two rounds
    (of_set,) = (tmp_path / "site" / "test-runs").glob("set-*.html")
    assert "Support bot tests 테스트 세트" in of_set.read_text("utf-8")
    shown = [*texts, of_set.read_text("utf-8"), (of_set.parent / "index.html").read_text("utf-8")]
    assert not [word for word in WORDS_OF_OTHERS if any(word in text for text in shown)]


def test_test_set_is_none_of_the_chat_rows_whose_columns_have_the_same_names(aqb: Command, example: Path) -> None:
    chat = {"user_input": "question", "llm_response": "answer", "timestamp": "at", "input_tokens": "in"}
    lines = ["", "[test_runs]", f'rubrics = ["{RUBRIC}"]', "[monitoring.columns]", 'output_tokens = "out"']
    lines += [f'{ours} = "{theirs}"' for ours, theirs in chat.items()]
    with Path("aqb.toml").open("a", encoding="utf-8") as settings:
        settings.write("\n".join(lines))
    Path("chat.csv").write_text("id,question,answer,at,in,out\n7,Where?,Here.,2026-02-13T09:00:00Z,9,2\n", "utf-8")
    scored = aqb("score", example, "--out", "set")
    assert (scored.exit_code, "support-tests 1, rows in " in scored.out) == (0, True), scored.err
    assert "rows in 1 = scored 1 + excluded 0" in aqb("score", "chat.csv", "--out", "chat").out
