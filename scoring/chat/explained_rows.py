"""Explains scored rows: the result of each rule of the rubric."""

from collections.abc import Collection, Iterable

import polars as pl

from scoring.chat.rubric import RowRubric
from scoring.rules.explain import Explanation, explain


def explained_rows(
    rubric: RowRubric, scored: Iterable[pl.DataFrame], row_ids: Collection[str]
) -> dict[str, Explanation]:
    """Explains the rows with these ids, in the order of the ids; `scored` has all texts. Unknown ids are ignored."""
    computed = {definition.name for definition in rubric.definitions}
    inputs = [name for name in rubric.scores_schema.names if name not in computed]
    found = {}
    for frame in scored:
        for row in frame.filter(pl.col("row_id").is_in(list(row_ids))).select(inputs).iter_rows(named=True):
            found[row["row_id"]] = explain(rubric.definitions, row)
    return {row_id: found[row_id] for row_id in row_ids if row_id in found}
