"""What a digest says in one line about rules that are no news."""

from dataclasses import replace
from datetime import timedelta

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.messages import RouteFilter
from scoring.alerting.wording import is_above_usual
from tests.builders.alert_days import FIRST_DAY, day_digest, days_of_facts, incidents_on, kpi_row, met

EVERYTHING = RouteFilter()


def test_rule_above_its_range_that_nobody_was_told_of_is_not_still_high() -> None:
    """`still` would claim an earlier message."""
    usual = {"answer_failed": 20, "weak_answer": 3}
    rows = [usual] * 14 + [usual | {"answer_failed": 60, "weak_answer": 8}, usual | {"answer_failed": 55}]
    facts = days_of_facts((FIRST_DAY + timedelta(number), [met(kpi_row(row))]) for number, row in enumerate(rows))
    one, two = (FIRST_DAY + timedelta(number) for number in (14, 15))
    (weak,) = [one for one in incidents_on(facts, one) if one.fact.rule == "weak_answer"]
    assert (is_above_usual(weak), weak.reported_on) == (True, None)
    news = replace(weak, fact=replace(weak.fact, rule="final_failed"), state="new")
    (digest,) = day_messages(replace(day_digest(one, facts, met(kpi_row(usual))), incidents=[news, weak]), EVERYTHING)
    assert "평소 범위보다 많음  합리적 질문에 부족한 답변 8/535건" in readable(digest.blocks)
    (still,) = [one for one in incidents_on(facts, two) if one.fact.rule == "answer_failed"]
    assert still.state == "continuing"
    (digest,) = day_messages(replace(day_digest(two, facts, met(kpi_row(usual))), incidents=[news, still]), EVERYTHING)
    assert "아직 평소보다 많음  답변 실패 55/535건" in readable(digest.blocks)
