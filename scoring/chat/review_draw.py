"""Which scored rows of a day people look at: some that raised an alert, some on the edge of a grade, some of the rest.

Of each of these kinds sessions are drawn, and of a drawn session one row of that kind: turns of one conversation are no
independent witnesses. So every row has a chance, and the chance is known. The lot is a hash of day, session and row:
the same rows always give the same draw.

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
"""How many sessions of each kind are drawn, where a day has as many."""

EDGE_POINTS: Final = 2
"""A row stands on the edge where so many points more or less would have given it another grade."""

KIND, PROBABILITY = "kind", "probability"


def judged_scales(rubric: RowRubric) -> list[GradeScale]:
    """What people have an opinion about: the grades of the parts. The total only adds them up."""
    graded = {part.grade_column for part in rubric.parts}
    return [scale for scale in rubric.scales if scale.column in graded]


def draw_columns(rubric: RowRubric) -> list[str]:
    """The columns of the score table that a draw reads."""
    return ["row_id", "session_id", "alert_level", *(score for score, _ in _grades(rubric))]


def drawn_rows(rows: pl.DataFrame, rubric: RowRubric, day: date) -> pl.DataFrame:
    """`row_id`, `kind` and `probability` of the drawn ones of all rows of a day, in the order of their lots.

    That order tells nothing of the kinds. `rows` have the columns of `draw_columns`.
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
        lot=_lots(day, rows["row_id"]),
        session_lot=_lots(day, session),
    ).with_columns(
        turns=pl.len().over(KIND, "session"),
        sessions=pl.col("session").n_unique().over(KIND),
        drawn=pl.col(KIND).replace_strict(DRAWN, return_dtype=pl.UInt32),
    )
    one_a_session = known.sort("lot").unique([KIND, "session"], keep="first", maintain_order=True)
    chosen = one_a_session.filter(pl.col("session_lot").rank("ordinal").over(KIND) <= pl.col("drawn"))
    chance = pl.min_horizontal("drawn", "sessions") / pl.col("sessions") / pl.col("turns")
    return chosen.select("row_id", KIND, chance.alias(PROBABILITY))


def _grades(rubric: RowRubric) -> Iterator[tuple[str, pl.Expr]]:
    """Each score that alone decides a grade, and that grade as its function."""
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


def _lots(day: date, names: pl.Series) -> pl.Series:
    """A number for each name that only the day and the name decide."""
    digests = (sha256(f"{day}\0{name}".encode("utf-8", "surrogatepass")).digest() for name in names)
    return pl.Series([int.from_bytes(digest[:8], "big") for digest in digests], dtype=pl.UInt64)
