"""Which days a backfill and a nightly run have to score, by the ledger and the rows of the source."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.catalog import row_rubric_of_text
from scoring.chat.day_content import DayContent
from scoring.days import days_between
from scoring.errors import InputError, UsageError
from tasks.chat.day_plan import (
    EarlierDays,
    PlannedDay,
    backfill_plan,
    day_parameters,
    days_kept,
    days_out_of_reach,
    earlier_days,
    finished_night,
    portions,
    source_contents,
    stale_days,
    worthwhile_workers,
)
from tasks.chat.sources import ChatRowFiles
from tasks.chat.tables import KPIS
from tasks.config.settings import MonitoringSettings, Settings
from tasks.state.run_ledger import Run, RunLedger
from tasks.warehouse import open_warehouse
from tasks.warehouse.tables import SCORES
from tests.builders.chat_rows import DAY, RUBRIC, plain, write_rows
from tests.builders.nights import at
from tests.builders.state import in_context, opened

A_DAY = 24 * 60
NEXT = DAY + timedelta(days=1)
LAST = DAY + timedelta(days=4)
FAR = date(2030, 1, 1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A source with one row on each of five days, and an empty ledger."""
    write_rows(tmp_path / "rows.jsonl", [plain(number * A_DAY) for number in range(5)])
    return Settings(
        warehouse=str(tmp_path / "warehouse"),
        state_url=f"sqlite:///{tmp_path}/state.db",
        monitoring=MonitoringSettings(source=str(tmp_path / "rows.jsonl")),
    )


def done(settings: Settings, *days: date, **differently: object) -> None:
    """Runs of these days, as they end after the rows of the source have been scored."""
    with opened(RunLedger, settings.state_url) as ledger:
        for day in days:
            found = source_contents(ChatRowFiles([settings.monitoring.source]), day, day, settings.time_zone)
            run = Run(
                run_id=f"{day} {len(ledger.of_day(day))}",
                kind="nightly",
                score_date=day,
                rubric=RUBRIC.id,
                rubric_version=RUBRIC.version,
                code_version="0",
                started_at=at(day + timedelta(days=1), "01:00") + timedelta(hours=len(ledger.of_day(day))),
                outcome="completed",
                parameters=day_parameters(settings, RUBRIC),
                content=found.of(day).fingerprint,
            )
            ledger.save(replace(run, **differently))  # type: ignore[arg-type]
            open_warehouse(settings.warehouse).replace_day(KPIS, day, RUBRIC.kpis_schema, [])


def to_score(settings: Settings, *, force: bool = False) -> list[int]:
    plan = in_context(backfill_plan, settings, DAY, LAST, FAR)
    return [(planned.day - DAY).days for planned in plan.to_score(force=force)]


def rewrite_row(settings: Settings, number: int) -> None:
    rows = [plain(one * A_DAY, **({"output_tokens": 7.0} if one == number else {})) for one in range(5)]
    write_rows(Path(settings.monitoring.source), rows)


def test_days_that_were_scored_as_they_would_be_now_are_up_to_date(settings: Settings) -> None:
    done(settings, DAY, LAST)
    assert to_score(settings) == [1, 2, 3]
    assert to_score(settings, force=True) == [0, 1, 2, 3, 4]
    plan = in_context(backfill_plan, settings, DAY, LAST, FAR)
    assert [planned.content.rows for planned in plan.days] == [1] * 5
    assert plan.failures == ()


@pytest.mark.parametrize(
    "differently",
    [
        {"outcome": "failed"},
        {"outcome": "running"},
        {"kind": "intraday"},
        {"rubric_version": "0"},
        {"parameters": {"time_zone": "UTC"}},
        {"parameters": None},
        {"content": None},
    ],
    ids=str,
)
def test_day_whose_latest_run_was_another_is_to_be_scored(settings: Settings, differently: dict[str, object]) -> None:
    done(settings, *days_between(DAY, LAST))
    done(settings, NEXT, **differently)
    assert to_score(settings) == [1]


def test_days_of_other_rules_in_the_same_version_of_a_file_are_to_be_scored(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "our.toml"
    written = Path("docs/examples/ola-monitoring.toml").read_text(encoding="utf-8")
    file.write_text(written, encoding="utf-8")
    by_file = settings.model_copy(update={"monitoring": settings.monitoring.model_copy(update={"rubric": str(file)})})
    rubric = row_rubric_of_text(written)
    of_earlier_code = {name: value for name, value in day_parameters(by_file, rubric).items() if name != "rules"}
    done(by_file, DAY, parameters=of_earlier_code)
    done(by_file, *days_between(NEXT, LAST), parameters=day_parameters(by_file, rubric))
    assert to_score(by_file) == []
    file.write_text(f"# A comment\n{written}", encoding="utf-8")
    assert to_score(by_file) == []
    later = '[columns.answer_is_long]\ntitle = "긴 답변"\nvalue = "answer_length > 500"\nadded_later = true\n'
    file.write_text(f"{written}\n{later}", encoding="utf-8")
    assert to_score(by_file) == []
    file.write_text(written.replace("at_least = 80", "at_least = 81"), encoding="utf-8")
    assert to_score(by_file) == [1, 2, 3, 4]
    plan = in_context(backfill_plan, by_file, DAY, LAST, FAR)
    assert {planned.reason for planned in plan.days} == {None, f"rules of {rubric.id} {rubric.version} changed"}


def test_test_run_of_the_same_day_says_nothing_about_its_chat_rows(settings: Settings) -> None:
    done(settings, *days_between(DAY, LAST))
    done(settings, NEXT, kind="test_run", outcome="failed")
    assert to_score(settings) == []


def test_changed_rows_and_lost_tables_are_scored_again(settings: Settings, tmp_path: Path) -> None:
    done(settings, *days_between(DAY, LAST))
    rewrite_row(settings, 3)
    (tmp_path / "warehouse" / KPIS / f"{DAY}.parquet").unlink()
    assert to_score(settings) == [0, 3]


def test_day_whose_scores_are_gone_is_scored_again_and_one_without_any_is_not(settings: Settings) -> None:
    done(settings, *days_between(DAY, LAST), scored=1)
    done(settings, LAST, scored=0)
    warehouse = open_warehouse(settings.warehouse)
    for day in (DAY, *days_between(NEXT + timedelta(days=1), LAST - timedelta(days=1))):
        warehouse.replace_day(SCORES, day, RUBRIC.scores_schema, [])
    assert to_score(settings) == [1]
    Path(settings.warehouse, SCORES, f"{DAY}.parquet").unlink()  # the first day: in a folder nothing expires
    assert to_score(settings) == [0, 1]


@pytest.mark.parametrize(
    ("first", "last", "says"), [(NEXT, DAY, "swap"), (DAY, FAR, "not over"), (FAR, FAR, "not over")]
)
def test_days_that_are_no_range_or_not_over_are_refused(settings: Settings, first: date, last: date, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        in_context(backfill_plan, settings, first, last, FAR)
    assert refused.value.fix


def test_plan_without_a_source_is_an_error(settings: Settings) -> None:
    gone = settings.model_copy(update={"monitoring": MonitoringSettings(source="nowhere")})
    with pytest.raises(InputError, match="nothing to read"):
        in_context(backfill_plan, gone, DAY, LAST, FAR)


def test_days_are_read_in_portions_by_their_bytes(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    days = in_context(backfill_plan, settings, DAY, LAST, FAR).days
    assert list(portions(days)) == [[planned.day for planned in days]]
    monkeypatch.setattr("tasks.chat.day_plan.PORTION_BYTES", 2 * days[0].content.bytes)
    assert [len(portion) for portion in portions(days)] == [2, 2, 1]
    assert len(list(portions([*days] * 40))) == 10, "all files are read for each of them"
    assert list(portions([])) == []


# --- What a nightly run does before its own day ---------------------------------------------------------------------


def test_first_night_has_nothing_to_catch_up(settings: Settings) -> None:
    assert in_context(earlier_days, settings, LAST) == EarlierDays()


def test_days_after_one_that_was_done_are_missing_until_they_are_done(settings: Settings) -> None:
    done(settings, DAY)
    assert in_context(earlier_days, settings, LAST).missing == tuple(days_between(NEXT, LAST - timedelta(days=1)))
    done(settings, NEXT, outcome="failed")
    done(settings, NEXT + timedelta(days=1), kind="intraday")  # a part of the day
    done(settings, LAST - timedelta(days=1))
    assert in_context(earlier_days, settings, LAST).missing == (NEXT, NEXT + timedelta(days=1))
    done(settings, LAST - timedelta(days=1), outcome="failed", content=None)  # missing, and not late as well
    found = in_context(earlier_days, settings, LAST)
    assert (found.missing, found.late) == (tuple(days_between(NEXT, LAST - timedelta(days=1))), ())


@pytest.mark.parametrize("first", [DAY, NEXT], ids=["after a night", "first of all"])
def test_day_that_was_scored_while_it_lasted_is_missing_until_a_run_after_it(settings: Settings, first: date) -> None:
    done(settings, *days_between(first, LAST - timedelta(days=1)))
    done(settings, NEXT, started_at=at(NEXT, "15:00") + timedelta(minutes=1))
    assert in_context(earlier_days, settings, LAST).missing == ()  # the night after it has done it
    with opened(RunLedger, settings.state_url) as ledger:
        (whole, part) = sorted(ledger.of_day(NEXT), key=lambda run: run.started_at, reverse=True)
        ledger.save(replace(whole, outcome="failed", started_at=part.started_at - timedelta(hours=1)))
    assert in_context(earlier_days, settings, LAST).missing == (NEXT,)
    far = NEXT + timedelta(days=settings.monitoring.catch_up_days + 1)
    assert NEXT in in_context(days_out_of_reach, settings, far)


def test_day_that_was_scored_while_it_lasted_is_scored_again_although_no_rows_came_since(settings: Settings) -> None:
    done(settings, DAY)
    for started_at, again in ((at(NEXT, "23:59"), True), (at(NEXT + timedelta(days=1), "00:00"), False)):
        done(settings, NEXT, started_at=started_at)
        assert (in_context(finished_night, settings, NEXT) is None) is again
        assert (1 in to_score(settings)) is again


@pytest.mark.parametrize("back", [1, 4], ids=["yesterday", "further than a night looks back"])
def test_day_of_which_a_part_was_scored_is_kept_once_while_its_rows_are_gone(settings: Settings, back: int) -> None:
    day = LAST - timedelta(days=back)
    done(settings, *days_between(DAY, LAST - timedelta(days=1)))
    with opened(RunLedger, settings.state_url) as ledger:
        (whole,) = ledger.of_day(day)
        ledger.save(replace(whole, started_at=at(day, "23:00"), content="rows that are gone"))
    assert in_context(earlier_days, settings, LAST).missing == (day,)
    done(settings, day, outcome="kept", message="the source lost rows")
    found = in_context(earlier_days, settings, LAST)
    assert (found.missing, found.late, found.kept) == ((), (), {day: "the source lost rows"})
    assert in_context(days_kept, settings, LAST) == [day]  # `aqb status` does not say that a night completes it
    rewrite_row(settings, 4 - back)
    assert in_context(earlier_days, settings, LAST).missing == (day,)


def test_empty_night_of_a_clock_a_year_back_is_no_beginning(settings: Settings) -> None:
    done(settings, DAY - timedelta(days=365), rows_in=0)
    done(settings, *days_between(DAY, LAST), rows_in=1)
    far = LAST + timedelta(days=settings.monitoring.catch_up_days + 1)
    assert in_context(days_out_of_reach, settings, far) == []


def test_late_rows_make_a_done_day_of_the_last_two_due_again(settings: Settings) -> None:
    done(settings, *days_between(DAY, LAST - timedelta(days=1)))
    assert in_context(earlier_days, settings, LAST) == EarlierDays()
    rewrite_row(settings, 3)
    assert in_context(earlier_days, settings, LAST).late == (DAY + timedelta(days=3),)
    rewrite_row(settings, 1)  # further back than two days
    assert in_context(earlier_days, settings, LAST).late == ()


def test_how_far_a_night_looks_back_is_set(settings: Settings) -> None:
    done(settings, *days_between(DAY, LAST - timedelta(days=1)))
    rewrite_row(settings, 0)
    far = settings.model_copy(update={"monitoring": settings.monitoring.model_copy(update={"lookback_days": 4})})
    assert in_context(earlier_days, far, LAST).late == (DAY,)
    near = settings.model_copy(
        update={"monitoring": settings.monitoring.model_copy(update={"lookback_days": 0, "catch_up_days": 0})}
    )
    assert in_context(earlier_days, near, LAST) == EarlierDays()


def test_gap_longer_than_a_night_catches_up_is_named(settings: Settings) -> None:
    done(settings, DAY)
    later = DAY + timedelta(days=20)
    found = in_context(earlier_days, settings, later)
    assert found.missing == tuple(days_between(DAY + timedelta(days=6), DAY + timedelta(days=19)))
    assert found.out_of_reach == (NEXT, DAY + timedelta(days=5))
    reach = settings.monitoring.catch_up_days
    ends = [in_context(earlier_days, settings, NEXT + timedelta(days=reach + more)).out_of_reach for more in (0, 1)]
    assert ends == [None, (NEXT, NEXT)]


@pytest.mark.parametrize(
    ("days", "rows", "cores", "workers"),
    [
        pytest.param(0, 0, 2, 1, id="none"),
        pytest.param(1, 10_000_000, 16, 1, id="one day"),
        pytest.param(180, 535, 16, 1, id="half a year of small days"),
        pytest.param(365, 535, 16, 2, id="a year of small days"),
        pytest.param(40, 10_000, 2, 1, id="a month of a medium size"),
        pytest.param(30, 100_000, 2, 2, id="large days"),
        pytest.param(30, 100_000, 16, 5, id="large days on more cores"),
    ],
)
def test_worthwhile_workers_are_none_for_few_small_days(days: int, rows: int, cores: int, workers: int) -> None:
    planned = [PlannedDay(DAY + timedelta(days=number), DayContent(rows=rows), "missing") for number in range(days)]
    assert worthwhile_workers(planned, cores) == workers


def test_stale_days_are_those_that_ended_under_other_rules_up_to_a_day(settings: Settings) -> None:
    days = [DAY + timedelta(days=number) for number in range(4)]
    done(settings, days[0])
    done(settings, *days[1:], rubric_version="0")
    done(settings, days[2], outcome="running", rubric_version="0")  # a run works on it
    expected = {days[1]: f"rubric 0 -> {RUBRIC.version}"}
    assert in_context(stale_days, settings, days[2]) == expected
    assert in_context(stale_days, settings, days[3]) == expected | {days[3]: expected[days[1]]}


@pytest.mark.parametrize(
    ("reason", "force", "said"),
    [(None, False, "up to date"), (None, True, "forced"), ("missing", False, "missing"), ("missing", True, "missing")],
)
def test_planned_day_says_how_many_rows_it_has_and_why_it_is_scored(
    reason: str | None, *, force: bool, said: str
) -> None:
    planned = PlannedDay(DAY, DayContent(rows=1_234), reason)
    assert planned.text(force=force, allow_shrink=False).endswith(f" 1,234 rows  {said}")
