"""One cause pages once, also where its parts are found on different days."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import pytest

from benchmarks.alert_days import KpiDays, Load, kpi_days
from scoring.alerting.blocks import readable
from scoring.alerting.day_messages import day_messages, visible_to
from scoring.alerting.decision import WatchedDays, likely_cause
from scoring.alerting.messages import RouteFilter
from scoring.alerting.preview import preview_days
from scoring.alerting.rise_days import rise_days
from scoring.alerting.rule_changes import tenant_of_day
from scoring.alerting.watch import AlertPolicy
from scoring.days import day_text
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import day_digest, days_of_facts, incidents_on, kpi_row, met

FIRST = date(2026, 3, 2)
CALM = 28
EVERYTHING = RouteFilter()
RULE, OTHER = "answer_failed", "final_failed"


def tenants(
    usual: Mapping[str, int], *after: Mapping[str, int], rule: str = RULE, rows: int = 300, shared: int | None = None
) -> KpiDays:
    """Four weeks of days with the usual counts by tenant, then these; `shared` of each count is `final_failed` too."""
    days = {}
    for number, counts in enumerate([usual] * CALM + [dict(usual) | dict(of_day) for of_day in after]):
        all_rows = [_row(count, rule, rows, tenant) for tenant, count in counts.items()]
        total = _row(sum(counts.values()), rule, rows * len(counts), "*")
        days[FIRST + timedelta(number)] = [total, *all_rows]
    return days


def _row(count: int, rule: str, rows: int, tenant: str) -> dict[str, object]:
    return met(kpi_row({rule: count}, rows, tenant=tenant))


def pages(days: KpiDays, route: RouteFilter = EVERYTHING) -> list[tuple[int, list[tuple[str, str | None]]]]:
    """The pages of the days after the calm ones: on which of these, and what of whom."""
    found = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[CALM:], {"": route})
    return [
        ((one.day - FIRST).days - CALM, [(each.rule, each.tenant_id) for each in one.incidents])
        for one in found
        if one.kind == "page"
    ]


def sharing(days: KpiDays, counts: Sequence[int]) -> KpiDays:
    """The days on which so many of the failed answers also have the grade F."""
    return {
        day: [row | {f"alert_{OTHER}": count, f"alerts_{RULE}_and_{OTHER}": count} for row in rows]
        for (day, rows), count in zip(days.items(), counts, strict=True)
    }


def test_tenants_do_not_page_after_all_of_them_have_for_a_rule_that_shares_its_page() -> None:
    """Of all tenants together both rules have mostly the same rows; of each tenant, too few to tell."""
    risen = [dict.fromkeys("abcdef", 28)] * 6
    days = {
        day: [
            row
            | {f"alert_{OTHER}": row[f"alert_{RULE}"], shared: row[f"alert_{RULE}"] if row["tenant_id"] == "*" else 0}
            for row in rows
        ]
        for shared in [f"alerts_{RULE}_and_{OTHER}"]
        for day, rows in tenants(dict.fromkeys("abcdef", 15), *risen).items()
    }
    assert pages(days) == [(0, [(RULE, "*"), (OTHER, "*")])]


def test_rise_is_compared_with_days_of_its_own_rubric_version() -> None:
    """SPEC 6: a rubric version is compared only with days of its own."""
    of_earlier = tenants({"a": 60, "b": 15})
    of_this = tenants({"a": 15, "b": 15}, {"a": 60, "b": 15})
    began = FIRST + timedelta(CALM - 10)
    days: KpiDays = {}
    for day in of_this:
        rows, version = (of_this, "2") if day >= began else (of_earlier, "1")
        days[day] = [{**row, "rubric_version": version} for row in rows[day]]
    watched, day = WatchedDays(RUBRIC, days, AlertPolicy()), max(days)
    assert [*map(list, rise_days(watched, day, day, {(RULE, "*")}))] == [[day], [*sorted(days)[-11:-1]]]
    assert tenant_of_day(RUBRIC, [RULE], days, day, watched.decided[day]) == "테넌트 a"


def test_slow_rise_from_before_an_outage_is_counted_without_its_days() -> None:
    """What made the outage is not what rises since."""
    days = tenants({"a": 15}, *[{"a": 20}] * 3, *[{"a": 200}] * 2, *[{"a": 20}] * 4)
    watched, day = WatchedDays(RUBRIC, days, AlertPolicy()), max(days)
    found = watched.decided[day][RULE, "*"]
    began = FIRST + timedelta(CALM)
    assert (found.change, found.since, found.reported_on) == ("drifting", began, day)
    during, _ = rise_days(watched, day, began, {(RULE, "*")})
    assert [(when - began).days for when in during] == [0, 1, 2, 7, 8]


@pytest.mark.long
def test_rise_of_all_tenants_pages_once_though_each_is_sure_on_a_day_of_its_own() -> None:
    after, found = 56, []
    for seed in range(2):
        days = kpi_days(Load(6), after + 21, seed, lambda day, rule: 2.0 if day >= after and rule == RULE else 1.0)
        reported = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[after:], {"all": RouteFilter()})
        found.append([one.incidents[0].tenant_id for one in reported if one.kind == "page"])
    assert found == [["*"], ["*"]]


@pytest.mark.long
def test_rise_of_all_tenants_that_grows_pages_again_as_one_and_not_tenant_by_tenant() -> None:
    """Pages of tenants that were part of the first rise were no news to whoever hears of all tenants together."""
    began, tenant = 56, "t2"
    days = kpi_days(
        Load(6), began + 35, 0, lambda day, rule: 1 + min(max(day - began, 0), 30) / 15 if rule == RULE else 1.0
    )
    routes = {"all": EVERYTHING, "one": RouteFilter(tenants=frozenset({tenant}))}
    reported = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[began:], routes)
    named = [(one.route, one.incidents[0].tenant_id) for one in reported if one.kind == "page"]
    assert [who for route, who in named if route == "all"] == ["*", "*"]
    assert [who for route, who in named if route == "one"] == [tenant, tenant]


def test_tenant_of_a_rise_that_paged_before_still_pages_the_route_that_names_it() -> None:
    days = tenants({"a": 15, "b": 15}, {"a": 60, "b": 26}, {"a": 60, "b": 38})
    assert pages(days) == [(0, [(RULE, "*")])]
    assert [who for _, who in pages(days, RouteFilter(tenants=frozenset({"b"})))] == [[(RULE, "b")]]


def test_tenant_that_fails_days_after_a_rise_of_all_tenants_pages_by_itself() -> None:
    days = tenants({"a": 15, "b": 15, "c": 2}, {"a": 40, "b": 40}, {"a": 35, "b": 35}, {"a": 35, "b": 35, "c": 30})
    assert pages(days) == [(0, [(RULE, "*")]), (2, [(RULE, "c")])]


def test_rise_of_all_tenants_that_one_of_them_made_pages_no_second_time() -> None:
    days = tenants({"a": 3, "b": 60}, *[{"a": 24}] * 6)
    assert pages(days) == [(0, [(RULE, "a")])]
    decided = list(WatchedDays(RUBRIC, days, AlertPolicy()).decided.values())[CALM:]
    news = [number for number, of_day in enumerate(decided) if of_day[RULE, "*"].is_news]
    assert news == [1]  # reported once in a digest; what would have paged on a later day is no news either
    reported = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[CALM:], {"": EVERYTHING})
    assert [("*", "drifting")] in [
        [(one.tenant_id, one.change) for one in message.incidents if one.change != "continuing"] for message in reported
    ]


def test_rise_of_all_tenants_pages_after_one_of_them_that_made_little_of_it() -> None:
    days = tenants({"a": 2, "b": 60}, {"a": 15}, {"a": 15, "b": 130})
    assert pages(days) == [(0, [(RULE, "a")]), (1, [(RULE, "*")])]


@pytest.mark.parametrize("before", [0, 2])
def test_rise_of_all_tenants_is_reported_in_the_page_of_the_tenant_that_made_it(before: int) -> None:
    days = tenants(dict.fromkeys("abcde", 15), *[{"a": 21}] * before, {"a": 45})
    reported = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[CALM:], {"": EVERYTHING})
    assert [(one.kind, [each.tenant_id for each in one.incidents]) for one in reported] == [("page", ["a"])]

    facts = days_of_facts(days.items())
    last = max(facts)
    digest = day_digest(last, facts, facts.kpis[last][0])
    [page] = day_messages(digest, EVERYTHING)
    lines = readable(page.blocks).splitlines()
    figures = [line.split(" · ")[0] for line in lines if "/300건" in line or "/1,500건" in line]
    assert figures == ["테넌트 a  45/300건 (15.0%, 95% 구간 11.4~19.5%)", "전체  105/1,500건 (7.0%, 95% 구간 5.8~8.4%)"]
    assert day_messages(digest, EVERYTHING, known_keys=page.keys) == []  # a rerun
    [of_tenant] = day_messages(digest, RouteFilter(tenants=frozenset({"a"})))
    assert "전체  " not in readable(of_tenant.blocks)


def test_route_of_all_tenants_hears_of_one_when_it_pages_and_when_that_is_over() -> None:
    facts = days_of_facts(tenants(dict.fromkeys("abcde", 15), *[{"a": 45}] * 2, *[{}] * 3).items())
    of_a = [[one for one in incidents_on(facts, day) if one.fact.tenant_id == "a"] for day in list(facts)[CALM:]]
    states = [["rising"], ["continuing"], ["continuing"], ["resolved"], ["continuing"]]
    assert [[one.state for one in found] for found in of_a] == states
    seen = [[one.state for one in visible_to(EVERYTHING, found)] for found in of_a]
    assert seen == [["rising"], [], [], ["resolved"], []]


def test_page_gives_the_figures_of_all_tenants_of_each_of_its_rules() -> None:
    days = tenants(dict.fromkeys("abcde", 15), {"a": 45})
    alike = {
        day: [
            row | dict.fromkeys((f"alert_{OTHER}", f"alerts_{RULE}_and_{OTHER}"), row[f"alert_{RULE}"]) for row in rows
        ]
        for day, rows in days.items()
    }
    facts = days_of_facts(alike.items())
    last = max(facts)
    [page] = day_messages(day_digest(last, facts, alike[last][0]), EVERYTHING)
    lines = readable(page.blocks).splitlines()
    named = [line.split(" · ")[0].split("  ")[0] for line in lines if "건 (" in line or "(테넌트 a)" in line]
    assert named[-6:] == ["답변 실패", "테넌트 a", "전체", "종합 등급 F", "테넌트 a", "전체"], lines


def test_page_of_a_tenant_takes_no_rise_of_another_for_one_of_all_tenants() -> None:
    days = tenants({"a": 15, "b": 15}, {"b": 45}, {"a": 45, "b": 45})
    facts = days_of_facts(days.items())
    last = max(facts)
    digest = day_digest(last, facts, facts.kpis[last][0])
    of_b = next(one for one in digest.incidents if one.fact.tenant_id == "b" and one.fact.rule == RULE)
    assert (of_b.reported_on is not None, of_b.pages) == (True, False)
    page, *_ = day_messages(digest, RouteFilter(tenants=frozenset("ab")))
    assert "(테넌트 a)" in page.text
    assert "전체" not in page.text + readable(page.blocks)


def test_rule_pages_though_a_digest_of_its_day_has_named_another_with_its_rows() -> None:
    """Only a page has called people: rows that came late may make one of what was no more than a line."""
    usual = met(kpi_row({RULE: 20, OTHER: 6}))
    rows = [*[usual] * CALM, met(kpi_row({RULE: 38, OTHER: 6}))]
    later = [*rows[:CALM], met(kpi_row({RULE: 38, OTHER: 28})) | {f"alerts_{RULE}_and_{OTHER}": 27}]
    of_day, late = (days_of_facts((FIRST + timedelta(n), [row]) for n, row in enumerate(one)) for one in (rows, later))
    last = max(of_day)
    [digest] = day_messages(day_digest(last, of_day, rows[-1]), EVERYTHING)
    assert (digest.kind, [key.split("|")[1] for key in digest.keys]) == ("digest", [RULE])
    found = day_messages(day_digest(last, late, later[-1]), EVERYTHING, known_keys=digest.keys, page_keys=[])
    assert [(one.kind, [key.split("|")[1] for key in one.keys]) for one in found] == [("page", [OTHER])]


def test_rise_of_all_tenants_that_others_made_is_reported_beside_the_page_of_a_tenant() -> None:
    days = tenants({"a": 3, "b": 60}, {"a": 15, "b": 77})
    reported = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[CALM:], {"": EVERYTHING})
    assert [(one.kind, one.incidents[0].tenant_id) for one in reported] == [("page", "a"), ("digest", "*")]


def test_page_of_a_tenant_says_that_all_tenants_rose_too() -> None:
    """Beside a rise of the service the first tenant that pages is not its cause."""
    names = "abcdefghijklmnop"
    usual = dict.fromkeys(names, 15)
    days = tenants(usual, *[dict.fromkeys(names, 16)] * 2, dict.fromkeys(names, 18) | {"a": 44})
    facts = days_of_facts(days.items())
    last = max(facts)
    digest = day_digest(last, facts, facts.kpis[last][0])
    of_all = next(one for one in digest.incidents if one.fact.tenant_id == "*" and one.fact.rule == RULE)
    assert (of_all.reported_on is not None, of_all.pages) == (True, False)
    page = next(one for one in day_messages(digest, EVERYTHING) if one.kind == "page")
    assert f"(테넌트 a) · 전체도 {day_text(of_all.since)}부터 오름" in page.text
    assert "전체  314/4,800건 (6.5%" in readable(page.blocks)
    of_tenant = day_messages(digest, RouteFilter(tenants=frozenset({"a"})))
    assert "전체도" not in of_tenant[0].text


def test_rule_whose_rows_have_paged_before_pages_no_second_time() -> None:
    days = tenants({"a": 15}, *[{"a": 45}] * 3)
    assert pages(sharing(days, [3] * CALM + [9, 16, 16])) == [(0, [(RULE, "*")])]


# The first page of a slow rise tells the rate of its day; the days before it, on which it was lower, are no measure.
def test_rule_at_the_rate_of_the_day_that_paged_pages_no_second_time() -> None:
    days = tenants({"a": 15}, *[{"a": 17}] * 6, {"a": 31}, {"a": 36})
    assert pages(sharing(days, [5] * CALM + [8] * 6 + [24] * 2)) == [(6, [(OTHER, "*"), (RULE, "*")])]


def test_rule_that_grows_beyond_what_has_paged_pages_again() -> None:
    days = tenants({"a": 15}, *[{"a": 45}] * 3)
    assert pages(sharing(days, [3] * CALM + [9, 16, 44])) == [(0, [(RULE, "*")]), (2, [(OTHER, "*"), (RULE, "*")])]


def test_rule_that_was_over_meanwhile_pages_again_with_another_of_its_cause_that_is_not() -> None:
    days = tenants({"a": 15}, {"a": 60}, *[{"a": 15}] * 5, {"a": 50})
    assert pages(sharing(days, [5] * CALM + [40] + [14] * 5 + [35])) == [
        (0, [(RULE, "*"), (OTHER, "*")]),
        (6, [(RULE, "*"), (OTHER, "*")]),
    ]


def test_end_of_a_page_is_reported_to_whom_it_called_of_one_tenant_or_of_all() -> None:
    """Not of each tenant where all together have paged."""
    for after, whose in (({"a": 24}, "a"), ({"a": 24, "b": 160}, "*")):
        days = tenants({"a": 3, "b": 60}, after, *[{}] * 6)
        reported = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[CALM:], {"": EVERYTHING})
        changes = [(one.tenant_id, one.change) for message in reported for one in message.incidents]
        assert [one for one in changes if one[1] == "resolved"] == [(whose, "resolved")]


def test_preview_names_no_end_of_a_rise_of_all_that_was_a_tenants_page() -> None:
    """A rise of all tenants together that is mostly a tenant's is no news beside its page, nor is its end."""
    days = tenants({"a": 4, "b": 10}, {"a": 18}, *[{}] * 8)
    found = preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), list(days)[CALM:], {"": EVERYTHING})
    assert [[(one.tenant_id, one.change) for one in message.named] for message in found] == [
        [("a", "rising")],
        [("a", "resolved")],
    ]


@pytest.mark.parametrize(
    ("counts", "cause"),
    [
        ([(100, 30), (76, 5)], 1),  # 71 of the 70 more than usual are blocked calls, 15 times as many
        ([(100, 30), (36, 1)], 0),  # half of the rise is not most of it
        ([(100, 30), (37, 1)], 1),
        ([(100, 20), (179, 20)], 0),  # 7.95 times as many, beside 4 times as many of the first rule
        ([(100, 20), (180, 20)], 1),
        ([(10, 0.2), (9, 0.1)], 0),  # below one a day no rate tells how many times as many
        ([(100, 30), (76, 5), (60, 1)], 2),
        ([(100, 30)], 0),
    ],
)
def test_cause_of_a_rise_explains_most_of_it_and_rose_twice_as_many_times(
    counts: list[tuple[int, float]], cause: int
) -> None:
    assert likely_cause(counts) == cause
