"""Tables that a backup has brought back, beside a state database that knows of later runs."""

from datetime import date
from pathlib import Path
from shutil import copytree, rmtree

from flows.steps.status import status_of
from scoring.chat.kpis import ALL_TENANTS
from tasks.chat.day_plan import BackfillPlan, backfill_plan
from tasks.chat.tables import KPIS
from tasks.config.settings import Settings
from tasks.warehouse import open_warehouse
from tests.builders.chat_rows import DAY, plain, write_rows
from tests.builders.flows import nightly
from tests.builders.settings import settings_in
from tests.builders.state import in_context

EVENING, WHOLE_DAY = 3, 5
TODAY = date(2026, 2, 14)


def scored_rows(settings: Settings) -> int:
    kpis = open_warehouse(settings.warehouse).read(KPIS, [DAY])
    assert kpis is not None
    return int(kpis.filter(tenant_id=ALL_TENANTS).collect()["rows"].item())


def lacking(settings: Settings) -> list[str]:
    return [problem for problem in status_of(settings).problems if "score tables" in problem]


def plan(settings: Settings) -> BackfillPlan:
    return in_context(backfill_plan, settings, DAY, DAY, TODAY)


def test_restored_tables_with_the_evening_of_a_day_are_not_taken_for_the_whole_day(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    source = Path(settings.monitoring.source) / "rows.jsonl"
    warehouse, kept = Path(settings.warehouse), tmp_path / "backup"
    write_rows(source, [plain(minute) for minute in range(EVENING)])
    nightly(settings, DAY, "intraday")
    copytree(warehouse, kept)
    write_rows(source, [plain(minute) for minute in range(WHOLE_DAY)])
    nightly(settings, DAY)
    assert not lacking(settings)
    assert plan(settings).days[0].up_to_date

    rmtree(warehouse)
    copytree(kept, warehouse)
    assert scored_rows(settings) == EVENING
    assert lacking(settings) == [
        f"days: missing in the score tables, or older than their last run: 1 day, since {DAY}; check `warehouse`, "
        f"then `aqb backfill --from {DAY} --to {DAY}`"
    ]
    assert plan(settings).days[0].reason == "tables older than the last run"

    nightly(settings, DAY)
    assert scored_rows(settings) == WHOLE_DAY
    assert not lacking(settings)
    assert plan(settings).days[0].up_to_date
