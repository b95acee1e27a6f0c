"""`deployments/prefect.yaml` on a real Prefect server, with a real worker: what is planned, what runs, what fails."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.responses import DeploymentResponse, FlowRunResponse
from prefect.states import Cancelling

from flows.cli.serve import served_deployments
from scoring.errors import UsageError
from tasks.state.run_ledger import RunLedger
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import ALERTS
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.state import opened
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import AQB
from tests.flows.prefect_server import PREFECT, eventually, running

pytestmark = pytest.mark.slow

PREFECT_FILE = Path("deployments/prefect.yaml").resolve()
FULL_NAMES = {"nightly": "nightly/nightly", "intraday": "nightly/intraday"} | {
    name: f"{name}/{name}" for name in ("test-runs", "backfill", "backfill-day")
}


@dataclass(frozen=True)
class Service:
    """A folder in which a worker runs what the schedules say, a client of the server, and where alerts arrive."""

    folder: Path
    client: SyncPrefectClient
    slack: FakeSlack
    worker: subprocess.Popen[bytes]

    def deployment(self, name: str) -> DeploymentResponse:
        return self.client.read_deployment_by_name(FULL_NAMES[name])

    def new_run(self, name: str, **parameters: Any) -> UUID:
        """The id of a run of a deployment, which the worker will start."""
        return self.client.create_flow_run_from_deployment(self.deployment(name).id, parameters=parameters).id

    def ended(self, run_id: UUID) -> FlowRun:
        """A run, read back when it has ended."""

        def ended() -> FlowRun | None:
            seen = self.client.read_flow_run(run_id)
            return seen if seen.state and seen.state.is_final() else None

        return eventually(ended, "the run ends")

    def finished_run(self, name: str, **parameters: Any) -> FlowRun:
        """A run of a deployment, read back when it has ended."""
        return self.ended(self.new_run(name, **parameters))

    def wait_for_step(self, name: str) -> None:
        """Returns when a run of the day works on the step of that name."""
        with opened(RunLedger, f"sqlite:///{self.folder / 'data' / 'state.db'}") as ledger:

            def works() -> bool | None:
                steps = [step for run in ledger.of_day(DAY) for step in ledger.steps(run.run_id)]
                return any((step.step, step.outcome) == (name, "running") for step in steps) or None

            eventually(works, f"the step '{name}' begins")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Iterator[Service]:
    """As docs/operate.md says: a server, a work pool, the schedules deployed, a worker."""
    place = tmp_path_factory.mktemp("service")
    folder = place / "work"
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(0), refused(1)])
    (folder / "aqb.toml").write_text("[monitoring]\nparallel_days = 1\n")
    quiet = {name: value for name, value in os.environ.items() if "LOGGING_LEVEL" not in name}
    env = quiet | {"PREFECT_API_URL": prefect_server, "PREFECT_WORKER_QUERY_SECONDS": "0.5"}

    def prefect(*arguments: str | Path) -> None:
        done = subprocess.run(
            [PREFECT, "--no-prompt", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    with FakeSlack() as slack, get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name="aqb", type="process"))
        prefect("deploy", "--prefect-file", PREFECT_FILE, "--all")
        told = {"SLACK_WEBHOOK_URL": slack.webhook()}
        with running([str(AQB), "worker"], place / "worker.log", env=env | told, cwd=folder) as worker:
            yield Service(folder, client, slack, worker)


@pytest.mark.long
def test_deployed_run_with_a_mistyped_parameter_is_told_and_shown_with_its_name(service: Service) -> None:
    run_id = service.new_run("nightly", day=str(DAY), forse=True)
    reason = "no parameter forse; the flow has day, kind, allow_shrink"

    def shown() -> bool | None:
        state = service.client.read_flow_run(run_id).state
        return (state is not None and state.is_crashed() and state.message == reason) or None

    eventually(shown, "the worker runs the hook of the flow")
    (message,) = [message for message in service.slack.posted if str(run_id) in message.shown]
    assert reason in message.shown


@pytest.mark.long
def test_cancelling_a_deployed_backfill_interrupts_its_only_day_and_sends_one_warning(service: Service) -> None:
    warehouse = FolderWarehouse(service.folder / "data" / "warehouse")
    with warehouse.lock(ALERTS):  # the run waits here, in the middle of its day
        run_id = service.new_run("backfill", first=str(DAY), last=str(DAY), force=True)
        service.wait_for_step("write")
        service.client.set_flow_run_state(run_id, Cancelling())
        run = service.ended(run_id)
    assert run.state is not None
    assert run.state.is_cancelled(), run.state.message
    (warning,) = [message for message in service.slack.posted if str(run_id) in message.shown]
    assert f"Warning · backfill {DAY} to {DAY} 취소" in warning.text
    assert f"aqb backfill --from {DAY} --to {DAY} --force" in warning.shown
    with opened(RunLedger, f"sqlite:///{service.folder / 'data' / 'state.db'}") as ledger:
        assert ledger.latest_of_days(DAY, DAY)[DAY].outcome == "failed"  # so that the next run does the day again


@pytest.mark.long
def test_coming_nights_and_hours_are_planned(service: Service) -> None:
    def in_seoul(runs: list[FlowRunResponse]) -> list[datetime]:
        return [run.expected_start_time.astimezone(ZoneInfo("Asia/Seoul")) for run in runs if run.expected_start_time]

    def planned(name: str) -> list[FlowRunResponse]:
        runs = service.client.get_scheduled_flow_runs_for_deployments([service.deployment(name).id])
        return [run for run in runs if run.auto_scheduled]

    nights = eventually(lambda: planned("nightly") or None, "the scheduler plans a night")
    assert {(start.hour, start.minute) for start in in_seoul(nights)} == {(1, 0)}
    hours = eventually(lambda: planned("intraday") or None, "the scheduler plans the hours")
    assert {start.minute for start in in_seoul(hours)} == {5}
    assert not planned("backfill")


@pytest.mark.long
def test_backfills_and_their_days_run_beside_one_another_and_nothing_else_does(service: Service) -> None:
    limits = {name: service.deployment(name).global_concurrency_limit for name in FULL_NAMES}
    assert {name: limit and limit.limit for name, limit in limits.items()} == {
        "nightly": 1,
        "intraday": 1,
        "test-runs": 1,
        "backfill": 4,
        "backfill-day": 8,
    }


@pytest.mark.long
def test_forms_ask_for_what_people_decide_and_explain_it(service: Service) -> None:
    forms = {name: service.deployment(name).parameter_openapi_schema for name in FULL_NAMES}
    asked = {name: set(form["properties"]) for name, form in forms.items() if form}
    assert asked == {
        "nightly": {"day", "kind", "allow_shrink"},
        "intraday": {"day", "kind", "allow_shrink"},
        "test-runs": {"day"},
        "backfill": {"first", "last", "force", "alerts", "allow_shrink", "across_workers"},
        "backfill-day": {"day", "allow_shrink", "service"},
    }
    explained = {
        name: {part: bool(shown.get("description")) for part, shown in form["properties"].items()}
        for name, form in forms.items()
        if form
    }
    assert explained == {name: dict.fromkeys(parts, True) for name, parts in asked.items()}
    assert forms["backfill"]
    assert forms["backfill"]["required"] == ["first", "last"]
    assert forms["backfill"]["properties"]["first"]["format"] == "date"


@pytest.mark.long
def test_serving_needs_no_second_list_of_schedules(service: Service) -> None:
    served = {deployment.name: deployment for deployment in served_deployments(PREFECT_FILE)}
    assert set(served) == set(FULL_NAMES)
    for name, mine in served.items():
        deployed = service.deployment(name)
        assert [(one.schedule, one.active) for one in mine.schedules or []] == [
            (one.schedule, one.active) for one in deployed.schedules
        ]
        assert mine.parameters == deployed.parameters
        assert mine.concurrency_options == deployed.concurrency_options
        assert mine.entrypoint == deployed.entrypoint
        assert mine.work_pool_name is None


@pytest.mark.parametrize("text", [None, "", "deployments: 3", "a: [", yaml.safe_dump({"schedules": []})])
def test_file_without_schedules_is_a_wrong_usage(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "prefect.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match="no schedules can be read"):
        served_deployments(file)


@pytest.mark.long
def test_worker_that_is_stopped_completes_its_run_begins_no_other_and_ends(service: Service) -> None:
    """The last test of the file: there is no worker afterwards."""
    warehouse = FolderWarehouse(service.folder / "data" / "warehouse")
    with warehouse.lock(ALERTS):  # the run waits here, in the middle of its day
        goes_on = service.new_run("nightly", day=str(DAY))
        service.wait_for_step("write")
        service.worker.send_signal(signal.SIGTERM)
        later = service.new_run("backfill", first=str(DAY), last=str(DAY))
    assert service.worker.wait(timeout=600) == 0
    states = [service.client.read_flow_run(run_id).state for run_id in (goes_on, later)]
    assert [state and state.type for state in states] == [StateType.COMPLETED, StateType.SCHEDULED]
    assert (service.folder / "data" / "warehouse" / "monitoring_scores" / f"{DAY}.parquet").exists()
