"""Stratified random sample of a day's scored rows for human review: rows with an alert, rows near the edge of a grade,
and the rest.

In each stratum sessions are sampled, and one row of the stratum from each sampled session: turns of one conversation
are not independent observations. Every row has a known, positive probability. The random order is a hash of day,
session and row: the same rows always give the same sample.

Source: SPEC 12.
"""

from collections.abc import Iterator
from datetime import date
from hashlib import sha256
from typing import Final

import polars as pl

from scoring.chat.rubric import GradeScale, RowRubric
from scoring.rules.evaluation_order import columns_of
from scoring.rules.polars_backend import to_polars

FLAGGED, BORDERLINE, OTHER = "flagged", "borderline", "other"
DRAWN: Final = {FLAGGED: 10, BORDERLINE: 5, OTHER: 5}
"""The number of sessions sampled in each stratum, if the day has as many."""

EDGE_POINTS: Final = 2
"""A row is near an edge if so many points more or less would change its grade."""

KIND, PROBABILITY = "kind", "probability"


def judged_scales(rubric: RowRubric) -> list[GradeScale]:
    """The grades that people review: those of the parts. The total only adds them up."""
    graded = {part.grade_column for part in rubric.parts}
    return [scale for scale in rubric.scales if scale.column in graded]


def draw_columns(rubric: RowRubric) -> list[str]:
    """The columns of the score table that the sample needs."""
    return ["row_id", "session_id", "alert_level", *(score for score, _ in _grades(rubric))]


def drawn_rows(rows: pl.DataFrame, rubric: RowRubric, day: date) -> pl.DataFrame:
    """`row_id`, `kind` and `probability` of the sampled rows of a day, in random order, given all its rows.

    The order does not reveal the kinds. `rows` have the columns of `draw_columns`.
    """
    session = rows.select(pl.coalesce(pl.col("session_id").replace("", None), "row_id")).to_series()
    known = rows.select(
        "row_id",
        pl.when(pl.col("alert_level").is_not_null())
        .then(pl.lit(FLAGGED))
        .when(_on_edge(rows, rubric))
        .then(pl.lit(BORDERLINE))
        .otherwise(pl.lit(OTHER))
        .alias(KIND),
        session=session,
        row_order=_hash_numbers(day, rows["row_id"]),
        session_order=_hash_numbers(day, session),
    ).with_columns(
        turns=pl.len().over(KIND, "session"),
        sessions=pl.col("session").n_unique().over(KIND),
        drawn=pl.col(KIND).replace_strict(DRAWN, return_dtype=pl.UInt32),
    )
    one_per_session = known.sort("row_order").unique([KIND, "session"], keep="first", maintain_order=True)
    chosen = one_per_session.filter(pl.col("session_order").rank("ordinal").over(KIND) <= pl.col("drawn"))
    chance = pl.min_horizontal("drawn", "sessions") / pl.col("sessions") / pl.col("turns")
    return chosen.select("row_id", KIND, chance.alias(PROBABILITY))


def _grades(rubric: RowRubric) -> Iterator[tuple[str, pl.Expr]]:
    """Each score that alone determines a grade, and the grade as a function of it."""
    expressions = {one.name: one.expression for one in rubric.definitions}
    for part in rubric.parts:
        if part.grade_column and {*columns_of(expressions[part.grade_column])} == {part.column}:
            yield part.column, to_polars(expressions[part.grade_column])


def _on_edge(rows: pl.DataFrame, rubric: RowRubric) -> pl.Series:
    found = pl.repeat(value=False, n=rows.height, dtype=pl.Boolean, eager=True)
    for score, grade in _grades(rubric):
        lower, given, higher = (
            rows.select(pl.col(score) + step).select(grade).to_series() for step in (-EDGE_POINTS, 0, EDGE_POINTS)
        )
        found = found | (lower != given) | (higher != given)
    return found


def _hash_numbers(day: date, names: pl.Series) -> pl.Series:
    """A hash number for each name, determined by the day and the name only."""
    digests = (sha256(f"{day}\0{name}".encode("utf-8", "surrogatepass")).digest() for name in names)
    return pl.Series([int.from_bytes(digest[:8], "big") for digest in digests], dtype=pl.UInt64)
