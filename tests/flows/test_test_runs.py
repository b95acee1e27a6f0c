"""The flow of test runs: each new file of the inbox once, and the command line around runs."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from flows.steps.inbox_outcome import InboxOutcome, WrittenTestRun
from flows.steps.testrun_files import LeftFile, score_files
from scoring.inputs import FileIdentity
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.judge import JudgeSettings
from tasks.config.settings import Settings
from tasks.config.testruns import InboxSettings
from tasks.context import Context
from tasks.state.run_ledger import RunLedger
from tasks.testruns.inbox import look_into
from tasks.warehouse import open_warehouse
from tests.builders.flows import score_inbox
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, wide_row, write_csv
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import QA, Command, alerts_to

DAY, NEXT_DAY = date(2026, 3, 12), date(2026, 3, 13)
TABLES = ("test_run_scores", "test_run_queries", "test_run_summaries")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An inbox with two runs."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    write_csv(inbox / "plan_agent_1.csv", [LONG_HEADER, long_row(), long_row(round_="2/1")])
    write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row(**{"기대 필터": "보훈"})])
    return settings_in(tmp_path, test_runs=InboxSettings(inbox=str(inbox), quiet_s=0))


def inbox_of(settings: Settings) -> Path:
    return Path(settings.test_runs.inbox)


def table(settings: Settings, name: str, day: date = DAY) -> pl.DataFrame:
    rows = open_warehouse(settings.warehouse).read(name, [day])
    assert rows is not None
    return rows.collect()


def names(outcome: InboxOutcome) -> list[str]:
    return [run.name for run in outcome.scored]


def test_each_file_is_scored_once_into_its_own_folder_and_the_warehouse(settings: Settings) -> None:
    outcome = score_inbox(settings, DAY)
    assert (names(outcome), outcome.failures) == (["plan_agent_1.csv", "resume_agent_1.csv"], ())
    for run in outcome.scored:
        assert run.folder.parent == Path(settings.reports) / "test-runs"
        assert run.folder.name.startswith(Path(run.name).stem + "-")
        assert (run.folder / "report.md").exists()
    scores = table(settings, "test_run_scores")
    assert scores["rubric"].to_list() == ["aqb-1.2"] * 2 + ["plan-agent"] * 2
    assert {score["metric"] for score in scores["scores"][3]} == {"intent", "accuracy", "stability", "speed"}
    assert table(settings, "test_run_queries").height == 2
    assert scores["judge_epochs"].to_list() == [None] * 4
    assert json.loads(table(settings, "test_run_summaries")["summary"][1])["rubric"] == "plan-agent"
    again = score_inbox(settings, NEXT_DAY)
    assert (again.scored, again.known) == ((), 2)
    assert open_warehouse(settings.warehouse).days("test_run_scores") == [DAY]


def test_copy_of_a_scored_file_is_counted(settings: Settings) -> None:
    inbox = inbox_of(settings)
    (inbox / "plan_agent_9.csv").write_bytes((inbox / "plan_agent_1.csv").read_bytes())
    outcome = score_inbox(settings, DAY)
    assert (names(outcome), outcome.known) == (["plan_agent_1.csv", "resume_agent_1.csv"], 1)
    assert score_inbox(settings, NEXT_DAY).known == 3


def test_files_that_come_together_are_compared_in_the_order_in_which_they_ran(settings: Settings) -> None:
    for name, when in (("(2)", "2026-03-10T15:00:00"), ("", "2026-03-10T09:00:00"), ("_0309", "2026-03-09T09:00:00")):
        rows = [[*LONG_HEADER, "실행시각"], [*long_row(), when], [*long_row(round_="2/1"), when]]
        write_csv(inbox_of(settings) / f"plan_agent{name}.csv", rows)
    compared = {run.name: (run.summary["change"] or {}).get("name") for run in score_inbox(settings, DAY).scored}
    assert compared["plan_agent(2).csv"] == "plan_agent.csv"
    assert compared["plan_agent.csv"] == "plan_agent_0309.csv"
    assert compared["plan_agent_0309.csv"] is None


def test_runs_that_one_who_died_has_not_published_are_published_by_the_next(settings: Settings) -> None:
    score_inbox(settings, DAY)
    (Path(settings.warehouse) / "runs" / f"{DAY}.parquet").unlink()
    score_inbox(settings, NEXT_DAY)
    assert table(settings, "runs")["outcome"].to_list() == ["completed"] * 2


@pytest.mark.usefixtures("site_is_built")
def test_pages_that_one_who_died_has_not_built_are_built_by_the_next_and_not_again(settings: Settings) -> None:
    score_inbox(settings, DAY)
    page = Path(settings.reports) / "index.html"
    page.unlink()
    score_inbox(settings, DAY)
    built_at = page.stat().st_mtime_ns
    score_inbox(settings, DAY)
    assert page.stat().st_mtime_ns == built_at
    os.utime(page, (0, 0))  # as the run before the one that died has left it
    score_inbox(settings, DAY)
    assert page.stat().st_mtime_ns > built_at


def test_changed_file_is_a_new_run_beside_the_old_one(settings: Settings) -> None:
    score_inbox(settings, DAY)
    write_csv(inbox_of(settings) / "plan_agent_1.csv", [LONG_HEADER, long_row("Q9")])
    assert names(score_inbox(settings, DAY)) == ["plan_agent_1.csv"]
    assert table(settings, "test_run_summaries")["input_name"].sort().to_list() == [
        *["plan_agent_1.csv"] * 2,
        "resume_agent_1.csv",
    ]
    assert len([path for path in (Path(settings.reports) / "test-runs").iterdir() if path.is_dir()]) == 3


def test_run_that_is_scored_again_replaces_its_own_rows_alone(settings: Settings) -> None:
    score_inbox(settings, DAY)
    folder = Path(settings.warehouse)
    before = {name: (folder / name / f"{DAY}.parquet").read_bytes() for name in TABLES}
    with opened(RunLedger, settings.state_url) as ledger:
        for run in ledger.of_day(DAY):
            ledger.save(replace(run, outcome="running"))  # as one that died before its end was noted
    assert len(score_inbox(settings, DAY).scored) == 2
    assert {name: (folder / name / f"{DAY}.parquet").read_bytes() for name in TABLES} == before


def test_file_that_cannot_be_read_stops_no_other_and_is_recorded_and_told_once(
    settings: Settings, slack: FakeSlack
) -> None:
    inbox = inbox_of(settings)
    (inbox / "a_bad.csv").write_bytes(b"")
    write_csv(inbox / "unknown.csv", [LONG_HEADER, long_row("U")])
    alerts = AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url)
    told = settings.model_copy(update={"alerts": alerts})
    for expected in (["plan_agent_1.csv", "resume_agent_1.csv"], []):
        outcome = score_inbox(told, DAY)
        assert names(outcome) == expected
        assert "empty" in outcome.refused[0] and "which rubric" in outcome.refused[1]
        (message,) = [one.shown for one in slack.posted if "읽지 못한 파일" in one.text]
        assert r"a_bad.csv\n까닭: 빈 파일입니다." in message and r"unknown.csv\n까닭: 어느 " in message
    write_csv(inbox / "a_bad.csv", [["이름", "나이"]])
    score_inbox(told, DAY)
    _, changed = [one.shown for one in slack.posted if "읽지 못한 파일" in one.text]
    assert "a_bad.csv" in changed and "unknown.csv" not in changed
    with opened(RunLedger, settings.state_url) as ledger:
        outcomes = [(run.kind, run.outcome, run.rubric) for run in ledger.of_day(DAY)]
    assert sorted(outcomes) == [
        *[("test_run", "completed", "aqb-1.2"), ("test_run", "completed", "plan-agent")],
        *[("test_run", "failed", "")] * 3,
    ]


@pytest.mark.usefixtures("site_is_built")
def test_file_that_cannot_be_read_gives_no_cell_to_any_database(settings: Settings, tmp_path: Path) -> None:
    write_csv(inbox_of(settings) / "plan_agent_nohead.csv", [["홍길동", "010-9876-5432", "leak.me@example.com"]])
    assert len(score_inbox(settings, DAY).refused) == 1
    for path in (path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".csv"):
        assert [cell for cell in ("홍길동", "9876-5432", "leak.me") if cell.encode() in path.read_bytes()] == []


def test_file_that_cannot_be_looked_at_does_not_stop_the_others(settings: Settings) -> None:
    Path(os.fsdecode(os.fsencode(inbox_of(settings)) + b"/plan_\xb0\xa1.csv")).write_text("x")
    outcome = score_inbox(settings, DAY)
    assert names(outcome) == ["plan_agent_1.csv", "resume_agent_1.csv"]
    assert "no UTF-8" in outcome.refused[0]


@pytest.mark.parametrize("night_before", [False, True])
def test_file_refused_by_its_name_does_not_keep_its_copy_of_a_better_one_from_being_scored(
    settings: Settings, night_before: bool
) -> None:
    inbox = inbox_of(settings)
    run = write_csv(inbox / "a run.csv", [LONG_HEADER, long_row("U")])
    if night_before:
        assert "which rubric" in score_inbox(settings, DAY).refused[0]
    (inbox / "plan_agent_2.csv").write_bytes(run.read_bytes())
    (inbox / "plan_agent_3.csv").write_bytes(run.read_bytes())
    outcome = score_inbox(settings, NEXT_DAY)
    assert ("plan_agent_2.csv" in names(outcome), "plan_agent_3.csv" in names(outcome)) == (True, False)
    assert (outcome.refused, score_inbox(settings, NEXT_DAY).scored) == ((), ())


@pytest.mark.parametrize("ending", [".xls", ".XLSM", ".xlsb", ".ods"])
def test_workbook_of_another_kind_is_told_instead_of_passed_over(settings: Settings, ending: str) -> None:
    (inbox_of(settings) / f"plan_agent_2{ending}").write_bytes(b"PK")
    (inbox_of(settings) / "notes.txt").write_text("no test run")
    outcome = score_inbox(settings, DAY)
    (refused,) = outcome.refused
    assert refused.startswith(f"{inbox_of(settings)}/plan_agent_2{ending}: expected a name ending in .csv, .tsv, .xlsx")
    assert len(outcome.scored) == 2


def test_link_that_leads_out_of_the_inbox_is_refused(settings: Settings, tmp_path: Path) -> None:
    inbox = inbox_of(settings)
    outside = write_csv(tmp_path / "outside.csv", [LONG_HEADER, long_row("O")])
    (inbox / "plan_agent_link.csv").symlink_to(outside)
    (inbox / "plan_agent_passwords.csv").symlink_to("/etc/passwd")
    (inbox / "plan_agent_inside.csv").symlink_to(inbox / "plan_agent_1.csv")
    (inbox / "team").symlink_to(outside.parent)
    (inbox / "_hidden").symlink_to(outside.parent)
    (inbox / "itself").symlink_to(inbox)
    outcome = score_inbox(settings, DAY)
    assert len(names(outcome)) == 2
    assert [line.splitlines()[0] for line in outcome.refused] == [
        f"{inbox / name}: a link that leads out of the inbox"
        for name in ("plan_agent_link.csv", "plan_agent_passwords.csv", "team")
    ]


def test_rubric_agent_and_names_of_the_settings_hold_for_files_of_the_inbox(settings: Settings) -> None:
    inbox = inbox_of(settings)
    write_csv(inbox / "주간 점검 1.csv", [[*LONG_HEADER[:3], "문제", *LONG_HEADER[4:]], long_row("U")])
    chosen = InboxSettings.model_validate(
        {
            "inbox": str(inbox),
            "quiet_s": 0,
            "rubric": "recruit-agent",
            "files": [{"pattern": "주간*", "rubric": "plan-agent"}, {"pattern": "RESUME*", "agent_type": "move"}],
            "columns": {"질의": "문제"},
        }
    )
    outcome = score_inbox(settings.model_copy(update={"test_runs": chosen}), DAY)
    assert {run.name: run.summary["rubric"] for run in outcome.scored} == {
        "plan_agent_1.csv": "recruit-agent",
        "resume_agent_1.csv": "recruit-agent",
        "주간 점검 1.csv": "plan-agent",
    }
    assert (outcome.refused, outcome.failures) == ((), ())


def test_files_on_their_way_are_left_for_the_next_run(settings: Settings) -> None:
    inbox = inbox_of(settings)
    for name in (".hidden.csv", "~$plan_agent_1.xlsx", "_draft.csv", "notes.txt", "plan_agent_1.csv.part"):
        (inbox / name).write_text("x")
    old = (inbox / "plan_agent_1.csv").stat().st_mtime - 100
    os.utime(inbox / "plan_agent_1.csv", (old, old))
    slow = settings.model_copy(update={"test_runs": InboxSettings(inbox=str(inbox), quiet_s=60)})
    outcome = score_inbox(slow, DAY)
    assert (names(outcome), outcome.arriving) == (["plan_agent_1.csv"], ("resume_agent_1.csv",))
    assert names(score_inbox(settings, DAY)) == ["resume_agent_1.csv"]


def test_file_with_a_time_to_come_has_arrived_when_it_was_written(settings: Settings) -> None:
    """As one has that was packed in Seoul and is unpacked on a server in UTC."""
    later = datetime.now(UTC).timestamp() + 9 * 3600
    os.utime(inbox_of(settings) / "plan_agent_1.csv", (later, later))
    outcome = score_inbox(settings, DAY)
    assert (names(outcome), outcome.arriving) == (["plan_agent_1.csv", "resume_agent_1.csv"], ())


def test_files_that_move_on_during_the_run_are_left_for_the_next_one(settings: Settings) -> None:
    inbox = inbox_of(settings)
    seen = look_into(inbox, datetime.now(UTC), 0.0)
    (inbox / "plan_agent_1.csv").rename(inbox / "plan_agent_renamed.csv")
    write_csv(inbox / "resume_agent_1.csv", [["replaced by another"]])
    with Context(settings) as context:
        found = score_files(context, seen.new, DAY, {})
    assert found == [LeftFile("plan_agent_1.csv"), LeftFile("resume_agent_1.csv")]
    with opened(RunLedger, settings.state_url) as ledger:
        assert ledger.of_day(DAY) == []
    assert names(score_inbox(settings, DAY)) == ["plan_agent_renamed.csv"]


def test_file_that_is_replaced_while_it_is_judged_is_left_for_the_next_run(settings: Settings) -> None:
    inbox = inbox_of(settings)

    def replaced_before_it_is_scored() -> Iterator[Sequence[FileIdentity]]:
        yield from look_into(inbox, datetime.now(UTC), 0.0).new
        write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row(**{"기대 필터": "성별"})])

    judged = settings.model_copy(update={"judge": JudgeSettings(enabled=True)})
    with Context(judged) as context:
        plan, resume = score_files(context, replaced_before_it_is_scored(), DAY, {})
    assert (type(plan), resume) == (WrittenTestRun, LeftFile("resume_agent_1.csv"))
    assert names(score_inbox(settings, DAY)) == ["resume_agent_1.csv"]


def test_inbox_that_another_run_is_working_on_is_left_to_it(settings: Settings, slack: FakeSlack) -> None:
    told = settings.model_copy(update={"alerts": alerts_to(slack)})
    with open_warehouse(settings.warehouse).staging("test-runs"):
        outcome = score_inbox(told, DAY)
    assert (outcome.scored, outcome.failures) == ((), ())
    assert ["another run is working on 'test-runs'" in problem for problem in outcome.problems] == [True]
    assert slack.posted == []
    assert len(score_inbox(told, DAY).scored) == 2


def test_rejected_rows_are_kept_and_reported(settings: Settings) -> None:
    write_csv(inbox_of(settings) / "plan_agent_1.csv", [LONG_HEADER, long_row(), long_row(round_="x")])
    outcome = score_inbox(settings, DAY)
    assert outcome.problems == ("plan_agent_1.csv: 1 row rejected; see the table `rejected`",)
    assert table(settings, "rejected").select("code", "rubric").rows() == [("bad_round", "plan-agent")]


def test_command_scores_the_inbox(aqb: Command, settings: Settings) -> None:
    Path("aqb.toml").write_text(f'[test_runs]\ninbox = "{settings.test_runs.inbox}"\nquiet_s = 0\n')
    ended = aqb("test-runs")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "test runs: 2 scored, 0 failed, 0 scored before" in ended.out
    ended = aqb("test-runs", "--json")
    assert json.loads(ended.out) == {"scored": [], "failures": [], "refused": [], "known": 2, "arriving": []}


def test_file_that_cannot_be_read_waits_no_longer_until_it_changes(aqb: Command, settings: Settings) -> None:
    bad = inbox_of(settings) / "a_bad.csv"
    bad.touch()
    Path("aqb.toml").write_text(f'[test_runs]\ninbox = "{settings.test_runs.inbox}"\nquiet_s = 0\n')
    assert aqb("test-runs").exit_code == 1
    assert json.loads(aqb("status", "--json").out)["inbox"] == {"waiting": 0, "scored": 2, "failed": [str(bad)]}
    write_csv(bad, [LONG_HEADER, long_row("U")])
    assert json.loads(aqb("status", "--json").out)["inbox"] == {"waiting": 1, "scored": 2, "failed": []}


def test_file_that_cannot_be_read_is_among_the_failures_each_time(aqb: Command, settings: Settings) -> None:
    (inbox_of(settings) / "a_bad.csv").touch()
    Path("aqb.toml").write_text(f'[test_runs]\ninbox = "{settings.test_runs.inbox}"\nquiet_s = 0\n')
    for scored_before in (0, 2):
        ended = aqb("test-runs", "--json")
        found = json.loads(ended.out)
        assert (ended.exit_code, found["known"]) == (1, scored_before)
        (why,) = found["failures"]
        assert found["refused"] == [why] and "a_bad.csv: the file is empty" in why


def test_inbox_that_is_not_there_is_wrong_usage(aqb: Command) -> None:
    ended = aqb("test-runs")
    assert ended.exit_code == 2
    assert "data/inbox" in ended.err


def test_one_run_is_scored_into_the_folder_itself(aqb: Command, folder: Path) -> None:
    path = write_csv(folder / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    ended = aqb("score", path, "--out", "out", "--option", "value_lookup=direct")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "plan-agent 2+value_lookup=direct, rows in 1 = scored 1" in ended.out
    assert json.loads(Path("out/summary.json").read_text("utf-8"))["rubric_version"] == "2+value_lookup=direct"


def test_several_runs_go_into_a_folder_each_and_a_bad_one_stops_none(aqb: Command, folder: Path) -> None:
    (folder / "in" / "x").mkdir(parents=True)
    write_csv(folder / "in" / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    write_csv(folder / "in" / "x" / "plan_agent_1.csv", [LONG_HEADER, long_row("Q2")])
    (folder / "in" / "bad.xlsx").write_bytes(b"no workbook")
    ended = aqb("score", "in", "--out", "out", "--json")
    assert ended.exit_code == 1
    assert "error: in/bad.xlsx: expected an Excel workbook" in ended.err
    assert [bool(one["summary"]) for one in json.loads(ended.out)] == [False, True, True]
    assert len(list(Path("out").glob("plan_agent_1-*/report.md"))) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--rubric", "nothing"), "there is no rubric 'nothing'"),
        (("--agent-type", "robot"), "there is no agent type 'robot'"),
        (("--option", "value_lookup"), "is no NAME=VALUE"),
        (("--option", "wide=1"), "no option 'wide'"),
        (("--rubric", "aqb-1.2", "--option", "value_lookup=direct"), "no option 'value_lookup'"),
    ],
)
def test_wrong_option_ends_with_2_and_writes_nothing(
    aqb: Command, folder: Path, arguments: tuple[str, ...], says: str
) -> None:
    path = write_csv(folder / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    ended = aqb("score", path, "--out", "out", *arguments)
    assert (ended.exit_code, says in ended.err) == (2, True)
    assert not Path("out").exists()


def test_chat_rows_and_test_runs_do_not_mix(aqb: Command, folder: Path) -> None:
    write_csv(folder / "a.csv", [["user_input", "llm_response", "timestamp", "input_tokens", "output_tokens"]])
    write_csv(folder / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    ended = aqb("score", "a.csv", "plan_agent_1.csv", "--out", "out")
    assert (ended.exit_code, "in one call" in ended.err) == (2, True)


def test_options_of_rubrics_stand_in_the_settings_too(aqb: Command, folder: Path) -> None:
    path = write_csv(folder / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    Path("aqb.toml").write_text('[rubric_options.plan-agent]\nvalue_lookup = "direct"\n')
    assert "2+value_lookup=direct" in aqb("score", path, "--out", "out").out


def test_prompt_is_printed_for_the_rubric_that_has_one(aqb: Command) -> None:
    assert "plan_agent" in aqb("rubrics", "prompt", "plan-agent").out
    ended = aqb("rubrics", "prompt", "ola-monitoring")
    assert (ended.exit_code, "plan-agent" in ended.err) == (2, True)
    assert {one["id"] for one in json.loads(aqb("rubrics", "--json").out)} >= {"plan-agent", "aqb-1.2"}
