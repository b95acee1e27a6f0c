"""What `summary.json` and the summary table say of a test run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tasks.judge.client import Judged
from tasks.testruns.files import TestRunFile
from tasks.testruns.scoring import ScoredTestRun


def rejected_by_code(run: TestRunFile) -> dict[str, int]:
    """How many rows were refused, by the code of the reason."""
    return dict(sorted(Counter(reject.code for reject in run.rejects).items()))


def testrun_summary(scored: ScoredTestRun, judged: Judged | None = None) -> dict[str, Any]:
    """What stands in `summary.json`."""
    plan, summary = scored.plan, scored.summary
    run = plan.run
    return {
        "rubric": plan.rubric.id,
        "rubric_version": plan.rubric_version,
        "options": dict(plan.options),
        "inputs": [{"name": run.identity.name, "sha256": run.identity.sha256, "rows": run.counts.rows_in}],
        "counts": vars(run.counts) | {"queries": len(run.queries)},
        "rounds": summary.rounds,
        "set": summary.set,
        "distributions": summary.distributions,
        "data_quality": {
            **summary.data_quality,
            "rejected": rejected_by_code(run),
            "excluded": {"not_run": len(run.excluded_lines)} if run.excluded_lines else {},
            "notes": dict(run.notes),
        },
        "judge": judged.summary() if judged else _nobody_asked(scored.questions),
        **summary.own_values(),
    }


def _nobody_asked(questions: Mapping[str, int]) -> dict[str, Any]:
    """The `judge` part without a judge: what would have been asked, and that nothing was paid."""
    return {
        "questions": sum(questions.values()),
        "cached": 0,
        "tokens": 0,
        "cost": 0,
        "by_status": dict(questions),
    }
