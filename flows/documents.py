"""Pages generated from the code, so that they cannot disagree with it: `make docs` writes them, a test compares."""

from __future__ import annotations

from pathlib import Path

from scoring.catalog import rubrics
from scoring.rubric import RowRubric
from scoring.rubric_readme import row_rubric_readme
from tasks.whole_files import write_text

ROOT = Path(__file__).parents[1]


def documents() -> dict[Path, str]:
    """Every generated page by its path in the project."""
    return {
        _folder(rubric_id) / "README.md": row_rubric_readme(rubric)
        if isinstance(rubric, RowRubric)
        else rubric.readme()
        for rubric_id, rubric in rubrics().items()
    }


def _folder(rubric_id: str) -> Path:
    return ROOT / "scoring" / "rubrics" / rubric_id.replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    for path, text in documents().items():
        write_text(path, text)
