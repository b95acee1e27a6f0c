"""What a page of several rules says is to be done first."""

from dataclasses import replace

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.growth import Grown
from scoring.alerting.messages import RouteFilter
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, day_digest, days_of_facts, kpi_row, met

USUAL = {"answer_failed": 29, "llm_blocked": 6, "final_failed": 6}


@pytest.mark.parametrize(
    ("last", "shared", "cause"),
    [
        ({"answer_failed": 120, "llm_blocked": 100}, 95, "llm_blocked"),  # they are the failed answers
        ({"answer_failed": 220, "llm_blocked": 40}, 40, "answer_failed"),  # they are a part of these
    ],
)
def test_page_of_several_rules_says_what_to_do_about_the_one_that_explains_the_others(
    last: dict[str, int], shared: int, cause: str
) -> None:
    rows = [met(kpi_row(USUAL) | {"alerts_answer_failed_and_llm_blocked": 6})] * 20
    today = met(kpi_row(USUAL | last) | {"alerts_answer_failed_and_llm_blocked": shared})
    facts = days_of_facts((FIRST_DAY.replace(day=2 + number), [row]) for number, row in enumerate([*rows, today]))
    (page,) = day_messages(day_digest(max(facts), facts, today), RouteFilter())
    actions = {rule.id: rule.action for rule in RUBRIC.alert_rules}
    assert page.text.startswith("🔴 Critical · 답변 실패")
    assert [rule for rule, action in actions.items() if f"할 일  {action}" in readable(page.blocks)] == [cause]


def test_page_of_several_rules_says_which_of_them_grew_mostly_what() -> None:
    """`테넌트 gamma 53건` of the blocked calls says nothing about the failed answers of the headline."""
    rows = [met(kpi_row(USUAL) | {"alerts_answer_failed_and_llm_blocked": 6})] * 20
    today = met(kpi_row({"answer_failed": 120, "llm_blocked": 100}) | {"alerts_answer_failed_and_llm_blocked": 95})
    facts = days_of_facts((FIRST_DAY.replace(day=2 + number), [row]) for number, row in enumerate([*rows, today]))
    grown = {
        "answer_failed": Grown("failure_type", "blocked", 95, 6, 0.9, 0.8, 1.0),
        "llm_blocked": Grown("tenant_id", "gamma", 80, 2, 0.8, 0.7, 0.9),
    }
    facts[max(facts)] = [replace(fact, grown=(grown[fact.rule],)) for fact in facts[max(facts)] if fact.rule in grown]
    (page,) = day_messages(day_digest(max(facts), facts, today), RouteFilter())
    text = readable(page.blocks)
    assert "주로  LLM 호출 차단(거절 문구 없음) 95건" in text
    assert "주로  LLM 호출 자체가 차단됨: 테넌트 gamma 80건" in text
