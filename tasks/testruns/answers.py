"""What agents answered in scored test runs: read from the copy of the input that `scores.xlsx` holds."""

from collections.abc import Sequence

from scoring.errors import InputError
from scoring.testruns.page_parts import safe_text
from scoring.testruns.review_items import answer_text
from scoring.testruns.team_names import TeamNames
from tasks.testruns.files import read_testrun_file
from tasks.testruns.read_folder import ScoredFolder

_CHARACTERS = 1_500

RoundAnswers = Sequence[tuple[str, str]]
"""Rounds with the answer of each, masked and shortened."""


def answers_side_by_side(
    base: ScoredFolder, candidate: ScoredFolder, wanted: Sequence[str], names: TeamNames
) -> dict[str, tuple[RoundAnswers, RoundAnswers]]:
    """Query id, of those `wanted` -> the answers of both runs; nothing where a workbook is gone or is none any more.

    `names` are what a team calls its columns.
    """
    try:
        sides = [read_testrun_file(run.folder / "scores.xlsx", names).queries for run in (base, candidate)]
    except InputError:
        return {}
    one, other = (
        {
            query_id: [
                (str(execution.round), safe_text(answer_text(execution), _CHARACTERS))
                for execution in sorted(side.get(query_id, ()), key=lambda execution: execution.round)
            ]
            for query_id in wanted
        }
        for side in sides
    )
    return {query_id: (one[query_id], other[query_id]) for query_id in one}
