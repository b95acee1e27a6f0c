"""What the alerts of thousands of tenants cost: no more than those of the tenants that somebody is told of."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scoring.alerting import decision, kpi_incidents
from scoring.alerting.decision import WatchedDays
from scoring.alerting.messages import RouteFilter
from scoring.alerting.preview import preview_days
from scoring.alerting.watch import AlertPolicy
from scoring.chat.kpi_windows import standings
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.alerts.day_digest import day_digest
from tasks.files.report_paths import ReportPaths
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.alert_days import FIRST_DAY, KpiRow, kpi_row
from tests.builders.kpi_tables import write_kpis

LAST = FIRST_DAY + timedelta(39)


def _days(tenants: int) -> dict[Any, list[KpiRow]]:
    """Forty days on which every tenant has turns enough for verdicts, and rows that meet a rule."""
    fired, missed = {"answer_failed": 2, "weak_answer": 1}, {"failure_rate": 0.9, "score_date": None}
    of_day = [kpi_row(fired, rows=40, tenant=f"t{number}") | missed for number in range(tenants)]
    whole = kpi_row({rule: count * tenants for rule, count in fired.items()}, rows=40 * tenants)
    days = [FIRST_DAY + timedelta(number) for number in range(40)]
    return {day: [row | {"score_date": day} for row in [whole, *of_day]] for day in days}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], tuple[int, int]]:
    """Decides something, and says how many rates and how many KPIs that judged."""
    of_rates, of_kpis, made = decision._decision, standings, {"rates": 0, "kpis": 0}

    def deciding(*place: Any) -> Any:
        made["rates"] += 1
        return of_rates(*place)

    def judging(*rows: Any) -> Any:
        made["kpis"] += 1
        return of_kpis(*rows)

    monkeypatch.setattr(decision, "_decision", deciding)
    monkeypatch.setattr(kpi_incidents, "standings", judging)

    def counting(decide: Callable[[], object]) -> tuple[int, int]:
        made.update(rates=0, kpis=0)
        decide()
        return made["rates"], made["kpis"]

    return counting


@pytest.mark.parametrize("named", [0, 2])
def test_preview_judges_those_tenants_alone_that_a_route_names(
    counted: Callable[[Callable[[], object]], tuple[int, int]], named: int
) -> None:
    routes = {"all": RouteFilter()} | {f"of_{n}": RouteFilter(tenants=frozenset({f"t{n}"})) for n in range(named)}

    def preview(tenants: int) -> None:
        days = _days(tenants)
        preview_days(WatchedDays(RUBRIC, days, AlertPolicy()), [*days], routes)

    few, many = (counted(partial(preview, tenants)) for tenants in (5, 50))
    assert few == many
    assert few[1] == len(RUBRIC.targeted) * (1 + named)


def test_day_judges_the_kpis_of_those_tenants_alone_that_a_route_names(
    counted: Callable[[Callable[[], object]], tuple[int, int]], tmp_path: Path
) -> None:
    warehouse = FolderWarehouse(tmp_path)
    write_kpis(warehouse, _days(20))

    def digest(*tenants: str) -> set[str | None]:
        reports = ReportPaths(tmp_path / "reports")
        found = day_digest(warehouse, RUBRIC, LAST, [], reports, AlertPolicy(), {"*", *tenants})
        return {one.fact.tenant_id for one in found.incidents if one.fact.rule == "kpi_failure_rate"}

    assert counted(digest)[1] == len(RUBRIC.targeted)
    assert counted(lambda: digest("t3"))[1] == 2 * len(RUBRIC.targeted)
    assert digest("t3") == {"*", "t3"}


def test_day_makes_the_decisions_that_are_asked_for(
    counted: Callable[[Callable[[], object]], tuple[int, int]],
) -> None:
    decided = WatchedDays(RUBRIC, _days(30), AlertPolicy()).decided
    assert counted(lambda: [of_day["answer_failed", "t7"] for of_day in decided.values()])[0] == len(decided)
    assert counted(lambda: ("answer_failed", "t9") in decided[LAST])[0] <= 1
    assert len(decided[LAST]) == len([*decided[LAST]]) == 2 * 30 + 7
