"""Two runs are compared in two places, by the inbox and by `aqb compare`: both say the same of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scoring.catalog import TestRunChoices, plan_of
from scoring.stats.comparison import Comparison
from scoring.testruns.history import KnownRun, change_figures
from scoring.testruns.scoring import score_testrun
from tasks.reports.testrun_folder import write_testrun_folder
from tasks.testruns.files import read_testrun_file
from tasks.testruns.history import place_of
from tasks.testruns.read_folder import read_scored_folder
from tasks.testruns.warehouse import write_testrun
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY
from tests.builders.testruns import LONG_HEADER, long_row, raw, write_csv
from tests.samples.testruns import Rows, applicant_rows, move_rows


def plan_rows() -> Rows:
    """Forty queries in three rounds whose times lie on both sides of every band, and that fail a check now and then."""
    offered = [{"uiValue": {"formType": "SELECT"}}]
    return [
        LONG_HEADER,
        *(
            long_row(
                f"Q{query}",
                f"{room}/1",
                **{
                    "질의": f"평가 기간을 {query}일로 바꿔줘",
                    "기대결과": 'dataUIList 내 formType 값이 "SELECT"인 항목이 존재하는가',
                    "Raw JSON": raw(took_s=3 + query * room % 11, dataUIList=offered if query * room % 7 else []),
                },
            )
            for query in range(40)
            for room in (1, 2, 3)
        ),
    ]


def answered_otherwise(rows: Rows) -> Rows:
    """The same questions, a third of them with the answers and times of the question before."""
    header, *asked = rows
    answers = [place for place, name in enumerate(header) if name[0].isdigit() or name in ("오류", "Raw JSON")]
    per_query = 3 if header is LONG_HEADER else 1
    return [
        header,
        *(
            [cells[place] if place in answers and n // per_query % 3 == 0 else cell for place, cell in enumerate(row)]
            for n, (row, cells) in enumerate(zip(asked, asked[-per_query:] + asked[:-per_query], strict=True))
        ),
    ]


def both_comparisons(folder: Path, name: str, first: Rows, second: Rows) -> tuple[Comparison, dict[str, Any]]:
    """What `aqb compare` makes of the report folders of two runs, and what the inbox says of the second."""
    warehouse = FolderWarehouse(folder / "warehouse")
    change: dict[str, Any] = {}
    for day, rows in ((10, first), (11, second)):
        path = write_csv(folder / f"{name}_202603{day}.csv", rows)
        scored = score_testrun(plan_of(read_testrun_file(path), TestRunChoices(), {}), {})
        place = place_of(warehouse, DAY, scored)
        write_testrun(warehouse, DAY, scored, place)
        write_testrun_folder(folder / str(day), scored, path, place=place)
        change = dict(place.change or {})
    base, candidate = (read_scored_folder(folder / str(day)) for day in (10, 11))
    compared = base.rubric.compare(base.run_scores(), candidate.run_scores(), base.titles)
    return compared, change


def test_they_say_the_same_of_renamed_and_of_reworded_queries(tmp_path: Path) -> None:
    header, *asked = answered_otherwise(plan_rows())
    for row in asked:
        row[header.index("Query ID")] = f"UUID-{row[header.index('Query ID')]}"
        row[header.index("질의")] = f" {row[header.index('질의')]}."
    for row in asked[:6]:
        row[header.index("Query ID")] = row[header.index("Query ID")].removeprefix("UUID-")
        row[header.index("질의")] = "공고를 올려줘"
    compared, change = both_comparisons(tmp_path, "plan_agent", plan_rows(), [header, *asked])
    assert (compared.paired, compared.reworded, compared.only_base) == (38, ("Q0", "Q1"), ())
    assert change == change_figures(compared, KnownRun(change["sha256"], change["when"], "", frozenset()))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("plan_agent", plan_rows),
        pytest.param("url_agent", move_rows, marks=pytest.mark.long),
        pytest.param("resume_agent", applicant_rows, marks=pytest.mark.long),
    ],
)
def test_inbox_and_aqb_compare_say_the_same_of_two_runs(tmp_path: Path, name: str, rows: Callable[[], Rows]) -> None:
    compared, change = both_comparisons(tmp_path, name, rows(), answered_otherwise(rows()))
    assert compared.worse
    before = KnownRun(change["sha256"], change["when"], "", frozenset())
    assert change == change_figures(compared, before)
