import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from threading import Event, Thread

import pytest

from scoring.errors import StorageError, UnexpectedError
from tasks.chat.worker_processes import forked_server, in_workers

_WITH_NEW_SERVER = """
from tasks.chat.worker_processes import in_workers
from tests.tasks.chat.test_worker_processes import never_done
for _ in in_workers(never_done, [1, 2], 2):
    pass
"""
_WITH_FORKED_SERVER = """
import flows
from tasks.chat.worker_processes import forked_server, in_workers
from tests.tasks.chat.test_worker_processes import never_done
with forked_server() as server:
    assert server
    for _ in in_workers(never_done, [1, 2], 2, server):
        pass
"""
_KNOWN_TO_WORKERS = """
import flows
from tasks.chat.worker_processes import forked_server, in_workers
from tests.tasks.chat import test_worker_processes as here
here.known = "what the parent knew"
with forked_server() as server:
    print(*in_workers(here.what_is_known, range(3), 2, server), sep="\\n")
"""
_POLARS_HAS_WORKED = """
import flows
import polars as pl
from tasks.chat.worker_processes import forked_server
pl.LazyFrame({"a": [2, 1]}).sort("a").collect()
with forked_server() as server:
    print(server)
"""

_CTRL_C_WHILE_IT_FORKS = """
import flows
import multiprocessing, os, signal
from tasks.chat.worker_processes import forked_server
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    with forked_server():
        print("lost")
except KeyboardInterrupt:
    print("told", multiprocessing.active_children())
"""

known = "nothing"


def process_of(number: int) -> tuple[int, int]:
    """The number and the process that does it."""
    return number, os.getpid()


def deadly(number: int) -> int:
    """Ends its process as the kernel does when memory is short."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def deadly_once(marker: Path) -> str:
    """The same, the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return marker.name


def deadly_to_its_server_once(marker: Path) -> str:
    """Ends its process and the one that has forked it, the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return marker.name


def dividing(number: int) -> float:
    """What has a defect."""
    return 1 / number


def what_is_known(number: int) -> str:
    """The same in each process that has imported anew."""
    return known


def never_done(number: int) -> None:
    """Says that it works, and works until it is ended."""
    sys.stdout.write(f"working on {number}\n")
    sys.stdout.flush()
    while True:
        pass


def test_workers_give_results_in_the_order_of_the_items() -> None:
    found = [*in_workers(process_of, range(20), 3)]
    assert [number for number, _ in found] == [*range(20)]
    processes = {process for _, process in found}
    assert len(processes) == 3  # the first three items find nobody idle
    assert os.getpid() not in processes


def test_workers_take_items_as_they_need_them() -> None:
    assert [number for number, _ in islice(in_workers(process_of, count(), 2), 3)] == [0, 1, 2]


def test_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    markers = [tmp_path / str(number) for number in range(4)]
    assert [*in_workers(deadly_once, markers, 2)] == ["0", "1", "2", "3"]


def test_server_that_is_killed_with_its_workers_is_replaced(tmp_path: Path) -> None:
    markers = [tmp_path / str(number) for number in range(3)]
    assert [*in_workers(deadly_to_its_server_once, markers, 1)] == ["0", "1", "2"]


def test_worker_that_is_killed_again_and_again_is_an_error() -> None:
    found = in_workers(deadly, range(5), 1)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(StorageError, match="3 worker processes were killed over the same rows"):
        next(found)


def test_threads_that_end_while_they_are_counted_are_no_error() -> None:
    done = Event()

    def begin_and_end() -> None:
        while not done.is_set():
            thread = Thread(target=int)
            thread.start()
            thread.join()

    threads = [Thread(target=begin_and_end) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            with forked_server() as server:
                assert server is None
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_worker_that_raises_says_where() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        next(in_workers(dividing, [0], 1))
    assert "ZeroDivisionError in " in str(UnexpectedError(raised.value))


def test_workers_of_a_forked_server_import_nothing_anew() -> None:
    assert _printed(_KNOWN_TO_WORKERS) == ["what the parent knew"] * 3


def test_process_with_threads_of_polars_is_not_forked() -> None:
    assert _printed(_POLARS_HAS_WORKED) == ["None"]


def test_ctrl_c_that_comes_while_the_server_is_forked_is_not_lost() -> None:
    assert _printed(_CTRL_C_WHILE_IT_FORKS) == ["told []"]


def _printed(program: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.parametrize("program", [_WITH_NEW_SERVER, _WITH_FORKED_SERVER])
@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda parent: parent.send_signal(signal.SIGINT)])
def test_workers_end_with_their_parent(end: Callable[[subprocess.Popen[str]], None], program: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout
        assert {parent.stdout.readline(), parent.stdout.readline()} == {"working on 1\n", "working on 2\n"}
        end(parent)
        # Each worker holds the pipe too: it ends with the last of them.
        assert parent.communicate(timeout=60)[0] == ""
