"""Verdicts of KPIs that undecided weeks keep, however long ago they were decided. Source: SPEC 8 and 10."""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from flows.steps.alerts import preview
from scoring.alerting.incidents import Incident
from scoring.alerting.watch import DECISION_DAYS, AlertPolicy
from scoring.chat.kpi_windows import FOUR_WEEKS, standings
from scoring.chat.kpis import rows_of_tenant
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.alerts.day_digest import day_digest
from tasks.chat.tables import KPIS
from tasks.files.report_paths import ReportPaths
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.alert_days import FIRST_DAY, TURNS, KpiRow, kpi_row
from tests.builders.kpi_tables import whole_rows, write_kpis
from tests.builders.settings import settings_in
from tests.builders.state import in_context

MISSED, MET, NEAR = [40], [2], [10, 22]  # of 535 turns; the target is 3 %
FAILURES = next(kpi for kpi in RUBRIC.targeted if kpi.name == "failure_rate")


def rows(failures: Sequence[int]) -> dict[date, list[KpiRow]]:
    """Days with so many failed answers, which no rule reports: only the KPI changes."""
    return {
        FIRST_DAY + timedelta(number): [kpi_row({}) | {"failure_rate": count / TURNS}]
        for number, count in enumerate(failures)
    }


def of_failures(warehouse: FolderWarehouse, day: date) -> list[Incident]:
    digest = day_digest(warehouse, RUBRIC, day, [], ReportPaths(Path("reports")), AlertPolicy())
    return [one for one in digest.incidents if one.fact.rule == "kpi_failure_rate"]


@pytest.mark.parametrize(("after", "verdict", "state"), [(MET, "met", "resolved"), (MISSED, "missed", "continuing")])
def test_verdict_is_kept_over_months_in_which_nothing_was_decided(
    tmp_path: Path, after: list[int], verdict: str, state: str
) -> None:
    """Whoever was told of a missed target is told when it is met again, and not once more that it is missed."""
    near = 2 * DECISION_DAYS
    days = rows([*MISSED * FOUR_WEEKS, *NEAR * (near // 2), *after * FOUR_WEEKS])
    write_kpis(warehouse := FolderWarehouse(tmp_path / "warehouse"), days)
    found = standings(FAILURES, rows_of_tenant(whole_rows(days)))
    decided = [day for day in days if found[day].figure.verdict == verdict]
    day = next(day for day in decided if day >= FIRST_DAY + timedelta(FOUR_WEEKS + near))
    undecided = [one for one in found if one < day and found[one].figure.verdict == "undecided"]
    assert len(undecided) > DECISION_DAYS
    assert [one.state for one in of_failures(warehouse, day)] == [state]
    assert [one.state for one in of_failures(warehouse, day - timedelta(1))] == ["continuing"]
    settings = settings_in(tmp_path)
    previewed = in_context(preview, settings, (max(days) - day).days + 1)[2]
    changes = [one.change for message in previewed for one in message.incidents if one.rule == "kpi_failure_rate"]
    assert set(changes) - {"continuing"} == {state} - {"continuing"}


def test_verdict_of_an_earlier_rubric_version_is_not_kept(tmp_path: Path) -> None:
    days = rows([*MISSED * FOUR_WEEKS, *NEAR * DECISION_DAYS, *MET * FOUR_WEEKS])
    of_version = list(days)[FOUR_WEEKS:]
    for day in of_version:
        days[day] = [row | {"rubric_version": "another"} for row in days[day]]
    write_kpis(warehouse := FolderWarehouse(tmp_path / "warehouse"), days)
    assert [one.state for day in of_version[-FOUR_WEEKS:] for one in of_failures(warehouse, day)] == []


class ListedWarehouse(FolderWarehouse):
    """A warehouse that counts how often it lists the scored days: BigQuery bills each time."""

    listed = 0

    def days(self, table: str) -> list[date]:
        self.listed += table == KPIS
        return super().days(table)


def test_scored_days_are_listed_once_however_long_nothing_was_decided(tmp_path: Path) -> None:
    days = rows([*MISSED * FOUR_WEEKS, *NEAR * (2 * DECISION_DAYS)])
    write_kpis(warehouse := ListedWarehouse(tmp_path), days)
    assert [one.state for one in of_failures(warehouse, max(days))] == ["continuing"]
    assert warehouse.listed == 1
