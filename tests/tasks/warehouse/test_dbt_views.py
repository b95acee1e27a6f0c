"""The views of `deployments/dbt`, run as dbt would on a folder of Parquet files; their tests need dbt itself."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml
from jinja2 import Environment, StrictUndefined

from docs.generators.dbt import write_package
from scoring import score
from scoring.catalog import row_rubric_of_text
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, RUBRIC, best, plain, refused
from tests.builders.rubric_files import STARTERS
from tests.builders.site import write_day

DBT = Path("deployments/dbt")
NEXT = DAY + timedelta(days=1)
EARLIER = Path("tests/earlier_version/warehouse").resolve()
FAILED, BLOCKED = [refused(), refused(), best(), plain()], [plain(), plain(output_tokens=0.0, tenant_id="t2")]


def view(name: str, warehouse: Path, *, services: bool = False, package: Path = DBT) -> list[dict[str, Any]]:
    """The rows of a view over a warehouse."""
    macros = (package / "macros" / "service.sql").read_text(encoding="utf-8")
    model = (package / "models" / f"{name}.sql").read_text(encoding="utf-8")
    sql = (
        Environment(undefined=StrictUndefined)
        .from_string(macros + model)
        .render(
            source=lambda _, table: f"read_parquet('{warehouse}/{table}/**/*.parquet', union_by_name = true)",
            var=lambda *_: services,
            adapter=SimpleNamespace(quote='"{}"'.format),
            dbt=SimpleNamespace(type_string=lambda: "VARCHAR", type_float=lambda: "DOUBLE"),
        )
    )
    relation = duckdb.sql(sql)
    assert relation is not None
    return pl.DataFrame(relation.to_arrow_table()).to_dicts()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    folder = FolderWarehouse(tmp_path)
    write_day(folder, DAY, FAILED)
    write_day(folder, NEXT, BLOCKED)
    return tmp_path


def test_view_of_failures_has_a_row_for_each_day_tenant_and_type(warehouse: Path) -> None:
    rows = view("failures_daily", warehouse)
    found = {(row["score_date"], row["tenant_id"], row["failure_type"]): row for row in rows}
    assert found.keys() == {(DAY, "t1", "refused_advice"), (NEXT, "t2", "blocked")}
    refusals = found[DAY, "t1", "refused_advice"]
    assert (refusals["failures"], refusals["scored_rows"], refusals["share"]) == (2, 4, 0.5)


def test_view_of_kpis_has_a_row_for_each_figure_with_its_verdict(warehouse: Path) -> None:
    table = pl.read_parquet(warehouse / "monitoring_kpis" / f"{DAY}.parquet").filter(tenant_id="*").to_dicts()[0]
    rows = [row for row in view("kpis_daily", warehouse) if (row["score_date"], row["tenant_id"]) == (DAY, "*")]
    assert {row["kpi"]: row["value"] for row in rows} == {one.name: table[one.name] for one in RUBRIC.quotients}
    (failure,) = [row for row in rows if row["kpi"] == "failure_rate"]
    parts = ("target", "low", "high", "verdict")
    assert {part: failure[part] for part in parts} == {part: table[f"failure_rate_{part}"] for part in parts}
    assert (failure["value"], failure["scored_rows"], failure["service"]) == (0.5, 4, None)


def test_views_tell_services_apart(tmp_path: Path) -> None:
    write_day(FolderWarehouse(tmp_path, "support"), DAY, FAILED)
    write_day(FolderWarehouse(tmp_path, "hiring"), DAY, FAILED)
    rows = view("failures_daily", tmp_path, services=True)
    assert {row["service"]: (row["failures"], row["scored_rows"]) for row in rows} == {
        "support": (2, 4),
        "hiring": (2, 4),
    }
    assert {row["service"] for row in view("kpis_daily", tmp_path, services=True)} == {"support", "hiring"}


def test_views_read_days_of_an_earlier_version(warehouse: Path) -> None:
    for table in ("monitoring_kpis", "monitoring_scores"):
        for path in (EARLIER / table).iterdir():
            (warehouse / table / path.name).write_bytes(path.read_bytes())
    assert len({row["score_date"] for row in view("kpis_daily", warehouse)}) == 5


def test_package_of_a_rubric_file_has_its_kpis_codes_and_failures(tmp_path: Path) -> None:
    text = (STARTERS / "starter_rubric.toml").read_text("utf-8").replace("failure_type", "went_wrong")
    rubric, package = row_rubric_of_text(text), tmp_path / "my-dbt"
    write_package(rubric, package)
    write_package(rubric, package)  # over the one before
    found = score(pl.DataFrame([refused(llm_response="I cannot do that."), best()]), rubric=text)
    for name, table in (("monitoring_scores", found.scored), ("monitoring_kpis", found.kpis)):
        (tmp_path / name).mkdir()
        table.write_parquet(tmp_path / name / f"{DAY}.parquet")
    (failure,) = view("failures_daily", tmp_path, package=package)
    assert (failure["failure_type"], failure["failures"], failure["rubric"]) == ("refused", 1, "support-bot")
    kpis = {row["kpi"] for row in view("kpis_daily", tmp_path, package=package) if row["tenant_id"] == "*"}
    assert kpis == {one.name for one in rubric.quotients}
    (source,) = yaml.safe_load((package / "models" / "sources.yml").read_text("utf-8"))["sources"]
    columns = {(table["name"], one["name"]): one for table in source["tables"] for one in table["columns"]}
    tests = columns["monitoring_scores", "went_wrong"]["data_tests"]
    assert tests == [{"accepted_values": {"arguments": {"values": ["refused"]}}}]
