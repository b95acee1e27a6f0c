"""Which files a folder holds."""

from pathlib import Path

import pytest

from scoring.errors import InputError
from tasks.files.discovery import files_in, matching_files
from tests.builders.permissions import locked


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, two folders below it; the path is relative, so that only these have to be passed."""
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    for name in ("2026/02", ".snapshot", "lost+found"):
        Path("source", name).mkdir(parents=True)
    Path("source/a.CSV").touch()
    return Path("source")


@pytest.mark.parametrize("name", [".", "2026", "2026/02"])
def test_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one(source: Path, name: str) -> None:
    folder = source / name
    with locked(folder), pytest.raises(InputError, match="cannot be read: Permission denied") as refused:
        files_in(source, [".csv"])
    assert refused.value.where == str(folder)


def test_folder_whose_files_cannot_be_looked_at_is_not_taken_for_an_empty_one(source: Path) -> None:
    file = source / "2026/b.csv"
    file.touch()
    with locked(file.parent, 0o644), pytest.raises(InputError, match="cannot be read: Permission denied") as refused:
        matching_files([source], [".csv"], None)
    assert refused.value.where == str(file)


@pytest.mark.parametrize("name", [".snapshot", "lost+found"])
def test_folder_of_the_system_may_be_locked(source: Path, name: str) -> None:
    with locked(source / name):
        assert files_in(source, [".csv"]) == [source / "a.CSV"]


def test_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert files_in(tmp_path / "nothing", [".csv"]) == []
