"""A test-run file becomes a `TestRunFile`.

Of a workbook every visible sheet whose header is a test run's is read, in order, as one run; hidden sheets are left
alone and noted. Sheets must share one layout.

Source: SPEC 2, 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from scoring.errors import InputError
from scoring.rejects import Reject, UnreadableCell
from scoring.testruns.detection import FileFacts, Layout, agent_type_of, header_names, layout_of
from scoring.testruns.executions import AgentType, Execution
from tasks.files.csv_reader import BrokenRow, DelimitedText, TextRow
from tasks.files.discovery import FileIdentity, identity_of
from tasks.testruns.files.columns import columns_of
from tasks.testruns.files.rows import RowReader
from tasks.testruns.files.testruns import RowCounts, TestRunFile

if TYPE_CHECKING:
    from tasks.testruns.files.workbooks import TestRunWorkbook

RUN_FILE_ENDINGS = (".csv", ".tsv", ".xlsx")
_RUN_LAYOUTS = (Layout.LONG, Layout.WIDE)


class _Table(Protocol):
    @property
    def columns(self) -> Sequence[str]: ...

    def rows(self) -> Iterable[TextRow | BrokenRow]: ...


def read_testrun_file(path: Path) -> TestRunFile:
    """Reads a test run.

    Raises:
        InputError: no table, no test run, or a required column is missing.
    """
    identity = identity_of(path)
    reading = _Reading(agent_type_of(FileFacts(path.name, ())))
    if path.suffix.lower() == ".xlsx":
        with _workbook(path) as workbook:
            sheets = [sheet for sheet in workbook.sheets() if layout_of(header_names(sheet.columns)) in _RUN_LAYOUTS]
            if not sheets:
                found = "; ".join(
                    f"{sheet.name}: {', '.join(filter(None, sheet.columns))}" for sheet in workbook.sheets()
                )
                columns_of((), f"{path} ({found or 'no visible sheet with a header'})")
            for sheet in sheets:
                reading.add(sheet, str(path), f"{sheet.name}!" if len(sheets) > 1 else "")
            reading.notes.update(workbook.notes(sheet.name for sheet in sheets))
    else:
        reading.add(text_table(path), str(path))
    return reading.run_file(path, identity)


def headers_of(path: Path) -> tuple[str, ...]:
    """The header of a file, for telling what it is: of a workbook that of the first sheet that is a test run.

    Raises:
        InputError: the file is no table.
    """
    if path.suffix.lower() != ".xlsx":
        return header_names(text_table(path).columns)
    with _workbook(path) as workbook:
        headers = [header_names(sheet.columns) for sheet in workbook.sheets()]
    return next((names for names in headers if layout_of(names) in _RUN_LAYOUTS), headers[0] if headers else ())


def _workbook(path: Path) -> TestRunWorkbook:
    from tasks.testruns.files.workbooks import (
        TestRunWorkbook,  # openpyxl takes longer to import than a small CSV to score
    )

    return TestRunWorkbook(path)


def text_table(path: Path) -> DelimitedText:
    """A CSV or TSV file.

    Raises:
        InputError: another kind of file, or one that cannot be opened.
    """
    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv"):
        raise InputError(
            f"expected a name ending in {', '.join(RUN_FILE_ENDINGS)}, found {ending or 'no ending'}",
            where=str(path),
            fix="save the table as CSV in UTF-8 or as an Excel workbook (.xlsx)",
        )
    return DelimitedText(path, "\t" if ending == ".tsv" else ",")


class _Reading:
    """What the tables of one file came to so far."""

    def __init__(self, agent_type: AgentType | None) -> None:
        self._agent_type = agent_type
        self.notes: Counter[str] = Counter()
        self._queries: dict[str, list[Execution]] = {}
        self._keys: set[tuple[str, str, str]] = set()
        self._rejects: list[Reject] = []
        self._excluded: list[int] = []
        self._headers: dict[str, None] = {}
        self._layouts: set[Layout] = set()
        self._rows_in = self._executions = 0
        self._has_checks = self._has_filters = False

    def add(self, table: _Table, where: str, prefix: str = "") -> None:
        """Reads a table; `prefix` tells its columns from those of other sheets in rejects."""
        columns = columns_of(header_names(table.columns), where)
        self._layouts.add(columns.layout)
        if len(self._layouts) > 1:
            raise InputError(
                "its sheets have different layouts: expected one row per execution, or one row per query, in all",
                where=where,
                fix="split the workbook: one file per layout",
            )
        self._headers.update(dict.fromkeys(columns.names))
        reader = RowReader(columns, self._agent_type)
        for row in table.rows():
            if isinstance(row, BrokenRow):
                self._rows_in += 1
                self._rejects.append(Reject(where, row.line, None, row.code, row.reason))
            elif not row.is_blank:
                self._rows_in += 1
                self._add_row(reader, row, where, prefix)
        self.notes.update(reader.notes)

    def _add_row(self, reader: RowReader, row: TextRow, where: str, prefix: str) -> None:
        try:
            executions = reader.executions(row.cells)
            self._refuse_known(executions)
        except UnreadableCell as problem:
            self._rejects.append(Reject(where, row.line, prefix + problem.column, problem.code, problem.reason))
            return
        if not executions:
            self._excluded.append(row.line)
        for execution in executions:
            self._keys.add(_key(execution))
            self._queries.setdefault(execution.query_id, []).append(execution)
            self._has_checks |= bool(execution.criteria_json) or "accuracyChecks" in execution.expected_text
            self._has_filters |= bool(execution.expected_filters)
        self._executions += len(executions)

    def _refuse_known(self, executions: Sequence[Execution]) -> None:
        known = next((execution for execution in executions if _key(execution) in self._keys), None)
        if known:
            run_id, query_id, round_ = _key(known)
            run = f"실행 {run_id}, " if run_id else ""
            reason = f"같은 실행이 앞에 이미 있습니다: {run}문항 {query_id}, 방/반복 {round_}."
            raise UnreadableCell("방/반복", "duplicate_execution", reason)

    def run_file(self, path: Path, identity: FileIdentity) -> TestRunFile:
        excluded, rejected = len(self._excluded), len(self._rejects)
        return TestRunFile(
            identity=identity,
            layout=next(iter(self._layouts)),
            facts=FileFacts(path.name, tuple(self._headers), has_accuracy_checks=self._has_checks),
            queries={query_id: tuple(executions) for query_id, executions in self._queries.items()},
            counts=RowCounts(self._rows_in, self._rows_in - excluded - rejected, excluded, rejected, self._executions),
            rejects=tuple(self._rejects),
            excluded_lines=tuple(self._excluded),
            notes=dict(sorted(self.notes.items())),
            has_expected_filters=self._has_filters,
        )


def _key(execution: Execution) -> tuple[str, str, str]:
    return execution.run_id, execution.query_id, str(execution.round)
