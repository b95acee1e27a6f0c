"""What messages say of a day that is in the warehouse."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.facts import AlertFact
from scoring.alerting.growth import TEMPLATE
from scoring.alerting.messages import RouteFilter
from scoring.alerting.snoozes import Snooze, is_snoozed
from scoring.alerting.watch import AlertPolicy
from scoring.days import day_text
from tasks.alerts.day_digest import day_digest, read_week
from tasks.alerts.rule_rates import rates_of_rule
from tasks.chat.tables import read_alerts, write_alerts
from tasks.files.report_paths import ReportPaths
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import BEST_QUESTION, DAY, RUBRIC, best, refused, write_rows
from tests.builders.scored_days import write_scored_day

MINUTES_A_DAY = 24 * 60
FIRST_RISEN = 21
USUAL = ["이체 방법", "환전 우대", "대출 금리", "예금 만기", "카드 재발급"]

NEW = "하늘전자(005930) 공매도 잔고 추이"


@pytest.fixture
def warehouse(tmp_path: Path) -> FolderWarehouse:
    """Three weeks with five refused questions a day, then two days with a new one that fails five times."""
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for number in range(FIRST_RISEN + 2):
        start = number * MINUTES_A_DAY
        rows = [refused(start + minute, user_input=question) for minute, question in enumerate(USUAL)]
        _score(warehouse, number, [*rows, *_turns(number, 95, new=5 if number >= FIRST_RISEN else 0)], tmp_path)
    return warehouse


def _turns(number: int, good: int, new: int) -> list[dict[str, Any]]:
    """So many good answers on a day, and so many refusals of the new question, each in a session of its own."""
    start = number * MINUTES_A_DAY
    refusals = [refused(start + 10 + minute, user_input=NEW, session_id=f"s{minute}") for minute in range(new)]
    return [*refusals, *(best(start + 20 + minute) for minute in range(good))]


def _score(warehouse: FolderWarehouse, number: int, rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    day = _day(number)
    write_scored_day(warehouse, day, write_rows(folder / f"{day}.jsonl", rows))
    write_alerts(warehouse, day, RUBRIC, 0)


def _day(number: int) -> date:
    return DAY + timedelta(days=number)


# Each of its days has too few rows to name it, and after a week the days before a day have it as well.
@pytest.mark.long
def test_rise_of_several_days_names_what_grew_since_it_began(warehouse: FolderWarehouse) -> None:
    day, began = _day(FIRST_RISEN + 1), _day(FIRST_RISEN)
    digest = day_digest(warehouse, RUBRIC, day, [], ReportPaths(Path("reports")), AlertPolicy())
    (message,) = day_messages(digest, RouteFilter())
    shown = json.dumps(message.blocks, ensure_ascii=False)
    (of_day,) = [one for one in read_alerts(warehouse, [day])[day] if _rule(one) == ("answer_failed", "*")]
    assert of_day.grown == ()
    assert (
        f"{day_text(began)}부터 '{{종목}} {{종목코드}} 공매도 잔고 추이' 형태의 질문 10건, 앞선 날들의 비율로는 0건"
        in shown
    )
    assert f"{day_text(began)}부터 20/210건 (9.5%, 그 전 5.0%)" in shown
    assert [NEW in shown, *(question in shown for question in USUAL)] == [True, *[False] * len(USUAL)]


@pytest.mark.long
def test_rise_is_compared_with_days_outside_an_earlier_rise(tmp_path: Path) -> None:
    warehouse, earlier, began, last = FolderWarehouse(tmp_path / "warehouse"), range(10, 13), 30, 31
    for number in range(last + 1):
        start = number * MINUTES_A_DAY
        usual = [refused(start + minute, user_input=question) for minute, question in enumerate(USUAL)]
        incident = [refused(start + 200 + minute, user_input=NEW) for minute in range(20 if number in earlier else 0)]
        rows = [*usual, *incident, *_turns(number, 95, new=5 if number >= began else 0)]
        _score(warehouse, number, rows, tmp_path)
    digest = day_digest(warehouse, RUBRIC, _day(last), [], ReportPaths(Path("reports")), AlertPolicy())
    (one,) = (one for one in digest.incidents if (one.fact.rule, one.fact.tenant_id) == ("answer_failed", "*"))
    assert (one.since, one.so_far) == (_day(began), ((20, 210), (5 * 25, 100 * 25)))
    assert [grown.usual for grown in one.fact.grown if grown.column == TEMPLATE] == [0]


def test_message_says_that_one_chat_made_most_of_a_rise(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for number in range(10):
        start = number * MINUTES_A_DAY
        usual = [refused(start + minute, user_input=text, session_id=text) for minute, text in enumerate(USUAL)]
        one_chat = [refused(start + 200 + minute, session_id="one") for minute in range(25 if number == 9 else 0)]
        _score(warehouse, number, [*usual, *one_chat, *_turns(number, 95, new=0)], tmp_path)
    digest = day_digest(warehouse, RUBRIC, _day(9), [], ReportPaths(Path("reports")), AlertPolicy())
    (page, *_) = day_messages(digest, RouteFilter())
    assert page.kind == "page"
    assert "· 한 세션에서 25건" in readable(page.blocks)


def test_warning_with_the_rows_of_a_page_is_reported_with_it_and_its_end_by_itself_is_none(tmp_path: Path) -> None:
    """Whoever was woken by refusals needs no second message about the same answers being short."""
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for number in range(15):
        start, many = number * MINUTES_A_DAY, 40 if number == 10 else 0
        usual = [refused(start + minute, user_input=text) for minute, text in enumerate(USUAL)]
        short = [refused(start + 200 + minute, user_input=BEST_QUESTION, output_tokens=60.0) for minute in range(many)]
        _score(warehouse, number, [*usual, *short, *_turns(number, 95, new=0)], tmp_path)
    incident, *after = (
        day_digest(warehouse, RUBRIC, _day(number), [], ReportPaths(Path("reports")), AlertPolicy())
        for number in range(10, 15)
    )
    (page,) = day_messages(incident, RouteFilter())
    assert page.kind == "page"
    assert "답변했지만 매우 짧음 · 급증, 평소의 6.4배\n45/140건" in readable(page.blocks)
    of_warnings = [key for key in page.keys if "very_short_answer" in key]
    ends = [over for day in after for over in day_messages(day, RouteFilter(), page.keys, page.keys)]
    assert any("해소: 답변 실패" in readable(over.blocks) for over in ends)
    assert [over for day in after for over in day_messages(day, RouteFilter(), page.keys, of_warnings)] == []


def test_warning_that_a_digest_told_before_is_in_the_page_of_its_rows(tmp_path: Path) -> None:
    """A day later the same short answers are refusals: the Warning is no news, so its rows are not looked at."""
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    for number in range(12):
        start = number * MINUTES_A_DAY
        rows = [refused(start + minute, user_input=text) for minute, text in enumerate(USUAL)]
        make, many = {10: (best, 30), 11: (refused, 40)}.get(number, (best, 0))
        rows += [make(start + 200 + minute, user_input=BEST_QUESTION, output_tokens=60.0) for minute in range(many)]
        _score(warehouse, number, [*rows, *_turns(number, 95, new=0)], tmp_path)
    told, paged = (
        day_digest(warehouse, RUBRIC, _day(number), [], ReportPaths(Path("reports")), AlertPolicy())
        for number in (10, 11)
    )
    (digest,) = day_messages(told, RouteFilter())
    (page,) = day_messages(paged, RouteFilter(), digest.keys)
    rules = [{key.split("|")[1] for key in one.keys} for one in (digest, page)]
    assert ("answer_failed" in rules[0], {"answer_failed", "very_short_answer"} <= rules[1]) == (False, True)
    assert "very_short_answer" in rules[0]
    assert (digest.kind, page.kind) == ("digest", "page")


def test_week_is_compared_with_all_days_of_the_week_before_it_and_none_older(tmp_path: Path) -> None:
    warehouse = FolderWarehouse(tmp_path / "warehouse")
    new = [30, *[0] * 6, 4, *[6] * 7]
    for number, count in enumerate(new):
        _score(warehouse, number, _turns(number, 20, count), tmp_path)
    week = read_week(warehouse, RUBRIC, _day(14), ReportPaths(tmp_path / "reports"), "run", AlertPolicy())
    (grown,) = [one for one in week.growth["answer_failed", "*"].grown if one.column == TEMPLATE]
    turns, turns_before = 7 * (20 + 6), 7 * 20 + 4
    assert grown.count == 7 * 6
    assert grown.usual == pytest.approx(4 * turns / turns_before)


def _rule(fact: AlertFact) -> tuple[str, str | None]:
    return fact.rule, fact.tenant_id


def test_snooze_of_a_kpi_is_made_at_its_last_four_weeks_and_holds_below_twice_of_them(
    warehouse: FolderWarehouse,
) -> None:
    day = _day(FIRST_RISEN + 1)
    last, rates = rates_of_rule(warehouse, RUBRIC, "kpi_failure_rate", day)
    digest = day_digest(warehouse, RUBRIC, day, [], ReportPaths(Path("reports")), AlertPolicy())
    (missed,) = [one for one in digest.incidents if _rule(one.fact) == ("kpi_failure_rate", "*")]
    assert (last, missed.fact.rows) == (day, 21 * 100 + 2 * 105)
    assert rates["*"] == pytest.approx((21 * 5 + 2 * 10) / missed.fact.rows - 0.03)
    snooze = Snooze("kpi_failure_rate", "*", day, "새 프롬프트", "kim", datetime(2026, 2, 13, tzinfo=UTC), rates)
    assert is_snoozed(missed, [snooze])
    assert not is_snoozed(missed, [replace(snooze, rates={"*": rates["*"] / 2})])
