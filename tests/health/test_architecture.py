"""The page on the architecture says what the import contracts and the code say."""

import re
from pathlib import Path

import pytest

from docs.generators.architecture import layers, picture, reduced

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDERS = ("scoring", "tasks", "flows")


@pytest.mark.parametrize("folder", FOLDERS)
def test_architecture_names_every_package_of_the_contracts(folder: str) -> None:
    rooms = {room for row in layers(ROOT, folder) for room in row}
    there = {path.name for path in (ROOT / folder).iterdir() if (path / "__init__.py").exists() and path.name in rooms}
    assert there
    assert {room for room in there if f"| `{folder}/{room}` |" not in PAGE} == set()


def test_architecture_draws_arrows_that_only_go_down_the_contracts() -> None:
    drawn = re.findall(r"(\w+?)_(\w+) --> (\w+?)_(\w+)", picture(ROOT))
    assert len(drawn) > len(FOLDERS) * 5
    for folder, one, other_folder, other in drawn:
        assert folder == other_folder
        depth = {room: place for place, row in enumerate(layers(ROOT, folder)) for room in row}
        assert depth[one] < depth[other], f"{folder}: {one} -> {other}"


def test_architecture_leaves_out_arrows_that_follow_from_others() -> None:
    assert reduced({("a", "b"), ("b", "c"), ("a", "c")}, "abc") == [("a", "b"), ("b", "c")]
