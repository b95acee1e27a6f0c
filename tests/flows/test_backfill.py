"""The backfill flow and its command: what is done, what is skipped, what fails, what is said."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from uuid import UUID

import polars as pl
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.deployments.runner import RunnerDeployment
from prefect.flow_engine import run_flow
from prefect.states import Running
from prefect.types.entrypoint import EntrypointType

from flows.backfill import BackfillOutcome, IncompleteBackfillError, backfill_day
from flows.backfill import backfill as backfill_flow
from flows.steps.day import score_day
from scoring.chat.day_content import DayContent
from scoring.days import days_between
from scoring.errors import UsageError
from tasks.chat.day_plan import BackfillPlan, PlannedDay
from tasks.config.settings import MonitoringSettings, Settings
from tasks.state.leases import Leases
from tasks.state.run_ledger import BACKFILL, Run, RunLedger, RunStep
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, plain, refused, write_rows
from tests.builders.flows import backfill, nightly
from tests.builders.state import in_context, opened
from tests.flows.conftest import TABLES, Command
from tests.flows.prefect_server import ended_task_runs

A_DAY = 24 * 60
LAST = DAY + timedelta(days=3)
DAYS = days_between(DAY, LAST)


def made_source(folder: Path) -> Path:
    """Four days, the third without rows, in a file that has them mixed and one that has rows of the fourth alone."""
    rows = [row for number in (3, 0, 1) for row in (best(number * A_DAY), refused(number * A_DAY + number))]
    write_rows(folder / "a.jsonl", rows)
    write_rows(folder / "b.jsonl", [plain(3 * A_DAY, llm_response=None), plain(3 * A_DAY, output_tokens=-1.0)])
    return folder


def settings_in(folder: Path, source: Path) -> Settings:
    return Settings(
        warehouse=str(folder / "warehouse"),
        reports=str(folder / "reports"),
        state_url=f"sqlite:///{folder / 'state.db'}",
        monitoring=MonitoringSettings(source=str(source), parallel_days=3),
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path, made_source(tmp_path / "source"))


def tables(settings: Settings, days: Sequence[date] = DAYS) -> dict[str, bytes]:
    folder = Path(settings.warehouse)
    return {f"{name} {day}": (folder / name / f"{day}.parquet").read_bytes() for name in TABLES for day in days}


def done(outcome: BackfillOutcome) -> list[date]:
    return [one.day for one in outcome.days]


def test_backfill_leaves_what_one_nightly_run_after_the_other_leaves(settings: Settings, tmp_path: Path) -> None:
    outcome = backfill(DAY, LAST, settings=settings)
    assert (done(outcome), outcome.up_to_date, outcome.rows) == (DAYS, 0, 8)
    assert [problem.split(":")[0] for problem in outcome.problems] == [str(DAYS[3])]  # the rejected row
    nights = settings_in(tmp_path / "nights", Path(settings.monitoring.source))
    for day in DAYS:
        nightly(nights, day)
    assert tables(settings) == tables(nights)
    assert not list((Path(settings.warehouse) / ".staging").glob("*/"))


def test_backfill_reads_a_portion_of_its_days_after_the_other(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.chat.day_plan.PORTION_BYTES", 1)
    outcome = backfill(DAY, LAST, settings=settings)
    assert (done(outcome), outcome.failed, outcome.rows) == (DAYS, (), 8)


@pytest.mark.usefixtures("site_is_built")
def test_what_a_backfill_that_died_has_scored_is_on_the_site_after_the_next(settings: Settings) -> None:
    in_context(score_day, settings, DAY, BACKFILL)
    assert not Path(settings.reports, "index.html").exists()
    assert done(backfill(DAY, DAY, settings=settings)) == []
    assert Path(settings.reports, f"monitoring/{DAY}.html").exists()


def test_what_is_up_to_date_is_skipped_unless_forced(settings: Settings) -> None:
    assert done(backfill(DAYS[1], DAYS[2], settings=settings)) == DAYS[1:3]
    outcome = backfill(DAY, DAYS[3], settings=settings)
    assert (done(outcome), outcome.up_to_date) == ([DAY, DAYS[3]], 2)
    before = {path: path.stat().st_mtime_ns for path in Path(settings.warehouse).glob("monitoring_scores/*")}
    assert done(backfill(DAY, DAYS[3], settings=settings)) == []
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert done(backfill(DAY, DAY, force=True, settings=settings)) == [DAY]


def test_failing_day_stops_no_other_and_is_done_by_the_next_backfill(settings: Settings) -> None:
    with (
        FolderWarehouse(Path(settings.warehouse)).staging(f"monitoring-{DAYS[1]}"),
        pytest.raises(IncompleteBackfillError, match=f"1 of 4 days are not complete: {DAYS[1]}") as incomplete,
    ):
        backfill(DAY, LAST, settings=settings)
    assert done(incomplete.value.outcome) == DAYS
    assert "another run" in incomplete.value.outcome.problems[0]
    assert done(backfill(DAY, LAST, settings=settings)) == [DAYS[1]]


@pytest.mark.usefixtures("site_is_built")
def test_damaged_file_of_the_table_of_runs_stops_no_day_and_is_made_anew(settings: Settings) -> None:
    backfill(DAY, DAYS[2], settings=settings)
    before = tables(settings, DAYS[:3])
    damaged, runs = (Path(settings.warehouse, f"runs/{day}.parquet") for day in DAYS[1:3])
    damaged.write_bytes(runs.read_bytes()[:-9])
    assert done(backfill(DAY, DAYS[2], settings=settings)) == [DAYS[1]]
    assert tables(settings, DAYS[:3]) == before
    assert len(pl.read_parquet(damaged)) == 2
    assert done(backfill(DAY, DAYS[2], settings=settings)) == []


def test_broken_file_makes_every_day_incomplete_and_the_rest_is_scored(settings: Settings) -> None:
    (Path(settings.monitoring.source) / "c.parquet").write_bytes(b"")
    with pytest.raises(IncompleteBackfillError, match="2 of 2 days") as incomplete:
        backfill(DAY, DAYS[1], settings=settings)
    assert incomplete.value.outcome.rows == 4
    assert ["c.parquet" in problem for problem in incomplete.value.outcome.problems] == [True, True]


@pytest.mark.long
def test_days_in_worker_processes_are_task_runs_and_leave_what_one_process_leaves(
    prefect_in_threads: str, settings: Settings, tmp_path: Path
) -> None:
    state: State[BackfillOutcome] = backfill_flow(DAY, DAYS[1], settings=settings, return_state=True)
    assert done(state.result()) == DAYS[:2]
    run_id = state.state_details.flow_run_id
    assert run_id is not None
    with get_client(sync_client=True) as client:
        tasks = ended_task_runs(client, run_id, 3)
        # Its own method for this asks for artifacts of task runs only.
        found = client.request("POST", "/artifacts/filter", json={"flow_runs": {"id": {"any_": [str(run_id)]}}})
    assert {task.name: task.state_name for task in tasks} == dict.fromkeys(
        [*(f"day {day}" for day in DAYS[:2]), "site"], "Completed"
    )
    assert [artifact["data"] for artifact in found.json() if artifact["type"] == "progress"] == [100.0]

    alone = settings_in(tmp_path / "alone", Path(settings.monitoring.source))
    backfill(DAY, DAYS[1], settings=alone)
    assert tables(settings, DAYS[:2]) == tables(alone, DAYS[:2])


@pytest.mark.long
def test_days_across_workers_are_flow_runs_that_others_do(
    prefect_in_threads: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.steps.day_runs.DEPLOYMENT", "backfill-day/of-this-test")
    with pytest.raises(UsageError, match="no deployment backfill-day/of-this-test"):
        backfill_flow(DAY, LAST, settings=settings, across_workers=True)
    (tmp_path / "aqb.toml").write_text(
        f'warehouse = "{settings.warehouse}"\nreports = "{settings.reports}"\nstate_url = "{settings.state_url}"\n'
        f'[monitoring]\nsource = "{settings.monitoring.source}"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)  # the folder of the workers
    deployed = backfill_day.to_deployment("of-this-test", entrypoint_type=EntrypointType.MODULE_PATH)
    assert isinstance(deployed, RunnerDeployment)
    deployment_id = deployed.apply()
    assert isinstance(deployment_id, UUID)
    broken = Path(settings.monitoring.source) / "c.parquet"
    broken.write_bytes(b"")
    with worker_of(deployment_id, do), pytest.raises(IncompleteBackfillError, match="2 of 2 days") as incomplete:
        backfill_flow(DAY, DAYS[1], settings=settings, across_workers=True)
    problems = incomplete.value.outcome.problems
    assert [problem for problem in problems if "c.parquet" not in problem] == []
    broken.unlink()

    def die(run: FlowRun) -> None:
        with get_client(sync_client=True) as client:  # nobody else takes a run that a worker has begun
            client.set_flow_run_state(run.id, Running(), force=True)
        with opened(RunLedger, settings.state_url) as ledger:
            ledger.save(Run("d" * 32, BACKFILL, DAY, "ola-monitoring", "1", "0", datetime.now(UTC)))

    with worker_of(deployment_id, die), pytest.raises(IncompleteBackfillError, match="1 of 1 days") as incomplete:
        backfill_flow(DAY, DAY, settings=settings, across_workers=True)
    assert incomplete.value.outcome.problems[0].startswith(f"{DAY}: the worker that did it died\n")

    with worker_of(deployment_id, do):
        outcome = backfill_flow(DAY, LAST, settings=settings, across_workers=True)
    assert (done(outcome), outcome.up_to_date, outcome.rows) == (DAYS, 0, 8)
    assert [problem.split(":")[0] for problem in outcome.problems] == [str(DAYS[3])]  # the rejected row
    alone = settings_in(tmp_path / "alone", Path(settings.monitoring.source))
    backfill(DAY, LAST, settings=alone)
    assert tables(settings) == tables(alone)


def do(run: FlowRun) -> None:
    run_flow(
        backfill_day,
        flow_run=run,
        parameters=backfill_day.validate_parameters(run.parameters),
        return_type="state",
    )


@contextmanager
def worker_of(deployment_id: UUID, do: Callable[[FlowRun], None]) -> Iterator[None]:
    """Takes the flow runs of a deployment as a worker does, each once."""
    scheduled = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
    ours = DeploymentFilter(id=DeploymentFilterId(any_=[deployment_id]))
    ended, taken = Event(), set()

    def work() -> None:
        with get_client(sync_client=True) as client:
            while not ended.wait(0.1):
                for run in client.read_flow_runs(
                    flow_run_filter=FlowRunFilter(state=scheduled), deployment_filter=ours
                ):
                    if run.id not in taken:
                        taken.add(run.id)
                        do(run)

    worker = Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()


def test_ranges_that_do_not_overlap_exclude_nobody(settings: Settings) -> None:
    with FolderWarehouse(Path(settings.warehouse)).staging(f"backfill-{DAY}-{DAY}"):
        assert done(backfill(DAYS[1], DAYS[2], settings=settings)) == DAYS[1:3]


# --- The command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def source(folder: Path) -> Path:
    return made_source(folder / "data" / "chat_rows")


RANGE = ("--from", str(DAY), "--to", str(LAST))


def test_dry_run_says_what_would_be_done_and_does_nothing(aqb: Command, source: Path) -> None:
    ended = aqb("backfill", *RANGE, "--dry-run")
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"{DAY} to {LAST}: 4 days, 8 rows" in ended.out
    assert "up to date: 0 days" in ended.out
    assert "0 questions, 0 USD" in ended.out
    plan = json.loads(aqb("backfill", *RANGE, "--dry-run", "--json").out)
    assert [(day["rows"], day["up_to_date"]) for day in plan["days"]] == [(rows, False) for rows in (2, 2, 0, 4)]
    assert (plan["questions"], plan["usd"]) == (0, 0)
    assert not Path("data/warehouse").exists()


def test_dry_run_says_no_size_that_the_source_does_not_tell(aqb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view of BigQuery counts its rows without reading their texts."""
    days = tuple(PlannedDay(day, DayContent(rows), "never scored") for day, rows in ((DAY, 0), (LAST, 3)))
    monkeypatch.setattr("tasks.chat.day_plan.backfill_plan", lambda *_, **__: BackfillPlan(days, ()))
    ended = aqb("backfill", *RANGE, "--dry-run")
    assert (ended.exit_code, "MB of text" in ended.out) == (0, False)
    plan = json.loads(aqb("backfill", *RANGE, "--dry-run", "--json").out)
    assert [day["bytes"] for day in plan["days"]] == [0, None]


def test_command_says_what_was_done_and_what_to_look_at(aqb: Command, source: Path) -> None:
    ended = aqb("backfill", *RANGE)
    assert ended.exit_code == 1  # a row was rejected
    assert ended.out == "4 days scored, 0 up to date before, 0 failed; 8 rows\n"
    (warning,) = [line for line in ended.err.splitlines() if line.startswith("warning: ")]  # slow ones tell how far
    assert warning.startswith(f"warning: {DAYS[3]}: 1 row rejected")
    again = aqb("backfill", *RANGE, "--json")
    assert (again.exit_code, again.err) == (1, f"{warning}\n")  # it still is, as `aqb nightly` says of its night
    assert json.loads(again.out) == {"days": [], "up_to_date": 4}
    assert "up to date: 4 days" in aqb("backfill", *RANGE, "--dry-run").out


def test_failed_day_ends_the_command_with_1_and_its_name(aqb: Command, source: Path) -> None:
    with FolderWarehouse(Path("data/warehouse")).staging(f"monitoring-{DAYS[1]}"):
        ended = aqb("backfill", *RANGE)
    assert ended.exit_code == 1
    assert f"warning: {DAYS[1]}: " in ended.err
    said = f"1 of 4 days are not complete: {DAYS[1]}; the first, {DAYS[1]}: "
    assert said in ended.err.splitlines()[-2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--from", "2026-02-14", "--to", "2026-02-13"), "swap the two days"),
        (("--from", "2026-02-14", "--to", "2999-01-01"), "not over yet"),
        (("--from", "2026-02-14"), "Missing option '--to'"),
        (("--from", "yesterday", "--to", "2026-02-14"), "'--from'"),
    ],
)
@pytest.mark.parametrize("dry_run", [("--dry-run",), ()], ids=["dry", "real"])
def test_days_that_are_no_range_end_with_2(
    aqb: Command, source: Path, arguments: tuple[str, ...], says: str, dry_run: tuple[str, ...]
) -> None:
    ended = aqb("backfill", *arguments, *dry_run)
    assert (ended.exit_code, says in ended.err) == (2, True)


# --- The ledger as people see it -------------------------------------------------------------------------------------


def test_runs_are_listed_and_explained_step_by_step(aqb: Command, source: Path) -> None:
    assert aqb("runs").out == "no runs yet\n"
    aqb("backfill", *RANGE)
    assert aqb("runs", "--last", "2").out.count("completed") == 2
    listed = json.loads(aqb("runs", "--json").out)
    assert sorted(run["score_date"] for run in listed) == [str(day) for day in DAYS]
    (fourth,) = [run for run in listed if run["score_date"] == str(DAYS[3])]
    explained = aqb("runs", "show", fourth["run_id"][:10])
    assert "kind        backfill of 2026-02-16" in explained.out
    assert "rows_in 4, scored 2, excluded 1, rejected 1" in explained.out
    assert "1 row rejected" in explained.out
    assert "b.jsonl" in explained.out
    steps = json.loads(aqb("runs", "show", fourth["run_id"], "--json").out)["steps"]
    assert [(step["step"], step["outcome"]) for step in steps] == [
        (name, "completed") for name in ("extract", "score", "write", "summarise")
    ]
    assert steps[1]["counts"] == {"rows_in": 4, "scored": 2, "excluded": 1, "rejected": 1}


def test_run_that_has_not_ended_is_running_while_it_lives_and_crashed_when_it_does_not(aqb: Command) -> None:
    state_url = "sqlite:///data/state.db"
    run = Run("a" * 32, "nightly", DAY, "ola-monitoring", "1", "0", datetime(2026, 2, 13, 16, tzinfo=UTC))
    with opened(RunLedger, state_url) as ledger:
        ledger.save(run)
        ledger.save_step(RunStep(run.run_id, 1, "score", run.started_at))
    with opened(Leases, state_url) as leases, leases.held(run.run_id):
        assert "running" in aqb("runs").out
    assert "crashed" in aqb("runs").out
    explained = json.loads(aqb("runs", "show", "aaaa", "--json").out)
    assert (explained["outcome"], explained["steps"][0]["outcome"]) == ("crashed", "crashed")


def test_run_that_nobody_knows_is_wrong_usage(aqb: Command) -> None:
    ended = aqb("runs", "show", "nothing")
    assert (ended.exit_code, "no runs have an id that begins with 'nothing'" in ended.err) == (2, True)
