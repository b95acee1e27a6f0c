"""`aqb` as people and cron call it: what it prints, what it answers, how it ends."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.main import get_command

from flows.cli.app import app
from flows.cli.nightly import places_as_variables
from flows.runtime.clock import now
from scoring.catalog import rubrics
from tasks.config.settings import MonitoringSettings, load_settings
from tests.builders.chat_rows import DAY, best, of_sessions, plain, refused, write_rows
from tests.flows.conftest import AQB, Command

ROOT = Path(__file__).parents[3]


def verbs_of(command: Any, *names: str) -> list[tuple[str, ...]]:
    """Every command as it is typed, those of groups after their group."""
    below = [verb for name, one in getattr(command, "commands", {}).items() for verb in verbs_of(one, *names, name)]
    return ([names] if names else []) + below


VERBS = verbs_of(get_command(app))


# --- Help ----------------------------------------------------------------------------------------------------------


def test_help_names_every_verb(installed_aqb: Command) -> None:
    shown = installed_aqb("--help")
    assert (shown.exit_code, shown.err) == (0, "")
    names = {names[0] for names in VERBS}
    assert names >= {"score", "nightly", "demo", "rows", "golden", "sql", "rubrics", "doctor"}
    assert [name for name in names if f"\n  {name}" not in shown.out] == []


def test_files_have_their_korean_names_whatever_the_locale_is(installed_aqb: Command, folder: Path) -> None:
    write_rows(folder / "대화 행.jsonl", [best(0)])
    no_utf8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # as Python works in other locales
    ended = installed_aqb("score", "대화 행.jsonl", "--out", "결과", **no_utf8)
    assert (ended.exit_code, ended.err) == (0, "")
    assert "report: 결과/report.md" in ended.out
    assert (folder / "결과" / "report.md").is_file()


def test_account_that_the_system_does_not_know_needs_no_home_folder(folder: Path) -> None:
    unknown = "import pwd\ndef unknown(uid): raise KeyError\npwd.getpwuid = unknown\nfrom flows.cli import main\nmain()"
    environment = {name: value for name, value in os.environ.items() if name != "HOME" and "PREFECT" not in name}
    environment["PREFECT_HOME"] = str(folder / "prefect")
    command = [sys.executable, "-c", unknown, "serve", "--prefect-file", str(ROOT / "deployments/prefect.yaml")]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.splitlines()[0]) == (
        2,
        "error: there is no Prefect server that stays",
    )


@pytest.mark.long
def test_night_needs_no_standard_streams(folder: Path) -> None:
    """As what some daemons start has none; its temporary Prefect server wants them."""
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(0)])
    environment = {name: value for name, value in os.environ.items() if "PREFECT" not in name}
    command = f"exec {shlex.quote(str(AQB))} nightly --date {DAY} <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=folder, env=environment, check=False).returncode == 0
    assert (folder / "data" / "reports" / f"monitoring-{DAY}.md").is_file()


def test_command_line_opens_without_the_libraries_that_take_longer_than_it() -> None:
    heavy = {"numpy", "polars", "prefect", "pyarrow", "pydantic", "sqlalchemy"}
    program = f"import flows.cli.app, sys; print(*{heavy} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == "\n"


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_explains_itself_with_an_example(aqb: Command, verb: tuple[str, ...]) -> None:
    shown = aqb(*verb, "--help")
    assert shown.exit_code == 0
    assert f"Example: aqb {' '.join(verb)}" in shown.out


# --- Exit codes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Usage"),
        (("scor",), "No such command"),
        (("score",), "Missing argument"),
        (("score", "a.csv"), "Missing option '--out'"),
        (("score", "a.csv", "--out", "out", "--rubrik", "x"), "No such option"),
        (("nightly", "--date", "yesterday"), "'--date'"),
        (("nightly", "--date", "2026-02-30"), "'--date'"),
        (("nightly", "--date", "2026-02-13", "--intraday"), "exclude each other"),
        (("golden", "--from", "2026-02-14", "--to", "2026-02-13"), "swap the two days"),
        (("golden", "--from", "2026-02-14"), "Missing option '--to'"),
        (("rows",), "Missing argument"),
        (("sql", "--dialect", "oracle"), "bigquery"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(aqb: Command, arguments: tuple[str, ...], said: str) -> None:
    ended = aqb(*arguments)
    assert ended.exit_code == 2
    assert said in ended.err + (ended.out if not arguments else "")


def test_wrong_rubric_ends_with_2_and_lists_those_that_exist(aqb: Command, source: Path) -> None:
    ended = aqb("score", source, "--rubric", "ola", "--out", "out")
    assert ended.exit_code == 2
    assert "no rubric 'ola'" in ended.err
    assert [rubric for rubric in rubrics() if rubric not in ended.err] == []
    assert not Path("out").exists()


@pytest.mark.parametrize("verb", [("doctor",), ("score", "a.csv", "--out", "out"), ("nightly",), ("sql",)])
def test_wrong_settings_end_with_2_before_anything_is_done(
    aqb: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    monkeypatch.setenv("AQB_TIME_ZONE", "Mars/Base")
    ended = aqb(*verb)
    assert ended.exit_code == 2
    assert ended.err.startswith("error: ")
    assert "Mars/Base" in ended.err
    assert list(folder.iterdir()) == []


def test_file_that_does_not_exist_ends_with_1_and_its_name(aqb: Command) -> None:
    ended = aqb("score", "nowhere.csv", "--out", "out")
    assert ended.exit_code == 1
    assert ended.err.startswith("error: nowhere.csv: ")
    assert not Path("out").exists()


# --- aqb score -----------------------------------------------------------------------------------------------------


def test_scoring_a_file_says_the_counts_and_where_the_results_are(installed_aqb: Command, source: Path) -> None:
    ended = installed_aqb("score", str(source), "--rubric", "ola-monitoring", "--out", "out")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "rows in 4 = scored 3 + excluded 1 + rejected 0" in ended.out
    assert "out/report.md" in ended.out
    assert pl.read_parquet(source.parents[2] / "out" / "scores.parquet").height == 3
    assert not (source.parents[2] / "out" / ".staging").exists()


def test_json_is_the_summary_and_nothing_else(aqb: Command, source: Path) -> None:
    ended = aqb("score", source, "--out", "out", "--json")
    assert json.loads(ended.out) == json.loads(Path("out/summary.json").read_text("utf-8"))


def test_rejected_rows_end_with_1_and_where_they_stand(aqb: Command, folder: Path) -> None:
    rows = write_rows(folder / "rows.jsonl", [best(0), plain(1, output_tokens=-1)])
    ended = aqb("score", rows, "--out", "out")
    assert ended.exit_code == 1
    assert "rows in 2 = scored 1 + excluded 0 + rejected 1" in ended.out
    assert "1 row rejected: out/rejected.parquet says which and why" in ended.err


def test_broken_file_ends_with_1_and_the_others_are_scored(aqb: Command, source: Path) -> None:
    (source.parent / "b.parquet").write_bytes(b"PAR1 and no more")
    ended = aqb("score", "data/chat_rows", "--out", "out")
    assert ended.exit_code == 1
    assert "error: data/chat_rows/b.parquet: " in ended.err
    assert "scored 3" in ended.out


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more"])
def test_nothing_but_a_broken_file_ends_with_1_and_no_report(aqb: Command, folder: Path, content: bytes) -> None:
    (folder / "rows.parquet").write_bytes(content)
    ended = aqb("score", "rows.parquet", "--out", "out")
    assert (ended.exit_code, ended.out) == (1, "")
    assert "\nrows.parquet: " in ended.err
    assert not Path("out").exists()


def test_file_without_rows_is_scored_as_such(aqb: Command, folder: Path) -> None:
    (folder / "rows.csv").write_text("user_input,llm_response,input_tokens,output_tokens,timestamp\n")
    ended = aqb("score", "rows.csv", "--out", "out")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "rows in 0 = scored 0" in ended.out
    assert "there are no rows in it" in ended.out
    assert "failure_rate" not in ended.out  # neither 0 nor met
    assert "채점한 행이 없습니다" in (folder / "out" / "report.md").read_text()


@pytest.mark.parametrize("out", ["data/chat_rows/out", "data/chat_rows/out/again"])
def test_what_was_written_within_the_input_is_not_read_the_next_time(aqb: Command, source: Path, out: str) -> None:
    first, second = (aqb("score", "data/chat_rows", "--out", out, "--json") for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert json.loads(second.out) == json.loads(first.out)


def test_scores_do_not_go_among_the_files_that_they_are_made_of(aqb: Command, source: Path) -> None:
    ended = aqb("score", "data/chat_rows", "--out", "./data/chat_rows/")
    assert ended.exit_code == 2
    assert "choose another --out folder, such as data/chat_rows/scores" in ended.err
    assert list(source.parent.iterdir()) == [source]


def test_file_in_the_place_of_the_folder_ends_with_1(aqb: Command, source: Path) -> None:
    ended = aqb("score", source, "--out", source)
    assert ended.exit_code == 1
    assert "choose another --out folder" in ended.err


# --- aqb sql, aqb rubrics ------------------------------------------------------------------------------------------


def test_sql_prints_one_query_over_the_production_view(aqb: Command) -> None:
    ended = aqb("sql")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "`finola-global.ola_monitoring.view_ola_monitoring`" in ended.out
    assert "final_grade" in ended.out


def test_sql_is_over_the_view_of_the_settings_and_never_over_that_of_another_bot(aqb: Command, folder: Path) -> None:
    settings = folder / "aqb.toml"
    settings.write_text('[monitoring]\nsource = "bigquery://shop.chats.turns"\n', "utf-8")
    assert "FROM `shop.chats.turns`" in aqb("sql").out
    (folder / "own.toml").write_text(aqb("rubrics", "new").out, "utf-8")
    settings.write_text('[monitoring]\nsource = "data"\nrubric = "own.toml"\n', "utf-8")
    assert "FROM `project.dataset.view`" in aqb("sql").out


def test_sql_takes_one_day_of_the_configured_zone(aqb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    seoul = aqb("sql", "--date", DAY.isoformat(), "--source", "project-1.data_set.table").out
    assert "FROM `project-1.data_set.table`" in seoul
    assert "2026-02-12 15:00:00+00" in seoul
    assert "2026-02-13 15:00:00+00" in seoul
    monkeypatch.setenv("AQB_TIME_ZONE", "UTC")
    assert "2026-02-13 00:00:00+00" in aqb("sql", "--date", DAY.isoformat()).out


def test_sql_takes_the_names_of_an_exported_table(aqb: Command, folder: Path) -> None:
    (folder / "aqb.toml").write_text('[bigquery]\nprefix = "jsonPayload."\ncolumns.user_input = "question"\n', "utf-8")
    query = aqb("sql", "--date", DAY.isoformat()).out
    for part in (
        "source.`jsonPayload`.`question` AS user_input",
        "source.`jsonPayload`.`tenant_id` AS tenant_id",
        "WHERE source.`jsonPayload`.`timestamp`",
    ):
        assert part in query


@pytest.mark.parametrize(
    ("section", "quoted"),
    [
        (
            "columns.user_input = '(SELECT/**/MAX(s)/**/FROM/**/p.d.other)'",
            "source.`(SELECT/**/MAX(s)/**/FROM/**/p`.`d`.`other)` AS user_input",
        ),
        ("prefix = 'x--'", "source.`x--user_input` AS user_input"),
    ],
)
def test_sql_prints_names_of_columns_as_names_alone(aqb: Command, folder: Path, section: str, quoted: str) -> None:
    (folder / "aqb.toml").write_text(f"[bigquery]\n{section}\n", "utf-8")
    query = aqb("sql").out
    assert quoted in query
    outside = re.sub("`[^`]*`", "", query)
    assert "/**/" not in outside
    assert "x--" not in outside


@pytest.mark.parametrize("name", ["a`b", "a b", "a\\b", ""])
def test_sql_refuses_names_of_columns_that_end_their_quotes(aqb: Command, folder: Path, name: str) -> None:
    (folder / "aqb.toml").write_text(f"[bigquery]\ncolumns.user_input = '{name}'\n", "utf-8")
    ended = aqb("sql")
    assert (ended.exit_code, ended.out) == (2, "")


@pytest.mark.parametrize("view", ["shop.chats.대화 로그-1", "shop.com:bot-7.chats.turns"])
def test_sql_takes_every_name_that_a_source_may_have(aqb: Command, monkeypatch: pytest.MonkeyPatch, view: str) -> None:
    monkeypatch.setenv("AQB_MONITORING__SOURCE", f"bigquery://{view}")
    assert f"FROM `{view}`" in aqb("sql").out
    assert aqb("sql", "--source", view).out == aqb("sql").out


@pytest.mark.parametrize(
    "name", ["t", "a.b; DROP TABLE c", "a.b` WHERE TRUE --", "a.b\n", "a.b.c.d", "", "(SELECT 1)", "가.나"]
)
def test_sql_refuses_what_is_no_table_name(aqb: Command, name: str) -> None:
    ended = aqb("sql", "--source", name)
    assert ended.exit_code == 2
    assert "is no table name" in ended.err
    assert ended.out == ""


def test_rubrics_are_listed_for_people_and_programs(aqb: Command) -> None:
    listed = json.loads(aqb("rubrics", "--json").out)
    assert [rubric["id"] for rubric in listed] == list(rubrics())
    assert all(rubric["version"] and rubric["title"] for rubric in listed)
    assert f"ola-monitoring (version {rubrics()['ola-monitoring'].version})" in aqb("rubrics").out


# --- aqb nightly ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("site_is_built")
def test_nightly_says_counts_kpis_alerts_and_where_everything_is(aqb: Command, source: Path) -> None:
    ended = aqb("nightly", "--date", DAY.isoformat())
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"{DAY}: rows in 3 = scored 2 + excluded 1 + rejected 0" in ended.out
    assert (
        "failure_rate           50.0% (95% 구간 5.5~94.5%) · 목표 3% 이하 · 판단 보류(n 125 이상이어야 달성 가능) · n=2"
        in ended.out
    )
    assert "critical  answer_failed" in ended.out
    assert f"report: data/reports/monitoring-{DAY}.md" in ended.out
    assert ended.out.splitlines()[-1] == "dashboard: data/reports/index.html"
    assert Path(f"data/warehouse/monitoring_scores/{DAY}.parquet").exists()
    again = aqb("nightly", "--date", DAY.isoformat(), "--json")
    assert json.loads(again.out)["counts"] == {"rows_in": 3, "scored": 2, "excluded": 1, "rejected": 0}


def test_nightly_rounds_rates_as_the_report_does(aqb: Command, source: Path) -> None:
    turns = [*(refused(minute) for minute in range(9)), *(best(minute) for minute in range(9, 80))]
    write_rows(source, of_sessions(turns))
    shown = aqb("nightly", "--date", DAY.isoformat()).out  # 9 of 80 are 11.25 %
    assert "failure_rate           11.3% (95% 구간 6.0~20.0%) · 목표 3% 이하 · 미달 · n=80" in shown
    assert "kpi_failure_rate           11.3% (target 3% 이하)" in shown
    assert "실패율 | 하루 | 11.3%" in Path(f"data/reports/monitoring-{DAY}.md").read_text("utf-8")


def test_nightly_with_a_broken_file_ends_with_1_and_its_name(aqb: Command, source: Path) -> None:
    (source.parent / "b.parquet").write_bytes(b"PAR1 and no more")
    ended = aqb("nightly", "--date", DAY.isoformat())
    assert ended.exit_code == 1
    assert "scored 2" in ended.out
    assert "data/chat_rows/b.parquet" in ended.err
    assert "error: 1 of 2 files could not be read" in ended.err


def test_nightly_of_a_day_without_rows_ends_with_0_and_an_alert(aqb: Command, source: Path) -> None:
    ended = aqb("nightly", "--date", "2026-01-01")
    assert (ended.exit_code, ended.err) == (0, "")
    assert "rows in 0" in ended.out
    assert "critical  no_rows" in ended.out


def test_intraday_scores_today_so_far(aqb: Command, source: Path) -> None:
    nothing = aqb("nightly", "--intraday")
    assert (nothing.exit_code, nothing.err) == (0, "")
    assert "no rows so far" in nothing.out
    assert not Path("data/warehouse/monitoring_kpis").exists()
    write_rows(source, [plain(0, timestamp=now().isoformat())])
    ended = aqb("nightly", "--intraday", "--json")
    assert ended.exit_code == 0
    day = json.loads(ended.out)["day"]
    assert "잠정" in Path(f"data/reports/monitoring-{day}.md").read_text("utf-8")


@pytest.mark.usefixtures("folder")
def test_places_of_the_demo_arrive_as_they_are_whatever_stands_in_their_paths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = load_settings(
        warehouse="my demo/warehouse",
        reports="my demo/reports",
        state_url="sqlite:///my demo/state.db",
        monitoring=MonitoringSettings(source="kim's/chat_rows.parquet"),
    )
    for variable in shlex.split(places_as_variables(ours)):
        monkeypatch.setenv(*variable.split("=", 1))
    assert load_settings() == ours


@pytest.mark.long
def test_nightly_from_a_missing_source_tells_it_once_without_a_traceback(
    installed_aqb: Command, prefect_server: str
) -> None:
    ended = installed_aqb("nightly", "--date", DAY.isoformat(), PREFECT_API_URL=prefect_server)
    assert ended.exit_code == 1
    assert ended.err.startswith("error: data/chat_rows: nothing to read")
    assert "Traceback" not in ended.err
    assert ended.err.count("nothing to read") == 1


@pytest.mark.long
def test_night_that_benchmarks_run_without_prefect_scores_its_day(folder: Path) -> None:
    write_rows(folder / "rows.jsonl", [best(), plain(1)])
    environment = {**os.environ, "AQB_MONITORING__SOURCE": "rows.jsonl", "PYTHONPATH": str(Path(__file__).parents[3])}
    night = [sys.executable, "-m", "benchmarks.without_prefect", "nightly", "--date", DAY.isoformat(), "--json"]
    ended = subprocess.run(night, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout)["counts"]["scored"] == 2
