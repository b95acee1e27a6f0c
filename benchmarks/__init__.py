"""How fast, against what, on this machine: `python -m benchmarks` (or `make bench`).

inputs           synthetic chat rows as files, made once
children         what a child process costs: CPU seconds of all its threads, wall time, peak memory
jobs             what the children do, a job a process
apply_scores     the peer of the rule engine: `DataFrame.apply` with `re`
duckdb_scores    the peer of the whole way: hand-written SQL
without_prefect  the peer of the flows: the same commands with plain functions in place of flows and tasks
scored_files     sections: the rule engine, `aqb score` from end to end, its growth, its start
table_files      sections: reading chat rows, writing the score table, a day of a folder of files
flow_runs        sections: one night, a backfill of a year, and what Prefect costs of them
judge            section: the judge's client, its peers and their server
site             section: the report site
report           the sections by name, the machine, and what all sections share

Every comparison is interleaved (A, B, A, B, ...) in one run and tells the best round of each, because other programs
can only make a round slower. Each section runs in a process of its own: `--only NAME` runs one.
"""
