"""Small test runs, scored by `plan-agent` into folders."""

from collections.abc import Sequence
from pathlib import Path

from scoring.catalog import TestRunChoices, plan_of
from scoring.testruns.scoring import score_testrun
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.read_folder import ScoredFolder, read_scored_folder
from tests.builders.testruns import LONG_HEADER, long_row, raw, write_csv

CHECK = '1) assistantMessage에 "평가기간"과 관련된 내용이 언급되어 있는가'


def scored_folder(
    folder: Path, rows: Sequence[Sequence[str]], name: str = "plan_agent_made.csv", untrusted: Sequence[str] = ()
) -> ScoredFolder:
    """Rows of the long layout, scored into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    source = write_csv(folder / name, [LONG_HEADER, *rows])
    plan = plan_of(read_testrun_file(source), TestRunChoices("plan-agent"), {"plan-agent": {}})
    write_testrun_folder(folder, score_testrun(plan, {}), source, untrusted=untrusted)
    return read_scored_folder(folder)


def plan_row(
    query_id: str, round_: str = "1/1", *, passes: bool = True, question: str = "평가기간 바꿔줘"
) -> list[str]:
    """A row whose one check passes (5 points) or not (0)."""
    message = "평가기간을 바꿀 수 있어요." if passes else "무엇을 도와드릴까요?"
    return long_row(query_id, round_, **{"질의": question, "기대결과": CHECK, "Raw JSON": raw(message)})
