"""`aqb status` on a healthy installation and on broken ones: what it says, that it only reads, how it ends."""

import json
import re
import shutil
import socket
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from flows.cli.status import status_server
from flows.runtime.clock import now, today
from scoring.alerting.messages import Message
from scoring.judging.requests import Verdict, VerdictStatus
from tasks.alerts.outbox import LIFETIME, Outbox
from tasks.chat.day_plan import day_parameters
from tasks.config.settings import Settings
from tasks.context import Context
from tasks.judge.replies import Usage
from tasks.judge.verdict_store import VerdictStore
from tasks.state.database import SCHEMA_NUMBER
from tasks.state.leases import Leases
from tasks.state.run_ledger import NIGHTLY, RunLedger
from tasks.warehouse.folder import FolderWarehouse
from tasks.warehouse.tables import SCORES
from tests.builders.disks import small_disk
from tests.builders.kpi_tables import write_kpis
from tests.builders.nights import at, night
from tests.builders.testruns import write_csv
from tests.fakes.judge_questions import questions, settings_for
from tests.flows.conftest import Command

URL = "sqlite:///data/state.db"


def yesterday() -> date:
    return today("Asia/Seoul") - timedelta(days=1)


@pytest.fixture
def installation(folder: Path) -> Iterator[Context]:
    """Five good nights; whatever the hour is, none is late."""
    with Context(Settings()) as context:
        for back in range(5):
            save_scored(context, yesterday() - timedelta(days=back))
        Outbox(context.state)
        Leases(context.state)
        yield context


def save_scored(context: Context, day: date, kind: str = NIGHTLY) -> None:
    """A day that a run has completed, in the ledger and in the tables."""
    assert isinstance(context.warehouse, FolderWarehouse)
    write_kpis(context.warehouse, {day: []})
    parameters = day_parameters(context.settings, context.rubric)
    RunLedger(context.state).save(replace(night(day, kind=kind), parameters=parameters))


def status(aqb: Command) -> dict[str, Any]:
    """The document; its `ok` is the exit code."""
    ended = aqb("status", "--json")
    found: dict[str, Any] = json.loads(ended.out)
    assert ended.exit_code == (0 if found["ok"] else 1)
    return found


@pytest.mark.usefixtures("installation")
def test_status_of_a_healthy_installation_is_one_screen_and_ends_with_0(aqb: Command) -> None:
    ended = aqb("status")
    assert (ended.exit_code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[-1] == "all is well"
    assert [line.split()[0] for line in lines[:-1]] == [
        "versions", "database", "nights", "days", "inbox", "outbox", "judge", "disk",
    ]  # fmt: skip
    assert f"last run nightly of {yesterday()} completed" in ended.out
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 200


def test_status_before_the_first_night_names_the_command_of_it_and_makes_no_database(
    aqb: Command, folder: Path
) -> None:
    (problem,) = status(aqb)["problems"]
    assert re.fullmatch(r"database: no run has made runs, run_steps, .* yet\n  -> aqb nightly", problem)
    assert list(folder.iterdir()) == []
    aqb("doctor")  # makes some of the tables
    assert [problem.partition("\n")[2] for problem in status(aqb)["problems"]] == ["  -> aqb nightly"]
    assert aqb("upgrade", "--check").exit_code == 0


def test_status_names_days_that_are_missing_late_or_stale_and_runs_that_died(
    aqb: Command, installation: Context
) -> None:
    ledger, day = RunLedger(installation.state), yesterday()
    ledger.save(night(day - timedelta(days=9)))
    ledger.save(night(day - timedelta(days=2), "failed", start="02:00"))
    ledger.save(night(day, "running", start="03:00"))
    found = status(aqb)
    assert found["days"]["missing"] == [str(day - timedelta(days=days)) for days in (8, 7, 6, 5, 2)]
    told = " ".join(found["problems"])
    assert f"no run has completed 5 days since {day - timedelta(days=8)}" in told


def test_status_takes_no_day_for_missing_while_a_night_scores_its_late_rows(
    aqb: Command, installation: Context
) -> None:
    again = night(yesterday() - timedelta(days=1), "running", start="02:00")
    RunLedger(installation.state).save(again)
    with Leases(installation.state).held(again.run_id):
        assert status(aqb)["problems"] == []
    assert len(status(aqb)["days"]["missing"]) == 1  # its process is gone


def test_status_names_days_that_no_night_catches_up_with_until_they_are_done(
    aqb: Command, installation: Context
) -> None:
    """A long gap: the night after it catches up with two weeks, and the days before these stay missing."""
    day = yesterday()
    save_scored(installation, day - timedelta(days=40), "backfill")  # a trial, long before nights began
    for back in (20, *range(14, 0, -1)):
        save_scored(installation, day - timedelta(days=back))
    found = status(aqb)
    first, last = day - timedelta(days=19), day - timedelta(days=15)
    assert found["days"]["missing"] == [str(day - timedelta(days=back)) for back in range(19, 14, -1)]
    assert (
        f"days: no run has completed 5 days since {first}, further back than a night catches up" in found["problems"][0]
    )
    assert f"`aqb backfill --from {first} --to {last}` does" in found["problems"][0]
    for back in range(19, 14, -1):
        save_scored(installation, day - timedelta(days=back), "backfill")
    assert status(aqb)["problems"] == []


def test_status_names_days_that_are_gone_from_the_score_tables(aqb: Command, installation: Context) -> None:
    kpis, day = Path("data/warehouse/monitoring_kpis"), yesterday()
    (kpis / f"{day - timedelta(days=2)}.parquet").unlink()
    found, lost = status(aqb), day - timedelta(days=2)
    assert (found["days"]["lost"], found["ok"]) == ([str(lost)], False)
    (told,) = found["problems"]
    assert told.endswith(f"since {lost}; check `warehouse`, then `aqb backfill --from {lost} --to {lost}`")
    shutil.rmtree(kpis)
    assert len(status(aqb)["days"]["lost"]) == 5


def test_status_names_days_of_which_the_scores_alone_are_gone(aqb: Command, installation: Context) -> None:
    day, (last,) = yesterday(), RunLedger(installation.state).of_day(yesterday())
    RunLedger(installation.state).save(replace(last, scored=7))
    assert status(aqb)["days"]["lost"] == [str(day)]
    installation.warehouse.replace_day(SCORES, day, installation.rubric.scores_schema, [])
    assert status(aqb)["days"]["lost"] == []


def test_status_names_messages_that_were_given_up_and_files_that_cannot_be_scored(
    aqb: Command, installation: Context, folder: Path
) -> None:
    outbox = Outbox(installation.state)
    outbox.put("qa", "", [Message("page", "critical", ("a",), "a", [])], now() - LIFETIME)
    outbox.expire(now())
    inbox = folder / "data" / "inbox"
    inbox.mkdir()
    write_csv(folder / "elsewhere.csv", [["a"]])
    (inbox / "out.csv").symlink_to(folder / "elsewhere.csv")
    write_csv(inbox / "new.csv", [["a"]])
    found = status(aqb)
    assert found["problems"] == [
        "inbox: 1 file cannot be scored: out.csv",
        "outbox: 1 message given up this week: `aqb alerts --pending`",
    ]


def shape(status: str) -> str:
    """The text without the numbers, dates and kind of database of one installation."""
    return re.sub(r"\+[0-9a-f]{12}|\d([\d.:-]|,(?=\d))*( [MGT]B)?|PostgreSQL|SQLite", "", status)


@pytest.mark.usefixtures("installation")
def test_status_looks_as_the_page_on_operating_shows_it(aqb: Command) -> None:
    page = (Path(__file__).parents[3] / "docs" / "operate.md").read_text(encoding="utf-8")
    shown = page.partition("```text\n")[2].partition("```")[0]
    assert shape(shown) == shape(aqb("status").out)


@pytest.mark.usefixtures("installation")
def test_status_names_the_folder_whose_disk_is_nearly_full(aqb: Command, folder: Path) -> None:
    warehouse = folder / "data" / "warehouse"
    with small_disk(warehouse, "size=1m"):
        assert f"disk: {warehouse}: 1 MB are free" in status(aqb)["problems"]


@pytest.mark.usefixtures("installation")
def test_status_names_a_disk_that_has_become_read_only(aqb: Command, folder: Path) -> None:
    warehouse = folder / "data" / "warehouse"
    with small_disk(warehouse, "size=1m,ro"):
        assert f"disk: {warehouse} cannot be written" in status(aqb)["problems"]
    assert status(aqb)["problems"] == []


def test_status_of_a_database_of_a_later_form_says_so(aqb: Command, installation: Context) -> None:
    with installation.state.transaction() as connection:
        connection.exec_driver_sql(f"UPDATE schema_number SET number = {SCHEMA_NUMBER + 1}")
    (problem,) = status(aqb)["problems"]
    assert "a later version of AQB has changed the state database" in problem


def test_status_of_an_older_database_names_what_it_lacks_and_adds_nothing(aqb: Command, installation: Context) -> None:
    with installation.state.transaction() as connection:
        connection.exec_driver_sql("ALTER TABLE runs DROP COLUMN told_at")
    for _ in range(2):
        (problem,) = status(aqb)["problems"]
        assert "it lacks runs.told_at\n  -> aqb upgrade" in problem


def test_status_adds_up_what_the_answers_of_the_judge_have_cost_whoever_asked(
    aqb: Command, installation: Context
) -> None:
    assert status(aqb)["judge"]["spent_usd_30_days"] == 0.0
    (question,) = questions(1, settings_for(""))
    answered = question.judgement(Verdict(VerdictStatus.OK, {"score": 3})).with_call(Usage(100, 0, 10), 0.25, 0.5, "m")
    VerdictStore(installation.state).save([answered])  # of `aqb score --judge`, or of a run that died
    assert status(aqb)["judge"]["spent_usd_30_days"] == 0.25
    assert "aqb_judge_cost_usd_30_days 0.25\n" in aqb("status", "--prometheus").out


@pytest.mark.usefixtures("installation")
def test_status_for_prometheus_has_a_type_and_a_value_for_each_gauge(aqb: Command) -> None:
    lines = aqb("status", "--prometheus").out.splitlines()
    names = [line.split()[2] for line in lines[::2]]
    assert [line.split(" ")[0].partition("{")[0] for line in lines[1::2]] == names
    values = {line.split(" ")[0]: line.split(" ")[1] for line in lines[1::2]}
    assert values["aqb_problems"] == "0"
    midnight = at(yesterday(), "00:00").timestamp()
    assert float(values["aqb_last_completed_day_timestamp_seconds"]) == midnight
    assert {"aqb_night_late", "aqb_days_missing", "aqb_outbox_waiting", "aqb_disk_free_bytes", "aqb_info"} <= set(names)


def test_status_answers_health_and_metrics_over_http(installation: Context) -> None:
    with status_server("127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        code, body = got(f"{url}/health")
        assert (code, json.loads(body)["ok"]) == (200, True)
        code, body = got(f"{url}/metrics")
        assert (code, "aqb_problems 0\n" in body) == (200, True)
        with installation.state.transaction() as connection:
            connection.exec_driver_sql("DROP TABLE alert_keys")
        code, body = got(f"{url}/health")
        assert (code, json.loads(body)["ok"]) == (503, False)
        assert got(f"{url}/")[0] == 404
        server.shutdown()


@pytest.mark.usefixtures("installation")
def test_status_over_http_tells_of_wrong_settings_and_goes_on_when_they_are_corrected(folder: Path) -> None:
    settings = folder / "aqb.toml"
    with status_server("127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        settings.write_text("warehous = 'data'\n", encoding="utf-8")
        code, body = got(f"{url}/health")
        assert (code, json.loads(body)["ok"]) == (503, False)
        assert "settings: aqb.toml: settings are wrong: warehous" in json.loads(body)["problems"][0]
        code, body = got(f"{url}/metrics")
        assert (code, "aqb_problems 1\n" in body) == (200, True)
        settings.unlink()
        assert got(f"{url}/health")[0] == 200
        server.shutdown()


def test_status_says_what_to_do_where_its_port_is_taken(aqb: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = aqb("status", "--port", str(port))
    assert ended.exit_code == 2
    assert ended.err.startswith(f"error: --host 127.0.0.1 --port {port}: cannot listen: Address already in use\n")


def got(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()
