"""The sizes beyond which an input or an answer is refused, with their reasons.

Beyond each stands a clear error, never a slow run.

Two limits need no number. Patterns of checks are RE2, which takes time in proportion to the text. JSON that is nested
deeper than Python's own limit (about a thousand levels) is a cell that cannot be read.
"""

MOST_COLUMNS = 16_384
"""Of a table: a sheet of Excel has no more. What has more is no table with a name for each column."""

MOST_SHEET_ROWS = 1_048_576
"""Of a sheet: Excel has no more, so a higher row number is no place but a trap for readers that fill gaps."""

MOST_CELLS = 2_000_000
"""Of a sheet: 10,000 executions of 100 columns, twice."""

MOST_TESTRUN_ROWS = 50_000
"""Of a test run: its answers are held together in memory, five times the 10,000 executions that take 500 MB."""

LARGEST_CELL = 8 * 1024 * 1024
"""Bytes of a CSV cell: it stops a quote that never closes from taking a whole file into memory."""

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a line of CSV or JSON Lines: it stops a file without line breaks from being one line in memory."""

MOST_LINES_REREAD, MOST_REREADS_OF_A_LINE = 10_000_000, 100
"""Lines of a CSV file that are read again where broken rows end, in all and on average: what follows a broken quote may
be quoted to the end of the file, again and again. Half an answer's lines are read again for each line of it."""

LARGEST_UNPACKED = 256 * 1024 * 1024
"""Bytes of all parts of a workbook: 10,000 executions with 25 kB of raw JSON each."""

MOST_SHEET_TEXT = LARGEST_UNPACKED
"""Characters of all cells of a sheet: a workbook keeps a text once, however many cells and merged rows show it."""

LARGEST_EXPORT = LARGEST_UNPACKED
"""Bytes of a JSON file that another tool wrote of a test run: it is parsed as a whole, in several times its memory."""

LARGEST_RATIO = 100
"""How many times larger than its file a workbook may unpack once it is beyond `SMALL_UNPACKED`: text packs 5 to 30
times smaller, only what was made to harm more than a hundred times."""

SMALL_UNPACKED = 64 * 1024 * 1024
"""Bytes that any workbook may unpack to: an almost empty sheet with formats packs very well."""

MOST_TAGS, TAGS_OF_ANY_FILE, MOST_TAGS_A_BYTE = 16_000_000, 1_000_000, 10
"""Of the XML of a workbook: in all; and, beyond a number that every file may have, for each byte of the file. Time and
memory grow with tags, not with bytes: a text that rows repeat packs 360 times smaller, and costs little. A cell has two
to six tags, so `MOST_CELLS` fit. Sheets of empty cells, of one number, of one text in each cell, of merged cells and of
drop-downs have 0.1 to 2.5 tags a byte; 100 kB of a few letters in turn have more than a hundred."""

MOST_TAGS_AT_ONCE = 1_000_000
"""Of a row, and of each part that is read as a whole, such as formats and names: 400 bytes of memory each. Excel has
64,000 formats of six tags, and rows of 16,384 cells."""

LONGEST_TAG = LARGEST_CELL
"""Bytes of a tag of a workbook with the text behind it: a cell of Excel has 32,767 characters."""

LARGEST_TEXT_RATIO = 10_000
"""How many times larger than their Parquet file the texts of its rows may be once they are beyond `SMALL_UNPACKED`: the
time of each row alone takes a thousandth of a long text that all rows repeat."""

LARGEST_JUDGE_REPLY = 1_000_000
"""Bytes of an answer of a judge's endpoint, unpacked: a verdict has a few hundred, the list of all models of a
large provider a hundred thousand."""

LARGEST_BATCH_LINE = 10_000
"""Bytes of the results of a batch for each of its questions, on average: five times what a long verdict needs."""

LARGEST_ALERT_ANSWER = 64_000
"""Bytes read of the answer to an alert: Slack repeats a message, which has 12,000 at most."""

LARGEST_CHANNEL_PAGE = 1_000_000
"""Bytes of a page of 50 messages that others have written in a Slack channel; a bot reads 20 such pages at most."""
