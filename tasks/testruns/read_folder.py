"""The folder of a scored test run, read back: its identity and score tables.

Source: SPEC 4.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from scoring.catalog import rubric_of_summary
from scoring.errors import InputError, UsageError
from scoring.stats.run_scores import TestRunScores
from scoring.testruns.rubric import AnyTestRunRubric, TestRunRubric
from scoring.testruns.scoring import epochs_of
from scoring.testruns.tables import points_column, run_scores

_FIX = "give a folder that `aqb score TEST_RUN --out FOLDER` has written; several runs lie in sub-folders of it"


@dataclass(frozen=True)
class ScoredFolder:
    """The output of `aqb score --out` for one test run.

    `file` is the name of the file that was scored, `version` the rubric's, with the options that were changed.
    """

    folder: Path
    summary: dict[str, Any]
    rubric: AnyTestRunRubric
    file: str
    version: str

    @property
    def sha256(self) -> str:
        """The hash of the file that was scored."""
        return str(self.summary["inputs"][0].get("sha256", ""))

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row per execution."""
        return _table(self.folder / "scores.parquet", "query_id", "round", "failed")

    @cached_property
    def queries(self) -> pl.DataFrame:
        """One row per query."""
        return _table(self.folder / "queries.parquet", "query_id", "query_text")

    @property
    def titles(self) -> dict[str, str]:
        """Metric name -> its title, for the scores of queries."""
        return {
            name: title
            for name, title in self.rubric.score_titles.items()
            if points_column(name) in self.queries.columns
        }

    @property
    def epochs(self) -> Mapping[str, Sequence[str]]:
        """The epochs of the judge by the kind of question; empty if unknown."""
        return epochs_of(self.summary)

    def run_scores(self) -> TestRunScores:
        """The scores of all queries with their reasons."""
        queries, executions = self.queries.iter_rows(named=True), self.scores.iter_rows(named=True)
        return run_scores(Path(self.file).name, self.rubric, self.summary, queries, executions)


def read_scored_folder(folder: Path) -> ScoredFolder:
    """The scored test run in `folder`.

    Raises:
        InputError: it is missing or unreadable.
        UsageError: the folder holds scored chat rows.
    """
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        rubric = rubric_of_summary(summary)
        file, version = str(summary["inputs"][0]["name"]), str(summary["rubric_version"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError("no scored test run", where=str(folder), fix=_FIX) from error
    if not isinstance(rubric, TestRunRubric):
        raise UsageError(f"these are chat rows, scored by {rubric.id}, and no test run", where=str(folder), fix=_FIX)
    return ScoredFolder(folder, summary, rubric, file, version)


def _table(path: Path, *required: str) -> pl.DataFrame:
    try:
        table = pl.read_parquet(path, glob=False)
        table.select(required)
        return table
    except PermissionError as error:
        fix = "read as the user that scored it or as a member of the file's group"
        raise InputError("this table may not be read: Permission denied", where=str(path), fix=fix) from error
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError("this table of a scored test run cannot be read", where=str(path), fix=_FIX) from error
