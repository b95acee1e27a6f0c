"""What a day is said to begin with: seldom where nothing changes, always where something broke."""

from collections.abc import Callable
from datetime import date, timedelta

from scoring.alerting.decision import DayDecisions, WatchedDays
from scoring.alerting.standing_out import standing_out
from scoring.alerting.watch import AlertPolicy
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, KpiRow, kpi_row, usual_load


def of_days(load: list[KpiRow]) -> dict[date, list[str]]:
    """What stands out on each of consecutive days of all tenants together."""
    rows = {FIRST_DAY + timedelta(number): row for number, row in enumerate(load)}
    watched = WatchedDays(RUBRIC, {day: [row] for day, row in rows.items()}, AlertPolicy())
    decided = watched.decided
    return {day: standing_out(RUBRIC, rows, day, lambda day=day: decided[day]) for day in rows}  # type: ignore[misc]


def test_in_a_year_without_a_change_something_stands_out_on_few_days() -> None:
    said = [day for seed in range(2) for day, rules in of_days(usual_load(seed, 365)).items() if rules]
    assert len(said) <= 2 * 12


def test_a_sunday_with_four_times_the_failures_stands_out() -> None:
    sunday = 9 * 7 - 1
    times: Callable[[int, str], float] = lambda day, rule: 4 if (day, rule) == (sunday, "answer_failed") else 1  # noqa: E731
    for seed in range(5):
        found = of_days(usual_load(seed, sunday + 1, times))
        assert found[FIRST_DAY + timedelta(sunday)][:1] == ["answer_failed"]


def test_what_pages_stands_before_what_comes_first_in_the_rubric() -> None:
    usual = kpi_row({"answer_failed": 30, "llm_blocked": 2})
    found = of_days([*[usual] * 20, kpi_row({"answer_failed": 52, "llm_blocked": 40})])
    assert list(found.values())[-1] == ["llm_blocked", "answer_failed"]


def test_the_history_of_all_tenants_is_read_only_where_a_share_is_far_above() -> None:
    asked: list[DayDecisions] = []

    def decided() -> DayDecisions:
        asked.append({})
        return asked[-1]

    for count in (30, 60):
        counts = [*[30] * 9, count]
        rows = {FIRST_DAY + timedelta(n): kpi_row({"answer_failed": of_day}) for n, of_day in enumerate(counts)}
        assert standing_out(RUBRIC, rows, max(rows), decided) == []
    assert len(asked) == 1
