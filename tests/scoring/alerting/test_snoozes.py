from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages
from scoring.alerting.facts import AlertFact
from scoring.alerting.messages import DayDigest, Message, RouteFilter
from scoring.alerting.snoozes import Snooze, fact_rate, rates_to_break
from scoring.chat.rubric import FEW_ROWS, NO_ROWS
from tests.builders.alert_days import FIRST_DAY, day_digest, days_of_facts, incidents_on, kpi_row, met

MADE_AT = datetime(2026, 3, 9, tzinfo=UTC)
DAYS = 8
LAST = FIRST_DAY + timedelta(DAYS - 1)
USUAL = {"answer_failed": 20, "weak_answer": 6}


def snooze(rule: str, rate: float, tenant: str | None = "*", until: date = LAST, **changes: str) -> Snooze:
    made = Snooze(rule, tenant, until, "새 프롬프트를 넣는 중", "kim", MADE_AT, {"*": rate, "t1": rate, None: rate})
    return replace(made, **changes)  # type: ignore[arg-type]


def digest_of(*snoozes: Snooze, **last: int) -> DayDigest:
    """A week of usual days and one on which these rules fired this often, of one tenant, which is all of them."""
    counts = [USUAL] * (DAYS - 1) + [USUAL | last]
    rows = [[row, row | {"tenant_id": "t1"}] for row in (met(kpi_row(of_day)) for of_day in counts)]
    facts = days_of_facts((FIRST_DAY + timedelta(number), of_day) for number, of_day in enumerate(rows))
    return replace(day_digest(LAST, facts, kpi_row(USUAL)), snoozes=snoozes)


def reported(digest: DayDigest, route: RouteFilter | None = None) -> list[Message]:
    return day_messages(digest, route or RouteFilter())


def test_snooze_keeps_the_page_of_its_rule_quiet_and_no_other() -> None:
    quiet = snooze("answer_failed", 60 / 535)
    assert [message.kind for message in reported(digest_of(answer_failed=60))] == ["page"]
    assert reported(digest_of(quiet, answer_failed=60)) == []
    (page,) = reported(digest_of(quiet, answer_failed=60, final_failed=30))
    assert "종합 등급 F" in page.text


def test_snooze_is_shown_in_every_digest_with_its_end_and_its_reason() -> None:
    quiet = snooze("answer_failed", 60 / 535, why="공급사 점검, 문의 010-1234-5678")
    (digest,) = reported(digest_of(quiet, answer_failed=60, weak_answer=18))
    text = readable(digest.blocks)
    assert "일시 중지  답변 실패: 3월 9일(월)까지, 이유: 공급사 점검, 문의 [전화번호] (kim)" in text
    assert "긴급 알림" not in text
    (digest,) = reported(digest_of(quiet, weak_answer=18))
    assert "일시 중지  답변 실패" in readable(digest.blocks)


def test_snooze_never_hides_a_doubling_and_the_digest_says_that_it_is_broken() -> None:
    quiet = snooze("answer_failed", 30 / 535)
    assert reported(digest_of(quiet, answer_failed=59)) == []
    page, digest = reported(digest_of(quiet, answer_failed=60, weak_answer=18))
    assert page.kind == "page"
    assert "비율이 두 배 이상이라 그래도 알림: 전체, 테넌트 t1" in readable(digest.blocks)


@given(rate=st.floats(0, 1), now=st.floats(0, 1))
def test_snooze_holds_below_twice_its_rate_and_nowhere_else(rate: float, now: float) -> None:
    assert snooze("answer_failed", rate).holds(LAST, "*", now) == (now < 2 * rate or now == 0)


def week_after(*counts: int, snoozed_until: int) -> list[list[Message]]:
    """What a route hears of each of the days after a usual week, with a rule that is snoozed on the first of them, at
    its rate, up to one of them.
    """
    rows = [met(kpi_row(USUAL | {"answer_failed": count})) for count in [20] * DAYS + [*counts]]
    facts = days_of_facts((FIRST_DAY + timedelta(number), [row]) for number, row in enumerate(rows))
    quiet = snooze("answer_failed", 60 / 535, until=LAST + timedelta(snoozed_until))
    quiet = replace(quiet, made_at=MADE_AT + timedelta(days=1))
    known, heard = set[str](), []
    for number, row in enumerate(rows):
        day = FIRST_DAY + timedelta(number)
        digest = replace(day_digest(day, facts, row), snoozes=[quiet] if number >= DAYS else [])
        heard.append(day_messages(digest, RouteFilter(), known))
        known |= {key for message in heard[-1] for key in message.keys}
    return heard[DAYS:]


def test_what_rose_under_a_snooze_and_lasts_is_reported_when_that_is_over() -> None:
    *quiet, first, later = week_after(60, 60, 60, 60, 60, snoozed_until=3)
    assert quiet == [[], [], []]
    assert [(one.kind, one.level) for one in first] == [("digest", "critical")]
    assert "답변 실패 · 계속" in first[0].text
    assert "3월 10일(화)부터" in readable(first[0].blocks)
    assert later == []


def test_rate_that_is_back_to_usual_when_its_snooze_is_over_is_reported_to_nobody() -> None:
    assert week_after(60, 60, 60, 24, 20, snoozed_until=3) == [[]] * 5  # 24 are within what days of 20 vary


def test_what_rose_under_a_snooze_and_is_over_before_that_is_reported_to_nobody() -> None:
    assert week_after(60, 60, 20, 20, 20, 20, snoozed_until=3) == [[]] * 6


def test_snooze_hides_no_end_of_what_was_reported() -> None:
    told_at_twice, *quiet, end, after = week_after(130, 60, 20, 20, snoozed_until=6)
    assert [message.kind for message in told_at_twice] == ["page"]
    assert [*quiet, after] == [[], []]
    assert ["답변 실패 · 해소" in message.text for message in end] == [True]


def test_snooze_of_an_outage_lets_the_next_rise_of_the_rule_through() -> None:
    """Twice the rate of an outage of all rows is none that a day can have."""
    counts = [20] * DAYS + [535, 20, 20, 20, 60, 60]
    facts = days_of_facts(
        (FIRST_DAY + timedelta(number), [met(kpi_row(USUAL | {"answer_failed": count}))])
        for number, count in enumerate(counts)
    )
    morning_after = replace(
        snooze("answer_failed", 1.0, until=LAST + timedelta(10)), made_at=MADE_AT + timedelta(days=2)
    )
    known, heard = set[str](), []
    for number in range(DAYS, len(counts)):
        day = FIRST_DAY + timedelta(number)
        digest = replace(day_digest(day, facts, kpi_row(USUAL)), snoozes=[morning_after] if number > DAYS else [])
        found = day_messages(digest, RouteFilter(), known)
        known |= {key for message in found for key in message.keys}
        heard.append([one.kind for one in found])
    assert heard == [["page"], ["digest"], [], [], ["page"], []]


def test_snooze_holds_while_the_rise_that_it_was_made_for_goes_on_and_grows() -> None:
    counts = [20] * 14 + [60] * 8 + [90] * 6
    facts = days_of_facts(
        (FIRST_DAY + timedelta(number), [met(kpi_row(USUAL | {"answer_failed": count}))])
        for number, count in enumerate(counts)
    )
    made = snooze("answer_failed", 60 / 535, until=LAST + timedelta(40))
    made = replace(made, made_at=datetime(2026, 3, 17, tzinfo=UTC))  # the day after the first one that rose
    last = FIRST_DAY + timedelta(len(counts) - 1)
    (one,) = [one for one in incidents_on(facts, last) if one.fact.rule == "answer_failed" and one.usual]
    assert (one.reported_on, one.since > made.made_at.date()) == (FIRST_DAY + timedelta(14), True)
    assert made.silences(one)


def test_snooze_ends_with_its_last_day() -> None:
    quiet = snooze("answer_failed", 0.1)
    assert quiet.holds(LAST, "*", 0.15)
    assert not quiet.holds(LAST + timedelta(days=1), "*", 0.15)


def test_snooze_of_all_tenants_breaks_for_the_one_whose_rate_doubles() -> None:
    quiet = replace(snooze("answer_failed", 0.1), rates={"*": 0.1, "t1": 0.02})
    assert quiet.holds(LAST, "*", 0.11)
    assert not quiet.holds(LAST, "t1", 0.11)
    assert not quiet.holds(LAST, "newcomer", 0.01)


def test_snooze_of_one_tenant_leaves_all_tenants_together_and_other_routes_alone() -> None:
    quiet = snooze("answer_failed", 60 / 535, tenant="t1")
    assert [message.kind for message in reported(digest_of(quiet, answer_failed=60))] == ["page"]
    assert reported(digest_of(quiet, answer_failed=60), RouteFilter(tenants=frozenset({"t1"}))) == []
    (digest,) = reported(digest_of(snooze("weak_answer", 0.1, tenant="t2"), weak_answer=18))
    assert "일시 중지  합리적 질문에 부족한 답변(테넌트 t2)" in readable(digest.blocks)
    (digest,) = reported(
        digest_of(snooze("answer_failed", 0.1, tenant="t2"), weak_answer=18), RouteFilter(tenants=frozenset({"t1"}))
    )
    assert "일시 중지" not in readable(digest.blocks)


@pytest.mark.parametrize(("rule", "rows"), [(NO_ROWS, 0), (FEW_ROWS, 3)])
def test_snooze_of_a_day_without_rows_or_with_few_holds_whatever_comes(rule: str, rows: int) -> None:
    assert snooze(rule, 0).holds(LAST, "*", fact_rate(AlertFact(rule, "critical", "없음", "*", rows, rows)))


def test_rate_of_a_kpi_is_how_far_it_misses_its_target() -> None:
    missed = AlertFact("kpi_failure_rate", "warning", "미달", "*", None, 535, value=0.05, limit=0.03)
    assert fact_rate(missed) == pytest.approx(0.02)


def test_snooze_on_a_day_that_goes_on_is_made_at_the_rate_of_the_day_before_too() -> None:
    facts = {
        FIRST_DAY: [AlertFact("answer_failed", "critical", "", "*", 30, 100)],
        FIRST_DAY + timedelta(days=1): [AlertFact("answer_failed", "critical", "", "*", 1, 10)],
    }
    assert rates_to_break("answer_failed", facts, latest=2) == {"*": 0.3}


def test_snooze_after_days_without_rows_is_made_at_the_rate_of_the_last_day_with_rows() -> None:
    facts = {
        FIRST_DAY: [AlertFact("answer_failed", "critical", "", "*", 40, 100)],
        **{FIRST_DAY + timedelta(days=n): [AlertFact(NO_ROWS, "critical", "", "*", 0, 0)] for n in (1, 2)},
    }
    assert rates_to_break("answer_failed", facts) == {"*": 0.4}


@pytest.mark.parametrize(
    ("counts", "rate"), [([20, 20, 60], 60), ([20, 20, 0], 20), ([60, 60, 20], 60), ([0, 0, 0], 0)]
)
def test_snooze_is_made_at_the_last_rate_or_the_usual_one_if_that_is_higher(counts: tuple[int, ...], rate: int) -> None:
    facts = {
        FIRST_DAY + timedelta(number): [AlertFact("answer_failed", "critical", "", "*", count, 100)] if count else []
        for number, count in enumerate(counts)
    }
    assert rates_to_break("answer_failed", facts).get("*", 0) == rate / 100
