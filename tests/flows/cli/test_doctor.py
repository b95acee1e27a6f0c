"""`aqb doctor`: what it looks at, what it says of it, and that no secret is among that; of the judge see
`test_doctor_judge.py`.
"""

import json
import socket
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.runtime.clock import today
from tasks.state.run_ledger import RunLedger
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.disks import small_disk
from tests.builders.nights import night
from tests.builders.state import opened
from tests.builders.testruns import WIDE_HEADER, wide_row, write_csv
from tests.fakes.postgresql import postgresql_programs, running_postgresql
from tests.fakes.slack_server import CHANNEL, TOKEN, FakeSlack
from tests.flows.cli.conftest import PrefectAt, checks
from tests.flows.conftest import Command

PASSWORD = "hunter2"

pytestmark = pytest.mark.usefixtures("no_proxy")


def test_doctor_is_content_when_a_run_could_start(aqb: Command, source: Path) -> None:
    ended = aqb("doctor")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "NOT" not in ended.out
    assert "ok   source: 1 file" in ended.out


def test_doctor_says_how_to_remove_days_that_a_clock_ahead_has_scored(aqb: Command, source: Path) -> None:
    ahead = today("Asia/Seoul") + timedelta(days=40)
    aqb("backfill", "--from", str(DAY), "--to", str(DAY))
    for table in {path.parent for path in Path("data/warehouse").glob(f"*/{DAY}.parquet")}:
        (table / f"{ahead}.parquet").write_bytes((table / f"{DAY}.parquet").read_bytes())
    seen = checks(aqb)["warehouse"]
    assert seen.startswith(f"NOT data/warehouse: there are 1 day to come, from {ahead} on")
    assert f"rm data/warehouse/*/{ahead}.parquet: " in seen
    assert "days: the score tables have 1 day to come, scored by a clock that was ahead" in aqb("status").out
    for path in Path().glob(f"data/warehouse/*/{ahead}.parquet"):
        path.unlink()
    assert checks(aqb)["warehouse"] == f"1 scored day, {DAY} to {DAY}"


def test_doctor_ends_with_1_when_a_setting_names_a_column_that_the_rows_do_not_have(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AQB_MONITORING__COLUMNS", '{"tenant_id": "mandant"}')
    seen = checks(aqb)["source"]
    assert seen.startswith("NOT data/chat_rows/a.jsonl: there is no column mandant for tenant_id; found user_input, ")
    assert seen.endswith("\n  -> correct monitoring.columns.tenant_id")


def test_doctor_says_that_columns_of_files_are_not_those_of_a_view(
    aqb: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AQB_MONITORING__SOURCE", "bigquery://project.dataset.view")
    monkeypatch.setenv("AQB_MONITORING__COLUMNS", '{"tenant_id": "mandant"}')
    seen = checks(aqb)["source"]
    assert seen.startswith("NOT bigquery://project.dataset.view: monitoring.columns names tenant_id, and is for files")
    assert seen.endswith("\n  -> name the columns of a view in bigquery.columns")


def test_doctor_says_how_long_ago_the_last_completed_night_is(aqb: Command, source: Path) -> None:
    assert "ok   last night: no night has been completed yet" in aqb("doctor").out
    old = date(2026, 3, 13)
    with opened(RunLedger, "sqlite:///data/state.db") as ledger:
        ledger.save(night(old))
        late = aqb("doctor")
        assert late.exit_code == 1
        assert f"the last one that was is {old}" in late.out
        for days in (0, 1, 2):  # whatever the hour is
            ledger.save(night(date.today() - timedelta(days=days)))
    assert "ok   last night: done" in aqb("doctor").out


def test_doctor_looks_at_the_tables_and_nights_of_each_service(
    aqb: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hiring", "support"):
        write_rows(folder / name / "a.jsonl", [best(0), refused(1)])
    Path("aqb.toml").write_text(
        "".join(f'[[monitoring.service]]\nname = "{name}"\nsource = "{name}"\n' for name in ("hiring", "support"))
    )
    with monkeypatch.context() as chosen:
        chosen.setenv("AQB_SERVICE", "hiring")
        assert aqb("nightly", "--date", str(DAY)).err == ""
        assert "ok   warehouse hiring: 1 scored day" in aqb("doctor").out
    seen = checks(aqb)
    looked_at = [f"{thing} {name}" for thing in ("source", "rubric", "warehouse") for name in ("hiring", "support")]
    assert list(seen)[:6] == looked_at
    assert seen["warehouse hiring"] == f"1 scored day, {DAY} to {DAY}"
    assert seen["warehouse support"] == "0 scored days"
    assert seen["last night hiring"].endswith(f"the last one that was is {DAY}\n  -> aqb nightly")
    assert seen["last night support"] == "no night has been completed yet"


def test_doctor_ends_with_1_when_a_rubric_file_is_missing_or_wrong(aqb: Command, source: Path, folder: Path) -> None:
    assert checks(aqb)["rubric"] == "ola-monitoring 1"
    settings = folder / "aqb.toml"
    own = f'[monitoring]\nsource = "{source}"\nrubric = "own.toml"\n[test_runs]\nrubrics = ["tests.toml"]\n'
    settings.write_text(own, encoding="utf-8")
    Path("own.toml").write_text(aqb("rubrics", "new").out, encoding="utf-8")
    assert checks(aqb)["rubric"] == "support-bot 1"
    assert checks(aqb)["inbox"].startswith("NOT tests.toml: cannot be read")
    Path("own.toml").write_text('id = "own"', encoding="utf-8")
    assert checks(aqb)["rubric"].startswith("NOT own.toml, line 1, column 1")


@pytest.mark.parametrize(
    ("chosen", "seen"),
    [
        ('rubric = "plan_agent"', "there is no rubric 'plan_agent'"),
        ('rubric = "ola-monitoring"', "rubric 'ola-monitoring' scores chat rows, not test runs"),
        ('rubrics = ["tests.tml"]', "there is no rubric 'tests.tml'"),
        ('[[test_runs.files]]\npattern = "*"\nrubric = "tests.toml"', "tests.toml: cannot be read"),
        ('[[test_runs.files]]\npattern = "*"\nrubric = "aqb-1.2"', None),
    ],
)
def test_doctor_tells_a_rubric_that_cannot_score_the_inbox(
    aqb: Command, source: Path, folder: Path, chosen: str, seen: str | None
) -> None:
    (folder / "aqb.toml").write_text(f'[monitoring]\nsource = "{source}"\n[test_runs]\n{chosen}\n', encoding="utf-8")
    inbox = checks(aqb)["inbox"]
    assert inbox.startswith(f"NOT {seen}") if seen else inbox == "not there, so there are no test runs to score"


def test_doctor_ends_with_1_when_the_source_is_missing(aqb: Command) -> None:
    ended = aqb("doctor", "--json")
    assert ended.exit_code == 1
    checks = {check["name"]: check["ok"] for check in json.loads(ended.out)["checks"]}
    assert [name for name, ok in checks.items() if not ok] == ["source"]
    assert {"warehouse", "state database"} <= set(checks)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://aqb:hunter2@db.example:port/aqb",
        "postgresql//aqb:hunter2@db.example/aqb",
        "nosuch://aqb:hunter2@db.example/aqb",
        "nosuch:///aqb?host=db.example&password=hunter2",
    ],
)
def test_doctor_shows_no_password_and_says_what_is_wrong_with_the_database(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("AQB_STATE_URL", url)
    ended = aqb("doctor")
    assert ended.exit_code == 1
    assert "hunter2" not in ended.out + ended.err
    assert "NOT  state database: state_url is no database URL" in ended.out


def test_doctor_says_that_a_database_server_takes_no_changes(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server (Debian: postgresql)")
    with running_postgresql(programs) as address:
        monkeypatch.setenv("AQB_STATE_URL", f"postgresql+psycopg://{address}/postgres")
        assert checks(aqb)["state database"] == "can be written"
        server = sa.create_engine(f"postgresql+psycopg://{address}/postgres", isolation_level="AUTOCOMMIT")
        with server.connect() as connection:  # as a server is that stands by for another one
            connection.exec_driver_sql("ALTER DATABASE postgres SET default_transaction_read_only = on")
        server.dispose()
        seen = checks(aqb)["state database"]
    assert seen.startswith("NOT ")
    assert "cannot execute INSERT in a read-only transaction\n  -> the server takes no changes" in seen


def test_doctor_says_where_each_setting_came_from(aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("aqb.toml").write_text('reports = "r"\n')
    monkeypatch.setenv("AQB_MONITORING__KEEP_TEXT", "all")
    settings = {row["name"]: row for row in json.loads(aqb("doctor", "--json").out)["settings"]}
    assert settings["reports"] == {"name": "reports", "value": "r", "origin": "aqb.toml"}
    assert settings["monitoring.keep_text"]["origin"] == "AQB_MONITORING__KEEP_TEXT"
    assert settings["time_zone"]["origin"] == "default"


def test_doctor_writes_values_as_settings_files_have_them(aqb: Command, source: Path) -> None:
    """Lists and booleans could be pasted back."""
    Path("aqb.toml").write_text('[judge]\nenabled = false\n[web]\nhosts = ["aqb.example.com"]\n')
    shown = {line.split()[0]: line.split("   (")[0] for line in aqb("doctor").out.splitlines() if "   (" in line}
    assert shown["judge.enabled"].endswith(" false")
    assert shown["web.hosts"].endswith(' ["aqb.example.com"]')
    assert shown["judge.max_usd"].endswith(" none")
    assert not [line for line in shown.values() if "'" in line]
    settings = {row["name"]: row["value"] for row in json.loads(aqb("doctor", "--json").out)["settings"]}
    assert (settings["judge.enabled"], settings["web.hosts"]) == (False, ["aqb.example.com"])


# --- Secrets -------------------------------------------------------------------------------------------------------


def test_no_password_of_any_setting_is_shown(aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = {
        "STATE_URL": f"sqlite:///file:data/state.db?uri=true&token={PASSWORD}",
        "JUDGE__BASE_URL": f"https://aqb:{PASSWORD}@judge.example/v1",
        "ALERTS__API_URL": f"https://aqb:{PASSWORD}@slack.example/api/",
        "BIGQUERY__ENDPOINT": f"http://aqb:{PASSWORD}@127.0.0.1:9050",
        "BIGQUERY__STORAGE_ENDPOINT": f"aqb:{PASSWORD}@127.0.0.1:9060",
    }
    for name, url in urls.items():
        monkeypatch.setenv(f"AQB_{name}", url)
    shown = aqb("doctor")
    assert shown.exit_code == 0
    assert "https://aqb:***@judge.example/v1   (AQB_JUDGE__BASE_URL)" in shown.out
    assert PASSWORD not in shown.out + shown.err + aqb("doctor", "--json").out


# --- What a run may need -------------------------------------------------------------------------------------------


def test_what_does_not_apply_is_not_looked_for(aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    seen = checks(aqb)
    always = ["source", "rubric", "warehouse", "reports", "state database", "inbox", "days off", "last night", "alerts"]
    assert list(seen) == always
    assert seen["alerts"] == "nobody is notified: SLACK_WEBHOOK_URL is not set, and [alerts] names nobody"
    assert seen["inbox"] == "not there, so there are no test runs to score"
    assert seen["warehouse"] == "0 scored days"


def test_folder_of_the_reports_that_cannot_be_written_is_told_before_a_night_fails(
    aqb: Command, source: Path, folder: Path
) -> None:
    reports = folder / "data" / "reports"
    assert checks(aqb)["reports"] == "can be written"
    with small_disk(reports, "size=1m,ro"):
        assert checks(aqb)["reports"].startswith("NOT data/reports: cannot be written")
    reports.rmdir()
    reports.touch()
    assert checks(aqb)["reports"].startswith("NOT data/reports: cannot be written")


def test_inbox_is_a_folder_that_can_be_read(aqb: Command, source: Path, folder: Path) -> None:
    inbox = folder / "data" / "inbox"
    inbox.mkdir()
    write_csv(inbox / "resume_agent_1.csv", [WIDE_HEADER, wide_row()])
    assert checks(aqb)["inbox"] == "1 file"


def test_calendar_of_holidays_that_ends_soon_is_told(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checks(aqb)["days off"] == "holidays are known until 2999-12-31"
    monkeypatch.setattr("flows.cli.doctor.LAST_DAY", today("Asia/Seoul") + timedelta(days=59))
    assert checks(aqb)["days off"].startswith("NOT alerts: holidays are known until")
    later = today("Asia/Seoul") + timedelta(days=400)
    monkeypatch.setenv("AQB_ALERTS__DAYS_OFF", f'["{later}"]')
    assert checks(aqb)["days off"] == f"holidays are known until {later}"


def test_cluster_that_could_not_score_a_large_day_is_told_before_there_is_one(
    aqb: Command, source: Path, folder: Path, refusing_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(port: int) -> str:
        monkeypatch.setenv("AQB_ENGINE__TASK_RUNNER_ADDRESS", f"tcp://127.0.0.1:{port}")
        return checks(aqb)["task runner"]

    monkeypatch.setenv("AQB_ENGINE__TASK_RUNNER", "dask")
    assert "give monitoring.source and warehouse as absolute paths" in seen(refusing_port)
    monkeypatch.setenv("AQB_WAREHOUSE", str(folder / "warehouse"))
    monkeypatch.setenv("AQB_MONITORING__SOURCE", str(source.absolute()))
    assert "the Dask cluster cannot be used: " in seen(refusing_port)
    with socket.create_server(("127.0.0.1", 0)) as scheduler:
        port = scheduler.getsockname()[1]
        assert seen(port) == f"tcp://127.0.0.1:{port} accepts connections"
    assert "Port out of range" in seen(99_999)


@pytest.mark.skipif(find_spec("prefect_ray") is not None, reason="the extra `ray` is installed")
def test_cluster_whose_extra_is_not_installed_is_told(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AQB_ENGINE__TASK_RUNNER", "ray")
    monkeypatch.setenv("AQB_ENGINE__TASK_RUNNER_ADDRESS", "ray://127.0.0.1:10001")
    assert "install the extra `ray`" in checks(aqb)["task runner"]


def test_file_in_the_place_of_the_inbox_is_told(aqb: Command, source: Path, folder: Path) -> None:
    (folder / "data" / "inbox").touch()
    assert checks(aqb)["inbox"].startswith("NOT data/inbox: is no folder")


# --- Slack and Prefect ---------------------------------------------------------------------------------------------


def test_each_route_has_its_secret_or_is_told_to_lack_it_and_nothing_is_sent(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("aqb.toml").write_text(
        "".join(
            f'[[alerts.route]]\nname = "{name}"\n{secret}\n'
            for name, secret in {
                "qa": 'webhook_env = "HOOK_QA"',
                "ops": 'webhook_env = "HOOK_OPS"',
                "dev": 'webhook_env = "HOOK_DEV"',
                "bot": f'bot_token_env = "BOT"\nchannel = "{CHANNEL}"',
                "no-bot": f'bot_token_env = "HOOK_QA"\nchannel = "{CHANNEL}"',
            }.items()
        )
    )
    with FakeSlack() as slack:
        monkeypatch.setenv("HOOK_QA", slack.webhook())
        monkeypatch.setenv("HOOK_OPS", "hooks.example/5ecret")
        monkeypatch.setenv("BOT", TOKEN)
        shown = aqb("doctor").out
        found = {name: seen for name, seen in checks(aqb).items() if name.startswith("route")}
        assert slack.requests == []
    assert found == {
        "route qa": "has its secret from environment variable HOOK_QA; nothing was sent",
        "route ops": "NOT environment variable HOOK_OPS holds no address of a webhook",
        "route dev": "NOT environment variable HOOK_DEV holds no address of a webhook",
        "route bot": "has its secret from environment variable BOT; nothing was sent",
        "route no-bot": "NOT environment variable HOOK_QA holds no bot token",
    }
    assert [secret for secret in (slack.webhook(), "5ecret", TOKEN) if secret in shown] == []


def test_route_that_names_no_existing_rubric_is_told_by_doctor_and_the_night(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would receive nothing: no page either."""
    Path("aqb.toml").write_text('[[alerts.route]]\nname = "qa"\nwebhook_env = "QA"\nrubrics = ["ola-monitorin"]\n')
    with FakeSlack() as slack:
        monkeypatch.setenv("QA", slack.webhook())
        told = "receives nothing of 'ola-monitorin': there is no such rubric; 'ola-monitoring'?"
        assert checks(aqb)["route qa"] == f"NOT {told}"
        night = aqb("nightly", "--date", str(DAY))
    assert f"alerts: route qa {told}" in night.out + night.err
    assert night.exit_code == 1


def test_default_webhook_is_a_route_where_it_is_set(
    aqb: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", "hooks.example/5ecret")
    assert checks(aqb)["route default"] == "NOT environment variable SLACK_WEBHOOK_URL holds no address of a webhook"


def test_prefect_server_that_is_set_answers(
    aqb: Command, source: Path, prefect_server: str, prefect_at: PrefectAt
) -> None:
    prefect_at(prefect_server)
    shown = aqb("doctor")
    assert (shown.exit_code, shown.err) == (0, "")
    assert f"ok   Prefect: {prefect_server} answers" in shown.out


@pytest.mark.parametrize("place", ["127.0.0.1:{port}/api", "{website}/404", "127.0.0.1:port/api"])
def test_prefect_server_that_is_none_is_told_without_its_password(
    aqb: Command, source: Path, prefect_at: PrefectAt, website: str, refusing_port: int, place: str
) -> None:
    Path("aqb.toml").write_text('[[alerts.route]]\nname = "qa"\nwebhook_secret_block = "slack-webhook-qa"\n')
    place = place.format(port=refusing_port, website=website.removeprefix("http://"))
    prefect_at(f"http://aqb:{PASSWORD}@{place}")
    shown = aqb("doctor")
    assert (shown.exit_code, shown.err) == (1, "")
    assert f"NOT  Prefect: http://aqb:***@{place}: the Prefect server cannot be reached: " in shown.out
    assert "NOT  route" in shown.out
    assert PASSWORD not in shown.out


def test_prefect_server_that_wants_a_password_names_its_variable(
    aqb: Command, source: Path, prefect_at: PrefectAt, website: str
) -> None:
    prefect_at(f"{website}/401")
    shown = aqb("doctor")
    assert shown.exit_code == 1
    _, what, fix = shown.out.partition(f"NOT  Prefect: {website}/401: the Prefect server cannot be reached: ")
    assert what
    assert fix.startswith("it answers with status 401\n  -> give PREFECT_API_AUTH_STRING the value")
