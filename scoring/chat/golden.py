"""Candidates for a Golden Set: a short list that asks many things, not the same thing many times.

Source: seed 002, 7.2; SPEC 1.4.
"""

import polars as pl

from scoring.chat.templates import question_template

TEMPLATE, SAME_TEMPLATE = "template", "same_template"


def golden_candidates(rows: pl.DataFrame, limit: int, stratum: str | None) -> pl.DataFrame:
    """At most `limit` of the `rows` of the best grade, one per question template, in their order.

    `rows` stand best first, and the first of a template is taken. Where there are more templates than `limit`, each
    value of the column `stratum` gives its best in turn, so that frequent kinds of questions do not crowd out the rare.
    Adds the template, and how many of the rows have it.
    """
    templates = rows.with_columns(
        pl.Series(TEMPLATE, [question_template(text or "") for text in rows["user_input"]], pl.String)
    ).with_row_index("place")
    same = pl.len().over(TEMPLATE).cast(pl.Int64).alias(SAME_TEMPLATE)
    firsts = templates.with_columns(same).unique(TEMPLATE, keep="first", maintain_order=True)
    if stratum:
        firsts = firsts.sort(pl.int_range(pl.len()).over(stratum), "place")
    return firsts.head(limit).sort("place").drop("place")
