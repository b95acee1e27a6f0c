from dataclasses import replace
from datetime import date, timedelta

import pytest

from scoring.alerting.facts import AlertFact
from scoring.alerting.incidents import Incident, incidents
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, counted, days_of_facts, kpi_row, met

Facts = dict[date, list[AlertFact]]


def day(number: int) -> date:
    return FIRST_DAY + timedelta(number)


def on(facts: Facts, when: date) -> list[Incident]:
    return incidents(when, facts[when], facts, RUBRIC)


def states(facts: Facts) -> list[str]:
    """The state of the one incident on each day, '' where there is none to tell."""
    return ["".join(one.state for one in on(facts, when)) for when in facts]


def test_a_rule_that_fires_every_day_is_new_once() -> None:
    assert states(counted([3, 4, 2, 5, 3])) == ["new", *["continuing"] * 4]


def test_a_quiet_day_within_a_week_makes_nothing_new() -> None:
    assert states(counted([3, 0, 0, 2])) == ["new", "", "", "continuing"]


def test_after_seven_quiet_days_it_is_over_and_the_next_time_is_new() -> None:
    assert states(counted([3, *[0] * 7, 2])) == ["new", *[""] * 6, "resolved", "new"]
    assert states(counted([3, *[0] * 6, 2])) == ["new", *[""] * 6, "continuing"]


def test_nothing_is_resolved_twice() -> None:
    assert states(counted([3, *[0] * 9])) == ["new", *[""] * 6, "resolved", "", ""]


def test_a_rise_lasts_until_the_count_is_back_where_it_was() -> None:
    facts = counted([5, 6, 5, 14, 13, 9, 6, 5])
    assert states(facts) == [
        "new",
        "continuing",
        "continuing",
        "rising",
        "continuing",
        "continuing",
        "resolved",
        "continuing",
    ]
    assert [on(facts, day(number))[0].since for number in (3, 4, 6, 7)] == [day(3), day(3), FIRST_DAY, FIRST_DAY]


def test_a_rise_that_ends_in_silence_is_resolved_the_next_day() -> None:
    assert states(counted([2, 2, 2, 9, 0, 2])) == [
        "new",
        "continuing",
        "continuing",
        "rising",
        "resolved",
        "continuing",
    ]


def test_a_rise_upon_a_rise_has_begun_with_the_first() -> None:
    facts = counted([5, 5, 5, 12, 30])
    (one,) = on(facts, day(4))
    assert (one.state, one.since, one.pages) == ("rising", day(3), True)


def test_a_new_rule_that_fires_often_pages() -> None:
    (one,) = on(counted([0, 0, 5]), day(2))
    assert (one.state, one.pages, one.since, one.since_or_before) == ("new", True, day(2), False)
    (few,) = on(counted([0, 0, 4]), day(2))
    assert (few.state, few.pages) == ("new", False)


def test_the_first_day_of_all_pages_nobody() -> None:
    (one,) = on(counted([200]), FIRST_DAY)
    assert (one.state, one.pages, one.since_or_before) == ("new", False, False)


def test_what_was_there_on_the_earliest_known_day_may_be_older() -> None:
    (one,) = on(counted([3, 3]), day(1))
    assert (one.since, one.since_or_before) == (FIRST_DAY, True)


def test_days_that_were_not_scored_count_for_nothing() -> None:
    facts = counted([3, 0, 0, 0, 0, 0, 0, 2])
    missing = {when: of_day for when, of_day in facts.items() if when != day(3)}
    (one,) = on(missing, day(7))
    assert one.state == "continuing"
    assert states({FIRST_DAY: facts[FIRST_DAY], day(40): facts[day(7)]}) == ["new", "continuing"]


def test_later_days_are_not_looked_at() -> None:
    facts = counted([3, 0, 0, 9])
    assert on(facts, day(1)) == []
    assert [one.state for one in on(facts, FIRST_DAY)] == ["new"]


def test_tenants_are_told_apart() -> None:
    facts = counted([3, 3])
    facts[day(1)] += [replace(fact, tenant_id=tenant) for fact in facts[day(1)] for tenant in ("a", None)]
    assert [(one.fact.tenant_id, one.state) for one in on(facts, day(1))] == [
        ("*", "continuing"),
        ("a", "new"),
        (None, "new"),
    ]


def test_what_pages_comes_first_and_warnings_last() -> None:
    rows = [{"answer_failed": 5, "weak_answer": 9, "llm_blocked": 1}] * 3 + [
        {"answer_failed": 6, "weak_answer": 40, "llm_blocked": 9}
    ]
    facts = days_of_facts((day(number), [met(kpi_row(row))]) for number, row in enumerate(rows))
    assert [(one.fact.rule, one.pages) for one in on(facts, day(3))] == [
        ("llm_blocked", True),
        ("answer_failed", False),
        ("weak_answer", False),
    ]


def missing_day(number: int) -> Facts:
    """A week of five failures a day, of which one day has no rows at all."""
    rows = [kpi_row({}, rows=0) if here == number else met(kpi_row({"answer_failed": 5})) for here in range(7)]
    return days_of_facts((day(here), [row]) for here, row in enumerate(rows))


def test_a_day_without_rows_pages_and_the_next_day_tells_that_they_are_back() -> None:
    facts = missing_day(5)
    (none,) = on(facts, day(5))
    assert (none.fact.rule, none.state, none.pages, none.fact.usual) == ("no_rows", "new", True, (535,) * 5)
    failed, back = on(facts, day(6))
    assert (back.fact.rule, back.state, back.pages, back.seen) == ("no_rows", "resolved", False, day(5))
    assert (failed.fact.rule, failed.state) == ("answer_failed", "continuing")


def test_a_second_day_without_rows_pages_again() -> None:
    facts = missing_day(5)
    facts[day(6)] = facts[day(5)]
    assert [(one.state, one.pages, one.since) for one in on(facts, day(6))] == [("continuing", True, day(5))]


def test_a_day_without_rows_calls_no_rise_off() -> None:
    rows = [met(kpi_row({"answer_failed": count})) for count in (5, 5, 40)] + [kpi_row({}, rows=0)]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(rows))
    assert [one.fact.rule for one in on(facts, day(3))] == ["no_rows"]


@pytest.mark.parametrize(("excluded", "told", "pages"), [(5, True, False), (12, True, True), (4, False, False)])
def test_a_rising_excluded_rate_pages_only_where_it_is_sure(excluded: int, told: bool, pages: bool) -> None:
    rows = [met(kpi_row({}, excluded=count)) for count in (2, 3, 2, 1, 2, 2, 2, excluded)]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(rows))
    found = on(facts, day(7))
    assert [(one.fact.rule, one.pages) for one in found] == ([("excluded_rate_rising", pages)] if told else [])


def test_an_excluded_rate_that_stays_high_is_not_called_off() -> None:
    rows = [met(kpi_row({}, excluded=count)) for count in (2, 2, 2, 200, 200, 200, 200, 200, 200, 200, 200, 200)]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(rows))
    assert states(facts) == ["", "", "", "new", *[""] * 8]


def test_a_missed_target_is_new_once_and_over_after_seven_days() -> None:
    missed = [kpi_row({"answer_failed": 30}), *[met(kpi_row({}))] * 7]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(missed))
    last = {one.fact.rule: one.state for one in on(facts, day(7))}
    assert last == {"answer_failed": "resolved", "kpi_failure_rate": "resolved"}


def cold_start(facts: Facts, when: date) -> Facts:
    """The same facts, with nothing to compare a day with: a rubric version begins."""
    return facts | {when: [replace(fact, usual=()) for fact in facts[when]]}


def test_an_incident_outlives_a_rubric_version_and_its_rise_does_not() -> None:
    facts = cold_start(counted([5, 6, 5, 14, 40]), day(4))
    (one,) = on(facts, day(4))
    assert (one.state, one.since, one.pages) == ("continuing", FIRST_DAY, False)


def test_a_rule_that_the_rubric_no_longer_has_ends_without_a_word() -> None:
    facts = {when: [replace(fact, rule="dropped") for fact in found] for when, found in counted([3, *[0] * 8]).items()}
    assert states(facts) == ["new", *[""] * 8]
