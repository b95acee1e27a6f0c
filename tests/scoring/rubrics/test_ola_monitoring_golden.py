"""Golden rows of `ola-monitoring`: what the requirement says, through Polars and plain Python.

GoogleSQL's turn is in `test_googlesql_parity`: its evaluator takes long to start, once a process.
"""

import math
from typing import Any

import pytest

from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.explain import explain
from tests.builders.batches import scored
from tests.cases.ola_monitoring.adversarial import Row
from tests.cases.ola_monitoring.all_golden import GOLDEN
from tests.cases.ola_monitoring.golden import Golden

every_golden_row = pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: ascii(golden.name))


@pytest.fixture(scope="module")
def polars_scores() -> dict[str, Row]:
    return {row["session_id"]: row for row in scored([golden.inputs for golden in GOLDEN]).scored.to_dicts()}


def given(golden: Golden, row: dict[str, Any]) -> dict[str, Any]:
    return {column: row[column] for column in golden.expected}


@every_golden_row
def test_polars_gives_a_golden_row_what_the_requirement_says(golden: Golden, polars_scores: dict[str, Row]) -> None:
    assert given(golden, polars_scores[golden.name]) == golden.expected, golden.source


@every_golden_row
def test_plain_python_gives_a_golden_row_what_the_requirement_says(golden: Golden) -> None:
    row = {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in golden.inputs.items()
    }
    assert given(golden, explain(RUBRIC.definitions, row).values) == golden.expected, golden.source


def test_golden_rows_have_names_of_their_own() -> None:
    assert len({golden.name for golden in GOLDEN}) == len(GOLDEN)


def test_every_scored_column_has_a_golden_row() -> None:
    told = {column for golden in GOLDEN for column in golden.expected}
    unspoken = {definition.name for definition in RUBRIC.definitions} - told
    assert unspoken == {"i_score"}  # the sum of three columns that have theirs; GoogleSQL checks it
