"""A portion of a hundred cases of `make fuzz`, and every input that once broke something."""

from pathlib import Path
from random import Random
from shutil import copy

import pytest

from tests.builders.cases import portion
from tests.fuzz.cases import run_case
from tests.fuzz.rubric_files import run_rubric
from tests.fuzz.targets import KINDS, scored

pytestmark = pytest.mark.slow

CASES = {
    "csv": 11,
    "tsv": 12,
    "xlsx": 15,
    "jsonl": 10,
    "export": 8,
    "parquet": 14,
    "judge": 8,
    "slack": 5,
    "settings": 7,
    "rubric": 10,
}
CORPUS = Path(__file__).parent / "corpus"


def test_fuzz_has_a_hundred_cases_of_all_kinds() -> None:
    assert CASES.keys() == KINDS.keys()
    assert sum(CASES.values()) == 100


@pytest.mark.parametrize(
    ("kind", "seed"), [(kind, seed) for kind, count in CASES.items() for seed in portion(range(count))]
)
def test_damaged_input_is_scored_or_refused_and_no_row_is_lost(kind: str, seed: int, tmp_path: Path) -> None:
    assert run_case(kind, seed, tmp_path / "case")


@pytest.mark.long
def test_rubric_file_with_a_few_changes_is_refused_with_its_line_or_scores_alike_on_every_engine() -> None:
    outcomes = {run_rubric(Random(f"{seed}")) for seed in portion(range(100))}
    assert outcomes == {"refused", "scored"}


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.stem)
def test_what_broke_once_is_scored_or_refused(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copy(path, tmp_path)
    assert scored(Path(path.name), "" if path.suffix in (".csv", ".xlsx") else "ola-monitoring")
