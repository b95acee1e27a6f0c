"""Benchmarks on this machine against common alternatives: `python -m benchmarks` (or `make bench`).

inputs           synthetic chat rows as files, made once
children         the cost of a child process: CPU seconds of all its threads, wall time, peak memory
jobs             the work of the child processes, one job per process
apply_scores     alternative to the rule engine: `DataFrame.apply` with `re`
duckdb_scores    alternative to the whole pipeline: hand-written SQL
without_prefect  alternative to the flows: the same commands with plain functions in place of flows and tasks
scored_files     sections: the rule engine, `aqb score` from end to end, its growth, its start
table_files      sections: reading chat rows, a day of a folder of files
flow_runs        sections: one night, a backfill of a year, and Prefect's share of their cost
judge            section: the judge's client, its alternatives and their server
site             section: the report site
report           the sections by name, the machine, and what all sections share

Every comparison is interleaved (A, B, A, B, ...) in one run and reports the best round of each, because other programs
can only make a round slower. Each section runs in its own process: `--only NAME` runs one.
"""
