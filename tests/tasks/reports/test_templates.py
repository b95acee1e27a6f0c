"""What is kept of templates from one process to the next."""

import importlib.util
import sys
from pathlib import Path

import pytest
from jinja2 import Environment

from tasks.reports import templates
from tasks.reports.templates import html_environment


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A template that no process has met before."""
    path = tmp_path / "templates" / "page.html"
    path.parent.mkdir()
    path.write_text("{{ rows }} rows")
    return path


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Python keeps what it compiles of the module, wherever the surroundings say otherwise."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return Path(importlib.util.cache_from_source(templates.__file__)).parent


def shown(*folders: Path) -> str:
    """What the template gives in an environment of its own for each choice of folders, as in a new process."""
    return html_environment(*folders).get_template("page.html").render(rows=3)


def test_templates_are_compiled_once_for_all_processes_and_again_when_they_change(
    template: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.mkdir(parents=True)
    folder = template.parent
    assert shown(folder) == "3 rows"

    with monkeypatch.context() as patch:
        patch.setattr(Environment, "compile", lambda *_, **__: pytest.fail("compiled again"))
        assert shown(folder, folder) == "3 rows"

    template.write_text("{{ rows }} Zeilen")
    assert shown(folder, folder, folder) == "3 Zeilen"

    (damaged,) = kept.iterdir()
    damaged.write_bytes(damaged.read_bytes()[:-20])
    assert shown(folder, folder, folder, folder) == "3 Zeilen"


def test_templates_work_where_nothing_can_be_kept(template: Path, kept: Path) -> None:
    assert shown(template.parent) == "3 rows"
    assert not kept.exists()


def test_templates_are_not_kept_where_python_is_to_keep_nothing(
    template: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.mkdir(parents=True)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert shown(template.parent) == "3 rows"
    assert not list(kept.iterdir())
