from datetime import date, timedelta
from typing import Any

import pytest

from scoring.alerting.decision import WatchedDays
from scoring.alerting.facts import (
    AlertFact,
    excluded_facts,
    is_unread,
    monitoring_facts,
    rejected_rows,
    rows_on_page,
)
from scoring.alerting.growth import Grown, Growth
from scoring.alerting.watch import AlertPolicy
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.kpi_tables import CountedRows

ROW_RULES = {
    "answer_failed": "critical",
    "good_question_bad_answer": "critical",
    "llm_blocked": "critical",
    "final_failed": "critical",
    "weak_answer": "warning",
    "very_short_answer": "warning",
}
DAY = date(2026, 3, 10)
AT_TARGET = {kpi.name: kpi.target.value for kpi in RUBRIC.quotients if kpi.target}
MET = AT_TARGET | {
    "answer_excellent_rate": 0.95,
    "failure_rate": 0.01,
    "gold_mine_rate": 0.001,
    "mean_final_score": 70.0,
}
MEAN_ENDS = {"mean_final_score_low": 69.0, "mean_final_score_high": 71.0}


def kpis(tenant: str | None = "*", rows: int = 1000, excluded: int = 0, **values: Any) -> dict[str, Any]:
    """The KPI row of a day on which nothing happened."""
    quiet = {f"alert_{rule.id}": 0 for rule in RUBRIC.alert_rules} | MET | MEAN_ENDS
    rate = excluded / (rows + excluded) if rows + excluded else None
    read = {"tenant_id": tenant, "rows": rows, "excluded": excluded, "excluded_rate": rate}
    return read | quiet | values


def facts(
    *today: dict[str, Any],
    history: list[list[dict[str, Any]]] | None = None,
    growth: dict[tuple[str, str | None], Growth] | None = None,
    rejected: int = 0,
) -> list[AlertFact]:
    before = {DAY - timedelta(days=days): rows for days, rows in enumerate(history or [], start=1)}
    return monitoring_facts(RUBRIC, DAY, today, before, growth or {}, rejected)


def rules(*today: dict[str, Any], history: list[list[dict[str, Any]]] | None = None, rejected: int = 0) -> list[str]:
    return [fact.rule for fact in facts(*today, history=history, rejected=rejected)]


def test_quiet_day_has_no_facts() -> None:
    assert rules(kpis(), kpis("a"), kpis(None)) == []


@pytest.mark.parametrize(("rule", "level"), ROW_RULES.items())
def test_row_rule_that_fired_is_a_fact_with_its_level(rule: str, level: str) -> None:
    (fact,) = facts(kpis("a") | {f"alert_{rule}": 1}, kpis())
    assert (fact.rule, fact.level, fact.tenant_id, fact.count, fact.rows) == (rule, level, "a", 1, 1000)


def test_facts_of_rows_stand_in_the_order_of_the_rules() -> None:
    assert rules(kpis() | {f"alert_{rule}": 2 for rule in ROW_RULES}) == list(ROW_RULES)


@pytest.mark.parametrize(
    ("name", "value", "limit"),
    [
        ("answer_excellent_rate", 0.85, 0.9),
        ("failure_rate", 0.05, 0.03),
        ("gold_mine_rate", 0.03, 0.01),
        ("mean_final_score", 60.0, 65.0),
    ],
)
def test_missed_target_is_a_fact_with_value_and_limit(name: str, value: float, limit: float) -> None:
    ends = {"mean_final_score_low": 59.0, "mean_final_score_high": 61.0} if name == "mean_final_score" else {}
    (fact,) = facts(kpis() | {name: value} | ends)
    assert (fact.rule, fact.count, fact.value, fact.limit) == (f"kpi_{name}", None, value, limit)


@pytest.mark.parametrize(
    "undecided",
    [
        {"failure_rate": 0.035},  # of 1,000 rows: 2.5 to 4.8 %
        {"rows": 29, "failure_rate": 1.0},
        {"mean_final_score": 64.0, "mean_final_score_low": 62.0, "mean_final_score_high": 66.0},
    ],
)
def test_target_of_which_the_day_decides_nothing_is_not_missed(undecided: dict[str, Any]) -> None:
    assert rules(kpis() | undecided) == []


def test_unknown_kpi_misses_no_target() -> None:
    assert rules(kpis(rows=0, excluded=4) | dict.fromkeys((*MET, *MEAN_ENDS))) == []


def test_usual_counts_are_those_of_the_same_tenant_latest_first() -> None:
    history = [
        [kpis("a", alert_llm_blocked=3), kpis(alert_llm_blocked=9)],
        [kpis(None)],
        [kpis("a", alert_llm_blocked=1)],
    ]
    (fact,) = facts(kpis("a", alert_llm_blocked=4), kpis(), history=history)
    assert fact.usual[0] == 3
    assert 9 not in fact.usual
    assert sorted(set(fact.usual) - {0}) == [1, 3]


def test_missing_tenant_and_all_tenants_are_not_confused() -> None:
    history = [[kpis(alert_llm_blocked=9), kpis(None, alert_llm_blocked=2)]]
    (fact,) = facts(kpis(None, alert_llm_blocked=4), kpis(), history=history)
    assert (fact.tenant_id, fact.usual) == (None, (2,))


def test_what_grew_is_that_of_rule_and_tenant() -> None:
    grown = Grown("failure_type", "blocked", 2, 0.1, 0.9, 0.8, 1.0)
    growth: dict[tuple[str, str | None], Growth] = {
        ("llm_blocked", "a"): Growth((grown,), ("x", "y"), (2, 1)),
        ("llm_blocked", "*"): Growth((), ("z",), (1,)),
        ("weak_answer", "a"): Growth((), ("w",), (1,)),
    }
    (fact,) = facts(kpis("a", alert_llm_blocked=2), kpis(), growth=growth)
    assert (fact.grown, fact.row_ids, fact.alike) == ((grown,), ("x", "y"), (2, 1))


def test_rows_on_page_are_those_of_all_tenants_first_and_not_without_end() -> None:
    tenants = [(f"t{number:03}", [f"t{number:03}-{place}" for place in range(5)]) for number in range(99)]
    shown = rows_on_page([*tenants, ("*", ["z", "y"]), (None, ["z"])])
    assert shown[:4] == ["z", "y", "t000-0", "t000-1"]
    assert len(shown) == 200


def test_day_without_rows_is_critical() -> None:
    for today in ([], [kpis(rows=0)]):
        (fact,) = facts(*today)
        assert (fact.rule, fact.level, fact.tenant_id) == ("no_rows", "critical", "*")


def test_day_without_rows_is_compared_with_days_like_it() -> None:
    monday, saturday = date(2026, 3, 9), date(2026, 3, 14)
    week = {monday + timedelta(days=days): [kpis(rows=72 if days > 4 else 400 + days)] for days in range(6, -1, -1)}

    def usual(day: date, history: dict[date, list[dict[str, Any]]]) -> tuple[int, ...]:
        (fact,) = monitoring_facts(RUBRIC, day, [], history, {}, 0)
        return fact.usual

    assert usual(saturday + timedelta(days=7), week) == (72, 72)
    assert usual(monday + timedelta(days=7), week) == (404, 403, 402, 401, 400)
    assert usual(monday + timedelta(days=7), {saturday: week[saturday]}) == (72,)
    assert usual(saturday, {monday: week[monday]}) == ()


def test_day_of_which_no_row_could_be_read_says_that_rows_came() -> None:
    (fact,) = facts(kpis(rows=0), rejected=300)
    assert (fact.rule, fact.level, fact.title) == ("no_rows", "critical", "이날 행을 하나도 읽지 못함")
    assert (fact.count, fact.rows) == (300, 300)
    assert is_unread(fact)
    assert rejected_rows([(fact.rule, fact.count)]) == 300
    (nothing_came,) = facts(kpis(rows=0))
    assert not is_unread(nothing_came)
    assert rejected_rows([(nothing_came.rule, nothing_came.count)]) == 0


def test_excluded_rows_are_rows() -> None:
    assert "no_rows" not in rules(kpis(rows=0, excluded=1))


def test_rejected_rows_are_one_fact_of_the_day() -> None:
    (fact,) = facts(kpis(), kpis("a"), rejected=7)
    assert (fact.rule, fact.level, fact.tenant_id, fact.count) == ("rows_rejected", "warning", "*", 7)


def excluded(*today: dict[str, Any], history: list[list[dict[str, Any]]] | None = None) -> list[AlertFact]:
    """The facts about excluded rows of a day after others, the latest first."""
    earlier = history or []
    days = {DAY - timedelta(days=back): rows for back, rows in enumerate([list(today), *earlier])}
    return excluded_facts(WatchedDays(RUBRIC, days, AlertPolicy()).decided[DAY].values(), earlier)


def test_outage_of_null_answers_is_reported() -> None:
    history = [[kpis(rows=1000, excluded=5)]] * 7
    (fact,) = excluded(kpis(rows=600, excluded=405), history=history)
    assert (fact.rule, fact.level, fact.count, fact.rows) == ("excluded_rate_rising", "critical", 405, 1005)
    assert fact.title == "질문이나 답변이 없는 행"  # also where it is over, or as usual: not that it rises
    assert fact.value == 405 / 1005
    assert fact.usual == (5,) * 7
    assert fact.usual_values == (5 / 1005,) * 7


def test_blocked_call_is_one_of_all_rows_the_excluded_ones_too() -> None:
    fired = facts(kpis(rows=10, excluded=90, alert_llm_blocked=90, alert_weak_answer=3))
    assert {fact.rule: fact.rows for fact in fired if fact.rule.endswith(("blocked", "answer"))} == {
        "llm_blocked": 100,
        "weak_answer": 10,
    }


def test_missed_target_knows_its_values_on_the_days_before() -> None:
    missed = kpis(failure_rate=0.25)
    history = [[kpis(failure_rate=0.04)], [kpis(rows=0, failure_rate=None)], [], [kpis(failure_rate=0.02)]]
    (fact,) = facts(missed, history=history)
    assert fact.usual_values == (0.04, 0.02)


def test_day_without_rows_knows_how_many_there_are_usually() -> None:
    friday = [kpis(rows=520), kpis("a", rows=9)]
    (fact,) = facts(kpis(rows=0), history=[[kpis(rows=500, excluded=4)], [], [], friday])
    assert fact.usual == (504, 520)


def test_refused_rows_are_a_part_of_all_that_were_read() -> None:
    (fact,) = facts(kpis(rows=90, excluded=3), rejected=7)
    assert (fact.count, fact.rows) == (7, 100)


@pytest.mark.parametrize(
    ("today", "usual", "rises"),
    [
        (kpis(rows=10, excluded=90), None, True),  # the first day of all
        (kpis(rows=5, excluded=15), kpis(rows=990, excluded=10), True),  # the rate counts: a day with little traffic
        (kpis(excluded=4), None, False),
        (kpis(excluded=9), kpis(excluded=5), False),
        (kpis(rows=2970, excluded=30), kpis(rows=990, excluded=10), False),  # more traffic at the same rate
    ],
)
def test_excluded_rows_are_a_fact_where_their_rate_has_risen(
    today: dict[str, Any], usual: dict[str, Any] | None, rises: bool
) -> None:
    found = excluded(today, history=[[usual]] * 7 if usual else [])
    assert [fact.rule for fact in found] == ["excluded_rate_rising"] * rises


def test_usual_counts_leave_out_days_that_did_not_count_the_rule() -> None:
    unknown = {name: value for name, value in kpis("a").items() if name != "alert_weak_answer"}
    history = [[kpis("a", alert_weak_answer=2)], [unknown], [kpis("a", alert_weak_answer=None)], [kpis("b")]]
    (fact,) = facts(kpis("a", alert_weak_answer=4), kpis(), history=history)
    assert fact.usual == (2, 0)


def test_missed_target_leaves_out_days_that_did_not_know_the_kpi() -> None:
    unknown = {name: value for name, value in kpis().items() if name != "failure_rate"}
    (fact,) = facts(kpis(failure_rate=0.3), history=[[unknown], [kpis(failure_rate=0.25)]])
    assert fact.usual_values == (0.25,)


def test_facts_go_through_the_days_before_as_often_for_many_tenants_as_for_few() -> None:
    times = []
    for tenants in (2, 50):
        names = ["*", *(f"t{number}" for number in range(tenants))]
        earlier = [CountedRows(kpis(name) for name in names) for _ in range(7)]
        history = {DAY - timedelta(back): rows for back, rows in enumerate(earlier, start=1)}
        monitoring_facts(RUBRIC, DAY, [kpis(name) for name in names], history, {}, rejected=0)
        times.append(sum(rows.times for rows in earlier))
    assert times[0] == times[1] > 0
