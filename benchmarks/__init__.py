"""How fast, against what, on this machine: `python -m benchmarks` (or `make bench`).

inputs          synthetic chat rows as files, made once
children        what a child process costs: CPU seconds of all its threads, peak memory
jobs            what the children do, a job a process
apply_scores    the peer of the rule engine: `DataFrame.apply` with `re`
duckdb_scores   the peer of the whole way: hand-written SQL
report          the sections and the machine as markdown

Every comparison is interleaved (A, B, A, B, ...) in one run and tells the best round of each, because other programs
can only make a round slower.
"""
