import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from threading import Timer
from typing import Any

import polars as pl
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter, FlowRunFilterId, TaskRunFilter
from prefect.client.schemas.objects import FlowRun as KeptRun
from prefect.client.schemas.objects import State
from prefect.client.schemas.sorting import ArtifactSort
from prefect.runtime import flow_run

from flows.nightly import IncompleteRunError, NightlyOutcome, nightly
from scoring.errors import InputError, StorageError, UsageError
from tasks.config.settings import MonitoringSettings, Settings, load_settings
from tasks.config.testruns import InboxSettings
from tasks.state.run_ledger import RunLedger
from tasks.warehouse.folder import FolderWarehouse
from tests.builders import flows as plain_flows
from tests.builders.chat_rows import BEST_QUESTION, DAY, REFUSAL, best, plain, refused, write_rows
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.builders.testruns import LONG_HEADER, long_row, write_csv
from tests.flows.conftest import TABLES
from tests.flows.prefect_server import ended_task_runs

on_server = pytest.mark.usefixtures("prefect_server")


@dataclass(frozen=True)
class FlowRun:
    """How a run ended, the names and states of its task runs, and its artifacts by key."""

    state: State[Any]
    task_runs: dict[str, str]
    artifacts: dict[str, str]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A source with rows of two days, and an empty warehouse."""
    rows = [best(0), refused(1), plain(2, llm_response=None), plain(3), best(24 * 60)]
    write_rows(tmp_path / "source" / "a.jsonl", rows)
    return settings_in(tmp_path)


def run_nightly(settings: Settings, steps: int = 5) -> FlowRun:
    state: State[Any] = nightly(settings, DAY, return_state=True)
    run_id = state.state_details.flow_run_id
    assert run_id is not None
    this_run = FlowRunFilter(id=FlowRunFilterId(any_=[run_id]))
    with get_client(sync_client=True) as client:  # everything is spelled out: what is left out travels as a bad null
        tasks = ended_task_runs(client, run_id, steps)
        artifacts = client.read_artifacts(
            artifact_filter=ArtifactFilter(),
            flow_run_filter=this_run,
            task_run_filter=TaskRunFilter(),
            sort=ArtifactSort.KEY_ASC,
            limit=100,
            offset=0,
        )
    return FlowRun(
        state,
        {task.name: task.state_type.value for task in tasks if task.state_type},
        {str(artifact.key): str(artifact.data) for artifact in artifacts},
    )


def runs_of(settings: Settings) -> list[tuple[str, str, int | None]]:
    with opened(RunLedger, settings.state_url) as ledger:
        return [(run.kind, run.outcome, run.rows_in) for run in ledger.of_day(DAY)]


def day_files(settings: Settings) -> dict[str, bytes]:
    return {name: (Path(settings.warehouse) / name / f"{DAY}.parquet").read_bytes() for name in TABLES}


@on_server
def test_day_run_twice_completes_twice_with_the_same_tables(settings: Settings) -> None:
    first, tables = run_nightly(settings), day_files(settings)
    second = run_nightly(settings)

    for run in (first, second):
        assert run.state.is_completed()
        steps = [f"{step} {DAY}" for step in ("extract", "score", "write", "summarise")]
        assert run.task_runs == dict.fromkeys([*steps, "site"], "COMPLETED")
    assert day_files(settings) == tables

    warehouse = FolderWarehouse(Path(settings.warehouse))
    scores, runs = warehouse.read("monitoring_scores"), warehouse.read("runs")
    assert scores is not None
    assert runs is not None
    assert scores.collect()["final_grade"].to_list() == ["STAR", "F", "B"]
    both = runs.collect()
    assert both["run_id"].n_unique() == 2
    assert (
        both.select("kind", "outcome", "rows_in", "scored", "excluded", "rejected").rows()
        == [("nightly", "completed", 4, 3, 1, 0)] * 2
    )
    assert (both["finished_at"] >= both["started_at"]).all()
    assert sorted(path.name for path in Path(settings.warehouse).iterdir() if path.name[0] != ".") == [*TABLES, "runs"]
    assert not list((Path(settings.warehouse) / ".staging").glob("*/"))


@on_server
def test_artifacts_show_kpis_and_worst_rows_without_texts_of_people(settings: Settings) -> None:
    run = run_nightly(settings)
    outcome: NightlyOutcome = run.state.result()
    kept = {"monitoring", "monitoring-alerts", "monitoring-worst", "report-last-day", "report-site"}
    assert set(run.artifacts) == kept  # of every night the same, so that each has a history
    assert "| 실패율 | 하루 | 33.3% |" in run.artifacts["monitoring"]
    alerts = json.loads(run.artifacts["monitoring-alerts"])
    assert {"알림 수준": "Critical", "알림": "답변 실패", "값": "1건", "대상 행": 3, "앞선 날의 건수": ""} in alerts
    (worst,) = json.loads(run.artifacts["monitoring-worst"])
    assert worst.pop("행 ID")
    assert worst == {
        "종합 점수": 10.0,
        "종합 등급": "F 실패",
        "질문 점수": 17,
        "답변 점수": 0,
        "상호작용 점수": 23,
        "실패 유형": "거절: 투자 자문(법률)",
        "원인 태그": "–",
    }
    for text in (REFUSAL, BEST_QUESTION, "살까", "s1"):
        assert text not in "".join(run.artifacts.values())
    assert outcome.scored.report == Path(settings.reports) / f"monitoring-{DAY}.md"
    assert "실패율" in outcome.scored.report.read_text("utf-8")


@on_server
def test_broken_file_fails_the_run_after_the_good_ones_are_scored(settings: Settings, tmp_path: Path) -> None:
    broken = tmp_path / "source" / "b.parquet"
    pl.DataFrame([plain(5)]).write_parquet(broken)
    broken.write_bytes(broken.read_bytes()[:-20])
    run = run_nightly(settings)
    assert run.state.is_failed()
    assert set(run.task_runs.values()) == {"COMPLETED"}
    with pytest.raises(IncompleteRunError, match="1 of 2 files") as incomplete:
        run.state.result()
    assert str(broken) in incomplete.value.outcome.problems[0]
    assert incomplete.value.outcome.scored.counts.scored == 3
    assert runs_of(settings) == [("nightly", "failed", 4)]
    assert pl.read_parquet(Path(settings.warehouse) / "monitoring_scores" / f"{DAY}.parquet").height == 3


def test_day_without_rows_completes_and_alerts(settings: Settings, tmp_path: Path) -> None:
    write_rows(tmp_path / "source" / "a.jsonl", [best(24 * 60)])
    outcome = plain_flows.nightly(settings, DAY)
    assert [fact.rule for fact in outcome.scored.alerts] == ["no_rows"]
    assert (outcome.scored.counts.rows_in, outcome.problems) == (0, ())
    assert runs_of(settings) == [("nightly", "completed", 0)]


def test_rejected_rows_are_a_problem_that_is_told(settings: Settings, tmp_path: Path) -> None:
    write_rows(tmp_path / "source" / "b.jsonl", [plain(9, output_tokens=-1)])
    outcome = plain_flows.nightly(settings, DAY)
    assert outcome.scored.counts.rejected == 1
    assert outcome.problems == ("1 row rejected (negative_tokens 1); see the table `rejected`",)


def test_files_that_are_copies_of_each_other_are_a_problem_that_is_told(settings: Settings, tmp_path: Path) -> None:
    write_rows(tmp_path / "source" / "a.jsonl", [best(0), best(24 * 60)])
    write_rows(tmp_path / "source" / "old.jsonl", [best(-24 * 60)])
    for name in ("a", "old"):
        shutil.copy(tmp_path / "source" / f"{name}.jsonl", tmp_path / "source" / f"{name} (1).jsonl")
    outcome = plain_flows.nightly(settings, DAY)
    assert outcome.scored.counts.scored == 2
    names = f"{tmp_path / 'source' / 'a (1).jsonl'}, {tmp_path / 'source' / 'a.jsonl'}"
    assert [problem.partition("\n")[0] for problem in outcome.problems] == [
        f"each row counts 2 times, for these files hold the same: {names}"
    ]


def test_intraday_run_is_provisional_until_the_nightly_one_replaces_it(settings: Settings, tmp_path: Path) -> None:
    so_far = plain_flows.nightly(settings, DAY, "intraday")
    assert "잠정" in so_far.scored.report.read_text("utf-8").partition("\n")[0]
    write_rows(tmp_path / "source" / "b.jsonl", [best(60)])
    whole = plain_flows.nightly(settings, DAY)
    assert "잠정" not in whole.scored.report.read_text("utf-8").partition("\n")[0]
    assert (so_far.scored.counts.scored, whole.scored.counts.scored) == (3, 4)
    assert runs_of(settings) == [("intraday", "completed", 4), ("nightly", "completed", 5)]


# --- The day of a run, and the days before it -------------------------------------------------------------------------

A_DAY = 24 * 60
NEXT = DAY + timedelta(days=1)


def at_night_after(day: date, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the flow one that its schedule has meant for one o'clock (Asia/Seoul) of the next day."""
    start = datetime.combine(day, time(16), UTC)
    monkeypatch.setitem(flow_run.FIELDS, "scheduled_start_time", lambda: start)


def run_after(day: date, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> NightlyOutcome:
    at_night_after(day, monkeypatch)
    return plain_flows.nightly(settings)


def days_done(outcome: NightlyOutcome) -> list[tuple[date, str]]:
    return [(one.day, one.why) for one in outcome.earlier] + [(outcome.scored.day, "")]


def test_schedule_says_which_day_is_scored_in_the_zone(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    at_night_after(DAY, monkeypatch)
    assert plain_flows.nightly(settings).scored.day == DAY
    assert plain_flows.nightly(settings, kind="intraday").scored.day == NEXT
    in_utc = settings.model_copy(update={"time_zone": "UTC"})
    assert plain_flows.nightly(in_utc, kind="intraday").scored.day == DAY


def test_missed_days_are_done_first_oldest_first(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    run_after(DAY, settings, monkeypatch)
    outcome = run_after(DAY + timedelta(days=3), settings, monkeypatch)
    assert days_done(outcome) == [
        (NEXT, "missing"),
        (NEXT + timedelta(days=1), "missing"),
        (DAY + timedelta(days=3), ""),
    ]
    assert outcome.earlier[0].outcome is not None
    assert outcome.earlier[0].outcome.counts.scored == 1
    assert outcome.problems == ()
    assert days_done(run_after(DAY + timedelta(days=3), settings, monkeypatch)) == [(DAY + timedelta(days=3), "")]


def test_late_rows_bring_their_day_up_to_date(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_after(DAY, settings, monkeypatch)
    write_rows(tmp_path / "source" / "late.jsonl", [plain(7)])
    outcome = run_after(NEXT, settings, monkeypatch)
    assert days_done(outcome) == [(DAY, "late rows"), (NEXT, "")]
    assert runs_of(settings) == [("nightly", "completed", 4), ("nightly", "completed", 5)]
    assert days_done(run_after(NEXT, settings, monkeypatch)) == [(NEXT, "")]


def test_intraday_run_does_not_make_a_day_done(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    run_after(DAY, settings, monkeypatch)
    plain_flows.nightly(settings, kind="intraday")
    outcome = run_after(NEXT + timedelta(days=1), settings, monkeypatch)
    assert days_done(outcome) == [(NEXT, "missing"), (NEXT + timedelta(days=1), "")]


def test_day_that_was_asked_for_is_done_alone(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    run_after(DAY, settings, monkeypatch)
    outcome = plain_flows.nightly(settings, DAY + timedelta(days=3))
    assert days_done(outcome) == [(DAY + timedelta(days=3), "")]


def test_missed_day_that_fails_does_not_stop_the_run_but_fails_it_in_the_end(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_after(DAY, settings, monkeypatch)
    monkeypatch.setattr("flows.steps.day._TAKEN_DAY_PATIENCE_S", 0.0)
    busy = FolderWarehouse(Path(settings.warehouse)).staging(f"monitoring-{NEXT}")
    with busy, pytest.raises(IncompleteRunError, match=f"{NEXT} could not be scored") as incomplete:
        run_after(NEXT + timedelta(days=1), settings, monkeypatch)
    outcome = incomplete.value.outcome
    assert outcome.scored.counts.rows_in == 0
    assert outcome.problems[0].startswith(f"{NEXT} (missing): ")
    assert "another run" in outcome.problems[0]
    repaired = run_after(NEXT + timedelta(days=1), settings, monkeypatch)
    assert days_done(repaired)[0] == (NEXT, "missing")


def test_gap_too_long_for_one_night_is_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    near = settings.model_copy(update={"monitoring": settings.monitoring.model_copy(update={"catch_up_days": 1})})
    run_after(DAY, near, monkeypatch)
    outcome = run_after(DAY + timedelta(days=4), near, monkeypatch)
    assert days_done(outcome)[0] == (DAY + timedelta(days=3), "missing")
    told = f"no run has scored {NEXT} to {NEXT + timedelta(days=1)}; `aqb backfill --from {NEXT} --to"
    assert outcome.problems[0].startswith(told)


def test_day_that_cannot_be_scored_keeps_neither_missed_days_nor_test_runs_waiting(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inbox").mkdir()
    write_csv(tmp_path / "inbox" / "plan_agent_1.csv", [LONG_HEADER, long_row()])
    inbox = InboxSettings(inbox=str(tmp_path / "inbox"), quiet_s=0)
    settings = settings.model_copy(update={"test_runs": inbox})
    run_after(DAY, settings, monkeypatch)
    write_csv(tmp_path / "inbox" / "plan_agent_2.csv", [LONG_HEADER, long_row("Q2")])
    own = NEXT + timedelta(days=1)
    monkeypatch.setattr("flows.steps.day._TAKEN_DAY_PATIENCE_S", 0.0)
    busy = FolderWarehouse(Path(settings.warehouse)).staging(f"monitoring-{own}")
    with busy, pytest.raises(StorageError, match="another run"):
        run_after(own, settings, monkeypatch)
    warehouse = FolderWarehouse(Path(settings.warehouse))
    assert warehouse.days("monitoring_kpis") == [DAY, NEXT]
    assert len(list(Path(settings.reports).glob("test-runs/plan_agent_*-*/summary.json"))) == 2


def test_run_keeps_the_names_of_the_files_with_rows_of_its_day_alone(settings: Settings, tmp_path: Path) -> None:
    write_rows(tmp_path / "source" / "b.jsonl", [best(24 * 60)])
    plain_flows.nightly(settings, DAY)
    with opened(RunLedger, settings.state_url) as ledger:
        assert [file["name"] for file in ledger.of_day(DAY)[0].inputs] == [str(tmp_path / "source" / "a.jsonl")]


@on_server
def test_missing_source_fails_the_run_at_once_and_is_kept_in_the_ledger(settings: Settings) -> None:
    nowhere = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    run = run_nightly(nowhere, steps=2)
    assert run.state.is_failed()
    # Not tried again: it would stay missing. The site is built all the same, for the days that there are.
    assert run.task_runs == {f"extract {DAY}": "FAILED", "site": "COMPLETED"}
    with pytest.raises(InputError, match="nowhere"):
        run.state.result()
    assert runs_of(nowhere) == [("nightly", "failed", None)]


def test_source_that_has_gone_since_last_night_is_kept_in_the_ledger_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_after(DAY, settings, monkeypatch)
    nowhere = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    with pytest.raises(InputError, match="nowhere"):
        run_after(NEXT, nowhere, monkeypatch)
    with opened(RunLedger, settings.state_url) as ledger:
        assert [(run.kind, run.outcome) for run in ledger.of_day(NEXT)] == [("nightly", "failed")]


def test_two_runs_of_one_day_do_not_work_at_the_same_time(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.steps.day._TAKEN_DAY_PATIENCE_S", 0.0)
    busy = FolderWarehouse(Path(settings.warehouse)).staging(f"monitoring-{DAY}")
    with busy, pytest.raises(StorageError, match="another run"):
        plain_flows.nightly(settings, DAY)
    assert plain_flows.nightly(settings, DAY).scored.day == DAY


def test_night_waits_for_another_run_of_its_day_and_then_scores_it(settings: Settings) -> None:
    with ExitStack() as other:
        other.enter_context(FolderWarehouse(Path(settings.warehouse)).staging(f"monitoring-{DAY}"))
        Timer(0.2, other.close).start()  # the other run ends while this one waits
        outcome = plain_flows.nightly(settings, DAY)
    assert (outcome.problems, outcome.scored.day) == ((), DAY)


SECRET = "a-password-that-nobody-may-see"


@pytest.fixture
def secretive(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings with a secret wherever there can be one; the environment of the run knows them."""
    secrets = {
        "AQB_STATE_URL": f"sqlite:///file:{tmp_path / 'state.db'}?uri=true&token={SECRET}",
        "AQB_JUDGE__BASE_URL": f"http://user:{SECRET}@localhost/v1",
        "AQB_JUDGE__API_KEY": SECRET,
        "AQB_ALERTS__API_URL": f"http://user:{SECRET}@localhost/api/",
        "AQB_BIGQUERY__ENDPOINT": f"http://user:{SECRET}@localhost",
        "AQB_BIGQUERY__STORAGE_ENDPOINT": f"user:{SECRET}@localhost:9060",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    return load_settings(warehouse=settings.warehouse, reports=settings.reports, monitoring=settings.monitoring)


def kept_run(state: State[Any]) -> KeptRun:
    """What Prefect has kept of a run."""
    assert state.state_details.flow_run_id is not None
    with get_client(sync_client=True) as client:
        return client.read_flow_run(state.state_details.flow_run_id)


@on_server
def test_prefect_and_the_ledger_keep_no_secret_of_the_settings_and_a_run_of_what_is_kept_works(
    secretive: Settings,
) -> None:
    first: State[Any] = nightly(secretive, DAY, return_state=True)
    kept = kept_run(first)
    assert "warehouse" in kept.parameters["settings"]
    again: State[Any] = nightly(kept.parameters["settings"], DAY, return_state=True)
    assert (first.is_completed(), again.is_completed()) == (True, True)
    with opened(RunLedger, secretive.state_url) as ledger:
        runs = ledger.of_day(DAY)
    assert len(runs) == 2
    assert SECRET not in str([kept, first.message, kept_run(again), again.message, runs])


def test_run_of_what_prefect_has_kept_asks_for_the_secrets_that_its_folder_lacks(
    secretive: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AQB_JUDGE__BASE_URL")
    with pytest.raises(UsageError, match="set AQB_JUDGE__BASE_URL where the run takes place"):
        plain_flows.nightly(Settings.model_validate(secretive.model_dump(mode="json")), DAY)
