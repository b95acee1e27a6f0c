"""How much people would hear on the load that the requirements were written for, and of what they must hear."""

from collections import Counter
from datetime import timedelta

import pytest

from scoring.alerting.day_messages import ReplayedMessage, replay
from scoring.alerting.messages import RouteFilter
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import (
    FIRST_DAY,
    RATES,
    USUAL_POLICY,
    Facts,
    KpiRow,
    counted,
    kpi_row,
    load_facts,
    met,
    usual_load,
)

DAYS = 60
HISTORY = 7
SEEDS = (2, 3, 5, 7)


def replayed(facts: Facts, **routes: RouteFilter) -> dict[str, list[ReplayedMessage]]:
    return replay(facts.kpis, list(facts), routes or {"all": RouteFilter()}, RUBRIC, USUAL_POLICY)


def row_alerts(row: KpiRow) -> int:
    return sum(row[f"alert_{rule}"] for rule in RATES)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_usual_load_is_at_most_three_messages_a_day_and_seldom_any(seed: int) -> None:
    load = usual_load(seed, DAYS)
    assert 40 < sum(map(row_alerts, load)) / DAYS < 55, "the load of the requirements: about 48 row alerts a day"
    messages = replayed(load_facts(load))["all"]
    a_day = Counter(message.day for message in messages)
    assert max(a_day.values()) <= 3
    assert len(messages) <= DAYS / 2
    assert sum(message.kind == "page" for message in messages) <= DAYS / 5


@pytest.mark.parametrize("seed", SEEDS)
def test_a_day_on_which_failures_triple_pages(seed: int) -> None:
    load = usual_load(seed, DAYS)
    for number in range(HISTORY, DAYS):
        usual = sorted(row["alert_answer_failed"] for row in load[number - HISTORY : number])[HISTORY // 2]
        bad = load[number] | {"alert_answer_failed": 3 * usual}
        facts = load_facts([*load[number - HISTORY : number], bad])
        day = FIRST_DAY + timedelta(HISTORY)
        pages = [
            one
            for one in replay(facts.kpis, [day], {"all": RouteFilter()}, RUBRIC, USUAL_POLICY)["all"]
            if one.kind == "page"
        ]
        assert any("답변 실패" in reason for page in pages for reason in page.reasons)


def test_an_outage_is_one_page_and_its_end_one_digest() -> None:
    usual = {"answer_failed": 20, "final_failed": 4, "llm_blocked": 1}
    rows = [usual] * 10 + [{"answer_failed": 300, "final_failed": 290, "llm_blocked": 280}] + [usual] * 3
    facts = load_facts([met(kpi_row(row)) for row in rows])
    after_first = [(one.kind, len(one.reasons)) for one in replayed(facts)["all"] if one.day != FIRST_DAY]
    assert after_first == [("page", 3), ("digest", 3)]


def test_each_message_says_why() -> None:
    (first, page, over) = replayed(counted([5, 5, 5, 5, 30, 5]))["all"]
    assert (first.kind, first.reasons) == ("digest", ("답변 실패 · 새로 나타남",))
    assert (page.kind, page.reasons) == ("page", ("답변 실패 · 급증, 평소의 5.5배",))
    assert (over.kind, over.reasons) == ("digest", ("답변 실패 · 해소",))


def test_routes_are_replayed_apart() -> None:
    facts = counted([5, 5, 5, 5, 30, 5])
    found = replayed(facts, all=RouteFilter(), warnings=RouteFilter(levels=frozenset({"warning"})))
    assert {name: len(messages) for name, messages in found.items()} == {"all": 3, "warnings": 0}


def test_only_the_days_asked_for_are_told_and_days_that_were_not_scored_are_left_out() -> None:
    facts = counted([5, 5, 5, 5, 30, 5])
    day = FIRST_DAY + timedelta(4)
    found = replay(facts.kpis, [day, FIRST_DAY + timedelta(99)], {"all": RouteFilter()}, RUBRIC, USUAL_POLICY)
    assert [(message.day, message.kind) for message in found["all"]] == [(day, "page")]
