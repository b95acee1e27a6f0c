"""What a day is said to begin with: seldom where nothing changes, always where something broke."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial

import pytest

from scoring.alerting.decision import DayDecisions, WatchedDays
from scoring.alerting.facts import AlertFact
from scoring.alerting.growth import NO_TOKENS, Grown
from scoring.alerting.standing_out import standing_out
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.row_ids import OUTPUT_TOKENS
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, KpiRow, kpi_row, usual_load


def of_days(load: list[KpiRow], facts: Sequence[AlertFact] = ()) -> dict[date, list[str]]:
    """What stands out on each of consecutive days of all tenants together."""
    rows, decided = decided_days(load)
    return {day: standing_out(RUBRIC, rows, day, partial(decided.__getitem__, day), facts) for day in rows}


def decided_days(load: list[KpiRow]) -> tuple[dict[date, KpiRow], Mapping[date, DayDecisions]]:
    """The rows of all tenants together of consecutive days, and what is decided about each."""
    rows = {FIRST_DAY + timedelta(number): row for number, row in enumerate(load)}
    return rows, WatchedDays(RUBRIC, {day: [row] for day, row in rows.items()}, AlertPolicy()).decided


@pytest.mark.long
def test_in_a_year_without_a_change_something_stands_out_on_few_days() -> None:
    said = [day for seed in range(2) for day, rules in of_days(usual_load(seed, 365)).items() if rules]
    assert len(said) <= 2 * 12


@pytest.mark.long
def test_sunday_with_four_times_the_failures_stands_out() -> None:
    sunday = 9 * 7 - 1
    times: Callable[[int, str], float] = lambda day, rule: 4 if (day, rule) == (sunday, "answer_failed") else 1  # noqa: E731
    for seed in range(5):
        found = of_days(usual_load(seed, sunday + 1, times))
        assert found[FIRST_DAY + timedelta(sunday)][:1] == ["answer_failed"]


def test_what_pages_stands_before_what_comes_first_in_the_rubric() -> None:
    usual = kpi_row({"answer_failed": 30, "llm_blocked": 2})
    found = of_days([*[usual] * 20, kpi_row({"answer_failed": 52, "llm_blocked": 40})])
    assert list(found.values())[-1] == ["llm_blocked", "answer_failed"]


@pytest.mark.parametrize(("shared", "first"), [(70, "llm_blocked"), (2, "answer_failed")])
def test_cause_that_the_page_of_the_day_names_stands_first(shared: int, first: str) -> None:
    """Else the report sends people to the failed answers, and the message to the blocked calls which they are."""
    pair = "alerts_answer_failed_and_llm_blocked"
    usual = kpi_row({"answer_failed": 30, "llm_blocked": 5}) | {pair: 5}
    found = of_days([*[usual] * 20, kpi_row({"answer_failed": 100, "llm_blocked": 76}) | {pair: shared}])
    assert list(found.values())[-1][0] == first


@pytest.mark.parametrize(("failed", "first"), [(52, "weak_answer"), (90, "answer_failed")])
def test_rule_whose_rows_lack_their_tokens_stands_before_what_is_graver_but_does_not_page(
    failed: int, first: str
) -> None:
    usual, today = (kpi_row({"answer_failed": a, "weak_answer": w}) for a, w in ((30, 10), (failed, 60)))
    lacking = Grown(OUTPUT_TOKENS, NO_TOKENS, 60, 0.0, 1.2, 1.0, 1.4)
    weak = AlertFact("weak_answer", "warning", "", ALL_TENANTS, 60, 700, grown=(lacking,))
    of_all = AlertFact("answer_failed", "critical", "", ALL_TENANTS, failed, 700)
    of_tenant = AlertFact("answer_failed", "critical", "", "t1", 9, 9, grown=(lacking,))
    assert [*of_days([*[usual] * 20, today], [of_all]).values()][-1] == ["answer_failed", "weak_answer"]
    assert [*of_days([*[usual] * 20, today], [of_all, of_tenant, weak]).values()][-1][0] == first


def test_what_pages_on_the_day_stands_before_what_has_paged_and_lasts() -> None:
    usual, high = {"answer_failed": 30, "llm_blocked": 2}, {"answer_failed": 80, "llm_blocked": 2}
    found = of_days([*[kpi_row(usual)] * 20, *[kpi_row(high)] * 3, kpi_row(high | {"llm_blocked": 40})])
    assert list(found.values())[-1] == ["llm_blocked", "answer_failed"]


def test_what_has_paged_and_lasts_stands_before_what_rises_and_does_not_page() -> None:
    usual, high = {"answer_failed": 30, "llm_blocked": 2}, {"answer_failed": 30, "llm_blocked": 40}
    found = of_days([*[kpi_row(usual)] * 20, *[kpi_row(high)] * 3, kpi_row(high | {"answer_failed": 48})])
    assert list(found.values())[-1] == ["llm_blocked", "answer_failed"]


def test_rise_of_weeks_stands_out_also_where_the_last_seven_days_had_it() -> None:
    found = list(of_days([*[kpi_row({"answer_failed": 20})] * 28, *[kpi_row({"answer_failed": 60})] * 12]).values())
    assert found[-2:] == [["answer_failed"]] * 2


def test_rise_of_nearly_four_weeks_stands_out_where_one_week_before_them_is_known() -> None:
    found = of_days([*[kpi_row({"answer_failed": 20})] * 9, *[kpi_row({"answer_failed": 40})] * 27])
    assert list(found.values())[-1] == ["answer_failed"]


def test_what_was_more_than_eight_weeks_ago_is_not_what_is_usual() -> None:
    once, since, today = (kpi_row({"answer_failed": count}) for count in (60, 20, 41))
    assert list(of_days([*[once] * 28, *[since] * 56, today]).values())[-1] == ["answer_failed"]


def test_day_at_its_usual_rate_does_not_stand_out_while_a_rise_before_it_is_watched() -> None:
    found = of_days(
        [*[kpi_row({"answer_failed": 20})] * 28, kpi_row({"answer_failed": 90}), kpi_row({"answer_failed": 20})]
    )
    assert list(found.values())[-2:] == [["answer_failed"], []]


@pytest.mark.parametrize("rising", ["answer_failed", "good_question_bad_answer"])
def test_whatever_pages_in_a_slow_rise_stands_out_on_that_day(rising: str) -> None:
    slow: Callable[[int, str], float] = lambda day, rule: 1 + max(0, day - 35) / 20 if rule == rising else 1  # noqa: E731
    paged = 0
    for seed in range(4):
        rows, decided = decided_days(usual_load(seed, 70, slow))
        for day, of_day in decided.items():
            pages = {one.rule for one in of_day.values() if one.pages and one.is_high}
            assert pages <= {*standing_out(RUBRIC, rows, day, partial(decided.__getitem__, day))}
            paged += len(pages)
    assert paged
