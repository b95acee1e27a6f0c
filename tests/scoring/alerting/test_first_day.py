"""The digest of the first scored day: nothing of it can be called unusual."""

from dataclasses import replace
from datetime import timedelta

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.decision import WatchedDays
from scoring.alerting.messages import DayDigest, Message, RouteFilter
from scoring.alerting.watch import AlertPolicy
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, Facts, KpiRow, day_digest, days_of_facts, kpi_row, met
from tests.scoring.alerting.slack_rules import assert_taken_by_slack

COUNTS = {"answer_failed": 29, "final_failed": 6, "weak_answer": 8, "very_short_answer": 3}


def digest(facts: Facts, number: int = 0) -> DayDigest:
    """A day as its night finds it."""
    day = FIRST_DAY + timedelta(number)
    until = {when: rows for when, rows in facts.kpis.items() if when <= day}
    lately = WatchedDays(RUBRIC, until, AlertPolicy()).decided
    return replace(day_digest(day, facts, kpi_row(COUNTS)), lately=lately)


def sent(of: DayDigest, route: RouteFilter | None = None) -> list[Message]:
    found = day_messages(of, route or RouteFilter())
    for message in found:
        assert_taken_by_slack(message)
    return found


@pytest.mark.parametrize("row", [kpi_row(COUNTS), met(kpi_row(COUNTS))], ids=["KPI missed", "KPIs met"])
def test_first_day_says_that_what_is_new_is_no_rise_but_a_baseline(row: KpiRow) -> None:
    facts = days_of_facts((FIRST_DAY + timedelta(number), [row]) for number in range(2))
    (message,) = sent(digest(facts))
    assert message.text.startswith("🔴 3월 2일(월) 요약 · 첫날 · 새로 볼 것 ")
    said = "첫날  처음 채점한 날이라 비교할 평소가 없습니다. 새로 나타남은 평소보다 많다는 뜻이 아니고,"
    assert said in readable(message.blocks)
    assert sent(digest(facts, 1)) == []


def test_new_rule_on_a_later_day_is_named_as_such() -> None:
    rows = [kpi_row({"answer_failed": 29}), kpi_row({"answer_failed": 29, "weak_answer": 8})]
    facts = days_of_facts((FIRST_DAY + timedelta(number), [row]) for number, row in enumerate(rows))
    (message,) = sent(digest(facts, 1))
    assert "합리적 질문에 부족한 답변 · 새로 나타남" in message.text
    assert "첫날" not in readable(message.blocks)
