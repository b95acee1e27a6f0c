"""Calls of a step at the same time, in worker processes of a flow run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, LogFilter, LogFilterFlowRunId
from prefect.context import SyncClientContext, get_settings_context
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

from flows.runtime.fan_out import FanOut, processes
from flows.runtime.flow_run import step
from scoring.errors import InputError
from tests.flows.prefect_server import eventually

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
_WITH_A_WORKER = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from prefect.context import get_settings_context
from flows.runtime.fan_out import _start_worker
from tests.tasks.chat.test_worker_processes import never_done
if __name__ == "__main__":  # as Prefect's runner starts them
    settings = get_settings_context().serialize()
    with ProcessPoolExecutor(1, get_context("spawn"), _start_worker, ("plain", settings)) as workers:
        workers.submit(never_done, 1).result()
"""
_WITH_A_WORKER_KILLED_WHILE_IT_SENT_A_MESSAGE = """
from flows.runtime.fan_out import processes
if __name__ == "__main__":
    with processes(2, "plain")() as pool:
        pool._subprocess_message_queue._wlock.acquire()  # nobody else may send, and nobody releases it
"""


@step("work", run_name="work {what}", timeout_s=2)
def work(what: str, folder: Path) -> int:
    """Does what its name says; gives its process."""
    if what == "kills its process once" and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "fails":
        raise InputError("a wrong file", where="here", fix="fix it")
    if what == "takes too long":
        Event().wait()
    return os.getpid()


work.task.retries = 0
WORKS = ("is done", "fails", "takes too long", "kills its process once")
LAST = 20


@step("note", run_name="note {number}", timeout_s=None)
def note(number: int, folder: Path) -> None:
    """Writes its number down; the first keeps its worker until the last has done so."""
    noted = folder / "noted"
    if number == 0:
        while not noted.exists() or not noted.read_text().endswith(f" {LAST}"):
            time.sleep(0.01)
    else:
        with noted.open("a") as file:
            file.write(f" {number}")


@step("look", run_name="look {number}", timeout_s=None)
def look(number: int) -> tuple[bool, bool, str | None]:
    """Whether Prefect's settings and client are those of the first call in this worker; the address of its server."""
    client = SyncClientContext.get()
    seen = get_settings_context().settings, client and client.client
    first = vars(sys).setdefault("first_seen", seen)  # this module is sent anew with each call
    return seen[0] is first[0], client is not None and seen[1] is first[1], PREFECT_API_URL.value()


@flow
def fanned_out(folder: Path) -> tuple[UUID, dict[str, int | Exception]]:
    with FanOut(processes(2, "plain")) as fan_out:
        ended = fan_out.each(work, {what: {"what": what, "folder": folder} for what in WORKS})
        found = UUID(flow_run.id), dict(ended)
        noted = fan_out.each(note, {number: {"number": number, "folder": folder} for number in range(LAST + 1)})
        assert {error for _, error in noted} == {None}
        looks = fan_out.each(look, {number: {"number": number} for number in range(LAST)})
        assert {found for _, found in looks} == {(True, True, PREFECT_API_URL.value())}
        return found


def test_each_call_is_a_task_run_in_its_turn_that_neither_errors_nor_time_limits_nor_kills_of_others_stop(
    prefect_in_threads: str, tmp_path: Path
) -> None:
    run_id, found = fanned_out(tmp_path)
    assert {what for what, one in found.items() if isinstance(one, int)} == {"is done", "kills its process once"}
    assert os.getpid() not in found.values()
    assert str(found["fails"]) == "here: a wrong file\n  -> fix it"
    assert isinstance(found["takes too long"], TimeoutError)
    assert (tmp_path / "noted").read_text().split() == [str(number) for number in range(1, LAST + 1)]
    with get_client(sync_client=True) as client:

        def states() -> set[tuple[str, str | None]]:
            tasks = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run_id])))
            return {(task.name, task.state_name) for task in tasks}

        expected = {("work is done", "Completed"), ("work takes too long", "TimedOut")}
        eventually(lambda: expected <= states() or None, f"the task runs have ended as {expected}")
        lines = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id])))
    assert "imeouts in worker threads" not in "".join(line.message for line in lines)


@pytest.mark.slow
def test_worker_process_ends_when_its_parent_is_killed() -> None:
    command = [sys.executable, "-c", _WITH_A_WORKER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "working on 1\n"
        parent.kill()
        # The worker holds the pipe too.
        assert parent.communicate(timeout=30)[0] == ""


@pytest.mark.slow
def test_process_ends_when_a_worker_was_killed_while_it_sent_a_message() -> None:
    command = [sys.executable, "-c", _WITH_A_WORKER_KILLED_WHILE_IT_SENT_A_MESSAGE]
    assert subprocess.run(command, cwd=ROOT, timeout=60, check=False).returncode == 0


def test_outside_of_a_flow_run_one_call_follows_the_other_in_this_process(tmp_path: Path) -> None:
    with FanOut(processes(2, "plain")) as fan_out:
        ended = fan_out.each(work, {what: {"what": what, "folder": tmp_path} for what in WORKS[:2]})
        found = dict(ended)
    assert found["is done"] == os.getpid()
    assert isinstance(found["fails"], InputError)
