"""The agents' answers in scored test runs, from the copy of the input in `scores.xlsx`."""

from collections.abc import Iterable, Sequence

from scoring.errors import InputError
from scoring.stats.comparison import QueryChange
from scoring.testruns.executions import Execution
from scoring.testruns.page_parts import safe_text
from scoring.testruns.review_items import answer_text
from scoring.testruns.team_names import TeamNames
from tasks.files.report_paths import WORKBOOK
from tasks.testruns.files import read_testrun_file
from tasks.testruns.read_folder import ScoredFolder

_CHARACTERS = 1_500

RoundAnswers = Sequence[tuple[str, str]]
"""Rounds with the answer of each, masked and shortened."""


def answers_side_by_side(
    base: ScoredFolder, candidate: ScoredFolder, wanted: Sequence[QueryChange], names: TeamNames
) -> dict[str, tuple[RoundAnswers, RoundAnswers]]:
    """Id in the candidate, of the queries `wanted` -> the answers of both runs.

    Empty if a workbook is missing or unreadable. `names` are a team's names of columns.
    """
    try:
        sides = [read_testrun_file(run.folder / WORKBOOK, names).queries for run in (base, candidate)]
    except InputError:
        return {}

    def answers(executions: Iterable[Execution]) -> RoundAnswers:
        in_order = sorted(executions, key=lambda execution: execution.round)
        return [(str(one.round), safe_text(answer_text(one), _CHARACTERS)) for one in in_order]

    one, other = sides
    return {
        query.query_id: (answers(one.get(query.base_id, ())), answers(other.get(query.query_id, ())))
        for query in wanted
    }
