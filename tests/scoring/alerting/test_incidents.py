from dataclasses import replace
from datetime import date, timedelta

import pytest

from scoring.alerting.facts import AlertFact
from scoring.alerting.incidents import Incident, one_cause
from scoring.alerting.watch import AlertPolicy
from scoring.alerting.wording import action
from scoring.chat.rubric import ROWS_REJECTED
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import (
    FIRST_DAY,
    USUAL_POLICY,
    Facts,
    KpiRow,
    counted,
    days_of_facts,
    incidents_on,
    kpi_row,
    met,
)


def day(number: int) -> date:
    return FIRST_DAY + timedelta(number)


def on(facts: Facts, when: date, policy: AlertPolicy = USUAL_POLICY) -> list[Incident]:
    return incidents_on(facts, when, policy)


def states(facts: Facts) -> list[str]:
    """The state of the one incident on each day, '' where there is none to tell."""
    return ["".join(one.state for one in on(facts, when)) for when in facts]


def test_rule_that_fires_every_day_is_new_once() -> None:
    assert states(counted([3, 4, 2, 5, 3])) == ["new", *["continuing"] * 4]


def test_quiet_day_within_four_weeks_makes_nothing_new() -> None:
    assert states(counted([3, *[0] * 27, 2])) == ["new", *[""] * 27, "continuing"]


def test_after_four_quiet_weeks_the_next_time_is_new() -> None:
    assert states(counted([3, *[0] * 28, 2])) == ["new", *[""] * 28, "new"]


def test_rise_is_reported_once_and_again_when_it_is_over() -> None:
    facts = counted([*[30] * 14, 75, 70, 72, 31, 30, 30])
    assert states(facts)[13:18] == ["continuing", "rising", "continuing", "continuing", "continuing"]
    assert states(facts)[18:] == ["resolved", "continuing"]  # one day alone is not sure of it
    reported = [on(facts, day(number))[0] for number in (14, 15, 18, 19)]
    assert [one.since for one in reported] == [day(14), day(14), day(14), FIRST_DAY]
    assert [(one.pages, one.paged) for one in reported] == [(True, True), (False, True), (False, True), (False, False)]


def test_rise_that_stays_settles_on_the_28th_day() -> None:
    found = states(counted([*[30] * 14, *[75] * 30]))
    assert found[14:] == ["rising", *["continuing"] * 26, "settled", "continuing", "continuing"]


def test_rise_that_ends_in_silence_is_resolved() -> None:
    found = states(counted([*[2] * 14, 30, 0, 0, 2]))
    assert found[13:] == ["continuing", "rising", "", "resolved", "continuing"]


def test_rise_of_twice_what_was_reported_is_reported_again() -> None:
    facts = counted([*[30] * 14, 75, 80, 160])
    assert [(one.state, one.pages) for number in (14, 15, 16) for one in on(facts, day(number))] == [
        ("rising", True),
        ("continuing", False),
        ("rising", True),
    ]
    (worse,) = on(facts, day(16))
    assert worse.since == day(14)


def test_rule_that_was_silent_and_fires_often_pages() -> None:
    (one,) = on(counted([*[0] * 10, 9]), day(10))
    assert (one.state, one.pages, one.since, one.since_or_before) == ("new", True, day(10), False)
    (few,) = on(counted([*[0] * 10, 4]), day(10))
    assert (few.state, few.pages) == ("new", False)


def test_first_day_is_held_against_the_rate_of_the_rubric() -> None:
    (usual,) = on(counted([45]), FIRST_DAY)
    assert (usual.state, usual.pages) == ("new", False)
    (outage,) = on(counted([300]), FIRST_DAY)
    assert (outage.state, outage.pages) == ("new", True)
    assert outage.usual is not None
    assert (outage.usual.basis, outage.usual.days) == ("rubric", 0)


def test_what_was_there_on_the_earliest_known_day_may_be_older() -> None:
    (one,) = on(counted([3, 3]), day(1))
    assert (one.since, one.since_or_before) == (FIRST_DAY, True)


def test_days_that_were_not_scored_count_for_nothing() -> None:
    facts = counted([3, *[0] * 28, 2])
    del facts[day(3)]
    (one,) = on(facts, day(29))
    assert one.state == "continuing"


def test_later_days_are_not_looked_at() -> None:
    facts = counted([3, 0, 0, 9])
    assert on(facts, day(1)) == []
    assert [one.state for one in on(facts, FIRST_DAY)] == ["new"]


def test_tenants_are_kept_apart() -> None:
    facts = counted([3, 3])
    facts[day(1)] += [replace(fact, tenant_id=tenant) for fact in facts[day(1)] for tenant in ("a", None)]
    assert [(one.fact.tenant_id, one.state) for one in on(facts, day(1))] == [
        ("*", "continuing"),
        ("a", "new"),
        (None, "new"),
    ]


def test_what_pages_comes_first_and_warnings_last() -> None:
    usual = {"answer_failed": 5, "weak_answer": 9, "llm_blocked": 1}
    rows = [usual] * 10 + [{"answer_failed": 6, "weak_answer": 40, "llm_blocked": 20}]
    facts = days_of_facts((day(number), [met(kpi_row(row))]) for number, row in enumerate(rows))
    assert [(one.fact.rule, one.pages) for one in on(facts, day(10))] == [
        ("llm_blocked", True),
        ("answer_failed", False),
        ("weak_answer", False),
    ]


def missing_day(number: int) -> Facts:
    """A week of five failures a day, of which one day has no rows at all."""
    rows = [kpi_row({}, rows=0) if here == number else met(kpi_row({"answer_failed": 5})) for here in range(7)]
    return days_of_facts((day(here), [row]) for here, row in enumerate(rows))


def test_day_without_rows_pages_and_the_next_day_tells_that_they_are_back() -> None:
    facts = missing_day(5)
    (none,) = on(facts, day(5))
    assert (none.fact.rule, none.state, none.pages, none.fact.usual) == ("no_rows", "new", True, (535,))
    failed, back = on(facts, day(6))
    assert (back.fact.rule, back.state, back.pages, back.seen) == ("no_rows", "resolved", False, day(5))
    assert (failed.fact.rule, failed.state) == ("answer_failed", "continuing")


def test_second_day_without_rows_pages_again() -> None:
    facts = missing_day(5)
    facts[day(6)] = facts[day(5)]
    assert [(one.state, one.pages, one.since) for one in on(facts, day(6))] == [("continuing", True, day(5))]


def test_rejected_rows_are_over_after_seven_days_without_any() -> None:
    facts = days_of_facts((day(number), [met(kpi_row({}))]) for number in range(12))
    facts[day(0)] = facts[day(3)] = [AlertFact(ROWS_REJECTED, "warning", "읽지 못해 거부한 행", "*", 4, 539)]
    assert states(facts) == ["new", "", "", "continuing", *[""] * 6, "resolved", ""]


def test_service_that_rests_on_sundays_is_reported_for_two_of_them_only() -> None:
    rows = [kpi_row({}, rows=0) if day(here).weekday() == 6 else met(kpi_row({})) for here in range(6 * 7)]
    rows[4 * 7 + 1] = kpi_row({}, rows=0)  # a Tuesday
    facts = days_of_facts((day(here), [row]) for here, row in enumerate(rows))
    reported = [(here, one.state) for here in range(len(rows)) for one in on(facts, day(here))]
    assert reported == [(6, "new"), (7, "resolved"), (13, "new"), (14, "resolved"), (29, "new"), (30, "resolved")]


def test_service_that_rests_on_weekends_is_reported_for_the_first_one_only() -> None:
    days = range(7, 5 * 7)
    rows = {here: kpi_row({}, rows=0) if day(here).weekday() >= 5 else met(kpi_row({})) for here in days}
    facts = days_of_facts((day(here), [row]) for here, row in rows.items())
    assert [here for here in days for one in on(facts, day(here)) if one.pages] == [12, 13]
    once_open = days_of_facts((day(here), [met(kpi_row({})) if here == 12 else row]) for here, row in rows.items())
    assert [here for here in range(7, 21) for one in on(once_open, day(here)) if one.pages] == [13, 19, 20]
    (saturday,), (of_usual_weekends,), (friday,) = (
        on(facts, day(12)),
        [one for one in on(once_open, day(19)) if one.fires],
        on(missing_day(4), day(4)),
    )
    texts = ["".join(span["text"] for span in action(one, RUBRIC)) for one in (saturday, of_usual_weekends, friday)]
    assert ["원래 쉬는 날이면 할 일이 없고" in text for text in texts] == [True, False, False]


def test_holiday_is_at_rest_as_sundays_are_and_a_day_off_of_ones_own_too() -> None:
    sundays = [kpi_row({}, rows=0) if day(here).weekday() == 6 else met(kpi_row({})) for here in range(2 * 7)]
    facts = days_of_facts((day(here), [row]) for here, row in enumerate([*sundays, kpi_row({}, rows=0)]))
    assert [one.fact.rule for one in on(facts, day(14))] == ["no_rows"]
    assert on(facts, day(14), AlertPolicy(days_off=frozenset([day(14)]))) == []


def test_empty_sunday_of_a_service_at_rest_ends_no_other_incident() -> None:
    rows = [kpi_row({}, rows=0) if day(here).weekday() == 6 else met(kpi_row({})) for here in range(3 * 7 + 1)]
    rows[19], rows[21] = (met(kpi_row({"answer_failed": 200})) for _ in range(2))  # Saturday and Monday
    facts = days_of_facts((day(here), [row]) for here, row in enumerate(rows))
    (failed,) = (one for one in on(facts, day(21)) if one.fact.rule == "answer_failed")
    assert failed.since == day(19)


def test_day_without_rows_calls_no_rise_off() -> None:
    rows = [met(kpi_row({"answer_failed": count})) for count in (5, 5, 40)] + [kpi_row({}, rows=0)]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(rows))
    assert [one.fact.rule for one in on(facts, day(3))] == ["no_rows"]


@pytest.mark.parametrize(("excluded", "pages"), [(5, None), (9, False), (16, True)])
def test_rising_excluded_rate_pages_only_where_it_is_sure(excluded: int, pages: bool | None) -> None:
    rows = [met(kpi_row({}, excluded=count)) for count in (2, 3, 2, 1, 2, 2, 2, 3, 1, 2, excluded)]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(rows))
    found = [(one.fact.rule, one.pages) for one in on(facts, day(10))]
    assert found == ([] if pages is None else [("excluded_rate_rising", pages)])


def test_excluded_rate_that_stays_high_is_usual_after_four_weeks() -> None:
    rows = [met(kpi_row({}, excluded=count)) for count in [2] * 10 + [200] * 30]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(rows))
    assert states(facts) == [*[""] * 10, "rising", *["continuing"] * 26, "settled", "", ""]


def test_excluded_rate_does_not_go_on_on_days_without_such_rows() -> None:
    rows = [met(kpi_row({}, excluded=count)) for count in [*[0] * 28, 31, *[0] * 12]]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate(rows))
    found = states(facts)[28:]
    assert found[0] == "rising"
    assert [state for state in found[1:] if state] == ["resolved"]


def of_version(version: str, rows: KpiRow) -> KpiRow:
    return rows | {"rubric": RUBRIC.id, "rubric_version": version}


def test_incident_outlives_a_rubric_version_and_its_rise_does_not() -> None:
    counts = [*[("1", 30)] * 14, ("1", 75), ("2", 75)]
    rows = [of_version(version, met(kpi_row({"answer_failed": count}))) for version, count in counts]
    (one,) = on(days_of_facts((day(number), [row]) for number, row in enumerate(rows)), day(15))
    assert (one.state, one.since, one.pages) == ("continuing", FIRST_DAY, False)


def test_rule_that_the_rubric_no_longer_has_ends_without_a_word() -> None:
    facts = counted([3, *[0] * 8])
    facts.kpis = {}
    facts[FIRST_DAY] = [replace(fact, rule="dropped") for fact in facts[FIRST_DAY]]
    assert states(facts) == ["new", *[""] * 8]


def test_rules_with_the_same_rows_are_one_cause() -> None:
    pair = {"alerts_answer_failed_and_final_failed": 9}
    row = met(kpi_row({"answer_failed": 30, "final_failed": 10, "llm_blocked": 3})) | pair
    found = on(days_of_facts([(FIRST_DAY, [row])]), FIRST_DAY)
    assert [[one.fact.rule for one in cause] for cause in one_cause(found)] == [
        ["answer_failed", "final_failed"],
        ["llm_blocked"],
    ]


def test_blocked_calls_without_an_answer_are_one_cause_with_the_rate_of_such_rows() -> None:
    outage = met(kpi_row({"llm_blocked": 31}, excluded=31))
    rows = [*[met(kpi_row({}))] * 28, outage | {"alerts_llm_blocked_and_excluded_rate_rising": 31}]
    found = on(days_of_facts((day(number), [row]) for number, row in enumerate(rows)), day(28))
    assert [[(one.fact.rule, one.pages) for one in cause] for cause in one_cause(found)] == [
        [("llm_blocked", True), ("excluded_rate_rising", True)]
    ]


def test_blocked_calls_with_an_answer_are_no_cause_of_rows_without_one() -> None:
    both = met(kpi_row({"llm_blocked": 31}, excluded=31)) | {"alerts_llm_blocked_and_excluded_rate_rising": 15}
    rows = [*[met(kpi_row({}))] * 28, both]
    found = on(days_of_facts((day(number), [row]) for number, row in enumerate(rows)), day(28))
    assert [len(cause) for cause in one_cause(found)] == [1, 1]


def test_rules_are_reported_separately_where_nobody_counted_the_rows_that_they_share() -> None:
    found = on(days_of_facts([(FIRST_DAY, [met(kpi_row({"answer_failed": 30, "final_failed": 30}))])]), FIRST_DAY)
    assert [len(cause) for cause in one_cause(found)] == [1, 1]
