"""`aqb score` into a folder: alone there, whatever one file is like, and readable by those whom it concerns."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import polars as pl
import pytest

from flows.cli.app import main
from tasks.files.atomic import sole_writer
from tasks.files.report_paths import SCORE_FILES
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.samples import SAMPLE_INBOX
from tests.builders.chat_rows import DAY, best, plain, write_rows
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.flows.conftest import Command

WIDE, MOVE = SAMPLE_INBOX / "resume_agent_sample.xlsx", SAMPLE_INBOX / "url_agent_sample.csv"
CHAT = "chat.jsonl"


@pytest.fixture
def chat(folder: Path) -> Path:
    write_rows(folder / CHAT, [best(0), plain(1)])
    return folder / CHAT


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def names_in(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


# --- Alone in its folder ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [CHAT, MOVE], ids=["chat rows", "test run"])
def test_score_refuses_a_folder_that_another_process_writes(aqb: Command, chat: Path, given: str | Path) -> None:
    with sole_writer(Path("out")):
        ended = aqb("score", given, "--out", "out")
    assert (ended.exit_code, ended.out) == (1, "")
    assert ended.err == (
        "error: out: another process is writing into this folder\n  -> wait for it to end, or choose another folder\n"
    )
    assert aqb("score", given, "--out", "out").exit_code == 0


def test_score_writes_through_no_link_and_clears_what_was_left(aqb: Command, chat: Path) -> None:
    for name in ("elsewhere", "out/.staging-killed"):
        Path(name, "rejected").mkdir(parents=True)
        Path(name, "rejected", "kept.txt").write_text("mine")
    Path("out/.staging").symlink_to(Path("elsewhere").resolve())
    assert aqb("score", chat, "--out", "out").exit_code == 0
    assert [str(path) for path in Path("elsewhere").rglob("*.*")] == ["elsewhere/rejected/kept.txt"]
    assert not list(Path("out").glob(".*"))


def test_score_changes_nothing_where_a_folder_stands_in_the_place_of_a_file(aqb: Command, chat: Path) -> None:
    assert aqb("score", chat, "--out", "out").exit_code == 0
    Path("out/report.md").unlink()
    Path("out/report.md").mkdir()
    before = {path.name: path.stat().st_mtime_ns for path in Path("out").iterdir()}
    ended = aqb("score", chat, "--out", "out")
    assert ended.exit_code == 1
    assert "out/report.md: a folder stands in the place of this file" in ended.err
    assert {path.name: path.stat().st_mtime_ns for path in Path("out").iterdir()} == before


@pytest.mark.parametrize(("first", "then"), [(CHAT, WIDE), (WIDE, CHAT)], ids=["a test run", "chat rows"])
def test_score_leaves_nothing_of_an_earlier_input_of_another_kind(
    aqb: Command, chat: Path, first: str | Path, then: str | Path
) -> None:
    also = {CHAT: ("--also", "csv", "--also", "xlsx"), WIDE: ()}
    aqb("score", first, "--out", "out", *also[first])
    assert {*names_in("out")} <= {*SCORE_FILES, "report.md", "summary.json"}
    Path("out/notes.md").write_text("mine")
    for folder in ("out", "fresh"):
        assert aqb("score", then, "--out", folder).exit_code == 0
    assert names_in("out") == sorted([*names_in("fresh"), "notes.md"])


def test_several_runs_leave_nothing_of_one_that_was_scored_into_their_folder(aqb: Command) -> None:
    aqb("score", WIDE, "--out", "out")
    Path("out/notes.md").write_text("mine")
    assert aqb("score", WIDE, MOVE, "--out", "out").exit_code == 0
    assert names_in("out") == sorted([WIDE.stem, MOVE.stem, "notes.md"])
    assert aqb("score", MOVE, "--out", "out").exit_code == 0
    assert {WIDE.stem, MOVE.stem, "notes.md", "report.md"} < {*names_in("out")}


def test_runs_of_which_none_is_scored_leave_their_folder_as_it_was(aqb: Command, tmp_path: Path) -> None:
    aqb("score", WIDE, "--out", "out")
    before, broken = names_in("out"), [tmp_path / name for name in ("a.xlsx", "b.xlsx")]
    for path in broken:
        path.write_bytes(WIDE.read_bytes()[:500])
    assert aqb("score", *broken, "--out", "out").exit_code == 1
    assert names_in("out") == before


def test_score_removes_no_file_from_a_folder_that_it_has_not_written(aqb: Command, chat: Path) -> None:
    Path("out").mkdir()
    for name in ("queries.parquet", "review.csv", "scores.csv"):
        Path("out", name).write_text("mine")
    assert aqb("score", chat, "--out", "out").exit_code == 0
    assert {"queries.parquet", "review.csv", "scores.csv"} < {*names_in("out")}


# --- One file stops no other -----------------------------------------------------------------------------------------


def test_score_of_a_folder_goes_on_after_a_file_that_cannot_be_read(aqb: Command, folder: Path) -> None:
    runs = folder / "runs"
    runs.mkdir()
    (runs / "a.xlsx").write_bytes(WIDE.read_bytes()[:500])
    (runs / "b.csv").write_bytes(b"\xff\xfe\x00\xd8")
    (runs / "url_agent_a.csv").write_bytes(MOVE.read_bytes())
    ended = aqb("score", "runs", "--out", "out")
    assert ended.exit_code == 1
    assert ended.err.count("error: ") == 2
    assert Path("out/url_agent_a/scores.xlsx").exists()


def test_score_of_a_folder_goes_on_after_a_defect_that_one_file_meets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(to: Path, *rest: object) -> dict[str, object]:
        if to.name == "url_agent_sample":
            raise ZeroDivisionError("010-1234-5678")
        return write_testrun_folder(to, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("flows.cli.score_testruns.write_testrun_folder", broken)
    monkeypatch.setattr("sys.argv", ["aqb", "score", str(MOVE), str(WIDE), "--out", "out"])
    with pytest.raises(SystemExit) as ended:
        main()
    err = capsys.readouterr().err
    assert ended.value.code == 1
    assert f"error: {MOVE}: ZeroDivisionError in flows.cli.score_testruns, line " in err
    assert "Traceback" not in err and "010-1234-5678" not in err
    assert Path("out/resume_agent_sample/scores.xlsx").exists()


def test_defect_is_a_line_without_the_text_of_the_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> dict[str, object]:
        raise KeyError("010-1234-5678")

    monkeypatch.setattr("scoring.catalog.rubrics", broken)
    monkeypatch.setattr("sys.argv", ["aqb", "rubrics"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    err = capsys.readouterr().err
    assert err.startswith("error: KeyError in flows.cli.rules, line ")
    assert "this is a defect of AQB" in err
    assert "010-1234-5678" not in err


# --- A judge that dies -----------------------------------------------------------------------------------------------


def half_of(workbook: Path) -> Path:
    """The first rows of a test run: what a judge was asked before it died."""
    book = openpyxl.load_workbook(workbook)
    for sheet in book:
        sheet.delete_rows(1 + sheet.max_row // 2, sheet.max_row)
    book.save("half.xlsx")
    return Path("half.xlsx")


@pytest.mark.slow
def test_score_with_a_judge_that_died_keeps_rule_scores_and_what_it_has_said(
    aqb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"OPENAI_API_KEY": "key", "AQB_JUDGE__RPM": "0", "AQB_JUDGE__TPM": "0"}.items():
        monkeypatch.setenv(name, value)
    with FakeOpenAI(Behaviour(latency_s=0.001)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert aqb("score", half_of(WIDE), "--judge", "--out", "first").exit_code == 0
    ended = aqb("score", WIDE, "--judge", "--out", "out")
    assert ended.exit_code == 1
    assert "the judge gives no answer" in ended.err and "questions without a verdict" in ended.err
    judged = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))["judge"]
    assert set(judged["by_status"]) == {"ok", "failed"}
    assert sum(judged["by_status"].values()) == judged["questions"]
    queries = pl.read_parquet("out/queries.parquet")
    assert queries["accuracy_score"].null_count() == 0
    assert queries.filter(pl.col("semantic_score").is_null())["flag_manual_review"].all()


def test_score_of_a_file_and_its_copy_says_that_rows_count_twice_and_ends_with_1(aqb: Command, chat: Path) -> None:
    shutil.copy(chat, "copy.jsonl")
    ended = aqb("score", chat.name, "copy.jsonl", "--out", "out")
    assert ended.exit_code == 1
    assert ended.err.startswith("each row counts 2 times, for these files hold the same: chat.jsonl, copy.jsonl\n  -> ")
    assert json.loads(Path("out/summary.json").read_text("utf-8"))["counts"]["scored"] == 4


def test_score_says_that_a_judge_has_nothing_to_do_in_a_run_that_is_scored_by_rule(aqb: Command) -> None:
    plan = SAMPLE_INBOX / "plan_agent_sample.csv"
    said = "  judge not asked: no score of this run needs one\n"
    assert said in aqb("score", plan, "--rubric", "plan-agent", "--judge", "--out", "out").out
    assert said not in aqb("score", plan, "--rubric", "plan-agent", "--out", "out").out


# --- Nothing scored --------------------------------------------------------------------------------------------------


def test_score_of_rows_of_which_none_can_be_scored_says_so_first_and_ends_with_1(aqb: Command, folder: Path) -> None:
    write_rows(folder / CHAT, [plain(0, llm_response=None), plain(1, llm_response=None)])
    ended = aqb("score", CHAT, "--out", "out")
    assert ended.exit_code == 1
    assert ended.out.startswith("nothing was scored: rows in 2 = excluded 2 + rejected 0\n")
    assert "failure_rate" not in ended.out and "report: out/report.md" in ended.out
    Path("empty.csv").write_text("user_input,llm_response,timestamp,input_tokens,output_tokens\n")
    empty = aqb("score", "empty.csv", "--out", "out")
    assert empty.exit_code == 0
    assert "nothing was scored" not in empty.out
    assert "채점한 것이 없습니다" not in Path("out/report.md").read_text("utf-8")


def test_score_of_files_that_cannot_be_read_writes_nothing_and_says_only_why(aqb: Command, folder: Path) -> None:
    write_rows(folder / "rows" / "a.jsonl", [best(0)])
    assert aqb("score", "rows", "--out", "out").exit_code == 0
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    (folder / "rows" / "a.jsonl").unlink()
    (folder / "rows" / "a.csv").write_text("user_input,llm_response,input_tokens,output_tokens\nq,a,1,1\n")
    (folder / "rows" / "b.parquet").write_bytes(b"PAR1 and no more")
    ended = aqb("score", "rows", "--rubric", "ola-monitoring", "--out", "out")
    assert (ended.exit_code, ended.out) == (1, "")
    assert ended.err.startswith(
        "error: no file of the source could be read; nothing was written\n"
        "rows/a.csv: required columns are missing: timestamp; "
    )
    assert "\n  -> chat rows have the columns user_input, " in ended.err
    assert "\nrows/b.parquet: cannot be read: " in ended.err
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before
    assert aqb("score", "rows", "--rubric", "ola-monitoring", "--out", "new/folder").exit_code == 1
    assert aqb("score", "rows", "--rubric", "aqb-1.2", "--out", "new/folder").exit_code == 1
    Path("empty").mkdir()
    assert aqb("score", "rows", "--rubric", "ola-monitoring", "--out", "empty").exit_code == 1
    assert {path.name for path in folder.iterdir()} == {"rows", "out", "empty"}


@pytest.mark.parametrize(
    ("name", "content", "counts"),
    [
        ("chat.csv", "user_input,llm_response,timestamp,input_tokens,output_tokens\nq,a,noon,1,1\n", "제외 0 + 거부 1"),
        ("plan_agent_a.csv", "Query ID,방/반복,Raw JSON,질의\nQ1,?,{},q\n", "제외 0 + 거부 1"),
        ("url_agent_a.csv", "ID,질의,ground_truth,1차 답변\nQ1,q,3,\n", "제외 1 + 거부 0"),
    ],
)
def test_report_of_input_of_which_nothing_was_scored_begins_with_that(
    aqb: Command, folder: Path, name: str, content: str, counts: str
) -> None:
    (folder / name).write_text(content)
    ended = aqb("score", name, "--out", "out")
    assert ended.exit_code == 1
    assert ended.out.startswith("nothing was scored: rows in 1 ")
    assert "not known" not in ended.out and "n=0" not in ended.out
    report = Path("out/report.md").read_text("utf-8")
    assert report.startswith(f"**채점한 것이 없습니다:** 행 1건 = {counts}. ")


def test_night_of_which_nothing_was_scored_ends_with_1(aqb: Command, folder: Path) -> None:
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [plain(0, llm_response=None)])
    ended = aqb("nightly", "--date", str(DAY))
    assert ended.exit_code == 1
    assert "warning: nothing was scored: rows in 1 = excluded 1 + rejected 0" in ended.err


# --- Who may read it -------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.usefixtures("usual_umask")
def test_score_tables_and_databases_are_for_their_owner(aqb: Command, installed_aqb: Command, chat: Path) -> None:
    Path("data").mkdir()
    Path("data/state.db").touch(0o644)  # as an earlier version left it
    assert aqb("score", chat, "--out", "out").exit_code == 0
    assert {mode_of(table) for table in Path("out").glob("*.parquet")} == {0o640}
    assert aqb("score", WIDE, "--out", "run").exit_code == 0
    readable = {path.name for path in Path("run").iterdir() if mode_of(path) != 0o640}
    assert readable == {"report.md", "summary.json"}
    assert installed_aqb("alerts", "--pending").exit_code == 0
    assert mode_of("data/state.db") == mode_of("data/.prefect/prefect.db") == 0o600
