"""What people do wrong, a case for each kind of error: it ends with a message that names the thing and says what to do.

Kinds of error that stand beside what they belong to (wrong options of `aqb score`, refusals of BigQuery or Slack) are
not here again.
"""

import ast
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
from pydantic import BaseModel, field_serializer

from scoring.limits import LONGEST_LINE
from tasks.chat.tables import write_alerts
from tasks.samples import SAMPLE_INBOX
from tasks.warehouse import open_warehouse
from tests.builders import chat_rows
from tests.builders.cases import portion
from tests.builders.scored_days import write_scored_day
from tests.builders.scored_testruns import plan_row, scored_folder
from tests.flows.cli.conftest import PrefectAt
from tests.flows.conftest import AQB, Command, Finished

ROOT = Path(__file__).parents[3]
CHAT = "user_input,llm_response,timestamp,input_tokens,output_tokens\n질문,답,2026-02-13T00:00:00Z,1,1\n"
LONG = "x" * 300
DAILY = """deployments: [{entrypoint: flows.nightly.nightly, name: n, description: d, tags: [],
  schedules: [{cron: daily, timezone: UTC}], concurrency_limit: {limit: 1}}]"""
LISTED, EXPLAINED = "did you mean reports? docs/reference/settings.md lists all", "docs/reference/settings.md"


@dataclass(frozen=True)
class Mistake:
    """A command in a folder with these files and variables, how it ends, what is wrong, and what to do about it."""

    command: str
    exit_code: int
    thing: str
    fix: str
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


def in_settings(text: str, thing: str, fix: str = EXPLAINED) -> Mistake:
    return Mistake("sql", 2, thing, fix, {"aqb.toml": text})


def in_variable(name: str, value: str, thing: str, fix: str = EXPLAINED) -> Mistake:
    return Mistake("sql", 2, thing, fix, variables={name: value})


MISTAKES = {
    # --- Settings ---
    "a wrong type": in_settings("warehouse = 5", "aqb.toml: settings are wrong: warehouse: "),
    "a wrong route": in_settings('[[alerts.route]]\nname = "qa"', "alerts.route[] (table 1): give exactly one of"),
    "a route of a service that is none": in_settings(
        '[[monitoring.service]]\nname = "support"\nsource = "a"\nroutes = ["team"]',
        "settings are wrong: service support names routes that do not exist: team",
    ),
    "a wrong value beside a name that is none": in_settings("warehouse = 5\nreport = 1", "; report: ", LISTED),
    "a name that is nearly one": in_settings(
        "[monitoring]\nsourse = 'a'", "monitoring.sourse: ", "did you mean monitoring.source? "
    ),
    "a name that is nearly a table": in_settings(
        "[monitoring.colums]\na = 'b'", "monitoring.colums", "did you mean monitoring.columns? "
    ),
    "a zone of an option": Mistake(
        "score chat.csv --out out --naive-timestamps Mars",
        2,
        "--naive-timestamps: settings are wrong: monitoring.naive_timestamps: 'Mars'",
        "correct it",
        {"chat.csv": CHAT},
    ),
    "a judge for chat rows": Mistake(
        "score chat.csv --out out --judge", 2, "chat rows are scored by rule alone", "--judge", {"chat.csv": CHAT}
    ),
    "a folder for the settings file": Mistake("sql", 2, "aqb.toml: is a folder", "remove it", {"aqb.toml/a": ""}),
    "no number of seconds": in_settings("[test_runs]\nquiet_s = nan", "test_runs.quiet_s: "),
    "a zone that is a folder": in_settings('time_zone = "Asia"', "'Asia' is no time zone", "such as Asia/Seoul"),
    "a zone longer than a path": in_variable("AQB_TIME_ZONE", LONG, "is no time zone", "such as Asia/Seoul"),
    "a zone in other bytes": in_variable("AQB_TIME_ZONE", "\udcc7\udcd1", "is no time zone", "such as Asia/Seoul"),
    "an empty variable": in_variable("AQB_WAREHOUSE", "", "AQB_WAREHOUSE: settings are wrong: warehouse: "),
    "a word for a number": in_variable("AQB_JUDGE__RPM", "many", "AQB_JUDGE__RPM: settings are wrong: judge.rpm: "),
    "a part of a list": in_variable("AQB_JUDGE__PRICES", '[{"model": 1}]', "AQB_JUDGE__PRICES: settings are wrong: "),
    "a list that is no JSON": in_variable("AQB_JUDGE__PRICES", "cheap", "AQB_JUDGE__PRICES: a list", "as JSON"),
    "options of no rubric": in_settings("[rubric_options.plan]\na = 1", "there is no rubric 'plan'", "plan-agent"),
    "no option of the rubric": in_settings(
        "[rubric_options.plan-agent]\na = 1", "rubric_options.plan-agent: plan-agent has no option 'a'", "value_lookup"
    ),
    "a rubric without options": in_settings(
        "[rubric_options.ola-monitoring]\na = 1", "ola-monitoring has no options", "leave them out"
    ),
    "a database without its driver": Mistake(
        "runs", 2, "the driver MySQLdb is not installed", "postgresql+psycopg://", {}, {"AQB_STATE_URL": "mysql://host/a"}
    ),
    "a text for a database": Mistake(
        "runs", 1, "data/state.db: the state database cannot be used", "check state_url", {"data/state.db": "no" * 99}
    ),
    "a state database in memory": Mistake(
        "runs", 2, "it names no file", "sqlite:///data/state.db", {}, {"AQB_STATE_URL": "sqlite:///:memory:"}
    ),
    "a place that the system refuses": Mistake(
        "test-runs", 1, f"error: {LONG}", "check that it may be read", {}, {"AQB_TEST_RUNS__INBOX": LONG}
    ),
    "a file for Prefect's home": Mistake(
        "alerts", 1, "a/b: Prefect's home folder cannot be used", "set PREFECT_HOME", {"a": ""}, {"PREFECT_HOME": "a/b"}
    ),
    "a damaged table": Mistake(
        "report", 1, "monitoring_kpis/2026-02-13.parquet: this table file is damaged", "aqb backfill --from 2026-02-13",
        {"data/warehouse/monitoring_kpis/2026-02-13.parquet": "no table"},
    ),
    "a source of another kind": Mistake(
        "rows 0f", 2, "s3://b/c: chat rows are read from files", "bigquery://project.dataset.view",
        {}, {"AQB_MONITORING__SOURCE": "s3://b/c"},
    ),
    "a source that nobody has set": Mistake(
        "rows 0f", 1, "data/chat_rows: nothing to read", "the setting monitoring.source names it"
    ),
    # --- Files ---
    "a path longer than any": Mistake(f"score {LONG}.csv --out o", 1, f"{LONG}.csv: cannot be read", "check the path"),
    "a file that cannot be read": Mistake("score kept.csv --out o", 1, "kept.csv: cannot be read: ", "its permissions"),
    "an empty file": Mistake("score a.csv --out o", 1, "a.csv: the file is empty", "export the table", {"a.csv": ""}),
    "a picture": Mistake("score a.csv --out o", 1, "a.csv: no test run", "check the header", {"a.csv": "\x89PNG\r\n"}),
    "an endless line": Mistake("score endless.csv --out o", 1, "endless.csv: line 1 is longer", "that it is a table"),
    "packed": Mistake("score a.jsonl.gz --out o", 1, "a.jsonl.gz: expected a name", "unpack it", {"a.jsonl.gz": "x"}),
    "a table where a log was said": Mistake(
        "score rows.parquet --format phoenix --out o",
        1,
        "expected a name of the format phoenix ending in .jsonl",
        "or correct monitoring.format (aqb score: --format)",
        {"rows.parquet": "PAR1"},
    ),
    "other ending": Mistake("score a.pq --out o", 1, "expected a name ending in", "also be .parquet", {"a.pq": "P"}),
    "chat rows with semicolons": Mistake(
        "score a.csv --out o", 1, "a single column that holds semicolons", "save the table with commas between",
        {"a.csv": CHAT.replace(",", ";")},
    ),
    "chat rows with capitals": Mistake(
        "score a.csv --out o", 1, "missing: user_input", "[monitoring.columns]", {"a.csv": CHAT.upper()}
    ),
    "chat rows for a judge": Mistake(
        "score a.csv --out o --dry-run", 2, "nothing to ask a judge", "leave out --dry-run", {"a.csv": CHAT}
    ),
    "chat rows with options": Mistake(
        "score a.csv --out o --agent-type move", 2, "chat rows take no --option", "leave them out", {"a.csv": CHAT}
    ),
    "chat rows for a rubric of runs": Mistake(
        "score a.csv --out o --rubric plan-agent", 1, "a.csv: no test run", "without --rubric", {"a.csv": CHAT}
    ),
    "labels in a workbook": Mistake("agreement l.xlsx", 1, "l.xlsx: a workbook is no file", "`aqb review import`"),
    "labels in a folder": Mistake("agreement l.csv", 1, "l.csv: cannot be read: ", "check the path", {"l.csv/a": ""}),
    "labels that nobody gave": Mistake(
        "agreement l.csv", 2, "l.csv: no row has a label yet", "fill the column", {"l.csv": "metric,label\naccuracy,\n"}
    ),
    "labels of another ending": Mistake(
        "review import r.xlsx --out l.txt", 2, "'l.txt' is no CSV file", "end its name in .csv"
    ),
    "a comparison of no format": Mistake("compare a b --out c.pdf", 2, "'c.pdf' has no ending", ".md, .html, .json"),
    "another summary": Mistake(
        "compare a a", 1, "a: no scored test run", "`aqb score", {"a/summary.json": '{"rubric": "plan-agent"}'}
    ),
    "schedules that are not there": Mistake(
        "serve", 2, "deployments/prefect.yaml: no schedules", "the folder of AQB has deployments/prefect.yaml"
    ),
    "a schedule that is none": Mistake(
        "serve --prefect-file p.yaml", 2, 'p.yaml: no schedules can be read: ValueError: Invalid cron string: "daily"',
        "correct it", {"p.yaml": DAILY},
    ),
    "a flow that is none": Mistake(
        "serve --prefect-file p.yaml", 2, "No module named 'flows.weekly'", "correct it",
        {"p.yaml": "deployments: [{entrypoint: flows.weekly.weekly}]"},
    ),
    # --- Days ---
    "a night to come": Mistake("nightly --date 2999-01-01", 2, "2999-01-01 has not begun", "an earlier day"),
    "its plan": Mistake("nightly --date 2999-01-01 --dry-run", 2, "2999-01-01 has not begun", "an earlier day"),
    "a day in words": Mistake("nightly --date yesterday", 2, "'yesterday' is no day", "write it as 2026-03-09"),
    "the first day of all": Mistake("sql --date 0001-01-01", 2, "'--date'", "between 1970-01-01 and 9998-12-31"),
    "the last day of all": Mistake(
        "golden --from 2026-02-13 --to 9999-12-31", 2, "'--to'", "between 1970-01-01 and 9998-12-31"
    ),
    "more runs than there are numbers": Mistake(f"runs --last {10**20}", 2, "'--last'", "less than or equal to"),
}  # fmt: skip


@pytest.fixture
def odd_files(folder: Path) -> None:
    """What no text can make: a file that is there and cannot be read, a line of 64 MB."""
    (folder / "kept.csv").symlink_to("/proc/self/mem")
    with (folder / "endless.csv").open("wb") as file:
        file.truncate(LONGEST_LINE + 1)


@pytest.mark.usefixtures("odd_files")
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_is_named_with_what_to_do(
    aqb: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, mistake: Mistake
) -> None:
    for name, text in mistake.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, value in mistake.variables.items():
        monkeypatch.setenv(name, value)
    assert_said(aqb(*shlex.split(mistake.command)), mistake.exit_code, mistake.thing, mistake.fix)


def assert_said(ended: Finished, exit_code: int, *said: str) -> None:
    assert "Traceback" not in ended.out + ended.err
    assert ended.exit_code == exit_code
    assert [part for part in said if part not in ended.err] == []


# --- What a text in a table cannot say -----------------------------------------------------------------------------


def test_name_in_other_bytes_is_shown_by_them(aqb: Command, folder: Path) -> None:
    (folder / os.fsdecode("한.csv".encode("cp949"))).write_text(CHAT)
    assert_said(aqb("score", ".", "--out", "o"), 1, r"\xc7\xd1.csv: the bytes of this name are no UTF-8", "rename it")


def test_error_holds_nothing_that_a_terminal_obeys(aqb: Command, folder: Path) -> None:
    name = "\x1b]0;x\x07\u202egnp.csv"
    (folder / name).write_text("ID,\0=1,\x1b[2J\nQ1,a,b\n", encoding="utf-8")
    told = aqb("score", name, "--out", "out")
    assert told.exit_code
    assert "gnp.csv" in told.err
    assert {sign for sign in told.err if not sign.isprintable()} == {"\n"}


def test_name_of_a_file_makes_no_line_of_its_own(aqb: Command, folder: Path) -> None:
    shutil.copy(SAMPLE_INBOX / "plan_agent_sample.csv", folder / "plan_agent_\nFORGED: 0 failed.csv")
    (folder / "no run\nFORGED.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    told = aqb("score", ".", "--out", "out")
    assert "\ufffdFORGED: 0 failed.csv: plan-agent" in told.out
    assert not [line for line in (told.out + told.err).splitlines() if line.startswith("FORGED")]


def test_table_of_other_columns_is_no_scored_run(aqb: Command, folder: Path) -> None:
    scored_folder(folder / "run", [plan_row("Q1")])
    pl.DataFrame({"query": ["Q1"]}).write_parquet(folder / "run" / "queries.parquet")
    assert_said(aqb("compare", "run", "run"), 1, "run/queries.parquet: this table", "`aqb score")


def test_runs_of_different_versions_have_no_common_agreement(aqb: Command, folder: Path) -> None:
    (folder / "l.csv").write_text("file,query_id,round,metric,label\nplan_agent_made.csv,Q1,1/1,accuracy,5\n")
    source = scored_folder(folder / "one", [plan_row("Q1")]).folder / "plan_agent_made.csv"
    aqb("score", source, "--out", "two", "--option", "value_lookup=direct")
    agreed = aqb("agreement", "l.csv", "--run", "one", "--run", "two")
    assert_said(agreed, 2, "different rubrics or versions", "give runs of one rubric and version")


def test_doctor_names_a_file_in_the_place_of_the_warehouse(aqb: Command, folder: Path) -> None:
    (folder / "data").write_text("mine")
    assert "NOT  warehouse: " in (seen := aqb("doctor").out)
    assert "data/warehouse/monitoring_kpis: cannot be read: Not a directory\n  -> check the path" in seen


def test_without_credentials_bigquery_says_which_to_get(aqb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "nowhere.json")
    monkeypatch.setenv("AQB_WAREHOUSE", "bigquery://project/dataset")
    assert_said(aqb("report"), 2, "no Google credentials", "`gcloud auth application-default login`")


def test_website_is_no_judge_of_batches(aqb: Command, website: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"OPENAI_BASE_URL": website, "OPENAI_API_KEY": "key", "AQB_JUDGE__MODE": "batch"}.items():
        monkeypatch.setenv(name, value)
    judged = aqb("score", SAMPLE_INBOX / "resume_agent_sample.xlsx", "--judge", "--out", "o")
    # Not 2, as wrong usage: what rules score is written.
    assert_said(judged, 1, f"{website}: the judge gives no answer: status 200 (text/html)", "check judge.base_url")


def test_webhook_that_is_no_address_is_told_by_its_name(
    aqb: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, source = (
        open_warehouse("data/warehouse"),
        chat_rows.write_rows(folder / "a.jsonl", [chat_rows.refused(0)]),
    )
    write_scored_day(warehouse, chat_rows.DAY, source)
    write_alerts(warehouse, chat_rows.DAY, chat_rows.RUBRIC, 0)
    monkeypatch.setenv("SLACK_WEBHOOK_URL", "hooks.slack.example/secret")
    told = aqb("alerts", "--date", str(chat_rows.DAY))
    assert_said(told, 1, "variable SLACK_WEBHOOK_URL holds no address of a webhook", "for the next run")
    assert "secret" not in told.out + told.err


# --- Prefect and the terminal --------------------------------------------------------------------------------------

SERVE = ("serve", "--prefect-file", ROOT / "deployments" / "prefect.yaml")
AUTOMATIONS = ("automations", "--file", ROOT / "deployments" / "automations.yaml")


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "address"),
    portion(
        [
            (("nightly", "--date", "2026-02-13"), "http://127.0.0.1:1/api"),
            (SERVE, "localhost:4200/api"),
            (("worker",), "localhost"),
        ]
    ),
    ids=portion(["nightly", "serve", "worker"]),
)
def test_address_without_a_prefect_server_is_named(
    installed_aqb: Command, command: tuple[str | Path, ...], address: str
) -> None:
    ended = installed_aqb(*command, PREFECT_API_URL=address)
    fix = "correct PREFECT_API_URL (such as http://127.0.0.1:4200/api)"
    assert_said(ended, 1, f"error: {address}: the Prefect server cannot be reached: ", fix)


@pytest.mark.long
def test_setting_of_prefect_that_is_mistyped_is_named(installed_aqb: Command) -> None:
    ended = installed_aqb("nightly", "--date", "2026-02-13", PREFECT_API_REQUEST_TIMEOUT="soon")
    assert ended.exit_code == 2
    what, fix = ended.err.splitlines()
    assert what.startswith("error: Prefect's settings cannot be read: request_timeout: Input should be a valid number")
    assert "correct the variable PREFECT_..." in fix


@pytest.mark.long
def test_flow_that_is_allowed_no_server_says_so(installed_aqb: Command) -> None:
    told = installed_aqb("nightly", "--date", "2026-02-13", PREFECT_SERVER_EPHEMERAL_ENABLED="false")
    assert_said(told, 2, "there is no Prefect server", "PREFECT_SERVER_EPHEMERAL_ENABLED=true")


@pytest.mark.long
@pytest.mark.parametrize("command", [SERVE, ("worker",), AUTOMATIONS], ids=["serve", "worker", "automations"])
def test_what_a_temporary_server_would_forget_needs_a_server_that_stays(
    aqb: Command, prefect_at: PrefectAt, command: tuple[str | Path, ...]
) -> None:
    prefect_at(None)
    assert_said(aqb(*command), 2, "no Prefect server that stays", "`prefect server start`")


@pytest.mark.long
def test_terminal_without_hangul_shows_escapes(folder: Path) -> None:
    latin = os.environ | {"PYTHONIOENCODING": "latin-1"}
    shown = subprocess.run([AQB, "rubrics"], env=latin, capture_output=True, encoding="latin-1", check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert r"): \uc2e4\ud589" in shown.stdout


@pytest.mark.long
def test_output_that_nothing_takes_is_an_error_of_a_line(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        shell = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        ended = subprocess.run([AQB, "rubrics"], stdout=full, stderr=subprocess.PIPE, env=shell, text=True, check=False)
    assert_said(Finished(ended.returncode, "", ended.stderr), 1, "No space left on device", "check that it may be")
    assert "Exception ignored" not in ended.stderr


class _Interrupted(BaseModel):
    """What Ctrl-C meets while pydantic writes it."""

    value: int = 0

    @field_serializer("value")
    def _interrupt(self, _: int) -> int:
        raise KeyboardInterrupt


def test_ctrl_c_that_meets_pydantic_at_work_is_no_defect(aqb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoring.catalog.rubrics", _Interrupted().model_dump_json)
    handler = signal.getsignal(signal.SIGINT)
    try:
        ended = aqb("rubrics")
    finally:
        signal.signal(signal.SIGINT, handler)
    assert (ended.exit_code, ended.err.partition(":")[0]) == (130, "stopped")


# --- All of them ---------------------------------------------------------------------------------------------------

_TELLS_FOR_OTHERS = {
    "tasks/chat/engine.py": "it holds the errors of the files, each with what to do about it",
}


@pytest.mark.parametrize("part", ["tasks", "flows"])
def test_every_error_that_is_raised_says_what_to_do(part: str) -> None:
    silent = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in sorted((ROOT / part).rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if call.func.id in {"AqbError", "UsageError", "InputError", "StorageError"}
        if "fix" not in {given.arg for given in call.keywords}
        if str(path.relative_to(ROOT)) not in _TELLS_FOR_OTHERS
    ]
    assert silent == []
