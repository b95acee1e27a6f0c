"""Reads a test-run file into a `TestRunFile`.

In a workbook all visible sheets with the header of a test run are read, in order, as one run; hidden sheets are ignored
and noted. The sheets must have the same layout, and may be named after the rounds (`2회차`). A JSON file is the
output of promptfoo or Inspect, an `.eval` file a packed log of Inspect.

Source: SPEC 2, 5, 13.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import InputError
from scoring.limits import LARGEST_EXPORT
from scoring.testruns.detection import FileFacts, Layout, agent_type_of, is_single_run, layout_of, run_type_of
from scoring.testruns.exports import Export, inspect_log, promptfoo_results
from scoring.testruns.rows import columns_of
from scoring.testruns.team_names import COMMON_NAMES, TeamNames, written_headers
from scoring.testruns.testrun import TestRunFile, TestRunReading
from tasks.files.csv_reader import DelimitedText
from tasks.files.discovery import identity_of, readable, refuse_protected, refuse_replaced

if TYPE_CHECKING:
    from tasks.testruns.workbooks import Sheet, TestRunWorkbook

_LAYOUTS = (Layout.LONG, Layout.WIDE)
RUN_FILE_ENDINGS = (".csv", ".tsv", ".xlsx")
PACKED_ENDINGS = (".gz", ".zip", ".bz2", ".xz", ".zst")
TextTable = DelimitedText | Export
OTHER_WORKBOOK_ENDINGS = (".xls", ".xlsm", ".xlsb", ".ods")  # that a team takes for files of a run, and nothing reads
_EXPORT_ENDING = ".json"  # only of files that are named outright: folders hold other JSON, such as our summaries
_PACKED_LOG_ENDING = ".eval"


def read_testrun_file(path: Path, names: TeamNames = COMMON_NAMES) -> TestRunFile:
    """Reads a test run; `names` are a team's names of columns and filters.

    Raises:
        InputError: it is no table or no test run, a required column is missing, or it changed while it was read.
    """
    identity = identity_of(path)
    reading = TestRunReading(agent_type_of(FileFacts(path.name)), names, run_type_of(path.name))
    if path.suffix.lower() == ".xlsx":
        with closing(_workbook(path)) as workbook:
            sheets = testrun_sheets(workbook, names)
            if not workbook.sheets:
                columns_of((), (), f"{path} (no visible sheet with a header)")
            for sheet in sheets or workbook.sheets[:1]:  # the first one says what is wrong with it
                reading.add(sheet, str(path), sheet.name if len(sheets) > 1 else "")
            reading.notes.update(workbook.notes(sheets))
    else:
        reading.add(text_table(path), str(path))
    refuse_replaced(path, identity)
    return reading.run_file(path.name, identity)


def testrun_sheets(workbook: TestRunWorkbook, names: TeamNames) -> list[Sheet]:
    """The sheets of a workbook that make up its test run."""
    sheets = [sheet for sheet in workbook.sheets if layout_of(names.headers(sheet.columns)) in _LAYOUTS]
    # A list of questions and answers beside the results is no second result.
    return [sheet for sheet in sheets if not is_single_run(names.headers(sheet.columns))] or sheets


def headers_of(path: Path, names: TeamNames) -> tuple[str, ...]:
    """The header of a file, unchanged, for recognising the kind of file.

    Of a workbook the header of the first sheet that is a test run with these names.

    Raises:
        InputError: the file is no table.
    """
    if path.suffix.lower() != ".xlsx":
        return written_headers(text_table(path).columns)
    with closing(_workbook(path)) as workbook:
        headers = [written_headers(sheet.columns) for sheet in workbook.sheets]
    runs = (found for found in headers if layout_of(names.headers(found)) in _LAYOUTS)
    return next(runs, headers[0] if headers else ())


def _workbook(path: Path) -> TestRunWorkbook:
    from tasks.testruns.workbooks import TestRunWorkbook  # openpyxl imports longer than a small CSV is scored

    return TestRunWorkbook(path)


def text_table(path: Path) -> TextTable:
    """A CSV or TSV file, the results of promptfoo, or a log of Inspect.

    Raises:
        InputError: another kind of file, or one that cannot be read.
    """
    ending = path.suffix.lower()
    if ending == _PACKED_LOG_ENDING:
        from tasks.testruns.inspect_archive import packed_inspect_log  # with zstd, which nothing else here needs

        return packed_inspect_log(path)
    if ending == _EXPORT_ENDING:
        found = _parsed(path)
        is_log = isinstance(found, dict) and "eval" in found
        return inspect_log(found, str(path)) if is_log else promptfoo_results(found, str(path))
    if ending not in (".csv", ".tsv"):
        endings = ", ".join((*RUN_FILE_ENDINGS, _EXPORT_ENDING, _PACKED_LOG_ENDING))
        fix = (
            "save the table as CSV in UTF-8 or as an Excel workbook (.xlsx); .json is of promptfoo or Inspect; "
            "chat rows may also be .parquet or .jsonl"
        )
        ko = "Excel 통합 문서(.xlsx)나 CSV UTF-8(쉼표로 분리)로 저장하세요."
        if ending in PACKED_ENDINGS:
            fix, ko = "unpack it first", "압축을 먼저 푸세요."
        raise InputError(
            f"expected a name ending in {endings}, found {ending or 'no ending'}",
            where=str(path),
            fix=fix,
            ko=f"이름이 {', '.join(RUN_FILE_ENDINGS)} 가운데 하나로 끝나는 파일을 읽습니다. {ko}",
        )
    return DelimitedText(path, "\t" if ending == ".tsv" else ",")


def _parsed(path: Path) -> object:
    with readable(path), path.open("rb") as file:
        content = file.read(LARGEST_EXPORT + 1)
    if len(content) > LARGEST_EXPORT:
        raise InputError(
            f"has more than {LARGEST_EXPORT:,} bytes, which are parsed as a whole",
            where=str(path),
            fix="export fewer tests at a time, or without what the tool logged beside the answers",
        )
    refuse_protected(path, content)
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            "cannot be read as JSON in UTF-8: expected what promptfoo or Inspect writes",
            where=str(path),
            fix="export it again; chat rows as JSON lines are named .jsonl",
        ) from error
