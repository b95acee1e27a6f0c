"""Test runs of the inbox where tables and state database do not tell the same: one of them was lost or moved."""

from datetime import date
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from pydantic import SecretStr

from flows.steps.status import status_of
from flows.test_runs import IncompleteInboxError
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.judge import JudgeSettings
from tasks.config.settings import Settings
from tasks.config.testruns import InboxSettings
from tasks.state.run_ledger import RunLedger
from tasks.testruns.warehouse import SUMMARIES, write_testrun
from tasks.warehouse import open_warehouse
from tests.builders.flows import score_inbox
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.builders.testruns import LONG_HEADER, WIDE_HEADER, long_row, wide_row, write_csv
from tests.fakes.openai_server import Behaviour, FakeOpenAI
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import QA

FIRST, SECOND, TODAY = date(2026, 3, 11), date(2026, 3, 12), date(2026, 3, 16)
PLAN, RESUME = "plan_agent_1.csv", "resume_agent_1.csv"
Row = tuple[date, str]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two nights have scored a file each; the alphabet puts the later one first."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    settings = settings_in(tmp_path, test_runs=InboxSettings(inbox=str(inbox), quiet_s=0))
    write_csv(inbox / RESUME, [WIDE_HEADER, wide_row(**{"기대 필터": "보훈"})])
    score_inbox(settings, FIRST)
    write_csv(inbox / PLAN, [LONG_HEADER, long_row(), long_row(round_="2/1")])
    score_inbox(settings, SECOND)
    return settings


def tables(settings: Settings) -> dict[str, bytes]:
    folder = Path(settings.warehouse)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("test_run_*/*.parquet")}


def summaries(settings: Settings) -> list[Row]:
    rows = open_warehouse(settings.warehouse).read(SUMMARIES)
    return [] if rows is None else sorted(rows.select("score_date", "input_name").collect().rows())


def test_inbox_brings_lost_tables_back_as_of_their_days(settings: Settings) -> None:
    before = tables(settings)
    rmtree(settings.warehouse)
    lacking = "the score tables lack 2 test runs that were completed, since 2026-03-11"
    assert any(lacking in problem for problem in status_of(settings).problems)
    outcome = score_inbox(settings, TODAY)
    assert [run.name for run in outcome.scored] == [RESUME, PLAN]
    assert tables(settings) == before
    runs = open_warehouse(settings.warehouse).read("runs", [FIRST, SECOND])
    assert runs is not None
    assert runs.collect().height == 4
    assert (score_inbox(settings, TODAY).scored, status_of(settings).facts["inbox"]["waiting"]) == ((), 0)


def test_inbox_scores_into_another_warehouse_what_the_first_one_holds(settings: Settings, tmp_path: Path) -> None:
    before = tables(settings)
    moved = settings.model_copy(update={"warehouse": str(tmp_path / "elsewhere")})
    score_inbox(moved, TODAY)
    assert tables(moved) == before
    assert score_inbox(settings, TODAY).scored == ()


def test_inbox_brings_back_one_lost_day_of_several(settings: Settings) -> None:
    before = tables(settings)
    (Path(settings.warehouse) / SUMMARIES / f"{SECOND}.parquet").unlink()
    assert [run.name for run in score_inbox(settings, TODAY).scored] == [PLAN]
    assert tables(settings) == before


def test_inbox_goes_on_bringing_back_what_a_run_left_that_died(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tables(settings)
    rmtree(settings.warehouse)
    write_csv(Path(settings.test_runs.inbox) / "plan_agent_0.csv", [LONG_HEADER, long_row("Q7")])
    begun: list[Any] = []

    def die_at_the_second(*run: Any) -> None:
        begun.append(run)
        if len(begun) > 1:
            raise KeyboardInterrupt
        write_testrun(*run)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("tasks.reports.testrun_folder.write_testrun", die_at_the_second)
        score_inbox(settings, TODAY)
    assert summaries(settings) == [(FIRST, RESUME)]
    assert [run.name for run in score_inbox(settings, TODAY).scored] == [PLAN, "plan_agent_0.csv"]
    assert {name: tables(settings)[name] for name in before} == before


def test_inbox_does_not_bring_back_days_that_were_removed_from_the_beginning(settings: Settings) -> None:
    """As an expiration of partitions does, or a person who keeps a year."""
    for table in ("test_run_scores", "test_run_queries", SUMMARIES):
        (Path(settings.warehouse) / table / f"{FIRST}.parquet").unlink()
    assert score_inbox(settings, TODAY).scored == ()
    assert summaries(settings) == [(SECOND, PLAN)]


def test_inbox_takes_what_the_tables_hold_as_known_without_the_state_database(
    settings: Settings, tmp_path: Path
) -> None:
    before = tables(settings)
    fresh = settings.model_copy(update={"state_url": f"sqlite:///{tmp_path / 'fresh.db'}"})
    outcome = score_inbox(fresh, TODAY)
    assert (outcome.scored, outcome.known, tables(fresh)) == ((), 2, before)


def test_inbox_judges_a_lost_test_run_again_whose_judge_failed_when_its_scores_came_back(settings: Settings) -> None:
    before = summaries(settings)
    rmtree(settings.warehouse)
    with FakeOpenAI(Behaviour(api_key="sk-another")) as server, pytest.raises(IncompleteInboxError):
        score_inbox(judged_at(server, settings), TODAY)
    assert summaries(settings) == before  # by rule: what needs a verdict is NULL
    with FakeOpenAI(Behaviour(latency_s=0.001)) as server:
        outcome = score_inbox(judged_at(server, settings), TODAY)
        assert server.requests
    assert [run.name for run in outcome.scored] == [RESUME]
    assert summaries(settings) == before


def judged_at(server: FakeOpenAI, settings: Settings) -> Settings:
    judge = JudgeSettings(enabled=True, base_url=server.url, api_key=SecretStr("sk-a-key"), rpm=0, tpm=0)
    return settings.model_copy(update={"judge": judge})


def test_inbox_neither_pays_for_lost_verdicts_nor_notifies_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slack: FakeSlack
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    write_csv(inbox / RESUME, [WIDE_HEADER, wide_row(**{"기대 필터": "보훈"})])
    with FakeOpenAI(Behaviour(latency_s=0.001)) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key")
        settings = settings_in(
            tmp_path,
            test_runs=InboxSettings(inbox=str(inbox), quiet_s=0),
            judge=JudgeSettings(enabled=True, base_url=server.url, rpm=0, tpm=0),
            alerts=AlertsSettings(route=(Route(name="qa", webhook_env=QA),), api_url=slack.api_url),
        )
        score_inbox(settings, FIRST)
        before, asked, told = tables(settings), len(server.requests), len(slack.posted)
        assert (asked > 0, told > 0) == (True, True)
        rmtree(settings.warehouse)
        assert [run.summary["judge"]["cached"] for run in score_inbox(settings, TODAY).scored] == [asked]
        after = tables(settings)
        assert {name for name in before if after[name] != before[name]} == {f"{SUMMARIES}/{FIRST}.parquet"}  # `cached`
        assert (len(server.requests), len(slack.posted)) == (asked, told)
    with opened(RunLedger, settings.state_url) as ledger:
        assert [run.outcome for run in ledger.of_day(FIRST)] == ["completed"] * 2
