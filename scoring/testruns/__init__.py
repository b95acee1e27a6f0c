"""Test runs: from the rows of a file to executions, their scores, and what people read of them. No rubric's formulas.

Reading: `team_names` and `column_names` know the headers, `detection` the layout, the agent and the rubric; `rows` and
`cells` make `executions` of rows, which `testrun` puts together. `promptfoo` and `inspect_log` (with `export_cells`)
give such rows, too.

What an execution did: `raw_json`, `tool_usage`, `filter_names`, `numbers`. What it should have done: `expected` and
`checklist` read `checks`, `check_results` judges them, `lint` looks at the test set itself.

Scoring: `rubric` is what a rubric has to give, `scoring` goes through the queries; `summaries`, `totals`, `patterns`
and `recorded` are shared by rubrics, `query_columns` and `tables` keep what came of it.

Two runs: `history` and `run_time` find the run before, `change_wording` says what changed, `two_judges` compares
judges.

What people read: `headline`, `report_tables`, `page_parts`, `review_items`.
"""
