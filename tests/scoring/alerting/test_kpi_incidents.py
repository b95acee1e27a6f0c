"""When people are notified of a KPI: once when four weeks miss its target, once when they meet it again."""

from collections.abc import Sequence
from datetime import timedelta
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.kpi_incidents import kpi_incidents_of_days
from scoring.alerting.messages import RouteFilter
from scoring.chat.kpi_windows import may_be_decided, standings
from scoring.chat.kpis import days_by_tenant
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, Facts, KpiRow, day_digest, days_of_facts, incidents_on, kpi_row, met

RULE = "kpi_failure_rate"


def failing(count: int, tenant: str | None = "*") -> KpiRow:
    """A day on which so many of 535 answers are of the lowest grade; no rule fires, and no other target is missed."""
    return met(kpi_row({}, tenant=tenant)) | {"failure_rate": count / 535}


def on_days(rows: Sequence[Sequence[KpiRow]]) -> Facts:
    return days_of_facts((FIRST_DAY + timedelta(number), of_day) for number, of_day in enumerate(rows))


def reported(facts: Facts) -> list[tuple[int, str, str | None]]:
    """Day, state and tenant of each incident that is news."""
    return [
        ((day - FIRST_DAY).days, one.state, one.fact.tenant_id)
        for day in facts
        for one in incidents_on(facts, day)
        if one.state != "continuing"
    ]


def test_kpi_is_reported_when_its_verdict_changes_and_not_every_day_it_is_missed() -> None:
    (new, missed, _), (over, resolved, _) = reported(on_days([[failing(32)]] * 20 + [[failing(4)]] * 28))
    assert (new, missed, resolved) == (0, "new", "resolved")
    assert 20 < over < 48


def test_kpi_of_a_day_that_decides_nothing_is_not_reported() -> None:
    assert reported(on_days([[failing(17)]] * 28)) == []


def test_kpi_is_reported_of_each_tenant() -> None:
    facts = on_days([[failing(8), failing(2, "a"), failing(40, "b")]] * 3)
    assert reported(facts) == [(0, "new", "b")]


def test_kpi_message_names_the_window_and_its_interval() -> None:
    facts = on_days([[failing(4)]] * 28 + [[failing(40)]] * 16)
    day = next(day for day in facts if any(one.fires for one in incidents_on(facts, day)))
    (message,) = day_messages(day_digest(day, facts, facts.kpis[day][0]), RouteFilter())
    assert (message.kind, message.level) == ("digest", "warning")
    assert message.keys == (f"ola-monitoring@{RUBRIC.version}|{RULE}|{day}|*",)
    text = readable(message.blocks)
    assert "🟡 Warning · 실패율 목표 미달 · 새로 나타남\n최근 28일 실패율 " in text
    assert " · 목표 3% 이하 · 미달 · n=" in text


def test_kpi_message_names_the_days_of_a_window_that_is_not_full() -> None:
    facts = on_days([[failing(200)]])
    (message,) = day_messages(day_digest(FIRST_DAY, facts, facts.kpis[FIRST_DAY][0]), RouteFilter())
    assert "최근 28일 가운데 1일 실패율 " in readable(message.blocks)


def test_kpi_that_is_met_again_is_reported_by_itself() -> None:
    facts = on_days([[failing(32)]] * 20 + [[failing(4)]] * 28)
    over = next(day for day in facts if any(one.state == "resolved" for one in incidents_on(facts, day)))
    (message,) = day_messages(day_digest(over, facts, facts.kpis[over][0]), RouteFilter())
    assert message.level == "info"
    assert "🟢 해소: 실패율 목표 미달 — 최근 28일 " in readable(message.blocks)
    assert message.keys == (f"ola-monitoring@{RUBRIC.version}|{RULE}|{over}|resolved|*",)


def test_kpi_that_is_still_missed_stands_in_the_digests_of_other_news() -> None:
    rows = [[failing(32)]] * 12 + [[failing(32) | {"alert_weak_answer": 12}]]
    facts = on_days(rows)
    day = FIRST_DAY + timedelta(12)
    (message,) = day_messages(day_digest(day, facts, rows[-1][0]), RouteFilter())
    assert "계속  실패율 목표 미달 6.0%(최근 28일 가운데 13일)" in readable(message.blocks)


def test_kpis_of_tenants_with_too_few_turns_for_a_verdict_cost_next_to_nothing() -> None:
    """Ten thousand tenants are mostly such: the page of alerts reads ninety days of each."""
    few = {FIRST_DAY + timedelta(days=n): [kpi_row({}, rows=1, tenant=f"t{k}") for k in range(60)] for n in range(40)}

    def all_of_them() -> bool:
        tenants = days_by_tenant(few).values()
        return any(one.verdict for kpi in RUBRIC.targeted for days in tenants for one in standings(kpi, days).values())

    began = process_time()
    assert not any(kpi_incidents_of_days(few, RUBRIC, days_by_tenant(few)).values())
    spent_s, began = process_time() - began, process_time()
    assert not all_of_them()
    assert spent_s < (process_time() - began) / 4


@given(st.lists(st.integers(0, 31), min_size=1, max_size=60), st.integers(0, 31))
def test_tenant_may_have_a_verdict_where_any_four_weeks_have_thirty_turns(turns: list[int], gap: int) -> None:
    begins = [FIRST_DAY + timedelta(days=n + (gap if n > len(turns) // 2 else 0)) for n in range(len(turns))]
    days = {day: kpi_row({}, rows=count) for day, count in zip(begins, turns, strict=True)}
    sums = [sum(n for at, n in zip(begins, turns, strict=True) if 0 <= (day - at).days < 28) for day in begins]
    assert may_be_decided(days) == any(total >= 30 for total in sums)
