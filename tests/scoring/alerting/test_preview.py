"""How much people would hear on the load that the requirements were written for, and of what they must hear."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from benchmarks.alert_days import Load, kpi_days
from scoring.alerting.decision import WatchedDays
from scoring.alerting.episodes import MIN_COUNT
from scoring.alerting.messages import RouteFilter
from scoring.alerting.preview import PreviewedMessage, forecast, paged_lines, preview_days
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import (
    FIRST_DAY,
    RATES,
    USUAL_POLICY,
    Facts,
    KpiRow,
    counted,
    days_of_facts,
    kpi_row,
    load_facts,
    met,
    usual_load,
)
from tests.builders.cases import portion

DAYS = 60
HISTORY = 7
SEEDS = portion((2, 3, 5, 7))


def previewed(facts: Facts, days: Sequence[date] = (), **routes: RouteFilter) -> dict[str, list[PreviewedMessage]]:
    asked = routes or {"all": RouteFilter()}
    found = preview_days(WatchedDays(RUBRIC, facts.kpis, USUAL_POLICY), days or list(facts), asked)
    return {name: [one for one in found if one.route == name] for name in asked}


def reasons(message: PreviewedMessage) -> list[str]:
    return [one.reason for one in message.incidents if one.change != "continuing"]


def row_alerts(row: KpiRow) -> int:
    return sum(row[f"alert_{rule}"] for rule in RATES)


@pytest.mark.parametrize("seed", SEEDS)
def test_usual_load_is_at_most_three_messages_a_day_and_seldom_any(seed: int) -> None:
    load = usual_load(seed, DAYS)
    assert 40 < sum(map(row_alerts, load)) / DAYS < 55, "the load of the requirements: about 48 row alerts a day"
    messages = previewed(load_facts(load))["all"]
    a_day = Counter(message.day for message in messages)
    assert max(a_day.values()) <= 3
    assert len(messages) <= DAYS / 2
    assert sum(message.kind == "page" for message in messages) <= DAYS / 5


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_day_on_which_failures_triple_pages(seed: int) -> None:
    load = usual_load(seed, DAYS)
    for number in range(HISTORY, DAYS):
        usual = sorted(row["alert_answer_failed"] for row in load[number - HISTORY : number])[HISTORY // 2]
        bad = load[number] | {"alert_answer_failed": 3 * usual}
        facts = load_facts([*load[number - HISTORY : number], bad])
        day = FIRST_DAY + timedelta(HISTORY)
        pages = [one for one in previewed(facts, [day])["all"] if one.kind == "page"]
        assert any("답변 실패" in reason for page in pages for reason in reasons(page))


def test_outage_is_one_page_and_its_end_one_digest() -> None:
    usual = {"answer_failed": 20, "final_failed": 4, "llm_blocked": 1}
    rows = [usual] * 10 + [{"answer_failed": 300, "final_failed": 290, "llm_blocked": 280}] + [usual] * 7
    facts = load_facts([met(kpi_row(row)) for row in rows])
    page, over = [one for one in previewed(facts)["all"] if one.day != FIRST_DAY]
    assert (page.kind, len(reasons(page))) == ("page", 3)
    # Rules with a few rows a day take longer to show it: they are within their usual range, and end silently.
    assert (over.kind, reasons(over), len(over.incidents)) == ("digest", ["답변 실패 · 해소"], 3)
    (alone,) = previewed(facts, [day for day in facts if day > page.day])["all"]  # a preview from the day after it on
    assert (alone.day, reasons(alone)) == (over.day, ["답변 실패 · 해소"])


def test_rule_of_an_outage_that_stays_above_its_usual_range_has_an_end_of_its_own() -> None:
    usual = {"answer_failed": 20, "llm_blocked": 4}
    rows = [usual] * 10 + [{"answer_failed": 300, "llm_blocked": 280}, *[usual | {"llm_blocked": 20}] * 3] + [usual] * 4
    facts = load_facts([met(kpi_row(row)) for row in rows])
    found = [(one.kind, reasons(one)) for one in previewed(facts)["all"] if one.day != FIRST_DAY]
    assert found[2:] == [("digest", ["답변 실패 · 해소"]), ("digest", ["LLM 호출 자체가 차단됨 · 해소"])]


def test_rise_of_several_days_has_the_multiple_of_its_message() -> None:
    """The last day alone is 1.8 times what is usual, all days of the rise together are 1.6 times that."""
    *_, page = previewed(counted([20] * 28 + [30, 34, 28, 36]))["all"]
    assert (page.kind, reasons(page)) == ("page", ["답변 실패 · 오르는 중, 그 전의 1.6배"])


def test_rise_beside_hardly_any_row_before_it_has_counts_and_no_multiple() -> None:
    facts = counted([0] * 20 + [1] + [0] * 7 + [1, 2, 1], rule="final_failed")
    *_, digest = previewed(facts)["all"]
    assert reasons(digest) == ["종합 등급 F · 오르는 중, 3/1,070건, 그 전 1/14,980건"]


def test_each_message_says_why() -> None:
    (first, page, over) = previewed(counted([5, 5, 5, 5, 30, 5, 5, 5]))["all"]
    assert (first.kind, reasons(first)) == ("digest", ["답변 실패 · 새로 나타남"])
    assert (page.kind, reasons(page)) == ("page", ["답변 실패 · 급증, 평소의 5.6배"])
    assert (over.kind, reasons(over)) == ("digest", ["답변 실패 · 해소"])


def test_what_called_people_is_listed_without_digests() -> None:
    assert paged_lines(previewed(counted([5, 5, 5, 5, 30, 5, 5, 5]))["all"]) == [
        "3월 6일(금) 긴급 알림: 답변 실패 · 급증, 평소의 5.6배"
    ]


def test_rule_is_named_at_its_first_row_and_again_after_four_weeks_without_any() -> None:
    reported = previewed(counted([0] * 20 + [1] + [0] * 7 + [1] + [0] * 28 + [1]))["all"]
    assert [((one.day - FIRST_DAY).days, one.kind, one.text) for one in reported] == [
        (20, "digest", "답변 실패 · 새로 나타남"),
        (57, "digest", "답변 실패 · 새로 나타남"),
    ]


def test_day_without_rows_is_not_said_to_have_had_none_where_they_may_have_been_rejected() -> None:
    *_, page = previewed(load_facts([*[met(kpi_row({}))] * 9, met(kpi_row({}, rows=0))]))["all"]
    assert page.text == "이날 읽은 행이 하나도 없음 · 새로 나타남"


def test_routes_are_previewed_apart() -> None:
    facts = counted([5, 5, 5, 5, 30, 5, 5, 5])
    found = previewed(facts, all=RouteFilter(), warnings=RouteFilter(levels=frozenset({"warning"})))
    assert {name: len(messages) for name, messages in found.items()} == {"all": 3, "warnings": 0}


def test_only_the_days_asked_for_are_reported_and_days_that_were_not_scored_are_left_out() -> None:
    facts = counted([5, 5, 5, 5, 30, 5])
    day = FIRST_DAY + timedelta(4)
    found = previewed(facts, [day, FIRST_DAY + timedelta(99)])
    assert [(message.day, message.kind) for message in found["all"]] == [(day, "page")]


def test_digest_names_what_goes_on_too() -> None:
    usual = {"answer_failed": 30, "weak_answer": 6}
    rows = [usual] * 12 + [usual | {"weak_answer": 40}]
    facts = days_of_facts((FIRST_DAY + timedelta(number), [met(kpi_row(row))]) for number, row in enumerate(rows))
    (digest,) = [one for one in previewed(facts)["all"] if one.day != FIRST_DAY]
    changes = {one.rule: one.change for one in digest.incidents}
    assert (digest.kind, changes) == ("digest", {"weak_answer": "rising", "answer_failed": "continuing"})


def test_forecast_names_the_smallest_count_that_pages() -> None:
    load = [kpi_row({"answer_failed": 30, "weak_answer": 6}) for _ in range(28)]
    expected = forecast(WatchedDays(RUBRIC, load_facts(load).kpis, USUAL_POLICY))
    assert 0 < expected.false_pages_per_year < 1
    (failed, *_), (weak, *_) = (
        [one for one in expected.rises if one.rule == rule] for rule in ("answer_failed", "weak_answer")
    )
    assert failed.paged is not None
    assert weak.paged is None

    def last_day(count: int) -> list[str]:
        rows = [*load, kpi_row({"answer_failed": count, "weak_answer": 6})]
        facts = load_facts(rows)
        return [one.kind for one in previewed(facts, [FIRST_DAY + timedelta(28)])["all"]]

    assert failed.day_off is False
    assert last_day(failed.paged) == ["page"]
    assert "page" not in last_day(failed.paged - 1)


def test_forecast_names_no_smaller_count_than_a_day_needs() -> None:
    """Rules whose count is found at once wait for those that are looked for longer."""
    load = [kpi_row({"answer_failed": 11, "weak_answer": 4}, rows=175) for _ in range(28)]
    rises = forecast(WatchedDays(RUBRIC, load_facts(load).kpis, USUAL_POLICY)).rises
    (rare, *_) = [one for one in rises if one.rule == "good_question_bad_answer"]
    (common, *_) = [one for one in rises if one.rule == "answer_failed"]
    assert (rare.reported, rare.paged) == (MIN_COUNT, MIN_COUNT)
    assert (rare.usual_text, common.usual_text) == ("0.1행 미만", "11.0행")
    assert all(count >= MIN_COUNT for one in rises for count in (one.reported, one.paged) if count)


@pytest.mark.parametrize("rule", ["answer_failed", "weak_answer"])
def test_route_of_all_tenants_hears_the_same_whether_or_not_another_one_names_tenants(rule: str) -> None:
    """What no route can hear of is not looked at; one tenant is in trouble here, so that it pages by itself."""
    days = kpi_days(Load(tenants=6), 70, seed=4)
    for number, rows in enumerate(days.values()):
        if 50 <= number < 55:
            rows[3][f"alert_{rule}"] = rows[3]["rows"] // 2
    watched, everything = WatchedDays(RUBRIC, days, USUAL_POLICY), RouteFilter()
    alone = preview_days(watched, list(days), {"all": everything})
    both = preview_days(watched, list(days), {"all": everything, "t1": RouteFilter(tenants=frozenset({"t1"}))})
    assert alone == [one for one in both if one.route == "all"] != []
    assert any(one.tenant_id == "t3" for message in alone for one in message.incidents) is (rule == "answer_failed")
