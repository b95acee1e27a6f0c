"""Monitoring rows from Parquet, CSV, TSV, JSON Lines and BigQuery, as a stream of data frames.

address      what every source is; files or BigQuery (`bigquery`), chosen by the address
content      what a source holds of a day, as it or a pass over its rows tells it
files        inputs -> files -> batches, one file after the other; a failed file does not stop the others
delimited, json_lines, parquet      one kind of file each: bytes -> cells or columns

What a cell or a column says, and which rows are rejected, is pure: `rows`, `cells`, `arrow_columns` and `sql_rows` of
`scoring.chat`.
"""

from scoring.chat.rows import CHAT_ROW_SCHEMA, FileFailure, RowBatch
from scoring.inputs import FileIdentity
from tasks.chat.sources.address import ChatRowSource, open_source
from tasks.chat.sources.files import ChatRowFiles

__all__ = [
    "CHAT_ROW_SCHEMA",
    "ChatRowFiles",
    "ChatRowSource",
    "FileFailure",
    "FileIdentity",
    "RowBatch",
    "open_source",
]
