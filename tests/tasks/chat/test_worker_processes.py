import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path

import pytest

from scoring.errors import StorageError, UnexpectedError
from tasks.chat.worker_processes import in_workers

_WITH_WORKERS = """
from tasks.chat.worker_processes import in_workers
from tests.tasks.chat.test_worker_processes import never_done
for _ in in_workers(never_done, [1, 2], 2):
    pass
"""


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


def dividing(number: int) -> float:
    """What has a defect."""
    return 1 / number


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


def test_worker_that_is_killed_again_and_again_is_an_error() -> None:
    found = in_workers(deadly, range(5), 1)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(StorageError, match="3 worker processes were killed over the same rows"):
        next(found)


def test_worker_that_raises_says_where() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        next(in_workers(dividing, [0], 1))
    assert "ZeroDivisionError in " in str(UnexpectedError(raised.value))


@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda parent: parent.send_signal(signal.SIGINT)])
def test_workers_end_with_their_parent(end: Callable[[subprocess.Popen[str]], None]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WITH_WORKERS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout
        assert {parent.stdout.readline(), parent.stdout.readline()} == {"working on 1\n", "working on 2\n"}
        end(parent)
        # Each worker holds the pipe too: it ends with the last of them.
        assert parent.communicate(timeout=60)[0] == ""
