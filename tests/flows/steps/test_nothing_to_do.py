"""A finished night or backfill is left alone, and nothing less than that is taken for one."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.runtime.clock import now
from flows.runtime.run_recorder import recorded_run
from flows.steps import day as day_steps
from flows.steps.nothing_to_do import backfilled_plan, done_by
from scoring.alerting.blocks import paragraph, plain
from scoring.alerting.messages import Message
from scoring.errors import StorageError
from scoring.judging.anchors import Anchor
from scoring.judging.requests import VerdictStatus
from tasks.alerts.outbox import Outbox
from tasks.config.alerts import AlertsSettings, Route
from tasks.config.judge import JudgeSettings
from tasks.config.settings import MonitoringSettings, Settings
from tasks.config.testruns import InboxSettings
from tasks.context import Context
from tasks.judge.verdict_store import Judgement
from tasks.judge_quality.anchor_store import AnchorStore
from tasks.judge_quality.anchor_table import write_anchors
from tasks.state.run_ledger import RunLedger
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, refused, write_rows
from tests.builders.flows import backfill, nightly
from tests.builders.state import in_context, opened

BEFORE, LONG_AGO = DAY - timedelta(days=1), DAY - timedelta(days=300)
ONE_DAY = 24 * 60


def settings_of(**changes: Any) -> Settings:
    return Settings(
        warehouse="warehouse",
        reports="reports",
        state_url="sqlite:///state.db",
        monitoring=MonitoringSettings(source="source"),
        test_runs=InboxSettings(inbox="inbox"),
        **changes,
    )


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the nights of two days are finished."""
    folder = tmp_path_factory.mktemp("night")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        write_rows(folder / "source" / "a.jsonl", [best(-ONE_DAY), best(0), refused(1)])
        Path("inbox").mkdir()
        for day in (BEFORE, DAY):
            nightly(settings_of(), day)
    return folder


@pytest.fixture
def finished(night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in a folder of its own, which is the working folder."""
    shutil.copytree(night, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def run_of(settings: Settings) -> str | None:
    run = in_context(done_by, settings, DAY, now())
    return run.run_id if run else None


def backfilled(settings: Settings, first: date = BEFORE) -> bool:
    return in_context(backfilled_plan, settings, first, DAY, DAY + timedelta(days=1)) is not None


@pytest.mark.usefixtures("finished")
def test_nothing_to_do_where_the_night_is_finished() -> None:
    with opened(RunLedger, "sqlite:///state.db") as ledger:
        (run,) = ledger.of_day(DAY)
    assert run_of(settings_of()) == run.run_id
    assert backfilled(settings_of())
    assert not backfilled(settings_of(), LONG_AGO)
    assert not backfilled(settings_of(), DAY + timedelta(days=1))


def late_rows() -> None:
    write_rows(Path("source/b.jsonl"), [best(5)])


def late_rows_of_the_day_before() -> None:
    write_rows(Path("source/b.jsonl"), [best(5 - ONE_DAY)])


def no_source() -> None:
    shutil.rmtree("source")


def no_table() -> None:
    Path(f"warehouse/monitoring_kpis/{DAY}.parquet").unlink()


def old_site() -> None:
    os.utime("reports/index.html", (0, 0))


def killed_backfill() -> None:
    with opened(RunLedger, "sqlite:///state.db") as ledger:
        done = ledger.of_day(DAY)[-1]
        ledger.save(replace(done, run_id="killed", score_date=LONG_AGO, started_at=now(), finished_at=None))


def new_file_in_the_inbox() -> None:
    Path("inbox/run.csv").write_text("질의\n", encoding="utf-8")


def later_intraday_run() -> None:
    nightly(settings_of(), DAY, "intraday")


def other_version() -> None:
    with opened(RunLedger, "sqlite:///state.db") as ledger:
        ledger.save(replace(ledger.of_day(DAY)[-1], code_version="0.0.1"))


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize(
    "happens",
    [
        *(late_rows, late_rows_of_the_day_before, no_source, no_table, old_site, killed_backfill),
        *(new_file_in_the_inbox, later_intraday_run, other_version),
    ],
)
def test_nothing_to_do_is_not_said_where_a_run_would_do_something(happens: Callable[[], None]) -> None:
    happens()
    assert run_of(settings_of()) is None
    assert backfilled(settings_of()) == (happens in (new_file_in_the_inbox, other_version))


@pytest.mark.usefixtures("finished")
def test_nothing_to_do_is_not_said_after_a_changed_setting_or_of_an_untold_route() -> None:
    elsewhere = settings_of().model_copy(update={"time_zone": "UTC"})
    assert run_of(elsewhere) is None
    assert not backfilled(elsewhere)
    reported = settings_of(alerts=AlertsSettings(route=(Route(name="qa", webhook_env="SLACK_WEBHOOK_QA"),)))
    assert run_of(reported) is None
    assert not backfilled(reported)


@pytest.mark.usefixtures("finished")
def test_nothing_to_do_is_not_said_while_a_message_waits() -> None:
    routed = settings_of(alerts=AlertsSettings(route=(Route(name="qa", webhook_env="SLACK_WEBHOOK_QA"),)))
    with opened(RunLedger, "sqlite:///state.db") as ledger:
        ledger.mark_reported([run.run_id for day in (BEFORE, DAY) for run in ledger.of_day(day)], now())
    assert run_of(routed) is not None
    waiting = Message("digest", "info", ("a",), "소식", [*paragraph([plain("소식")])])
    with opened(Outbox, "sqlite:///state.db") as outbox:
        outbox.put("qa", "", [waiting], now())
    assert run_of(routed) is None
    assert not backfilled(routed)


@pytest.mark.usefixtures("finished", "site_is_built")
def test_nothing_to_do_once_the_site_is_built_again_though_no_page_changed() -> None:
    backfill(BEFORE, BEFORE, force=True, settings=settings_of())
    assert run_of(settings_of()) is not None


@pytest.mark.usefixtures("finished")
def test_nothing_to_do_is_not_said_while_the_anchors_of_the_night_are_due() -> None:
    settings = settings_of(judge=JudgeSettings(enabled=True, anchors=True))
    assert run_of(settings) is not None  # nothing has been judged yet
    anchor = Anchor("key", "aqb-1.2", "1", "semantic", {"query": "?"}, {"score": 5}, "judge-1", "e1")
    with opened(AnchorStore, "sqlite:///state.db") as store:
        store.replace([anchor])
    assert run_of(settings) is None
    assert run_of(settings_of()) is not None
    again = Judgement("key", "semantic", "aqb-1.2", "1", "1", "judge-1", "", VerdictStatus.OK, answer={"score": 5})
    for back in (1, 0):  # those of the night before do not count
        assert run_of(settings) is None
        night = now().astimezone(settings.zone).date() - timedelta(days=back)
        write_anchors(FolderWarehouse(Path("warehouse")), night, [anchor], [again])
    assert run_of(settings) is not None


@pytest.mark.usefixtures("finished")
def test_nothing_to_do_is_not_said_of_a_night_into_which_two_runs_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the machine of one slept in the middle of it, and another one took the day over."""
    real = day_steps.write

    def taken_over(context: Context, *args: Any) -> Any:
        with recorded_run(context.state, "nightly", DAY) as other:
            other.ends("completed")
        return real(context, *args)

    monkeypatch.setattr(day_steps, "write", taken_over)
    with pytest.raises(StorageError, match="another run took over"):
        nightly(settings_of(), DAY)
    assert run_of(settings_of()) is None
    with opened(RunLedger, "sqlite:///state.db") as ledger:
        assert ledger.latest_of_days(DAY, DAY)[DAY].outcome == "failed"
