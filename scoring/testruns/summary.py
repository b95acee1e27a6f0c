"""What `summary.json` and the summary table say of a test run."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from scoring.testruns.scoring import ScoredTestRun
from scoring.testruns.testrun import TestRunFile


def rejected_by_code(run: TestRunFile) -> dict[str, int]:
    """How many rows were refused, by the code of the reason."""
    return dict(sorted(Counter(reject.code for reject in run.rejects).items()))


def testrun_summary(scored: ScoredTestRun, judge: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What stands in `summary.json`; `judge` is its part on the judge, where one was asked."""
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
        "judge": judge or _not_judged(scored.questions),
        **summary.own_values(),
    }


def _not_judged(questions: Mapping[str, int]) -> dict[str, Any]:
    """The `judge` part without a judge: what would have been asked, and that nothing was paid."""
    return {
        "questions": sum(questions.values()),
        "cached": 0,
        "tokens": 0,
        "cost": 0,
        "by_status": dict(questions),
    }
