"""What the decision does on days at the production load: how seldom it is wrong, and what it never misses."""

from collections import Counter
from datetime import date, timedelta

import numpy as np
import pytest

from benchmarks.alert_days import RATES, KpiDays, Load, kpi_days
from benchmarks.alerts import CHANGES, is_reported, reported
from scoring.alerting.days_off import is_day_off
from scoring.alerting.decision import RateDecision, WatchedDays
from scoring.alerting.rates import chance_of
from scoring.alerting.watch import AlertPolicy, watch
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import kpi_row, met
from tests.builders.cases import portion

DAY = date(2026, 3, 2)
RULE = "answer_failed"


def steady(counts: list[int], rule: str = RULE, rows: int = 776) -> KpiDays:
    """Days with the same rows, on which a rule fired this often."""
    return {DAY + timedelta(number): [met(kpi_row({rule: of_day}, rows))] for number, of_day in enumerate(counts)}


def decided(days: KpiDays, policy: AlertPolicy, rule: str = RULE) -> list[RateDecision]:
    return [of_day[rule, "*"] for of_day in WatchedDays(RUBRIC, days, policy).decided.values()]


def changes(days: KpiDays, policy: AlertPolicy | None = None, rule: str = RULE) -> list[str]:
    found = decided(days, policy or AlertPolicy(), rule)
    return [f"{one.change}{' page' if one.pages else ''}" if one.is_news else "" for one in found]


@pytest.mark.long
@pytest.mark.parametrize(("count", "rows", "rate", "variance"), [(60, 776, 0.054, 0.0125), (5, 776, 5e-4, 0.1)])
def test_chance_of_a_count_is_that_of_the_beta_binomial(count: int, rows: int, rate: float, variance: float) -> None:
    from scipy.stats import betabinom  # a second of imports, which the other workers do without

    strength = (1 - rate) / (rate * variance) - 1
    ours = chance_of(np.array([count]), np.array([rows]), np.array([rate]), np.array([variance]))
    theirs = betabinom.sf(count - 1, rows, rate * strength, (1 - rate) * strength)
    assert ours[0] == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("tenants", [2, 6])
def test_chance_calls_people_as_often_however_many_tenants_there_are(tenants: int) -> None:
    def calls_a_year(names: list[str]) -> dict[str | None, float]:
        (watched,) = watch(RUBRIC, {DAY: [met(kpi_row({}, tenant=name)) for name in names]}, AlertPolicy())
        of_rules = watched.budget.paged_day + watched.budget.paged_lasting
        of_tenants = dict[str | None, float].fromkeys((rule.tenant_id for rule in watched.rules), 0.0)
        for rule, calls in zip(watched.rules, of_rules, strict=True):
            of_tenants[rule.tenant_id] += 365 * float(calls)
        return of_tenants

    alone, shared = (calls_a_year(["*", *(f"tenant {n}" for n in range(count))]) for count in (0, tenants))
    assert sum(shared.values()) == pytest.approx(alone["*"])
    assert shared["*"] == pytest.approx(alone["*"] / 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("tenants", "variation", "most_pages"), portion([(6, 0.15, 4), (1, 0.15, 4), (6, 0.0, 2), (1, 0.0, 1)])
)
def test_year_without_a_change_is_quiet(tenants: int, variation: float, most_pages: int) -> None:
    kinds = Counter(one.kind for one in reported(kpi_days(Load(tenants, variation), 365, seed=1)))
    assert kinds["page"] <= most_pages
    assert kinds["digest"] <= 30


def test_rule_that_is_new_in_the_rubric_fires_on_no_made_up_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RATES, "very_short_answer")
    decisions = decided(kpi_days(Load(), 40, seed=1), AlertPolicy(), "very_short_answer")
    assert [one.count for one in decisions] == [0] * 40


@pytest.mark.long
@pytest.mark.parametrize(("place", "at_least"), portion([(0, 9), (2, 10), (3, 8), (4, 9)]))
def test_planted_change_is_reported_in_time(place: int, at_least: int) -> None:
    assert sum(is_reported(CHANGES[place], 0.0, seed) for seed in range(10)) >= at_least


@pytest.mark.long
def test_business_day_after_a_week_of_holidays_pages_no_one() -> None:
    """Seollal and Chuseok: three to nine days off in a row, then five times as many turns."""
    pages = 0
    for seed in range(2):
        days = kpi_days(Load(days_off_ratio=0.5), 480, seed)
        after = [day for day in days if not is_day_off(day) and all(is_day_off(day - timedelta(n)) for n in (1, 2, 3))]
        assert len(after) >= 5
        pages += sum(one.kind == "page" for one in reported(days, after))
    assert pages == 0


def test_rate_that_stays_high_is_usual_after_four_weeks() -> None:
    days = steady([40] * 28 + [90] * 40)
    assert [place for place, change in enumerate(changes(days)) if change] == [28]
    last = decided(days, AlertPolicy())[-1]
    assert last.change is None
    assert last.usual.rate == pytest.approx(90 / 776, rel=0.05)


def test_rise_that_grows_pages_again_before_it_has_doubled() -> None:
    """Reported at 88 rows, back to 56 for ten days, then 100 for good: more than anybody was notified of."""
    days = steady([40] * 28 + [88] + [56] * 10 + [100] * 10)
    reported = {place: change for place, change in enumerate(changes(days)) if change}
    assert list(reported.values()) == ["rising page", "rising page"]
    first, again = reported
    assert (first, 39 <= again <= 42) == (28, True)
    assert decided(days, AlertPolicy())[again].since == DAY + timedelta(39)


def test_page_tells_a_rate_that_has_to_double_before_the_rise_pages_again() -> None:
    """Told in a digest at 58 rows, with a page at 84: twice the 58 is no news then, twice the 84 is."""
    reported = [40] * 28 + [58, 84]
    assert changes(steady([*reported, 134]))[28:] == ["rising", "rising page", ""]
    assert changes(steady([*reported, 168]))[28:] == ["rising", "rising page", "rising page"]


def test_rise_is_reported_on_a_day_above_what_is_usual_for_it() -> None:
    """Not on a Sunday without a single such row, because the days before it were many together."""
    days = kpi_days(Load(6), 120, seed=3)
    found = [one for of_day in WatchedDays(RUBRIC, days, AlertPolicy()).decided.values() for one in of_day.values()]
    news = [one for one in found if one.is_news and one.change in ("rising", "drifting")]
    assert len(news) > 30
    assert [one for one in news if one.count <= one.rows * one.usual.rate] == []


@pytest.mark.parametrize("first", [56, 62])
def test_rise_within_a_rise_is_usual_after_four_weeks_of_its_own(first: int) -> None:
    """Three weeks at half as much again, then a real rise for good: it is reported once, and becomes what is usual."""
    days = steady([40] * 28 + [first] * 21 + [200] * 40)
    reported = [place for place, change in enumerate(changes(days)) if change]
    assert (reported[-1], sum(place >= 28 + 21 for place in reported)) == (28 + 21, 1)
    last = decided(days, AlertPolicy())[-1]
    assert last.change is None
    assert last.usual.rate == pytest.approx(200 / 776, rel=0.05)


@pytest.mark.long
def test_rise_that_only_lasts_pages_once() -> None:
    """Days at twice the rate, by chance some higher and some lower."""
    for seed in range(6):
        days = kpi_days(Load(), 84, seed, lambda day, rule: 2.0 if day >= 56 and rule == RULE else 1.0)
        assert sum("page" in change for change in changes(days)[56:]) == 1, seed


def test_days_that_paged_are_never_usual_but_those_since_the_rate_is_back_are() -> None:
    found = decided(steady([8] * 14 + [40] * 3 + [8] * 3), AlertPolicy())
    assert [one.change for one in found[14:]] == ["rising"] * 4 + ["resolved", None]
    assert found[-1].usual.days == 14 + 2  # two days reported that it is back
    assert found[-1].usual.rate == pytest.approx(8 / 776, rel=0.02)


def test_days_that_never_paged_are_usual_once_they_are_over() -> None:
    """Without them a tenant that had a high Sunday by chance would know low ones alone, and be reported more often."""
    found = decided(steady([8] * 14 + [20] + [8] * 6), AlertPolicy())
    assert [one.change for one in found if one.is_news] == ["rising", "resolved"]
    assert not any(one.pages for one in found)
    assert found[-1].usual.days == 20


def test_warning_that_is_over_is_reported_no_more() -> None:
    """Its days stay among those that count, but they are no rise of today."""
    days = steady([8] * 28 + [60] * 7 + [8] * 21, rule="very_short_answer")
    news = [
        (place, one.change)
        for place, one in enumerate(decided(days, AlertPolicy(), "very_short_answer"))
        if one.is_news
    ]
    assert news == [(28, "rising"), (36, "resolved")]


@pytest.mark.parametrize("tenant", ["*", "t1"])
def test_accepted_rate_is_usual_from_then_on(tenant: str) -> None:
    days = {day: [*rows, rows[0] | {"tenant_id": "t1"}] for day, rows in steady([40] * 28 + [90] * 9).items()}
    policy = AlertPolicy(accepted={(RULE, "*"): DAY + timedelta(30)})
    found = [of_day[RULE, tenant] for of_day in WatchedDays(RUBRIC, days, policy).decided.values()]
    assert [one.change for one in found[27:34]] == [None, "rising", "rising", "rising", None, None, None]
    assert found[-1].usual.rate > 0.1
    assert not any(one.settles for one in found)  # whoever accepts it knows


def test_more_looks_at_a_day_need_a_larger_count() -> None:
    days = steady([40] * 28 + [68])
    assert changes(days)[-1] == "rising page"
    assert changes(days, AlertPolicy(looks=24))[-1] == "rising"
    assert changes(days, AlertPolicy(false_pages_per_year=0.01))[-1] == "rising"


def test_first_days_of_a_rule_that_nobody_knows_page_from_ten_rows() -> None:
    assert changes(steady([0, 0, 0, 9], "final_failed"), AlertPolicy()) == [""] * 4
    found = decided(steady([0, 0, 0, 14], "final_failed"), AlertPolicy(), "final_failed")[-1]
    assert (found.pages, found.usual.basis, found.usual.days) == (True, "nothing", 3)


def test_days_off_have_a_rate_of_their_own_where_it_differs() -> None:
    days = kpi_days(Load(days_off_ratio=2.0), 56, seed=3)
    decided = WatchedDays(RUBRIC, days, AlertPolicy()).decided
    usual = {is_day_off(day): of_day[RULE, "*"].usual.rate for day, of_day in decided.items()}
    assert usual[True] / usual[False] > 1.5


def test_day_of_another_rubric_version_knows_no_rate() -> None:
    days = {
        day: [row | {"rubric": "r", "rubric_version": "2" if place > 20 else "1"} for row in rows]
        for place, (day, rows) in enumerate(steady([40] * 22).items())
    }
    assert [one.usual.days for one in decided(days, AlertPolicy())][-2:] == [20, 0]


def test_day_is_decided_from_earlier_days_alone() -> None:
    days = kpi_days(Load(tenants=6), 60, seed=5)
    whole = WatchedDays(RUBRIC, days, AlertPolicy()).decided
    part = WatchedDays(RUBRIC, dict(list(days.items())[:40]), AlertPolicy()).decided
    assert all(part[day] == whole[day] for day in part)


def test_million_turns_a_day_are_decided_too() -> None:
    """Counts of large services: the tail is summed until it no longer matters."""
    (last,) = watch(RUBRIC, steady([50_000] * 28 + [90_000], rows=1_000_000), AlertPolicy())
    assert last.episodes.pages[0, -1]


def test_day_decides_nothing_of_tenants_of_which_it_has_no_row_and_whose_rates_are_as_usual() -> None:
    """Of thousands of tenants these are most: a night of 2,000 held two million such decisions."""
    days = {
        day: [*rows, *({**rows[0], "tenant_id": f"t{number}", f"alert_{RULE}": 0} for number in range(50))]
        for day, rows in steady([40] * 30).items()
    }
    last = list(WatchedDays(RUBRIC, days, AlertPolicy()).decided.values())[-1]
    assert {tenant for rule, tenant in last if rule == RULE} == {"*"}
    assert last[RULE, "*"].count == 40


@pytest.mark.parametrize("times", [3, 5, 10])
@pytest.mark.parametrize("outage_days", [1, 2, 4, 7])
def test_outage_that_only_a_digest_reported_hides_no_doubling_two_weeks_later(times: int, outage_days: int) -> None:
    calm = [40, 38, 43, 37, 41, 39, 42]
    counts = [*calm * 5, *[40 * times] * outage_days, *calm * 2, 80]
    found = changes(steady(counts, "very_short_answer"), rule="very_short_answer")
    assert [change for change in found if change] == ["rising", "resolved", "rising"]
    assert found[-1] == "rising"


def test_rise_that_may_have_been_chance_counts_as_usual_when_it_is_over() -> None:
    told_once, never = (
        decided(steady([*[40] * 35, high, *[40] * 7], "very_short_answer"), AlertPolicy(), "very_short_answer")
        for high in (66, 40)
    )
    assert told_once[35].change == "rising" and told_once[-1].change is None
    assert told_once[-1].usual.rate > never[-1].usual.rate


def test_rise_of_a_tenant_ends_on_a_day_without_any_row_that_meets_its_rule() -> None:
    days = {day: [row, {**row, "tenant_id": "t1"}] for day, (row,) in steady([8] * 14 + [60, 0, 0]).items()}
    of_tenant = [found.get((RULE, "t1")) for found in WatchedDays(RUBRIC, days, AlertPolicy()).decided.values()]
    assert [(one.change, one.count, one.paged) if one else None for one in of_tenant[14:]] == [
        ("rising", 60, True),
        ("resolved", 0, True),
        None,
    ]
