"""Candidates for a Golden Set: a short list of different questions, without repetitions.

Source: seed 002, 7.2; SPEC 1.4.
"""

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from scoring.chat.row_ids import TEXTS
from scoring.chat.rubric import RowRubric

TEMPLATE, SAME_TEMPLATE = "template", "same_template"


def golden_schema(rubric: RowRubric) -> pa.Schema:
    """The columns of candidates: id, time, tenant, category, score, question, answer, template and its row count."""
    said = [pa.field(TEMPLATE, pa.string()), pa.field(SAME_TEMPLATE, pa.int64())]
    return pa.schema([*(rubric.scores_schema.field(name) for name in _candidate_columns(rubric)), *said])


def best_rows(rubric: RowRubric, scored: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The scored rows of the best final grade, best first, with their texts, in the columns of candidates."""
    columns = _candidate_columns(rubric)
    best = pl.col(rubric.final_scale.column) == rubric.final_scale.codes[0]
    found = [frame.filter(best).select(columns) for frame in scored]
    if not found:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return pl.concat(found).sort([rubric.total, "timestamp", "row_id"], descending=[True, False, False])


def _candidate_columns(rubric: RowRubric) -> list[str]:
    category = [rubric.category.column] if rubric.category else []
    return ["row_id", "timestamp", "tenant_id", *category, rubric.total, *TEXTS]


def golden_candidates(rubric: RowRubric, rows: pl.DataFrame, limit: int, stratum: str | None) -> pl.DataFrame:
    """At most `limit` of the `rows` of the best grade, one per question template, in their order.

    `rows` are sorted best first, and the first of each template is taken. If there are more templates than `limit`, the
    values of the column `stratum` take turns in giving their best, so that frequent kinds of questions do not displace
    rare ones. Adds the template and its number of rows.
    """
    templates = rows.with_columns(
        pl.Series(TEMPLATE, [rubric.template(text or "") for text in rows["user_input"]], pl.String)
    ).with_row_index("place")
    same = pl.len().over(TEMPLATE).cast(pl.Int64).alias(SAME_TEMPLATE)
    firsts = templates.with_columns(same).unique(TEMPLATE, keep="first", maintain_order=True)
    if stratum:
        firsts = firsts.sort(pl.int_range(pl.len()).over(stratum), "place")
    return firsts.head(limit).sort("place").drop("place")
