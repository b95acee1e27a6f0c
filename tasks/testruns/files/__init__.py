"""Test runs from CSV, TSV and XLSX: rows of either layout become executions, or rejects with their reasons.

reader       a file -> TestRunFile
workbooks    XLSX sheets as rows of text, guarded against what is no workbook and against zip bombs

What a header and a row say, and which rows are rejected, is pure: `reading`, `columns` and `rows` of
`scoring.testruns`.
"""

from tasks.testruns.files.reader import RUN_FILE_ENDINGS, headers_of, read_testrun_file

__all__ = ["RUN_FILE_ENDINGS", "headers_of", "read_testrun_file"]
