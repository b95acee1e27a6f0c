"""When a test run ran."""

import pytest

from scoring.testruns.executions import Execution, Round
from scoring.testruns.testrun import run_time


def at(*times: str) -> list[Execution]:
    return [Execution("Q-1", Round(place, 1), executed_at=time) for place, time in enumerate(times, 1)]


def test_run_has_the_time_of_its_first_execution() -> None:
    assert run_time(at("", "2026-02-24T02:21:00", "2026-02-24T02:20:40.844210"), "plan.csv") == "2026-02-24T02:20:40"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-02-24", "2026-02-24"),
        ("2026.02.24 9:05", "2026-02-24T09:05:00"),
        ("2026/02/24 09:05:07", "2026-02-24T09:05:07"),
        ("2026-13-45", ""),
        ("어제", ""),
    ],
)
def test_time_is_read_as_teams_write_it(written: str, read: str) -> None:
    assert run_time(at(written), "plan.csv") == read


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("plan_agent_20260224.csv", "2026-02-24"),
        ("실행_2026-02-24_v2.xlsx", "2026-02-24"),
        ("plan_20269999_20260224.csv", "2026-02-24"),
        ("run_120260224.csv", ""),
        ("plan_agent.csv", ""),
    ],
)
def test_without_times_the_date_in_the_files_name_counts(name: str, day: str) -> None:
    assert run_time(at(""), name) == day
