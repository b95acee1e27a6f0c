"""Test runs: converts the rows of a file to executions, scores, and texts for people. It has no rubric's formulas.

Reading: `team_names` and `column_names` map headers, `detection` finds the layout, the agent and the rubric; `rows` and
`cells` convert rows to `executions`, which `testrun` collects. `exports` produces the same rows from what other tools
write.

Observed behaviour of an execution: `raw_json`, `tool_usage`, `filter_names`, `numbers`. Expected behaviour: `expected`
and `checklist` parse `checks`, `check_results` evaluates them, `lint` checks the test set itself.

Scoring: `rubric` defines a test-run rubric, `scoring` applies it query by query; `summaries`, `totals`, `patterns` and
`recorded` are shared by rubrics, `query_columns` and `tables` define the output tables.

Comparisons: `history` finds the previous run, `change_wording` describes the change, `two_judges` compares judges.

Texts for people: `headline`, `report_tables`, `page_parts`, `review_items`.
"""
