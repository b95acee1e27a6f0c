"""Chat rows: reading, scoring by a row rubric, row ids and aggregates, in Polars and as SQL.

Reading: `reading` finds the columns, `rows` defines the batches that every source is read into; `cells` parse single
values, `text_columns`, `cell_rows` and `arrow_rows` whole columns. `messages` and `exports` read the formats of other
tools.

Scoring: `rubric` defines a row rubric and `standard_rubric` builds one; `scorer` scores batches, `row_ids` computes row
ids, `kpis` and `kpi_figures` aggregate rows. `sql_rows`, `sql_scores` and `sql_tables` do the same inside BigQuery.

Days: `day_content` and `shrinkage` detect that a day has changed or would lose rows, `kpi_windows` and `periods` pool
days, `conclusion` summarises them, `erasure` removes sessions.

Rows to look at: `row_filter`, `explained_rows`, `review_draw`, `golden`, `templates`; `results` are sent back to other
tools.
"""
