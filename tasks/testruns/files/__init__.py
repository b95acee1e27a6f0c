"""Test runs from CSV, TSV and XLSX: rows of either layout become executions, or rejects with their reasons.

reader       a file -> TestRunFile; which rubric scores it
columns      a header -> which cell says what, in the long and in the wide layout
rows         one row -> its executions; the first thing that is wrong with it rejects the row
testruns     what was read: executions by query, and what became of every row
workbooks    XLSX sheets as rows of text, guarded against what is no workbook and against zip bombs
"""

from __future__ import annotations

from tasks.testruns.files.reader import RUN_FILE_ENDINGS, headers_of, read_testrun_file
from tasks.testruns.files.testruns import RowCounts, TestRunFile

__all__ = ["RUN_FILE_ENDINGS", "RowCounts", "TestRunFile", "headers_of", "read_testrun_file"]
