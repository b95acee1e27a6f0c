"""Tables that an earlier version wrote, and today's code with a rule more, a column less and a version raised."""

import json
import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring import catalog
from scoring.chat.kpis import Measure
from scoring.chat.rubric import AlertRule, RowRubric
from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.arrow_types import field
from scoring.rules.expressions import Column, Compare, Definition, Expression, Fired, Value, points
from tasks.warehouse.folder import FolderWarehouse
from tests.flows.conftest import EARLIER, EARLIER_SETTINGS, Command, done

FIRST = date(2026, 3, 9)
SCORED = [FIRST + timedelta(days=number) for number in range(3)]
NEXT = FIRST + timedelta(days=3)
ADDED, DROPPED_RULE, DROPPED_COLUMN = "long_answer", "very_short_answer", "answer_has_date"
_LONG = Compare(Column("answer_length"), ">=", Value(200))


def changed() -> RowRubric:
    """The rubric of tomorrow: one alert rule more, one less, one column of the scores less, the version raised."""
    rules = (
        *(rule for rule in RUBRIC.alert_rules if rule.id != DROPPED_RULE),
        AlertRule(ADDED, "warning", _LONG, "긴 답변", "예시를 읽으세요."),
    )
    gone = f"alert_{DROPPED_RULE}"
    kpis = [column for column in RUBRIC.kpis_schema if column.name != gone]
    place = [column.name for column in kpis].index("rubric")
    kpis.insert(place, field(f"alert_{ADDED}", pa.int64(), "긴 답변"))
    return replace(
        RUBRIC,
        version="2",
        alert_rules=rules,
        definitions=tuple(_redefined(one, rules) for one in RUBRIC.definitions if one.name != DROPPED_COLUMN),
        measures=(
            *(measure for measure in RUBRIC.measures if measure.name != gone),
            Measure(f"alert_{ADDED}", points(1, _LONG, ""), "긴 답변"),
        ),
        scores_schema=pa.schema([column for column in RUBRIC.scores_schema if column.name != DROPPED_COLUMN]),
        kpis_schema=pa.schema(kpis),
    )


def _redefined(one: Definition, rules: tuple[AlertRule, ...]) -> Definition:
    fired: Expression = Fired(tuple((rule.id, rule.condition) for rule in rules))
    return replace(one, expression=fired) if one.name == "alert_rules" else one


@pytest.fixture
def warehouse(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FolderWarehouse:
    """A copy of the earlier version's tables in the working folder, and the changed rubric in place of today's."""
    shutil.copytree(EARLIER / "warehouse", folder / "warehouse")
    (folder / "aqb.toml").write_text(EARLIER_SETTINGS, encoding="utf-8")
    monkeypatch.setitem(catalog.rubrics(), RUBRIC.id, changed())
    return FolderWarehouse(folder / "warehouse")


def alerts(warehouse: FolderWarehouse, day: date) -> dict[str, tuple[str, list[int]]]:
    """Rule -> version and usual counts of all tenants."""
    rows = pl.read_parquet(warehouse.path("alerts", day)).filter(pl.col("tenant_id") == "*")
    return {row["rule"]: (row["rubric_version"], row["usual"]) for row in rows.iter_rows(named=True)}


def test_stored_tables_are_of_a_version_without_the_rule(warehouse: FolderWarehouse) -> None:
    kpis, scores = warehouse.read("monitoring_kpis"), warehouse.read("monitoring_scores")
    assert kpis is not None
    assert scores is not None
    assert f"alert_{ADDED}" not in kpis.collect_schema()
    assert {f"alert_{DROPPED_RULE}"} <= set(kpis.collect_schema())
    assert DROPPED_COLUMN in scores.collect_schema()
    assert warehouse.days("monitoring_kpis") == SCORED


def test_nights_go_on_after_a_rule_was_added_and_compare_only_days_of_their_version(
    aqb: Command, warehouse: FolderWarehouse
) -> None:
    done(aqb, "nightly", "--date", str(NEXT))
    first = alerts(warehouse, NEXT)
    assert first[ADDED] == ("2", [])  # a cold start: nothing that the version before counted
    assert {usual for _, counts in first.values() for usual in counts} == set()
    assert {version for version, _ in first.values()} == {"2"}
    before = {day: warehouse.path("alerts", day).read_bytes() for day in SCORED}
    done(aqb, "backfill", "--from", str(SCORED[-1]), "--to", str(SCORED[-1]))
    assert len(alerts(warehouse, NEXT)[ADDED][1]) == 1
    assert all(warehouse.path("alerts", day).read_bytes() == before[day] for day in SCORED[:-1])


def test_site_preview_and_messages_read_days_of_two_versions(aqb: Command, warehouse: FolderWarehouse) -> None:
    done(aqb, "report")  # before any night of the new version
    done(aqb, "alerts", "--preview", "30d")
    done(aqb, "nightly", "--date", str(NEXT))
    done(aqb, "report")
    assert "긴 답변" in done(aqb, "alerts", "--preview", "30d")
    pages = {path.name for path in Path("reports/monitoring").glob("*.html")}
    of_days = {f"{day}{kind}.html" for day in (*SCORED, NEXT) for kind in ("", "-rows")}
    of_periods = {f"{name}{kind}.html" for name in (f"week-{FIRST}", f"month-{FIRST:%Y-%m}") for kind in ("", "-rows")}
    assert pages == of_days | of_periods
    assert "채점 기준 버전 1 → 2" in Path("reports/index.html").read_text(encoding="utf-8")
    assert any(path.name != "index.html" for path in Path("reports/test-runs").glob("*.html"))
    assert warehouse.days("monitoring_kpis") == [*SCORED, NEXT]


def test_rows_golden_and_thresholds_read_days_of_two_versions(aqb: Command, warehouse: FolderWarehouse) -> None:
    done(aqb, "nightly", "--date", str(NEXT))
    period = ("--from", str(FIRST), "--to", str(NEXT))
    scores = warehouse.read("monitoring_scores")
    assert scores is not None
    rows = scores.select("row_id", "score_date", DROPPED_COLUMN).collect()
    unknown = rows.filter(pl.col(DROPPED_COLUMN).is_null())
    assert set(unknown["score_date"]) == {NEXT}
    assert json.loads(done(aqb, "thresholds", *period, "--json"))["rows"] == rows.height
    done(aqb, "golden", *period)
    for day in (FIRST, NEXT):
        row_id = rows.filter(pl.col("score_date") == day)["row_id"][0]
        assert row_id in done(aqb, "rows", row_id)


def test_erasing_keeps_what_the_earlier_version_wrote(aqb: Command, warehouse: FolderWarehouse) -> None:
    path = warehouse.path("monitoring_scores", FIRST)
    before = pl.read_parquet(path)
    session = before.filter(pl.col("user_input").is_not_null())["session_id"][0]
    done(aqb, "erase", "--session", session)
    after, personal = pl.read_parquet(path), ["session_id", "user_input", "llm_response"]
    assert after.drop(personal).equals(before.drop(personal))
    assert session not in after["session_id"].to_list()
    assert pq.read_schema(path).equals(pq.read_schema(EARLIER / "warehouse" / path.relative_to(warehouse.folder)))
