"""Days of which the source has lost its rows: they stay as they were scored, and people are told. Source: SPEC 6."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from prefect.runtime import flow_run

from flows.backfill import BackfillOutcome, IncompleteBackfillError
from flows.nightly import IncompleteRunError, NightlyOutcome
from flows.nightly import nightly as nightly_flow
from scoring.days import days_between
from scoring.errors import InputError
from tasks.config.settings import Settings
from tasks.reports.markdown.monitoring import MonitoringReport
from tasks.state.run_ledger import RunLedger
from tests.builders.chat_rows import DAY, plain, write_rows
from tests.builders.flows import backfill, nightly
from tests.builders.settings import settings_in
from tests.builders.state import opened
from tests.fakes.slack_server import FakeSlack
from tests.flows.conftest import Command, alerts_to

A_DAY = 24 * 60
LAST = DAY + timedelta(days=2)
DAYS = days_between(DAY, LAST)


def write_day(source: Path, day: date, rows: int, **columns: object) -> Path:
    first = (day - DAY).days * A_DAY
    return write_rows(source / f"{day}.jsonl", [plain(first + number, **columns) for number in range(rows)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for day in DAYS:
        write_day(tmp_path / "source", day, 8)
    return tmp_path / "source"


@pytest.fixture
def settings(tmp_path: Path, source: Path, slack: FakeSlack) -> Settings:
    return settings_in(tmp_path, alerts=alerts_to(slack))


def tables(settings: Settings) -> dict[str, bytes]:
    """Every table but that of the runs."""
    folder = Path(settings.warehouse)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.glob("*/*.parquet"))
        if path.parent.name != "runs"
    }


def fates(outcome: BackfillOutcome) -> dict[date, str]:
    return {one.day: "kept" if one.kept else "failed" if one.failed else "scored" for one in outcome.days}


def warnings(slack: FakeSlack) -> list[str]:
    return [one.shown for one in slack.posted if "그대로 둔 날" in one.text]


@pytest.mark.long
def test_days_whose_rows_are_gone_are_kept_by_a_backfill_and_told_once(
    settings: Settings, source: Path, slack: FakeSlack
) -> None:
    backfill(DAY, LAST, settings=settings)
    scored = tables(settings)
    for day in DAYS[:2]:
        (source / f"{day}.jsonl").unlink()
    for _ in range(2):
        outcome = backfill(DAY, LAST, settings=settings)
        assert fates(outcome) == {DAYS[0]: "kept", DAYS[1]: "kept"}
        assert ["--allow-shrink" in problem for problem in outcome.problems] == [True, True]
        assert tables(settings) == scored
    (warning,) = warnings(slack)
    assert "그대로 둔 날 2일" in warning
    assert "채점한 8행 → 지금 원본에 0행" in warning
    with opened(RunLedger, settings.state_url) as ledger:
        assert [run.outcome for run in ledger.of_day(DAY)] == ["completed", "kept", "kept"]


@pytest.mark.long
def test_days_that_may_shrink_are_replaced(settings: Settings, source: Path) -> None:
    backfill(DAY, LAST, settings=settings)
    (source / f"{DAY}.jsonl").unlink()
    assert fates(backfill(DAY, LAST, settings=settings, allow_shrink=True)) == {DAY: "scored"}
    assert fates(backfill(DAY, LAST, settings=settings)) == {}


@pytest.mark.parametrize(("left", "fate"), [(4, "scored"), (3, "kept")])
def test_days_that_lost_rows_are_kept_below_half(settings: Settings, source: Path, left: int, fate: str) -> None:
    backfill(DAY, LAST, settings=settings)
    write_day(source, DAY, left)
    assert fates(backfill(DAY, LAST, settings=settings)) == {DAY: fate}


@pytest.mark.long
def test_days_stay_when_the_source_is_another_folder(settings: Settings, tmp_path: Path) -> None:
    backfill(DAY, LAST, settings=settings)
    scored = tables(settings)
    (tmp_path / "elsewhere").mkdir()
    write_day(tmp_path / "elsewhere", DAY + timedelta(days=90), 1)
    wrong = settings.model_copy(
        update={"monitoring": settings.monitoring.model_copy(update={"source": str(tmp_path / "elsewhere")})}
    )
    assert set(fates(backfill(DAY, LAST, force=True, settings=wrong)).values()) == {"kept"}
    assert tables(settings) == scored


@pytest.mark.long
def test_tenant_that_is_gone_keeps_its_day(settings: Settings, source: Path) -> None:
    write_rows(source / "b.jsonl", [plain(number, tenant_id="t2") for number in range(30)])
    write_rows(source / "c.jsonl", [plain(number) for number in range(100)])
    backfill(DAY, DAY, settings=settings)
    (source / "b.jsonl").unlink()
    (kept,) = backfill(DAY, DAY, settings=settings).days
    assert kept.kept
    assert "tenant t2 had 30 rows, the source holds 0" in str(kept.kept)


@pytest.mark.long
def test_rows_of_an_erased_session_may_go(settings: Settings, source: Path, aqb: Command, folder: Path) -> None:
    write_rows(source / "b.jsonl", [plain(number, session_id="gone") for number in range(20)])
    backfill(DAY, LAST, settings=settings)
    Path("aqb.toml").write_text(
        f'warehouse = "{settings.warehouse}"\nreports = "{settings.reports}"\nstate_url = "{settings.state_url}"\n',
        encoding="utf-8",
    )
    assert aqb("erase", "--session", "gone").exit_code == 0
    (source / "b.jsonl").unlink()
    assert fates(backfill(DAY, LAST, settings=settings)) == {DAY: "scored"}
    write_day(source, DAY, 2)
    assert fates(backfill(DAY, LAST, settings=settings)) == {DAY: "kept"}


def test_rows_that_never_had_a_session_may_not_go_after_somebody_was_erased(
    settings: Settings, source: Path, aqb: Command, folder: Path
) -> None:
    """Sessions that are missing in part do not make the guard of the other days blind."""
    of_day = [plain(number, session_id=None) for number in range(30)]
    write_rows(source / "b.jsonl", [*of_day, plain(40, session_id="other")])
    backfill(DAY, LAST, settings=settings)
    Path("aqb.toml").write_text(
        f'warehouse = "{settings.warehouse}"\nreports = "{settings.reports}"\nstate_url = "{settings.state_url}"\n',
        encoding="utf-8",
    )
    assert aqb("erase", "--session", "other").exit_code == 0
    write_rows(source / "b.jsonl", of_day[:3])
    assert fates(backfill(DAY, LAST, settings=settings)) == {DAY: "kept"}


@pytest.mark.long
def test_late_rows_that_are_gone_keep_their_day_and_are_said_again_but_told_once(
    settings: Settings, source: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    backfill(DAY, LAST, settings=settings)
    scored = tables(settings)
    write_day(source, DAYS[1], 1)
    outcome: NightlyOutcome = _night(settings, LAST + timedelta(days=1), monkeypatch)
    assert [(one.day, one.why, one.kept is not None) for one in outcome.earlier] == [(DAYS[1], "late rows", True)]
    assert {name: tables(settings)[name] for name in scored} == scored
    assert len(warnings(slack)) == 1
    again: NightlyOutcome = _night(settings, LAST + timedelta(days=1), monkeypatch)
    assert again.earlier == ()
    assert [problem for problem in again.problems if f"{DAYS[1]}: kept as it was scored: " in problem]
    assert len(warnings(slack)) == 1
    write_day(source, DAYS[1], 8)
    assert _night(settings, LAST + timedelta(days=1), monkeypatch).problems == ()


def _night(settings: Settings, day: date, monkeypatch: pytest.MonkeyPatch) -> NightlyOutcome:
    start = datetime.combine(day, time(16), UTC)  # one o'clock of the next day (Asia/Seoul)
    monkeypatch.setitem(flow_run.FIELDS, "scheduled_start_time", lambda: start)
    return nightly(settings)


@pytest.mark.parametrize("kind", ["nightly", "intraday"])
def test_night_that_finds_its_day_gone_keeps_it_and_completes(
    settings: Settings, source: Path, slack: FakeSlack, kind: Literal["nightly", "intraday"]
) -> None:
    nightly(settings, DAY, kind)
    scored = tables(settings)
    (source / f"{DAY}.jsonl").unlink()
    outcome: NightlyOutcome = nightly(settings, DAY, kind)
    assert outcome.own.kept
    assert outcome.problems == outcome.own.problems
    met_twice = replace(outcome, unmeasured=outcome.problems, unreported=("Slack is down", "Slack is down"))
    assert met_twice.problems == (*outcome.problems, "Slack is down")
    assert tables(settings) == scored
    assert len(warnings(slack)) == 1
    assert nightly(settings, DAY, kind, allow_shrink=True).scored.counts.rows_in == 0


@pytest.mark.long
def test_unexpected_error_of_a_day_stops_no_other_of_a_backfill(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break_second_day(monkeypatch)
    with pytest.raises(IncompleteBackfillError, match=rf"1 of 3 days are not complete: {DAYS[1]} \(KeyError in step"):
        backfill(DAY, LAST, settings=settings)
    with opened(RunLedger, settings.state_url) as ledger:
        assert [ledger.of_day(day)[-1].outcome for day in DAYS] == ["completed", "failed", "completed"]


@pytest.mark.long
def test_unexpected_error_of_an_earlier_day_does_not_stop_the_night(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly(settings, DAY)
    _break_second_day(monkeypatch)
    with pytest.raises(IncompleteRunError, match=rf"{DAYS[1]} \(KeyError in step summarise\) could not be") as ended:
        _night(settings, LAST, monkeypatch)
    assert ended.value.outcome.scored.counts.scored == 8


def test_day_whose_file_cannot_be_read_is_none_without_rows(settings: Settings, source: Path) -> None:
    """As where the export of the day is still being written at night, beside those of other days."""
    (source / f"{DAY}.jsonl").unlink()
    file = source / f"{DAY}.parquet"
    pl.DataFrame([plain(0)]).write_parquet(file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    with pytest.raises(InputError, match=rf"1 of 3 files could not be read, .* have no row of it; .*\n.*{file.name}"):
        nightly(settings, DAY)
    assert tables(settings) == {}
    file.write_bytes(whole)
    assert nightly(settings, DAY).scored.counts.scored == 1


@pytest.mark.usefixtures("prefect_server")
def test_unexpected_error_of_the_own_day_is_told_with_class_and_step(
    settings: Settings, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break_second_day(monkeypatch)
    with pytest.raises(Exception, match="KeyError in step summarise"):
        nightly_flow(settings, DAYS[1])
    assert "KeyError in step summarise" in slack.posted[-1].shown
    assert Path(settings.reports, "index.html").exists()


def _break_second_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in the report of one day, as a rule of a later version might meet it in old rows."""
    whole = MonitoringReport.markdown

    def broken(report: MonitoringReport) -> str:
        if report.title == str(DAYS[1]):
            raise KeyError("alert_of_another_version")
        return whole(report)

    monkeypatch.setattr(MonitoringReport, "markdown", broken)


# --- The command -----------------------------------------------------------------------------------------------------


def test_plan_names_every_day_with_its_reason(aqb: Command, folder: Path) -> None:
    source = folder / "data" / "chat_rows"
    for day in DAYS:
        write_day(source, day, 8)
    options = ("--from", str(DAY), "--to", str(LAST + timedelta(days=1)))
    assert aqb("backfill", "--from", str(DAY), "--to", str(LAST)).exit_code == 0
    (source / f"{DAY}.jsonl").unlink()
    write_day(source, DAYS[1], 9)
    planned = aqb("backfill", *options, "--dry-run")
    reasons = [line.split("rows  ")[1] for line in planned.out.splitlines()[:4]]
    assert reasons == [
        "would shrink, kept: the day had 8 rows, the source holds 0",
        "rows changed",
        "up to date",
        "missing",
    ]
    assert "kept:       1 day that would shrink; --allow-shrink replaces them" in planned.out
    plan = json.loads(aqb("backfill", *options, "--dry-run", "--json").out)
    assert [(day["reason"], day["to_score"]) for day in plan["days"]] == [
        ("would shrink", False),
        ("rows changed", True),
        (None, False),
        ("missing", True),
    ]
    done = aqb("backfill", *options)
    assert done.exit_code == 1
    assert done.out == "2 days scored, 1 up to date before, 0 failed, 1 kept as they were; 9 rows\n"
    assert f"warning: {DAY}: kept as it was scored: the day had 8 rows, the source holds 0" in done.err
    nightly_end = aqb("nightly", "--date", str(DAY))
    assert (nightly_end.exit_code, "kept as it was scored" in nightly_end.out) == (1, True)
    assert aqb("backfill", *options, "--allow-shrink").exit_code == 0
