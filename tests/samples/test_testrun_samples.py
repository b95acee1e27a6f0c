"""The bundled test runs: what they hold, and that they are what the generator makes."""

import csv
from pathlib import Path

import openpyxl
import pytest

from scoring.catalog import TestRunChoices, plan_of
from scoring.testruns.scoring import ScoredTestRun, score_testrun
from tasks.samples import SAMPLE_INBOX
from tasks.testruns.files import read_testrun_file
from tests.samples.testruns import (
    APPLICANT_SAMPLE,
    MOVE_SAMPLE,
    PLAN_SAMPLE,
    applicant_rows,
    move_rows,
    plan_rows,
)

NAMES = {PLAN_SAMPLE: plan_rows, MOVE_SAMPLE: move_rows, APPLICANT_SAMPLE: applicant_rows}


def cells(path: Path) -> list[list[str]]:
    if path.suffix == ".xlsx":
        sheet = openpyxl.load_workbook(path)["테스트 결과"]
        return [[shown(value) for value in row] for row in sheet.iter_rows(values_only=True)]
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [[shown(value) for value in row] for row in csv.reader(file)]


def shown(value: object) -> str:
    """A cell as both kinds of file keep it: Excel knows no difference between 1 and 1.0."""
    return "" if value is None else str(value).removesuffix(".0")


def scored(name: str) -> ScoredTestRun:
    return score_testrun(plan_of(read_testrun_file(SAMPLE_INBOX / name), TestRunChoices(), {}), {})


def points(run: ScoredTestRun, metric: str) -> set[object]:
    return {execution.scores[metric].points for query in run.queries for execution in query.executions}


@pytest.mark.parametrize("name", NAMES)
def test_bundled_file_is_what_the_generator_makes(name: str) -> None:
    assert cells(SAMPLE_INBOX / name) == [[shown(value) for value in row] for row in NAMES[name]()]


@pytest.mark.parametrize(
    ("name", "rubric", "rounds"),
    [(PLAN_SAMPLE, "plan-agent", 2), (APPLICANT_SAMPLE, "aqb-1.2", 3), (MOVE_SAMPLE, "aqb-1.2", 3)],
)
def test_sample_tells_its_rubric_and_is_read_whole(name: str, rubric: str, rounds: int) -> None:
    run = scored(name)
    assert run.plan.rubric.id == rubric
    assert run.plan.run.rejects == ()
    assert {len(query.executions) for query in run.queries} == {rounds}


def test_samples_hold_good_bad_failed_empty_and_slow_executions() -> None:
    plan, applicant, move = (scored(name) for name in (PLAN_SAMPLE, APPLICANT_SAMPLE, MOVE_SAMPLE))
    executions = [one for query in plan.queries for one in query.executions]
    assert {5, 0} < points(plan, "accuracy")
    assert {5, 1, 0} <= points(plan, "speed") | points(applicant, "speed")
    assert any(one.failed for one in executions)
    assert any(one.empty for one in executions)
    # Right; off by less than 1 %; right figures with a filter missing or added; wrong figures; a failure.
    assert points(applicant, "accuracy") >= {5, 4, 3, 2, 0}
    assert points(move, "accuracy") == {5, 3, 0}
