"""Reads the tables of a test-run file into a `TestRunFile`: executions by query, and the number of rows by outcome.

Source: SPEC 2, 5.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Protocol

from scoring.errors import InputError
from scoring.inputs import BrokenRow, FileIdentity, Reject, TextRow, UnreadableCell
from scoring.limits import MOST_TESTRUN_ROWS
from scoring.testruns.detection import FileFacts, Layout
from scoring.testruns.executions import AgentType, Execution
from scoring.testruns.rows import RowReader, columns_of
from scoring.testruns.team_names import TeamNames, written_headers


@dataclass(frozen=True)
class RowCounts:
    """The number of rows of a file by outcome: `rows_in` = `scored` + `excluded` + `rejected`, always.

    A row is an execution in the long layout and a query with all its rounds in the wide one. A wide row without an
    executed round is excluded; one bad cell rejects a row with all its rounds. `executions` counts the scored ones.
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
    """One test run. `queries`: query id -> its executions, both in the order of the file.

    Executions have the agent type of their row or of the file's name. `excluded_lines` are the rows without an executed
    round, with the sheet if there are several (`2회차!14`). `notes` counts what was read with a reservation, by code
    (`NOTE_TITLES` in `tasks.reports.wording` has the Korean texts).
    """

    identity: FileIdentity
    facts: FileFacts
    queries: Mapping[str, tuple[Execution, ...]]
    counts: RowCounts
    rejects: tuple[Reject, ...]
    excluded_lines: tuple[str, ...]
    notes: Mapping[str, int]

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.facts.file_name

    @cached_property
    def ran_at(self) -> str:
        """When it ran (ISO), '' if neither rows nor the file's name say."""
        return run_time((one for executions in self.queries.values() for one in executions), self.name)


class TestRunTable(Protocol):
    """A header, and the rows below it as text."""

    @property
    def columns(self) -> Sequence[str]: ...

    def rows(self) -> Iterable[TextRow | BrokenRow]: ...


class TestRunReading:
    """The tables of one file that have been read so far."""

    def __init__(self, agent_type: AgentType | None, names: TeamNames, run_type: str = "") -> None:
        """`agent_type` and `run_type` apply to rows that name none."""
        self._agent_type = agent_type
        self._run_type = run_type
        self._names = names
        self.notes: Counter[str] = Counter()
        self._executions: dict[tuple[str, str, str], Execution] = {}
        self._rejects: list[Reject] = []
        self._excluded: list[str] = []
        self._headers: dict[str, None] = {}
        self._written: dict[str, None] = {}
        self._layouts: set[Layout] = set()
        self._row_numbers: dict[str, str] = {}  # of rows without an id: the id for now -> the row number
        self._rows_in = self._scored = 0

    def add(self, table: TestRunTable, where: str, sheet: str = "") -> None:
        """Reads a table; `sheet` is its name if there are several, which may give the round (`2회차`)."""
        written = written_headers(table.columns)
        columns = columns_of(self._names.headers(table.columns), written, where)
        self._layouts.add(columns.layout)
        if len(self._layouts) > 1:
            raise InputError(
                "its sheets have different layouts: expected one row per execution, or one row per query, in all",
                where=where,
                fix="split the workbook: one file per layout",
                ko="시트마다 표의 모양이 다릅니다(실행마다 한 행, 질의마다 한 행). 모양마다 파일을 나누세요.",
            )
        self._headers.update(dict.fromkeys(columns.names))
        self._written.update(dict.fromkeys(written))
        reader = RowReader(columns, self._agent_type, self._names.filter_names, self._run_type, sheet)
        prefix = f"{sheet}!" if sheet else ""
        for row in table.rows():
            if isinstance(row, TextRow) and row.is_blank:
                continue
            self._rows_in += 1
            if self._rows_in > MOST_TESTRUN_ROWS:
                raise too_many_rows(where)
            if isinstance(row, BrokenRow):
                self._rejects.append(Reject(where, row.line, None, row.code, row.reason))
                continue
            try:
                if not self._add_row(reader, row):
                    self._excluded.append(f"{prefix}{row.line}")
            except UnreadableCell as problem:
                self._rejects.append(Reject(where, row.line, prefix + problem.column, problem.code, problem.reason))
        self.notes.update(reader.notes)

    def _add_row(self, reader: RowReader, row: TextRow) -> bool:
        """Adds a row; returns whether any round of it was executed."""
        of_row = reader.executions(row.cells)
        if of_row and not of_row[0].query_id:
            of_row = [replace(one, query_id=f"{row.line}행") for one in of_row]
            self._row_numbers[f"{row.line}행"] = str(row.line)
            self.notes["blank_query_id"] += 1
        executions = {(one.run_id, one.query_id, str(one.round)): one for one in of_row}
        if known := next((key for key in executions if key in self._executions), None):
            run = f"실행 {known[0]}, " if known[0] else ""
            raise reader.second_row(f"{run}질의 {known[1]}, 회차 {known[2]}")
        self._executions.update(executions)
        self._scored += bool(executions)
        return bool(executions)

    def run_file(self, name: str, identity: FileIdentity) -> TestRunFile:
        """Everything that was read; `name` is the file's name without its folder."""
        queries: dict[str, list[Execution]] = {}
        named = {one.query_id for one in self._executions.values()}
        for one in self._executions.values():
            number = self._row_numbers.get(one.query_id, one.query_id)
            execution = one if number in named else replace(one, query_id=number)
            queries.setdefault(execution.query_id, []).append(execution)
        excluded, rejected = len(self._excluded), len(self._rejects)
        return TestRunFile(
            identity=identity,
            facts=FileFacts(
                name,
                tuple(self._headers),
                tuple(self._written),
                has_accuracy_checks=any(
                    one.criteria_json or ("기대결과" in self._headers and "accuracyChecks" in one.expected_text)
                    for one in self._executions.values()
                ),
                has_expected_filters=any(one.expected_filters for one in self._executions.values()),
                has_data_keys_alone=any(
                    one.expected_datakeys and not (one.expected_filters or one.agent_type)
                    for one in self._executions.values()
                ),
            ),
            queries={query_id: tuple(executions) for query_id, executions in queries.items()},
            counts=RowCounts(self._rows_in, self._scored, excluded, rejected, len(self._executions)),
            rejects=tuple(self._rejects),
            excluded_lines=tuple(self._excluded),
            notes=dict(sorted(self.notes.items())),
        )


def too_many_rows(where: str) -> InputError:
    """The error of a file with more rows than a test run may have."""
    return InputError(
        f"a test run with more than {MOST_TESTRUN_ROWS:,} rows",
        where=where,
        fix="split the file: one test run each",
        ko=f"테스트 런 하나가 {MOST_TESTRUN_ROWS:,}행을 넘습니다. 테스트 런마다 파일을 나누세요.",
    )


_DATE = r"(20[0-9]{2})[-./_]?([0-9]{2})[-./_]?([0-9]{2})"
_TIME = re.compile(rf"\s*{_DATE}(?:[T\s]+([0-9]{{1,2}}):([0-9]{{2}})(?::([0-9]{{2}}))?)?")
_IN_NAME = re.compile(rf"(?<![0-9]){_DATE}(?![0-9])")


def run_time(executions: Iterable[Execution], file_name: str) -> str:
    """The start of the first execution as written, `2026-02-24T02:20:40`; the date alone or '' if that is unknown.

    No zone is applied: a test run is ordered among the others of its team, whose files use the same notation.
    """
    times = [found for one in executions if (found := _moment(_TIME.match(one.executed_at)))]
    named = (_moment(match) for match in _IN_NAME.finditer(file_name))
    return min(times, default="") or next(filter(None, named), "")


def _moment(match: re.Match[str] | None) -> str:
    """The matched date or time in ISO form, '' if it is not a calendar date."""
    parts = [int(part) for part in match.groups() if part is not None] if match else []
    try:
        found = datetime(*parts) if parts else None  # type: ignore[arg-type]  # noqa: DTZ001  as it is written
    except ValueError:
        return ""
    if found is None:
        return ""
    return found.date().isoformat() if len(parts) == 3 else found.isoformat(timespec="seconds")
