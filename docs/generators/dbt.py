"""The dbt package over the warehouse: its sources with their tests, and its views.

That of a rubric file is a copy of `deployments/dbt` with the models of the rubric:

    python -m docs.generators.dbt my-rubric.toml my-dbt
"""

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from docs.generators.reference import described, warehouse_tables
from scoring.chat.rubric import LEVEL_TITLES, RowRubric
from scoring.errors import AqbError
from tasks.chat.tables import CROSSTAB, EXCLUDED, KPIS
from tasks.files.atomic import write_text
from tasks.files.rubric_file import chosen_row_rubric
from tasks.warehouse.tables import ALERTS, REJECTED, SCORES

_NAMES = (SCORES, EXCLUDED, KPIS, CROSSTAB, ALERTS, REJECTED)
_NEVER_NULL = {"score_date", "row_id", "rubric", "rubric_version", "rows", "rule", "reason", "cnt"}
_FILES = "{{ env_var('AQB_WAREHOUSE', 'data/warehouse') }}/{name}/**/*.parquet"
_GENERATED = "Generated from the code by `make docs`; for a rubric of your own see docs/how-to/dbt.md."
_PACKAGE = Path(__file__).parents[2] / "deployments" / "dbt"


def dbt_models(rubric: RowRubric) -> dict[str, str]:
    """The generated models by the names of their files."""
    return {"sources.yml": _sources(rubric), "kpis_daily.sql": _kpis(rubric)}


def write_package(rubric: RowRubric, folder: Path) -> None:
    """Writes the package of a rubric into a folder, which may hold an earlier one."""
    shutil.copytree(_PACKAGE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target", "logs"))
    for name, text in dbt_models(rubric).items():
        write_text(folder / "models" / name, text)
    failures = folder / "models" / "failures_daily.sql"
    named = failures.read_text(encoding="utf-8").replace(
        "failure_type, COUNT(*)", f"{rubric.failure.column} AS failure_type, COUNT(*)"
    )
    write_text(failures, named)


def _sources(rubric: RowRubric) -> str:
    """The tables of chat rows, what their columns mean, and what always holds of them."""
    values = dict(_values(rubric))
    tables = [
        {"name": name, "description": grain, "columns": [_column(field, values) for field in schema]}
        for name, grain, schema in warehouse_tables(rubric)
        if name in _NAMES
    ]
    source = {
        "name": "aqb",
        "description": "Score tables of AQB: a folder of Parquet files (DuckDB), or a dataset (BigQuery).",
        "schema": "{{ env_var('AQB_DATASET', target.schema) }}",
        "config": {"meta": {"external_location": f"read_parquet('{_FILES}', union_by_name = true)"}},
        "tables": tables,
    }
    text: str = yaml.safe_dump({"version": 2, "sources": [source]}, allow_unicode=True, sort_keys=False, width=160)
    return f"# {_GENERATED}\n{text}"


def _kpis(rubric: RowRubric) -> str:
    """A row per day, service, tenant and KPI."""
    selects = "\nUNION ALL\n".join(_kpi(one.name, one.target is not None) for one in rubric.quotients)
    return f"""-- {_GENERATED}
{selects}
"""


def _kpi(name: str, has_target: bool) -> str:
    """One KPI in the form of all of them."""
    kinds = {"target": "float", "low": "float", "high": "float", "verdict": "string"}
    parts = [
        f"{name}_{part} AS {part}" if has_target else f"CAST(NULL AS {{{{ dbt.type_{kind}() }}}}) AS {part}"
        for part, kind in kinds.items()
    ]
    return (
        f"SELECT score_date, {{{{ service() }}}} AS service, tenant_id, '{name}' AS kpi, {name} AS value,\n"
        f"    {', '.join(parts)},\n"
        f"    {{{{ adapter.quote('rows') }}}} AS scored_rows, rubric, rubric_version\n"
        f"FROM {{{{ source('aqb', '{KPIS}') }}}}"
    )


def _values(rubric: RowRubric) -> Iterator[tuple[str, list[str]]]:
    """Columns of codes, and every code that they may hold."""
    yield from ((scale.column, list(scale.codes)) for scale in rubric.scales)
    yield from ((kind.column, list(kind.titles)) for kind in rubric.kinds)
    yield from (("alert_level", list(rubric.alert_levels)), ("level", list(LEVEL_TITLES)))
    verdicts = [f"{quotient.name}_verdict" for quotient in rubric.quotients if quotient.target]
    yield from ((name, ["met", "missed", "undecided"]) for name in verdicts)


def _column(field: pa.Field, values: dict[str, list[str]]) -> dict[str, Any]:
    tests: list[Any] = ["not_null"] if field.name in _NEVER_NULL else []
    if field.name == "row_id":  # services may score the same rows
        tests.append({"unique": {"config": {"enabled": "{{ not var('aqb_services', false) }}"}}})
    if field.name in values:
        tests.append({"accepted_values": {"arguments": {"values": values[field.name]}}})
    quoted = {"quote": True} if field.name in {"rows", "limit"} else {}
    return {"name": field.name, "description": described(field), **quoted, **({"data_tests": tests} if tests else {})}


def main() -> None:
    """Writes the package that the command line asks for, or says what is wrong with it."""
    asks = argparse.ArgumentParser("python -m docs.generators.dbt", description="Writes the dbt package of a rubric.")
    asks.add_argument("rubric", help="the rubric file of chat rows (.toml)")
    asks.add_argument("folder", type=Path, help="the folder that gets the package")
    asked = asks.parse_args()
    try:
        write_package(chosen_row_rubric(asked.rubric), asked.folder)
    except AqbError as error:
        asks.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
