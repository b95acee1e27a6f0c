"""Chat rows: their rubric, scores, row ids, KPIs and cross table, in Polars and as SQL."""
