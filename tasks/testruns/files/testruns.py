"""What a test-run file held: executions by query, packed, and what became of each of its rows."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pyarrow as pa

from scoring.rejects import Reject
from scoring.testruns.detection import FileFacts, Layout
from scoring.testruns.executions import Execution
from tasks.files.discovery import FileIdentity

# What takes part in nothing but scoring one query.
LONG_TEXTS = ("raw_json", "answer_text", "button_url", "carried")


@dataclass(frozen=True, slots=True)
class PackedExecution:
    """An execution without its long texts (`LONG_TEXTS`), and these compressed.

    A hundred thousand executions of 3 kB fit in about 250 MB so; as texts they would take three times that. Packing
    must cost little beside scoring: a tighter or more portable format would take longer than reading the file.
    """

    outline: Execution
    packed: bytes
    unpacked_bytes: int

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> PackedExecution:
        """Pack an execution that is given by its fields."""
        outline = {name: value for name, value in fields.items() if name not in LONG_TEXTS}
        texts = {name: fields[name] for name in LONG_TEXTS if fields.get(name)}
        document = marshal.dumps(texts)
        return cls(Execution(**outline), _codec().compress(document, asbytes=True), len(document))

    def unpacked(self) -> Execution:
        """The execution with its texts."""
        document = _codec().decompress(self.packed, self.unpacked_bytes, asbytes=True)
        return replace(self.outline, **marshal.loads(document))  # noqa: S302 - our own bytes, of this process


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


@cache
def _codec() -> pa.Codec:
    return pa.Codec("lz4_raw")


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
    queries: Mapping[str, tuple[PackedExecution, ...]]
    counts: RowCounts
    rejects: tuple[Reject, ...]
    excluded_lines: tuple[int, ...]
    notes: Mapping[str, int]
    has_expected_filters: bool

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.facts.file_name
