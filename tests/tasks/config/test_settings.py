import json
import re
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import UsageError
from tasks.config.settings import MonitoringSettings, load_settings, setting_origins


def test_without_any_setting_everything_lives_in_the_working_folder() -> None:
    settings = load_settings()
    assert settings.time_zone == "Asia/Seoul"
    assert settings.warehouse == "data/warehouse"
    assert settings.reports == "data/reports"
    assert settings.state_url == "sqlite:///data/state.db"
    assert settings.monitoring.source == "data/chat_rows"
    assert settings.monitoring.keep_text == "flagged"


def test_environment_wins_over_the_file_and_an_option_over_both(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("aqb.toml").write_text('warehouse = "from file"\nreports = "from file"\ntime_zone = "UTC"\n')
    monkeypatch.setenv("AQB_WAREHOUSE", "from environment")
    monkeypatch.setenv("AQB_REPORTS", "from environment")
    settings = load_settings(warehouse="from option")
    assert (settings.warehouse, settings.reports, settings.time_zone) == ("from option", "from environment", "UTC")


def test_sections_are_merged_name_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("aqb.toml").write_text('[monitoring]\nsource = "from file"\nkeep_text = "none"\n')
    monkeypatch.setenv("AQB_MONITORING__KEEP_TEXT", "all")
    assert load_settings().monitoring == MonitoringSettings(source="from file", keep_text="all")


def test_file_is_looked_for_in_the_working_folder_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("aqb.toml").write_text('warehouse = "from file"\n')
    (folder / "below").mkdir()
    monkeypatch.chdir("below")
    assert load_settings().warehouse == "data/warehouse"


def test_file_saved_by_notepad_is_read() -> None:
    Path("aqb.toml").write_text('warehouse = "창고"\n', encoding="utf-8-sig")
    assert load_settings().warehouse == "창고"
    assert ("warehouse", "창고", "aqb.toml") in setting_origins(load_settings())


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().warehouse = "elsewhere"


@pytest.mark.parametrize(
    ("content", "named", "meant"),
    [
        ('warehous = "w"\n', "warehous", "did you mean warehouse? "),
        ('[monitoring]\nsorce = "s"\n', "monitoring.sorce", "did you mean monitoring.source? "),
        ("[judges]\nrpm = 1\n", "judges", "did you mean judge? "),
        ('source = "s"\n', "source", "did you mean monitoring.source? "),
        ("[alerts]\nrpm = 1\n", "alerts.rpm", "did you mean judge.rpm? "),
        (
            "[[alerts.route]]\nname = 'a'\nwebhook_env = 'A'\n[[alerts.route]]\nname = 'b'\nwebhok_env = 'B'\n",
            "alerts.route[].webhok_env (table 2)",
            "did you mean alerts.route[].webhook_env? ",
        ),
        ("[judge]\nrp = 1\nrpmm = 1\n", "judge.rp", "did you mean judge.rpm? "),
        ("[judge]\nusd = 1\nrp = 1\n", "judge.usd", "did you mean judge.seed, judge.rpm? "),
        ("xyz = 1\n", "xyz", ""),
    ],
)
def test_setting_that_does_not_exist_is_refused_with_the_nearest_and_where_all_stand(
    content: str, named: str, meant: str
) -> None:
    Path("aqb.toml").write_text(content)
    with pytest.raises(UsageError) as refused:
        load_settings()
    assert f"{named}: Extra inputs" in refused.value.what
    assert refused.value.fix == f"{meant}docs/reference/settings.md lists all that exist"
    assert "aqb.toml" in refused.value.where


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("AQB_TIMEZONE", "AQB_TIME_ZONE"),
        ("AQB_MONITORING__SORCE", "AQB_MONITORING__SOURCE"),
        ("AQB_MONITORING", "AQB_MONITORING__"),
        ("aqb_warehous", "AQB_WAREHOUSE"),
    ],
)
def test_variable_that_is_no_setting_is_refused_with_the_nearest_and_where_all_stand(
    monkeypatch: pytest.MonkeyPatch, variable: str, near: str
) -> None:
    monkeypatch.setenv(variable, "{}")
    with pytest.raises(UsageError, match=f"no setting for {variable.upper()}\n") as refused:
        load_settings()
    assert f"did you mean {near}" in refused.value.fix
    assert refused.value.fix.endswith("? docs/reference/settings.md lists all that exist")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("AQB_TIME_ZONE", "Mars/Base", "time_zone: .*'Mars/Base' is no time zone; use a name such as Asia/Seoul"),
        ("AQB_TIME_ZONE", "localtime", "time_zone: .*'localtime' is no time zone; use a name such as Asia/Seoul"),
        ("AQB_TIME_ZONE", "", "time_zone: .*no time zone"),
        ("AQB_TIME_ZONE", "../../etc/passwd", "time_zone: .*no time zone"),
        ("AQB_MONITORING__KEEP_TEXT", "some", "monitoring.keep_text: .*'flagged', 'all' or 'none'"),
        ("AQB_ENGINE__TASK_RUNNER", "spark", "engine.task_runner: .*'processes', 'dask' or 'ray'"),
        ("AQB_ENGINE__TASK_RUNNER", "dask", "engine: .*needs task_runner_address"),
        ("AQB_ENGINE__TASK_RUNNER", "ray", "engine: .*needs task_runner_address"),
        ("AQB_TEST_RUNS__AGENT_TYPE", "hiring", "test_runs.agent_type: .*use one of: move, plan, applicant_management"),
        ("AQB_ALERTS__REPORTS_URL", "reports.example/aqb", "alerts.reports_url: .*begins with https:// or http://"),
        ("AQB_WEB__URL", "https:///aqb", "web.url: .*begins with https:// or http://"),
    ],
)
def test_wrong_value_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=message):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AQB_TEST_RUNS__COLUMNS", "질의=Question"),
        ("AQB_ALERTS__DAYS_OFF", "2026-05-04"),
        ("AQB_MONITORING__SERVICE", "hiring"),
        ("AQB_RUBRIC_OPTIONS", "value_lookup"),
    ],
)
def test_variable_of_a_list_or_a_table_that_is_no_json_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv("AQB_TIME_ZONE", "UTC")
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match="a list or a table that is no JSON") as refused:
        load_settings()
    assert refused.value.where == variable


def test_what_is_wrong_with_several_settings_together_is_named_with_all_that_set_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AQB_ENGINE__TASK_RUNNER", "ray")
    with pytest.raises(UsageError, match="needs task_runner_address") as refused:
        load_settings()
    assert refused.value.where == "AQB_ENGINE__TASK_RUNNER"
    monkeypatch.setenv("AQB_ENGINE__TASK_RUNNER_ADDRESS", "auto")
    with pytest.raises(UsageError, match="address of Ray is ray://HOST:PORT"):
        load_settings()
    monkeypatch.setenv("AQB_ENGINE__TASK_RUNNER", "dask")
    with pytest.raises(UsageError, match="address of Dask is tcp://HOST:PORT"):
        load_settings()
    Path("aqb.toml").write_text('[alerts.default]\nwebhook_env = "HOOK"\n', encoding="utf-8")
    monkeypatch.delenv("AQB_ENGINE__TASK_RUNNER")
    monkeypatch.setenv("AQB_ALERTS__DEFAULT__CHANNEL", "C0123456789")
    with pytest.raises(UsageError, match="a bot needs a channel, and a webhook has its own") as refused:
        load_settings()
    assert refused.value.where == "AQB_ALERTS__DEFAULT__CHANNEL, aqb.toml"


@pytest.mark.parametrize(
    "wrong",
    [
        "[monitoring]\nlookback_days = true",
        "[judge]\nmax_usd = false",
        "[[judge.prices]]\nmodel = 'm'\ninput_usd = true",
    ],
)
def test_true_and_false_are_no_numbers(wrong: str) -> None:
    Path("aqb.toml").write_text(wrong)
    with pytest.raises(
        UsageError, match=r"(lookback_days|max_usd|input_usd \(table 1\)): (true|false) is no value of it"
    ):
        load_settings()


def test_numbers_and_switches_of_the_environment_are_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AQB_MONITORING__LOOKBACK_DAYS", "3")
    monkeypatch.setenv("AQB_JUDGE__MAX_USD", "0.5")
    monkeypatch.setenv("AQB_ALERTS__DRY_RUN", "true")
    settings = load_settings()
    assert (settings.monitoring.lookback_days, settings.judge.max_usd, settings.alerts.dry_run) == (3, 0.5, True)


def test_every_wrong_setting_is_named_at_once() -> None:
    Path("aqb.toml").write_text('time_zone = "Nowhere"\nwarehouse = 5\n[monitoring]\nkeep_text = "some"\n')
    with pytest.raises(UsageError) as refused:
        load_settings()
    assert all(name in refused.value.what for name in ("time_zone", "warehouse", "monitoring.keep_text"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'warehouse = "w\n', "line 1"),
        ('warehouse = "창고"\n'.encode("cp949"), "utf-8"),
        (b"warehouse = " + 9_000 * b"[", "recursion"),
    ],
)
def test_file_that_is_no_toml_is_a_clear_error(content: bytes, message: str) -> None:
    Path("aqb.toml").write_bytes(content)
    with pytest.raises(UsageError, match=message) as refused:
        load_settings()
    assert refused.value.where == "aqb.toml"


def test_folder_in_the_place_of_the_file_is_refused() -> None:
    Path("aqb.toml").mkdir()  # as a container makes it of a file that it cannot find
    with pytest.raises(UsageError, match="is a folder"):
        load_settings()


def test_origins_say_where_every_setting_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("aqb.toml").write_text('reports = "r"\n[monitoring]\nsource = "s"\nkeep_text = "none"\n')
    monkeypatch.setenv("AQB_WAREHOUSE", "w")
    monkeypatch.setenv("aqb_monitoring__keep_text", "all")
    origins = {name: (value, origin) for name, value, origin in setting_origins(load_settings())}
    assert origins["time_zone"] == ("Asia/Seoul", "default")
    assert origins["warehouse"] == ("w", "AQB_WAREHOUSE")
    assert origins["reports"] == ("r", "aqb.toml")
    assert origins["monitoring.source"] == ("s", "aqb.toml")
    assert origins["monitoring.keep_text"] == ("all", "AQB_MONITORING__KEEP_TEXT")


TABLES = {
    "monitoring.columns": {"user_input": "question"},
    "test_runs.columns": {"질의": "Question"},
    "test_runs.filters": {"외국어 시험": "FOREIGN_EXAM"},
    "bigquery.columns": {"user_input": "question"},
    "rubric_options": {"plan-agent": {"value_lookup": "direct"}},
}


@pytest.mark.parametrize("name", TABLES)
def test_table_of_settings_comes_from_one_variable_as_json(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = f"AQB_{name.upper().replace('.', '__')}"
    monkeypatch.setenv(variable, json.dumps(TABLES[name]))
    settings = load_settings()
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    assert value == TABLES[name]
    assert [origin for one, _, origin in setting_origins(settings) if one.startswith(f"{name}.")] == [variable]


def test_every_variable_that_the_reference_names_is_a_setting() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "settings.md").read_text()
    named = set(re.findall(r"^\| `[\w.]+` \| `(AQB_\w+)` \|", page, re.MULTILINE))
    assert len(named) > 50
    assert named <= {f"AQB_{name.upper().replace('.', '__')}" for name, _, _ in setting_origins(load_settings())}


@pytest.mark.parametrize(
    "content",
    [
        '[judge]\napi_key = "sk-1"\n',
        'state_url = "postgresql+psycopg://aqb:pw@db/aqb"\n',
        'state_url = "postgresql+psycopg://aqb:p/:pw@db/aqb"\n',
        'state_url = "postgresql+psycopg://db/aqb?user=aqb&password=:pw@"\n',
        '[alerts.heartbeat]\nurl = "https://aqb:pw@ping/1"\n',
    ],
    ids=["key", "password in a URL", "password with a slash", "password among the options", "password of the ping"],
)
def test_secrets_in_a_file_that_others_may_read_are_refused(content: str) -> None:
    file = Path("aqb.toml")
    file.write_text(content, encoding="utf-8")
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600") as refused:
        load_settings()
    assert "sk-1" not in str(refused.value)
    assert ":pw@" not in str(refused.value)
    file.chmod(0o600)
    load_settings()


def test_file_without_secrets_may_be_read_by_everybody() -> None:
    file = Path("aqb.toml")
    content = (
        'state_url = "sqlite:///data/state.db"\n[judge]\napi_key = ""\nbase_url = "https://llm/v1?api-version=2026"\n'
        '[alerts.heartbeat]\nurl = "https://hc-ping.com/1"\n'
    )
    file.write_text(content, encoding="utf-8")
    file.chmod(0o644)
    load_settings()


def test_column_of_test_runs_that_nobody_reads_is_refused_with_those_that_are() -> None:
    Path("aqb.toml").write_text('[test_runs.columns]\n"질문" = "Question"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"no such column: 질문; use one of: .*질의"):
        load_settings()
    Path("aqb.toml").write_text('[test_runs.columns]\n"N차 답변" = "Answer {n}"\n', encoding="utf-8")
    assert load_settings().test_runs.names.headers(["Answer 2"]) == ("2차 답변",)


def test_first_pattern_of_file_names_comes_before_the_choice_for_all() -> None:
    Path("aqb.toml").write_text(
        '[test_runs]\nrubric = "aqb-1.2"\n'
        '[[test_runs.files]]\npattern = "실행*.CSV"\nrubric = "plan-agent"\n'
        '[[test_runs.files]]\npattern = "*"\nagent_type = "move"\n',
        encoding="utf-8",
    )
    settings = load_settings().test_runs
    chosen = [settings.of_file(name) for name in ("실행_1.csv", "이동_1.csv")]
    assert [(one.rubric, one.agent_type) for one in chosen] == [("plan-agent", ""), ("aqb-1.2", "move")]


@pytest.mark.parametrize("name", ["", "move", "실행 에이전트", "plan_agent"])
def test_agent_of_the_inbox_is_named_as_files_name_it(name: str) -> None:
    Path("aqb.toml").write_text(f'[[test_runs.files]]\npattern = "*"\nagent_type = "{name}"\n', encoding="utf-8")
    assert load_settings().test_runs.of_file("a.csv").agent_type == name


@pytest.mark.parametrize("variable", ["AQB_REPORTS", "AQB_TEST_RUNS__INBOX"])
def test_bucket_is_no_folder(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "gs://bucket/reports")
    with pytest.raises(UsageError, match="give a folder of this machine") as refused:
        load_settings()
    assert refused.value.where == variable


@pytest.mark.parametrize("place", ["folder:warehouse", "file:data/warehouse", "bigquery:project/dataset"])
def test_prefix_that_begins_no_address_is_no_folder(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("AQB_WAREHOUSE", place)
    with pytest.raises(UsageError, match="write a folder alone") as refused:
        load_settings()
    assert refused.value.where == "AQB_WAREHOUSE"


@pytest.mark.parametrize("place", ["warehouse", "./folder:warehouse", "a/b:c", "bigquery://p/d", "duckdb:///a.duckdb"])
def test_folders_and_addresses_of_warehouses_are_taken_as_they_are(place: str) -> None:
    assert load_settings(warehouse=place).warehouse == place


def test_setting_of_another_place_is_answered_with_the_one_that_begins_alike() -> None:
    Path("aqb.toml").write_text('[alerts]\nwebhook = "https://hooks.example/a"\n', encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        load_settings()
    assert refused.value.fix.startswith("did you mean alerts.default.webhook_env? ")


@pytest.mark.parametrize(
    ("variable", "meant"),
    [("AQB_ALERTS__WEBHOOK", "AQB_ALERTS__DEFAULT__WEBHOOK_ENV"), ("AQB_SOURCE", "AQB_MONITORING__SOURCE")],
)
def test_variable_is_answered_with_the_one_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "x")
    with pytest.raises(UsageError) as refused:
        load_settings()
    assert refused.value.fix.startswith(f"did you mean {meant}? ")


def test_options_of_rubrics_are_given_by_a_variable_as_the_refusal_of_a_longer_name_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched, pytest.raises(UsageError) as refused:
        patched.setenv("AQB_RUBRIC_OPTIONS__PLAN_AGENT__VALUE_LOOKUP", "direct")
        load_settings()
    variable, _, value = refused.value.fix.removesuffix(" gives all options as JSON").partition("=")
    monkeypatch.setenv(variable, value)
    assert load_settings().rubric_options == {"plan-agent": {"value_lookup": "direct"}}
