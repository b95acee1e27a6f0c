"""How incidents end: the end is reported to whoever was called, and a rate that stays is not called over."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.decision import WatchedDays
from scoring.alerting.endings import incident_key
from scoring.alerting.messages import Message, NamedFact, RouteFilter, fact_key, named_facts
from scoring.alerting.watch import AlertPolicy
from scoring.alerting.withdrawn_pages import closed_pages
from scoring.chat.rubric import NO_ROWS
from scoring.rubrics.ola_monitoring import RUBRIC
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


def reported(facts: Facts, number: int, route: RouteFilter = EVERYTHING, known: Collection[str] = ()) -> list[Message]:
    found = day_messages(day_digest(day(number), facts, kpi_row(USUAL)), route, known)
    for message in found:
        assert_taken_by_slack(message)
    return found


def test_end_of_a_page_is_reported_and_the_end_of_a_warning_only_along_with_other_news() -> None:
    facts = facts_of([*[USUAL] * 10, RISEN, USUAL, USUAL | {"weak_answer": 2}])
    (over,) = reported(facts, 12)
    assert "🟢 해소: 답변 실패 — 이날 20/535건(3.7%, 평소 3.7%), 늘기 전 범위로 돌아옴" in readable(over.blocks)
    assert over.level == "info"
    assert "합리적 질문에 부족한 답변 — 이날 2/535건" in readable(over.blocks)
    assert reported(facts, 12, WARNINGS) == []


def test_page_whose_rate_stays_is_called_usual_after_four_weeks_and_not_over() -> None:
    """Else whoever waits for its end would wait for ever."""
    facts = facts_of([*[USUAL] * 10, *[RISEN] * 30])
    kinds = {number: [message.kind for message in reported(facts, number)] for number in range(10, 40)}
    assert {number: of_day for number, of_day in kinds.items() if of_day} == {10: ["page", "digest"], 37: ["digest"]}
    (settled,) = reported(facts, 37)
    assert readable(settled.blocks[:1]) == "⚪ 4월 8일(수) 요약 · 평소가 됨 2건"
    how = "이날 60/535건(11.2%, 평소 3.7%), 3월 12일(목)부터 돌아오지 않아 다음 날부터는 이 수준을 평소로 봄"
    assert f"⚪ 평소가 됨: 답변 실패 — {how}" in readable(settled.blocks)
    assert "평소가 됨: 합리적 질문에 부족한 답변 — 이날 30/535건" in readable(settled.blocks)
    assert settled.level == "info"
    assert reported(facts, 37, WARNINGS) == []


def test_line_that_a_phone_shows_of_an_end_names_its_tenant() -> None:
    """The same rule may page of another tenant in the same minute."""
    of_t1 = [4] * 10 + [40, 4, 4, 4]
    rows = ([met(kpi_row(USUAL)), met(kpi_row({"answer_failed": count}, 107, tenant="t1"))] for count in of_t1)
    facts = days_of_facts((day(number), of_day) for number, of_day in enumerate(rows))
    (over,) = reported(facts, 13, RouteFilter(tenants=frozenset({"t1"})))
    assert over.text == "🟢 3월 15일(일) 요약 · 해소 1건 · 답변 실패 · 해소 (테넌트 t1)"


def test_end_is_reported_once_where_the_rows_of_a_day_before_come_late() -> None:
    facts = counted([20] * 10 + [60, 20, 20])
    (over,) = reported(facts, 12)
    later = [key.replace(str(day(12)), str(day(13))) for key in over.keys]
    assert ("해소" in over.text, reported(facts, 12, known=later)) == (True, [])


def test_resolved_fact_has_a_key_of_its_own() -> None:
    (risen,) = [one for one in incidents_on(counted([20] * 10 + [60]), day(10)) if one.pages]
    assert incident_key(replace(risen, state="resolved")) != incident_key(risen)


# --- Pages that a day no longer bears out -----------------------------------------------------------------------------


def after(facts: Facts, number: int, pages: Collection[str], known: Collection[str] = ()) -> list[Message]:
    """What withdraws these pages in the night of a day, whose days before are as the facts have them."""
    decided = WatchedDays(RUBRIC, {when: facts.kpis[when] for when in facts if when <= day(number)}, AlertPolicy())
    lately = dict(list(decided.decided.items())[-7:])
    digest = replace(day_digest(day(number), facts, kpi_row(USUAL)), lately=lately)
    found = [one for one in closed_pages(digest, pages, [*pages, *known]) if "긴급 알림을 거둠" in one.text]
    for message in found:
        assert_taken_by_slack(message)
    return found


def page_of(number: int, rule: str = "answer_failed", *, over: bool = False) -> str:
    return fact_key(RUBRIC.id, RUBRIC.version, rule, day(number), "*", resolved=over)


def test_page_is_withdrawn_where_its_day_was_scored_again_and_is_as_usual() -> None:
    corrected, page = facts_of([USUAL] * 14), page_of(10)
    for number in (10, 11, 14 - 1):  # by the run of the day itself, or by a night after it
        (message,) = after(corrected, number, [page])
        assert (message.kind, message.level) == ("all_clear", "info")
        assert message.text == f"🟢 해소 · 3월 12일(목) 긴급 알림을 거둠 · 답변 실패 · {RUBRIC.title}"
        assert "답변 실패 — 3월 12일(목)은 20/535건(3.7%)으로 평소 범위" in readable(message.blocks)
        assert after(corrected, number, [page], message.keys) == []
    assert after(corrected, 13, [page], [page_of(12, over=True)]) == []  # a night reported its end before


def test_each_page_that_is_withdrawn_has_the_figures_of_its_day() -> None:
    rows = [*[USUAL] * 10, USUAL | {"answer_failed": 21}, USUAL, USUAL | {"answer_failed": 23}]
    (message,) = after(facts_of(rows), 12, [page_of(10), page_of(12)])
    shown = readable(message.blocks)
    assert ("3월 12일(목)은 21/535건" in shown, "3월 14일(토)은 23/535건" in shown) == (True, True)


def test_page_stands_while_its_rise_does_and_its_end_is_reported_once() -> None:
    facts, page = facts_of([*[USUAL] * 10, RISEN, USUAL, USUAL, USUAL]), page_of(10)
    assert [after(facts, number, [page]) for number in (10, 11, 12)] == [[], [], []]  # on the twelfth a digest says so
    assert after(facts, 13, [page]) == []  # the day was as bad as its page says, whoever missed the end


def test_page_about_a_day_without_rows_is_withdrawn_when_its_rows_have_come() -> None:
    page = page_of(10, NO_ROWS)
    empty = days_of_facts((day(n), [met(kpi_row({} if n == 10 else USUAL, 0 if n == 10 else 535))]) for n in range(11))
    assert after(empty, 10, [page]) == []
    (message,) = after(facts_of([USUAL] * 11), 10, [page])
    assert "이날 행이 하나도 없음 — 3월 12일(목)에 535행이 들어와 있음" in readable(message.blocks)


@pytest.mark.parametrize(("last", "days"), [(10, "3월 12일(목)"), (14, "3월 12일(목)~3월 16일(월)")])
def test_end_of_days_without_rows_says_which_of_them_are_still_empty(last: int, days: str) -> None:
    rows = [(0, {}) if 10 <= number <= last else (535, USUAL) for number in range(last + 2)]
    empty = days_of_facts((day(number), [met(kpi_row(of, count))]) for number, (count, of) in enumerate(rows))
    (over,) = reported(empty, last + 1)
    assert f"🟢 해소: 행이 하나도 없음 — 다시 들어옴, {days}은 아직 비어 있음" in readable(over.blocks)


def test_pages_of_another_rubric_of_days_long_ago_and_of_no_fact_are_left_alone() -> None:
    other = page_of(10).replace(RUBRIC.id, "another")
    assert after(facts_of([USUAL] * 20), 19, [other, page_of(10), "late|2026-03-12", "weekly|x@1|2026-03-12"]) == []


def test_end_makes_no_message_for_a_route_that_never_got_the_page() -> None:
    """Such as that of a day which a backfill, which tells nobody, has made an outage."""
    facts = facts_of([*[USUAL] * 10, RISEN, USUAL, USUAL])
    digest = day_digest(day(12), facts, kpi_row(USUAL))
    assert day_messages(digest, EVERYTHING, (), []) == []
    (over,) = day_messages(digest, EVERYTHING, (), [page_of(10)])
    assert "해소" in over.text


def test_key_names_its_fact_whatever_the_tenant_is_called() -> None:
    for tenant in (None, "*", "-", "", "resolved|t1", "a|b#1/2", 'it\'s "quoted"', "줄\n바꿈"):
        for over in (False, True):
            key = fact_key("r", "1.2", "no_rows", day(3), tenant, resolved=over)
            keys = [key, key + "#2/3", fact_key("r", "1.3", "no_rows", day(3), tenant, resolved=over)]
            assert named_facts(keys) == [NamedFact("r", "no_rows", day(3), tenant, over)], "all name one fact"


# --- The end of a page that half of a day wrote -----------------------------------------------------------------------

GOLD, WEAK = "good_question_bad_answer", "weak_answer"
NORMAL = USUAL | {GOLD: 20, WEAK: 6}
EVENT = NORMAL | {"answer_failed": 60, GOLD: 60, WEAK: 30}
SHARED = f"alerts_answer_failed_and_{GOLD}"


def of_noon() -> list[str]:
    """What was paged at noon, when two rules had risen, one of them a warning."""
    return [page_of(10), page_of(10, WEAK)]


def event_of(rows: Sequence[dict[str, int]]) -> Facts:
    """Days of which the failed answers mostly are those to good questions."""
    return days_of_facts((day(n), [met(kpi_row(row)) | {SHARED: row[GOLD]}]) for n, row in enumerate(rows))


def night(facts: Facts, number: int, pages: Collection[str], known: Collection[str] = ()) -> list[Message]:
    """The messages of the night of a day to a route that these pages, and messages with the `known` keys, were sent."""
    decided = WatchedDays(RUBRIC, {when: facts.kpis[when] for when in facts if when <= day(number)}, AlertPolicy())
    digest = day_digest(day(number), facts, facts.kpis[day(number)][0], lately=dict([*decided.decided.items()][-7:]))
    known = [*pages, *known]
    found = day_messages(digest, EVERYTHING, known, pages)
    found += closed_pages(digest, pages, [*known, *(key for message in found for key in message.keys)])
    assert closed_pages(replace(digest, kind="intraday"), pages, known) == []
    for message in found:
        assert_taken_by_slack(message)
    return found


def test_end_names_each_rule_that_was_told_once_and_none_that_only_the_whole_day_made_rise() -> None:
    facts = event_of([*[NORMAL] * 10, EVENT, *[NORMAL] * 6])
    assert night(facts, 10, of_noon()) == []
    assert night(facts, 11, of_noon()) == []
    (over,) = night(facts, 12, of_noon())
    assert over.text == "🟢 3월 14일(토) 요약 · 해소 1건 · 답변 실패 · 해소"
    figures = "이날 6/535건(1.1%, 평소 1.1%), 긴급 알림에서 함께 알린 규칙"
    back = f"🟢 평소 범위: 합리적 질문에 부족한 답변 — {figures}"
    assert back in readable(over.blocks)
    assert readable(over.blocks).count("합리적 질문에 부족한 답변") == 1
    assert [night(facts, number, of_noon(), over.keys) for number in range(12, 17)] == [[]] * 5


def test_rules_that_rose_together_and_paged_on_two_days_have_an_end_each() -> None:
    """The first end names what was in its own page."""
    rows = [*[NORMAL] * 10, *(NORMAL | {"answer_failed": 60, GOLD: count} for count in (36, 48)), *[NORMAL] * 3]
    facts, found, known = facts_of(rows), list[tuple[int, Message]](), list[str]()
    for number in range(10, 15):
        pages = [key for _, message in found if message.kind == "page" for key in message.keys]
        for message in night(facts, number, pages, known):
            found.append((number, message))
            known += message.keys
    assert [(number, one.kind) for number, one in found if one.kind == "page"] == [(10, "page"), (11, "page")]
    assert [(number, one.text) for number, one in found if number > 11] == [
        (13, "🟢 3월 15일(일) 요약 · 해소 1건 · 답변 실패 · 해소"),
        (14, "🟢 3월 16일(월) 요약 · 해소 1건 · 좋은 질문에 나쁜 답변 · 해소"),
    ]


def test_warning_of_a_page_that_is_still_high_at_the_first_end_has_its_own() -> None:
    still = NORMAL | {WEAK: 30}
    facts = event_of([*[NORMAL] * 10, EVENT, still, still, *[NORMAL | {WEAK: 2}] * 4])
    (over,) = night(facts, 12, of_noon())
    assert "함께 알린 규칙" not in readable(over.blocks)
    known, later = [*over.keys], list[tuple[int, str]]()
    for number in range(13, 17):
        for one in night(facts, number, of_noon(), known):
            known += one.keys
            later.append((number, one.text))
    assert later == [(13, "🟢 3월 15일(일) 요약 · 해소 1건 · 합리적 질문에 부족한 답변 · 해소")]


def test_end_of_a_rule_that_a_digest_named_with_the_page_of_noon_is_reported() -> None:
    """The night has something else to tell, and says which rules the page is about by then."""
    other = {"very_short_answer": 40}
    facts = event_of([*[NORMAL] * 10, EVENT | other, *[NORMAL] * 6])
    (told,) = night(facts, 10, of_noon())
    assert "긴급 알림  답변 실패 60/535건(11.2%, 평소 3.7%) · 좋은 질문에 나쁜 답변 60/535건" in readable(told.blocks)
    assert night(facts, 10, of_noon(), told.keys) == []
    (over,) = night(facts, 12, of_noon(), told.keys)
    assert "🟢 해소: 좋은 질문에 나쁜 답변 — 이날 20/535건" in readable(over.blocks)


def test_new_rule_of_a_page_is_not_withdrawn_while_its_rows_are_there() -> None:
    """A rule that nothing had met is part of the page of others from its first row on; four are not improbable."""
    rows = [*[NORMAL | {WEAK: 0}] * 30, EVENT | {WEAK: 4}, NORMAL | {WEAK: 0}]
    pages = [page_of(30), page_of(30, WEAK)]
    assert [after(event_of(rows), number, pages) for number in (30, 31)] == [[], []]
    rows[30] = EVENT | {WEAK: 0}
    (message,) = after(event_of(rows), 31, pages)
    assert "합리적 질문에 부족한 답변 — 4월 1일(수)" in readable(message.blocks)


# --- Pages that are left open -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "figures"),
    [
        ([20] * 19, "20/535건(3.7%, 평소 3.7%)"),  # the day was corrected more than a week later
        ([60] * 19, "60/535건(11.2%, 평소 11.2%)"),  # the history has come to begin with the rise
    ],
)
def test_page_that_is_left_open_is_closed_once(counts: list[int], figures: str) -> None:
    """Each night decides anew, so that no digest tells the end of a rise that is none any more."""
    facts, page = facts_of([USUAL | {"answer_failed": count} for count in counts]), page_of(10)
    (closed,) = night(facts, 18, [page])
    assert (closed.kind, closed.level) == ("all_clear", "info")
    assert closed.text == f"⚪ 안내 · 긴급 알림을 마침 · 답변 실패 · {RUBRIC.title}"
    assert f"답변 실패 — 3월 20일(금)은 {figures}" in readable(closed.blocks)
    assert night(facts, 18, [page], closed.keys) == []
    for guide in ("answer-an-alert.md", "answer-an-alert.ko.md"):
        assert "\n| 긴급 알림을 마침 |" in Path("docs/how-to", guide).read_text(encoding="utf-8")


def test_page_is_not_closed_while_one_of_its_rules_is_risen_or_above_its_range() -> None:
    risen, high = [*[USUAL] * 10, *[RISEN] * 9], [*[USUAL] * 18, USUAL | {"answer_failed": 34}]
    for rows, pages in ((risen, [page_of(10), page_of(10, GOLD)]), (high, [page_of(10)])):
        assert [one for one in night(facts_of(rows), 18, pages) if one.kind == "all_clear"] == []


@pytest.mark.parametrize("excluded", [0, 535])
def test_page_is_not_closed_on_a_day_without_scored_rows(excluded: int) -> None:
    """Such as a Sunday, or an outage that leaves no answer: it does not tell whether the rate is back."""
    rows = [*[USUAL] * 10, RISEN, RISEN]
    of_days = [*(met(kpi_row(row)) for row in rows), met(kpi_row({}, 0, excluded)), met(kpi_row(USUAL))]
    facts = days_of_facts((day(number), [row]) for number, row in enumerate([*of_days, of_days[-1]]))
    assert [one.kind for one in night(facts, 12, [page_of(10)])] == ["page"]
    later = [one.text for number in (13, 14) for one in night(facts, number, [page_of(10)])]
    assert "해소 1건 · 답변 실패" in later[-1]


def test_page_of_a_tenant_without_rows_is_closed_after_four_weeks() -> None:
    of_t1 = met(kpi_row({"answer_failed": 60}, 107, tenant="t1"))
    facts = days_of_facts((day(n), [met(kpi_row(USUAL)), *([of_t1] if n <= 10 else [])]) for n in range(39))
    page = page_of(10).replace("|*", "|'t1'")
    assert night(facts, 37, [page]) == []
    (closed,) = night(facts, 38, [page])
    assert "답변 실패(테넌트 t1) — 28일 동안 행이 하나도 없음" in readable(closed.blocks)
