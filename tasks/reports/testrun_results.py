"""A test run scored into its report folder and into a warehouse, beside the runs that are known."""

from datetime import date
from pathlib import Path
from typing import Any

from scoring.testruns.scoring import ScoredTestRun, TestRunPlan, score_testrun
from tasks.judge.client import Judged
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.history import place_of
from tasks.testruns.trusted_metrics import read_trust, untrusted_metrics
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse import Warehouse


def scored_as_judged(plan: TestRunPlan, judged: Judged | None) -> ScoredTestRun:
    """Scores a run with what the judge said of it, by rules alone where nobody was asked."""
    return score_testrun(plan, judged.verdicts, judged.epochs) if judged else score_testrun(plan, {})


def write_testrun_results(
    folder: Path, warehouse: Warehouse, day: date, plan: TestRunPlan, judged: Judged | None, known: Warehouse
) -> dict[str, Any]:
    """Scores a run, as one of a day, with what the judge said of it; returns the summary.

    `known` is the warehouse with the runs that it is compared with, and people's labels.

    Raises:
        InputError: the file was replaced since it was read; nothing is written.
        StorageError: the folder or the warehouse cannot be written.
    """
    scored = scored_as_judged(plan, judged)
    untrusted = untrusted_metrics(read_trust(known), plan.rubric, scored.epochs)
    place = place_of(known, day, scored, judged.summary() if judged else None)
    summary = write_testrun_folder(folder, scored, Path(plan.run.identity.name), judged, untrusted, place)
    write_testrun(warehouse, day, scored, place, judged)
    return summary
