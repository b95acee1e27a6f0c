"""Which nights are late and which failures are over, as the ledger of runs says it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

import pytest

from scoring.alerting.all_clear import Unfinished
from scoring.alerting.messages import KnownKey
from tasks.alerts.unfinished import dead_runs, finished, late_night, unreported_nights
from tasks.config.alerts import AlertsSettings, WatchSettings
from tasks.config.chat_rows import ServiceSettings
from tasks.config.settings import MonitoringSettings, Settings
from tasks.context import Context
from tasks.state.leases import Leases
from tasks.state.run_ledger import BACKFILL, INTRADAY, NIGHTLY, TEST_RUN, Run, RunLedger
from tests.builders.nights import at, night

DAY = date(2026, 3, 13)  # a Friday: its night is that of a day off
DUE_DAY = DAY + timedelta(days=1)
BEFORE = DAY - timedelta(days=1)


@pytest.fixture
def context(state_url: str) -> Iterator[Context]:
    with Context(Settings(state_url=state_url)) as opened:
        yield opened


def keep(context: Context, *runs: Run) -> None:
    for run in runs:
        RunLedger(context.state).save(run)


def test_night_is_late_from_its_due_time_until_its_day_is_done(context: Context) -> None:
    keep(context, night(BEFORE))
    assert late_night(context, at(DUE_DAY, "06:59")) is None
    late = late_night(context, at(DUE_DAY, "07:00"))
    assert late
    assert (late.day, late.state, late.last_day) == (DAY, "absent", BEFORE)
    assert late_night(context, at(DUE_DAY + timedelta(days=1), "06:59")) == late
    keep(context, night(DAY, start="09:00"))
    assert late_night(context, at(DUE_DAY, "09:05")) is None


@pytest.mark.parametrize(
    "run",
    [
        night(DAY),
        night(DAY, "kept"),
        night(DAY, kind=BACKFILL),
        replace(night(DAY, "failed"), scored=8),  # without a file that could not be read, which its failure says
    ],
)
def test_night_whose_day_was_done_or_kept_is_not_late(context: Context, run: Run) -> None:
    keep(context, run)
    assert late_night(context, at(DUE_DAY, "23:00")) is None


def test_day_before_the_first_night_is_not_late(context: Context) -> None:
    keep(context, night(DAY, start="00:50"))  # installed in the small hours, before the night of `BEFORE` was due
    assert late_night(context, at(DUE_DAY, "00:55")) is None
    assert late_night(context, at(DUE_DAY + timedelta(days=1), "07:00"))


@pytest.mark.parametrize(
    ("run", "state"),
    [
        (night(DAY, "failed", message="InputError: no rows"), "failed"),
        (night(DAY, "running"), "died"),
        (night(DAY - timedelta(days=3), "running", start="01:00"), "absent"),
        (night(DAY, "completed", kind=INTRADAY), "absent"),
        (night(DAY, "completed", kind=TEST_RUN), "absent"),  # it scored a file of the inbox
    ],
)
def test_late_night_tells_what_became_of_its_run(context: Context, run: Run, state: str) -> None:
    keep(context, run)
    late = late_night(context, at(DUE_DAY, "07:00"))
    assert late
    assert (late.state, late.reason) == (state, run.message or "")


def test_late_night_that_still_runs_says_so_also_while_it_catches_up(context: Context) -> None:
    catching_up = replace(night(BEFORE, "running"), started_at=at(DUE_DAY, "01:00"))
    keep(context, catching_up)
    with Leases(context.state).held(catching_up.run_id):
        late = late_night(context, at(DUE_DAY, "07:00"))
    assert late
    assert (late.day, late.state) == (DAY, "running")


@pytest.mark.parametrize("outcome", ["failed", "running"])
def test_backfill_of_another_day_is_no_run_of_the_night(context: Context, outcome: str) -> None:
    of_another_day = replace(night(BEFORE, outcome, kind=BACKFILL), started_at=at(DUE_DAY, "02:00"), message="why")
    keep(context, of_another_day)
    late = late_night(context, at(DUE_DAY, "07:00"))
    assert late
    assert (late.state, late.run_id, late.reason) == ("absent", "", "")
    keep(context, night(DAY, "failed", start="01:00", message="its own"))
    late = late_night(context, at(DUE_DAY, "07:00"))
    assert late
    assert (late.state, late.reason) == ("failed", "its own")


def test_due_time_is_a_setting_in_the_zone_of_the_project(state_url: str) -> None:
    settings = Settings(state_url=state_url, time_zone="UTC", alerts=AlertsSettings(watch=WatchSettings(due="23:30")))
    with Context(settings) as context:
        keep(context, night(DAY - timedelta(days=1), start="10:00"))  # 01:00 in UTC
        assert late_night(context, at(DUE_DAY + timedelta(days=1), "08:29")) is None
        assert late_night(context, at(DUE_DAY + timedelta(days=1), "08:30"))


def over(context: Context, one: Unfinished, reported: str = "07:00") -> bool:
    return bool(finished(context, {one.key: KnownKey(at(DUE_DAY, reported), "failure")}))


def test_late_night_is_over_when_its_day_is_done(context: Context) -> None:
    late = Unfinished("late", DAY, DAY, str(DUE_DAY))
    keep(context, night(BEFORE))
    assert not over(context, late)
    keep(context, night(DAY, "failed", start="06:58"))
    assert not over(context, late)
    keep(context, night(DAY, start="06:59"))  # while the watch was looking
    assert over(context, late)


def test_night_of_a_day_that_was_scored_while_it_lasted_is_late_until_it_is_done(context: Context) -> None:
    keep(context, night(BEFORE), replace(night(DAY), started_at=at(DAY, "15:00")))
    late = late_night(context, at(DUE_DAY, "07:00"))
    assert late
    assert (late.state, over(context, late.unfinished)) == ("absent", False)
    keep(context, night(DAY, start="07:30"))
    assert late_night(context, at(DUE_DAY, "08:00")) is None
    assert over(context, late.unfinished)


@pytest.mark.parametrize("outcome", ["completed", "kept"])
def test_failed_night_is_over_when_a_later_run_has_done_its_day(context: Context, outcome: str) -> None:
    failed = Unfinished("nightly", DAY, DAY, "f1")
    keep(context, night(BEFORE), night(DAY, "failed"))
    assert not over(context, failed, reported="01:06")
    keep(context, night(DAY, outcome, start="09:00"))
    assert over(context, failed, reported="01:06")


def test_night_that_was_taken_for_dead_is_over_when_it_ends_all_the_same(context: Context) -> None:
    """Its machine slept, or the state database was away, longer than its lease."""
    asleep = night(DAY, "running", start="01:00")
    keep(context, asleep)
    [dead] = dead_runs(context, at(DUE_DAY, "07:00"))
    assert not over(context, dead)
    keep(context, replace(asleep, outcome="completed", finished_at=at(DUE_DAY, "07:01")))
    assert over(context, dead)


def test_failed_night_is_not_over_while_a_day_that_it_would_catch_up_with_is_failed(context: Context) -> None:
    failed = Unfinished("nightly", DAY, DAY, "f1")
    keep(context, night(DAY - timedelta(days=3), "failed"), night(DAY, start="01:01"))
    assert not over(context, failed, reported="01:06")
    keep(context, night(DAY, start="09:00"))
    assert not over(context, failed, reported="01:06")
    keep(context, replace(night(DAY - timedelta(days=3)), run_id="again", started_at=at(DUE_DAY, "09:10")))
    assert over(context, failed, reported="01:06")


def test_failure_without_a_day_is_over_with_the_next_run_that_is_done(context: Context) -> None:
    failed = Unfinished("nightly", None, None, "nightly-UsageError-2026-03-14")
    keep(context, night(DAY))
    assert not over(context, failed)
    keep(context, night(DAY, "failed", start="07:01"), night(DAY, start="09:00"))
    assert over(context, failed)


def test_failed_backfill_is_over_when_all_its_days_are_done(context: Context) -> None:
    failed = Unfinished("backfill", BEFORE, DAY, "f1")
    keep(context, night(BEFORE, kind=BACKFILL), night(DAY, "failed", kind=BACKFILL))
    keep(context, night(DUE_DAY, start="01:00"))
    assert not over(context, failed)
    keep(context, night(DAY, kind=BACKFILL, start="08:00"))
    assert over(context, failed)


@pytest.mark.parametrize("run", [night(DAY), night(BEFORE, kind=INTRADAY)])
def test_failed_intraday_run_is_over_with_the_next_one_or_the_night(context: Context, run: Run) -> None:
    failed = Unfinished("intraday", run.score_date, run.score_date, "f1")
    told_at = run.started_at - timedelta(minutes=5)
    assert not finished(context, {failed.key: KnownKey(told_at, "failure")})
    keep(context, run)
    assert finished(context, {failed.key: KnownKey(told_at, "failure")})


@pytest.mark.parametrize(
    ("kind", "day", "outcome", "start"),
    [
        (INTRADAY, DAY, "completed", "09:00"),
        (INTRADAY, DAY, "failed", "11:00"),
        (NIGHTLY, DAY, "failed", "11:00"),
        (TEST_RUN, DAY, "completed", "11:00"),
        (NIGHTLY, BEFORE, "completed", "11:00"),
    ],
)
def test_failed_intraday_run_is_not_over_with_an_earlier_one_or_another_that_fails(
    context: Context, kind: str, day: date, outcome: str, start: str
) -> None:
    begun = at(DAY, start)
    run = replace(night(day, outcome, kind=kind), started_at=begun, finished_at=begun + timedelta(minutes=5))
    keep(context, run)
    failed = Unfinished("intraday", DAY, DAY, "f1")
    assert not finished(context, {failed.key: KnownKey(at(DAY, "10:05"), "failure")})


def test_failed_night_of_several_services_is_over_when_all_have_done_its_day(state_url: str) -> None:
    services = tuple(ServiceSettings(name=name, source="rows") for name in ("hiring", "support"))
    with Context(Settings(state_url=state_url, monitoring=MonitoringSettings(service=services))) as context:
        failed = Unfinished("nightly", DAY, DAY, "f1")
        for service, is_over in zip(context.services, (False, True), strict=True):
            name = service.settings.service
            keep(service, replace(night(DAY, start="09:00"), run_id=f"of {name}", service=name))
            assert over(context, failed) is is_over


def test_what_was_called_off_is_not_called_off_again(context: Context) -> None:
    late = Unfinished("late", DAY, DAY, str(DUE_DAY))
    keep(context, night(DAY, start="09:00"))
    reported, over = KnownKey(at(DUE_DAY, "07:00"), "late"), KnownKey(at(DUE_DAY, "09:10"), "all_clear")
    assert not finished(context, {late.key: reported, late.over_key + "#1/2": over})


@pytest.mark.parametrize(
    ("reported", "knows"),
    [
        (Unfinished("backfill", DAY, DUE_DAY, "of the flow"), True),
        (Unfinished("backfill", BEFORE, DUE_DAY, "of the flow"), True),
        (Unfinished("backfill", DUE_DAY, DUE_DAY, "of the flow"), False),
        (Unfinished("backfill", BEFORE, DAY, "of the flow"), False),
        (Unfinished("nightly", DAY, DUE_DAY, "of the flow"), False),
        (Unfinished("backfill", None, None, "of the flow"), True),
        (Unfinished("nightly", None, None, "of the flow"), False),
    ],
)
def test_failure_is_known_to_whoever_was_notified_of_all_its_days(reported: Unfinished, *, knows: bool) -> None:
    """A run that died is reported by its flow or by `aqb watch`, once, each under a name of its own."""
    assert Unfinished("backfill", DAY, DUE_DAY, "of its run").is_covered_by(reported) is knows


@pytest.mark.parametrize(
    ("work", "command"),
    [
        ("nightly", "aqb nightly --date 2026-03-13"),
        ("backfill", "aqb backfill --from 2026-03-13 --to 2026-03-14"),
        ("intraday", "aqb nightly --intraday"),
        ("test-runs", "aqb test-runs"),
    ],
)
def test_unfinished_work_names_the_command_that_does_it(work: str, command: str) -> None:
    assert Unfinished(work, DAY, DUE_DAY, "run").command == command


def test_run_of_the_inbox_that_died_is_made_good_by_those_that_score_its_files(context: Context) -> None:
    files = [{"sha256": name * 64} for name in "ab"]
    died = replace(night(DAY, "running", kind=TEST_RUN), inputs=files)
    keep(context, died, replace(night(DAY, start="02:00", kind=TEST_RUN), inputs=files[:1]))
    assert [run.run_id for run in dead_runs(context, at(DUE_DAY, "03:00")).values()] == [died.run_id]
    keep(context, replace(night(DAY, start="04:00", kind=TEST_RUN), inputs=files[1:]))
    assert dead_runs(context, at(DUE_DAY, "05:00")) == {}


def test_night_owes_nothing_while_a_run_that_catches_up_is_to_tell_of_its_days(context: Context) -> None:
    caught_up = {"rows_in": 535, "started_at": at(DUE_DAY, "01:01"), "finished_at": at(DUE_DAY, "01:06")}
    keep(context, replace(night(BEFORE), **caught_up), catching_up := night(DAY, "running"))  # type: ignore[arg-type]
    later = at(DUE_DAY, "02:00")
    with Leases(context.state).held(catching_up.run_id):
        assert unreported_nights(context, later) == {}
    assert unreported_nights(context, later)  # it died


@pytest.mark.parametrize(
    ("outcome", "when", "owes"), [("completed", 1, True), ("completed", 25, False), ("failed", 1, False)]
)
def test_night_owes_its_messages_for_a_day_where_it_was_completed(
    context: Context, outcome: str, when: int, *, owes: bool
) -> None:
    run = replace(night(DAY, outcome), rows_in=535)
    keep(context, run)
    assert run.finished_at
    assert bool(unreported_nights(context, run.finished_at + timedelta(hours=when))) is owes
