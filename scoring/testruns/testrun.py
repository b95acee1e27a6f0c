"""What a test-run file held: executions by query, and what became of each of its rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from scoring.inputs import FileIdentity
from scoring.rejects import Reject
from scoring.testruns.detection import FileFacts, Layout
from scoring.testruns.executions import Execution


@dataclass(frozen=True)
class RowCounts:
    """What became of the rows of a file: `rows_in` = `scored` + `excluded` + `rejected`, always.

    A row is an execution in the long layout and a query with all its rounds in the wide one. A wide row of which no
    round was run is excluded; one bad cell rejects a row with all its rounds. `executions` counts what is scored.
    """

    rows_in: int
    scored: int
    excluded: int
    rejected: int
    executions: int

    def __post_init__(self) -> None:
        if self.rows_in != self.scored + self.excluded + self.rejected:
            raise AssertionError(f"of {self.rows_in} rows some were lost or counted twice")


@dataclass(frozen=True)
class TestRunFile:
    """One test run. `queries`: query id -> its executions in the order of the file, queries as they first appear.

    Executions have the agent type that their row or the file's name tells. `excluded_lines` are the rows of which no
    round was run. `notes` counts what was read with a reservation, by code
    (`NOTE_TITLES` in `tasks.reports.titles` says them in Korean).
    """

    identity: FileIdentity
    layout: Layout
    facts: FileFacts
    queries: Mapping[str, tuple[Execution, ...]]
    counts: RowCounts
    rejects: tuple[Reject, ...]
    excluded_lines: tuple[int, ...]
    notes: Mapping[str, int]
    has_expected_filters: bool

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.facts.file_name
