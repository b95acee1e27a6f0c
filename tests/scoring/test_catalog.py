from collections.abc import Iterator
from pathlib import Path

import pytest

import scoring.rubrics
from scoring import catalog
from scoring.errors import UsageError

FRESH = """\
from __future__ import annotations
from dataclasses import replace
from scoring.rubrics.ola_monitoring import RUBRIC as OLA
RUBRIC = replace(OLA, id="a-fresh-rubric")
"""


@pytest.fixture
def fresh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more rubric folder, seen by a catalog that has not looked yet."""
    package = tmp_path / "fresh_rubric"
    package.mkdir()
    (package / "__init__.py").write_text(FRESH)
    monkeypatch.setattr(scoring.rubrics, "__path__", [*scoring.rubrics.__path__, str(tmp_path)])
    catalog.rubrics.cache_clear()
    yield
    catalog.rubrics.cache_clear()


def test_each_folder_of_rubrics_is_one_rubric() -> None:
    folder = Path(scoring.rubrics.__file__ or "").parent
    folders = [path for path in folder.iterdir() if (path / "__init__.py").exists()]
    assert len(catalog.rubrics()) == len(folders)
    assert catalog.rubrics()["ola-monitoring"].id == "ola-monitoring"


@pytest.mark.usefixtures("fresh_folder")
def test_new_folder_is_a_new_rubric_in_the_order_of_ids() -> None:
    assert catalog.rubric_of("a-fresh-rubric").id == "a-fresh-rubric"
    assert list(catalog.rubrics()) == sorted(catalog.rubrics())


def test_unknown_rubric_lists_those_that_exist() -> None:
    with pytest.raises(UsageError) as unknown:
        catalog.row_rubric("ola")
    assert "'ola'" in str(unknown.value)
    assert "ola-monitoring" in unknown.value.fix
