"""Pages generated from the code, so that they cannot disagree with it: `make docs` writes them, a test compares."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from docs.generators.architecture import architecture_page
from docs.generators.dbt import dbt_models
from docs.generators.notebook import NOTEBOOK, executed
from docs.generators.reference import commands_page, settings_page, tables_page
from docs.generators.row_rubric_readme import row_rubric_readme
from docs.generators.testrun_columns import testrun_columns_page
from docs.generators.testrun_rubric_readme import testrun_rubric_readme
from scoring.catalog import row_rubric
from scoring.chat.rubric import RowRubric
from scoring.rubric_files.shape import rubric_schema
from scoring.rubric_files.testruns.shape import testrun_rubric_schema
from tasks.config.settings import MonitoringSettings
from tasks.files.atomic import write_text

ROOT = Path(__file__).parents[2]


def documents() -> dict[Path, str]:
    """Every generated page by its path in the project."""
    reference = ROOT / "docs" / "reference"
    readmes = {path.with_name("README.md"): _readme(path) for path in ROOT.glob("scoring/rubrics/*/__init__.py")}
    architecture = ROOT / "docs" / "architecture.md"
    rubric = row_rubric(MonitoringSettings().rubric)
    return readmes | {
        NOTEBOOK: executed(NOTEBOOK),
        architecture: architecture_page(architecture.read_text(encoding="utf-8"), ROOT),
        **{ROOT / "deployments" / "dbt" / "models" / name: text for name, text in dbt_models(rubric).items()},
        reference / "settings.md": settings_page(),
        reference / "tables.md": tables_page(),
        reference / "testrun-columns.md": testrun_columns_page(),
        reference / "commands.md": commands_page(),
        reference / "rubric.schema.json": _json(rubric_schema()),
        reference / "testrun-rubric.schema.json": _json(testrun_rubric_schema()),
    }


def _readme(path: Path) -> str:
    rubric = import_module(f"scoring.rubrics.{path.parent.name}").RUBRIC
    return row_rubric_readme(rubric) if isinstance(rubric, RowRubric) else testrun_rubric_readme(rubric)


def _json(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, text in documents().items():
        write_text(path, text)
