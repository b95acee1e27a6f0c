"""How incidents end: the end is told to whoever was called, and a rate that stays is not called over."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, timedelta

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages, incident_key
from scoring.alerting.messages import Message, RouteFilter
from tests.builders.alert_days import (
    FIRST_DAY,
    Facts,
    counted,
    day_digest,
    days_of_facts,
    incidents_on,
    kpi_row,
    met,
)
from tests.scoring.alerting.slack_rules import assert_taken_by_slack

USUAL = {"answer_failed": 20, "final_failed": 4, "weak_answer": 6}
RISEN = USUAL | {"answer_failed": 60, "weak_answer": 30}
EVERYTHING, WARNINGS = RouteFilter(), RouteFilter(levels=frozenset({"warning"}))


def day(number: int) -> date:
    return FIRST_DAY + timedelta(number)


def facts_of(rows: Sequence[dict[str, int]]) -> Facts:
    return days_of_facts((day(number), [met(kpi_row(row))]) for number, row in enumerate(rows))


def told(facts: Facts, number: int, route: RouteFilter = EVERYTHING, known: Collection[str] = ()) -> list[Message]:
    found = day_messages(day_digest(day(number), facts, kpi_row(USUAL)), route, known)
    for message in found:
        assert_taken_by_slack(message)
    return found


def test_the_end_of_a_page_is_told_and_the_end_of_a_warning_only_along_with_other_news() -> None:
    facts = facts_of([*[USUAL] * 10, RISEN, USUAL, USUAL])
    (over,) = told(facts, 12)
    assert "🟢 해소: 답변 실패 — 이날 20/535건(3.7%, 평소 3.7%), 늘기 전 범위로 돌아옴" in readable(over.blocks)
    assert over.level == "info"
    assert "합리적 질문에 부족한 답변 — 이날 6/535건" in readable(over.blocks)
    assert told(facts, 12, WARNINGS) == []


def test_a_page_whose_rate_stays_is_called_usual_after_four_weeks_and_not_over() -> None:
    """Else whoever waits for its end would wait for ever."""
    facts = facts_of([*[USUAL] * 10, *[RISEN] * 30])
    kinds = {number: [message.kind for message in told(facts, number)] for number in range(10, 40)}
    assert {number: of_day for number, of_day in kinds.items() if of_day} == {10: ["page", "digest"], 37: ["digest"]}
    (settled,) = told(facts, 37)
    assert readable(settled.blocks[:1]) == "⚪ 4월 8일(수) 요약 · 평소가 됨 2건"
    how = "이날 60/535건(11.2%, 평소 3.7%), 3월 12일(목)부터 돌아오지 않아 다음 날부터는 이 수준을 평소로 봄"
    assert f"⚪ 평소가 됨: 답변 실패 — {how}" in readable(settled.blocks)
    assert "평소가 됨: 합리적 질문에 부족한 답변 — 이날 30/535건" in readable(settled.blocks)
    assert settled.level == "info"
    assert told(facts, 37, WARNINGS) == []


def test_an_end_is_told_once_where_the_rows_of_a_day_before_come_late() -> None:
    facts = counted([20] * 10 + [60, 20, 20])
    (over,) = told(facts, 12)
    later = [key.replace(str(day(12)), str(day(13))) for key in over.keys]
    assert ("해소" in over.text, told(facts, 12, known=later)) == (True, [])


def test_a_resolved_fact_has_a_key_of_its_own() -> None:
    (risen,) = [one for one in incidents_on(counted([20] * 10 + [60]), day(10)) if one.pages]
    assert incident_key(replace(risen, state="resolved")) != incident_key(risen)
