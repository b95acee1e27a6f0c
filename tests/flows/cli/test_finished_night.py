"""`aqb nightly`, `aqb backfill` and `aqb test-runs` where nothing is left to do."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from flows.runtime.clock import today
from tasks.warehouse import open_warehouse
from tests.builders.chat_rows import DAY, best, plain, refused, write_rows
from tests.builders.testruns import LONG_HEADER, long_row, write_csv
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import QA, Command


@pytest.mark.usefixtures("site_is_built")
def test_nightly_leaves_a_finished_night_as_it_is(aqb: Command, folder: Path) -> None:
    yesterday = today("Asia/Seoul") - timedelta(days=1)
    rows = [best(timestamp=f"{yesterday}T12:00:00+09:00"), plain(timestamp=f"{yesterday}T12:00:00+09:00")]
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", rows)
    first, again = (json.loads(aqb("nightly", "--json").out) for _ in range(2))
    assert (first["up_to_date"], again["up_to_date"]) == (False, True)
    same = ("run_id", "day", "counts", "report", "site")
    assert {name: again[name] for name in same} == {name: first[name] for name in same}
    assert again.keys() == first.keys()
    ended = aqb("nightly")
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"{yesterday}: up to date, nothing to do\n  rows in 2 = scored 2" in ended.out
    for asked in (("--date", str(yesterday)), ("--allow-shrink",)):
        done = json.loads(aqb("nightly", *asked, "--json").out)
        assert not done["up_to_date"]
        assert done["run_id"] != first["run_id"]


@pytest.mark.usefixtures("site_is_built")
def test_nightly_compares_a_label_that_was_given_since(aqb: Command, folder: Path) -> None:
    yesterday = today("Asia/Seoul") - timedelta(days=1)
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(timestamp=f"{yesterday}T12:00:00+09:00")])
    assert aqb("nightly").exit_code == 0
    warehouse = open_warehouse(str(folder / "data" / "warehouse"))
    scores = warehouse.read("monitoring_scores")
    assert scores is not None
    (row_id,) = scores.collect()["row_id"]
    (folder / "labels.csv").write_text(f"row_id,metric,label,reviewer\n{row_id},a_grade,B,kim\n", encoding="utf-8")
    assert aqb("review", "import", "labels.csv").out == "1 label, 1 of them new: kept\n"
    assert aqb("review", "import", "labels.csv").out == "1 label, 0 of them new: kept\n"
    up_to_date = [json.loads(aqb("nightly", "--json").out)["up_to_date"] for _ in range(2)]
    assert up_to_date == [False, True]
    compared = warehouse.read("agreements")
    assert compared is not None
    assert compared.select("metric", "n", "exact", "adjacent").collect().rows() == [("a_grade", 1, 0, 1)]


@pytest.mark.usefixtures("site_is_built")
def test_nightly_says_again_what_is_wrong_with_a_finished_night(aqb: Command, folder: Path) -> None:
    yesterday = today("Asia/Seoul") - timedelta(days=1)
    rows = [
        best(timestamp=f"{yesterday}T12:00:00+09:00"),
        plain(timestamp=f"{yesterday}T13:00:00+09:00", input_tokens="many"),
    ]
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", rows)
    first, again = aqb("nightly"), aqb("nightly")
    assert "up to date" in again.out
    assert (first.exit_code, again.exit_code) == (1, 1)
    assert again.err == first.err
    assert "1 row rejected" in again.err


@pytest.mark.long
def test_backfill_says_again_what_is_wrong_with_days_that_are_up_to_date(aqb: Command, folder: Path) -> None:
    """Whether all days are up to date or some are scored besides: the exit code is that of the first time."""
    source = folder / "data" / "chat_rows"
    write_rows(source / "a.jsonl", [best(), plain(input_tokens="many")])
    days = ("--from", str(DAY), "--to", str(DAY))
    first, again = aqb("backfill", *days), aqb("backfill", *days)
    assert again.out == "0 days scored, 1 up to date before, 0 failed; 0 rows\n"
    assert (first.exit_code, again.exit_code) == (1, 1)
    assert again.err == first.err == f"warning: {DAY}: 1 row rejected (not_a_number 1); see the table `rejected`\n"

    with_one_more = ("--from", str(DAY - timedelta(days=1)), "--to", str(DAY))
    wider = aqb("backfill", *with_one_more)
    assert wider.out.startswith("1 day scored, 1 up to date before")
    assert (wider.exit_code, again.err in wider.err) == (1, True)
    forced = aqb("backfill", *days, "--force")
    assert (forced.exit_code, forced.err) == (1, first.err)

    write_rows(source / "a.jsonl", [best(), plain()])
    assert (aqb("backfill", *days).exit_code, aqb("backfill", *days).exit_code) == (0, 0)


@pytest.mark.usefixtures("site_is_built")
@pytest.mark.long
def test_backfill_of_days_that_are_up_to_date_starts_nothing(
    aqb: Command, installed_aqb: Command, folder: Path
) -> None:
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best()])
    days = ("--from", str(DAY), "--to", str(DAY))
    assert aqb("backfill", *days).out.startswith("1 day scored")
    nowhere = {"PREFECT_API_URL": "http://127.0.0.1:1/api"}
    again = installed_aqb("backfill", *days, "--json", **nowhere)
    assert (again.exit_code, again.err, json.loads(again.out)) == (0, "", {"days": [], "up_to_date": 1})
    assert aqb("backfill", *days).out == "0 days scored, 1 up to date before, 0 failed; 0 rows\n"


@pytest.mark.usefixtures("site_is_built")
def test_backfill_with_alerts_tells_of_days_that_were_scored_without(
    aqb: Command, folder: Path, slack: FakeSlack
) -> None:
    (folder / "aqb.toml").write_text(f'[[alerts.route]]\nname = "qa"\nwebhook_env = "{QA}"\n', encoding="utf-8")
    write_rows(folder / "data" / "chat_rows" / "a.jsonl", [best(), *map(refused, range(1, 10))])
    days = ("--from", str(DAY), "--to", str(DAY))
    for _ in range(2):
        assert (aqb("backfill", *days).exit_code, len(slack.posted)) == (0, 0)
    told = aqb("backfill", *days, "--alerts")
    assert told.out == "0 days scored, 1 up to date before, 0 failed; 0 rows\n"
    assert len(slack.posted) == 1


@pytest.mark.usefixtures("site_is_built")
def test_inbox_without_a_new_file_starts_nothing(aqb: Command, installed_aqb: Command, folder: Path) -> None:
    (folder / "aqb.toml").write_text('[test_runs]\ninbox = "inbox"\nquiet_s = 0\n', encoding="utf-8")
    (folder / "inbox").mkdir()
    header, rows = LONG_HEADER, [long_row("Q1"), long_row("Q2")]
    write_csv(folder / "inbox" / "plan_agent_1.csv", [header, *rows])
    assert aqb("test-runs").out.startswith("test runs: 1 scored, 0 failed, 0 scored before\n")
    nowhere = {"PREFECT_API_URL": "http://127.0.0.1:1/api"}
    again = installed_aqb("test-runs", **nowhere)
    assert (again.exit_code, again.err, again.out) == (0, "", "test runs: 0 scored, 0 failed, 1 scored before\n")
    found = json.loads(installed_aqb("test-runs", "--json", **nowhere).out)
    assert found == {"scored": [], "failures": [], "refused": [], "known": 1, "arriving": []}
    write_csv(folder / "inbox" / "plan_agent_2.csv", [header, *rows[:1]])
    assert aqb("test-runs").out.startswith("test runs: 1 scored, 0 failed, 1 scored before\n")
