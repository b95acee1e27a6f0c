"""`aqb runs`: whose run each is, and whether it goes on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tasks.state.leases import Leases
from tasks.state.run_ledger import TEST_RUN, Run, RunLedger
from tests.builders.nights import night
from tests.builders.state import opened
from tests.flows.conftest import Command

DAY = date(2026, 3, 13)
UNNAMED = night(DAY, start="01:00")
HIRING = replace(night(DAY, start="01:01"), run_id="hiring-run", service="hiring")
SUPPORT = replace(night(DAY, start="01:02"), run_id="support-run", service="customer-support")
INBOX = night(DAY, start="01:03", kind=TEST_RUN)


@pytest.fixture
def services(folder: Path) -> Path:
    (folder / "aqb.toml").write_text(
        "".join(f'[[monitoring.service]]\nname = "{name}"\nsource = "a"\n' for name in ("hiring", "customer-support"))
    )
    return folder


def keep(*runs: Run) -> None:
    with opened(RunLedger, "sqlite:///data/state.db") as ledger:
        for run in runs:
            ledger.save(run)


def listed(text: str) -> Sequence[tuple[str, str]]:
    """What the table of `aqb runs` has of each run in its columns `id` and `service`."""
    head, *lines = text.splitlines()
    service, day = head.index("service"), head.index("day")
    return [(line[:8].strip(), line[service:day].strip()) for line in lines]


def test_runs_say_whose_they_are_where_one_is_of_a_service(aqb: Command, services: Path) -> None:
    keep(HIRING, SUPPORT, INBOX)
    shown = aqb("runs").out
    assert listed(shown) == [("hiring-r", "hiring"), ("support-", "customer-support"), ("test_run", "")]
    assert len({line.index("2026-03-13") for line in shown.splitlines()[1:]}) == 1
    assert "\nservice     customer-support\n" in aqb("runs", "show", "support-run").out


def test_runs_of_no_service_have_no_such_column(aqb: Command) -> None:
    keep(UNNAMED, INBOX)
    head = aqb("runs").out.splitlines()[0]
    assert head.split() == ["id", "kind", "day", "started", "took", "outcome", "rows", "in", "/", "scored"]
    assert "service" not in aqb("runs", "show", INBOX.run_id).out


def test_test_run_is_listed_with_the_name_of_its_file(aqb: Command) -> None:
    file = {"name": "data/inbox/이동_2월.csv", "sha256": "a", "bytes": 1}
    keep(replace(UNNAMED, inputs=[file | {"name": "rows.parquet"}]), replace(INBOX, inputs=[file]))
    shown = aqb("runs").out
    assert [line.split()[-1] for line in shown.splitlines() if line.endswith(".csv")] == ["이동_2월.csv"]
    assert "rows.parquet" not in shown


def test_runs_of_a_chosen_service_are_its_own(aqb: Command, services: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(HIRING, SUPPORT, INBOX)
    monkeypatch.setenv("AQB_SERVICE", "hiring")
    assert listed(aqb("runs", "--last", "1").out) == [("hiring-r", "hiring")]


def test_run_goes_on_while_its_process_holds_it_and_has_crashed_else(aqb: Command) -> None:
    keep(replace(UNNAMED, outcome="running", finished_at=None))
    with opened(Leases, "sqlite:///data/state.db") as leases, leases.held(UNNAMED.run_id):
        assert json.loads(aqb("runs", "--json").out)[0]["outcome"] == "running"
    assert json.loads(aqb("runs", "--json").out)[0]["outcome"] == "crashed"
