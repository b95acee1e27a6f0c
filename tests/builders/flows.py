"""The flows as plain functions: their bodies, without Prefect, which most facts do not need.

`tests/flows` keeps some tests of each flow on a real server: states, retries, hooks, artifacts and schedules.
"""

from flows import backfill as _backfill
from flows import nightly as _nightly
from flows import test_runs as _test_runs

nightly = _nightly.nightly.fn
backfill = _backfill.backfill.fn
score_inbox = _test_runs.score_inbox.fn
