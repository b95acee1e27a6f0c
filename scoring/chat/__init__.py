"""Chat rows: read, scored by a row rubric, named and summed up, in Polars and as SQL.

Reading: `reading` finds the columns, `rows` says what every source becomes; `cells` read one by one, `text_columns`,
`cell_rows` and `arrow_rows` a column at a time. `messages` and `exports` know what other tools recorded.

Scoring: `rubric` is what a row rubric is and `standard_rubric` makes one; `scorer` puts batches through it, `row_ids`
names rows, `kpis` and `kpi_figures` sum them up. `sql_rows`, `sql_scores` and `sql_tables` are the same inside
BigQuery.

Days: `day_content` and `shrinkage` tell whether a day has changed or would be lost, `kpi_windows` and `periods` pool
them, `conclusion` says what they come to, `erasure` forgets sessions.

Rows to look at: `row_filter`, `explained_rows`, `review_draw`, `golden`, `templates`; `results` go back to other
tools.
"""
