"""Tables of text become a `TestRunFile`: executions by query, and what became of every row.

Source: SPEC 2, 5.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from scoring.errors import InputError
from scoring.inputs import BrokenRow, FileIdentity, TextRow
from scoring.rejects import Reject, UnreadableCell
from scoring.testruns.columns import columns_of
from scoring.testruns.detection import FileFacts, Layout, header_names
from scoring.testruns.executions import AgentType, Execution
from scoring.testruns.rows import RowReader
from scoring.testruns.testrun import RowCounts, TestRunFile

RUN_LAYOUTS = (Layout.LONG, Layout.WIDE)


class TestRunTable(Protocol):
    """A header, and the rows below it as text."""

    @property
    def columns(self) -> Sequence[str]: ...

    def rows(self) -> Iterable[TextRow | BrokenRow]: ...


class TestRunReading:
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

    def add(self, table: TestRunTable, where: str, prefix: str = "") -> None:
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

    def run_file(self, name: str, identity: FileIdentity) -> TestRunFile:
        """All that was read; `name` is that of the file without its folder."""
        excluded, rejected = len(self._excluded), len(self._rejects)
        return TestRunFile(
            identity=identity,
            layout=next(iter(self._layouts)),
            facts=FileFacts(name, tuple(self._headers), has_accuracy_checks=self._has_checks),
            queries={query_id: tuple(executions) for query_id, executions in self._queries.items()},
            counts=RowCounts(self._rows_in, self._rows_in - excluded - rejected, excluded, rejected, self._executions),
            rejects=tuple(self._rejects),
            excluded_lines=tuple(self._excluded),
            notes=dict(sorted(self.notes.items())),
            has_expected_filters=self._has_filters,
        )


def _key(execution: Execution) -> tuple[str, str, str]:
    return execution.run_id, execution.query_id, str(execution.round)
