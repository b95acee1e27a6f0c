"""What a rise costs where there are many tenants: a service with two thousand of them has one of many at once."""

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from scoring.alerting.causes import first_pages
from scoring.alerting.decision import WatchedDays
from scoring.alerting.preview import preview_days
from scoring.alerting.watch import WatchedRule, watch
from scoring.chat.kpis import KpisByDay
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.builders.alert_days import FIRST_DAY, USUAL_POLICY, kpi_row, met


class CountedRow(dict[str, Any]):
    """A KPI row that counts how often it is asked for its tenant."""

    asked = 0

    def __getitem__(self, name: str) -> Any:
        CountedRow.asked += name == "tenant_id"
        return super().__getitem__(name)


class Days(dict[date, list[CountedRow]]):
    """Days to which weak references are possible."""


def risen_days(tenants: int) -> Days:
    """Twelve days; on the last three the failures of every tenant are many times the usual ones, and grow."""
    found = Days()
    for number, failures in enumerate([5] * 9 + [60, 60, 250]):
        counts = {"answer_failed": failures}
        names = ["*", *(f"t{tenant}" for tenant in range(tenants))]
        found[FIRST_DAY + timedelta(number)] = [CountedRow(met(kpi_row(counts, tenant=name))) for name in names]
    return found


def asked_a_row(days: KpisByDay) -> float:
    """How often a preview of all days asks a KPI row for its tenant."""
    CountedRow.asked = 0
    reported = preview_days(WatchedDays(RUBRIC, days, USUAL_POLICY), list(days))
    assert any(one.kind == "page" for one in reported)
    return CountedRow.asked / sum(map(len, days.values()))


def test_preview_of_four_times_the_risen_tenants_asks_each_row_no_more_often() -> None:
    assert asked_a_row(risen_days(80)) < 1.5 * asked_a_row(risen_days(20))


def test_watched_days_release_their_rows_with_their_last_use() -> None:
    days = risen_days(2)
    watched = WatchedDays(RUBRIC, days, USUAL_POLICY)
    decided: Mapping[Any, Any] = watched.decided[max(days)]
    assert decided
    gone = weakref.ref(watched)
    del watched
    assert gone() is None, "only the garbage collector would release hundreds of megabytes"


class CountedRules(list[WatchedRule]):
    """Rules that count how often one is looked at."""

    looked_at = 0

    def __getitem__(self, place: Any) -> Any:
        self.looked_at += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[WatchedRule]:
        self.looked_at += len(self)
        return super().__iter__()


def rules_looked_at(tenants: int) -> int:
    """How often a rule is looked at to tell what of the risen days pages."""
    (watched,) = watch(RUBRIC, risen_days(tenants), USUAL_POLICY)
    rules = CountedRules(watched.rules)
    assert first_pages(replace(watched, rules=rules), lambda stream, number: ()).pages.any()
    return rules.looked_at


def test_causes_of_four_times_the_risen_tenants_look_at_four_times_the_rules() -> None:
    assert rules_looked_at(80) < 5 * rules_looked_at(20)
