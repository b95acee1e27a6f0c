"""`aqb sql`: the scoring query as text."""

import re
from datetime import date

from scoring.catalog import row_rubric
from scoring.chat.sql_rows import chat_rows_query, rejecting_unreadable
from scoring.chat.sql_scores import scoring_query
from scoring.days import day_window
from scoring.errors import UsageError
from scoring.rules.googlesql_backend import literal
from tasks.config.settings import Settings

# project.dataset.table: letters, digits, and the few signs that BigQuery allows in names.
_TABLE_NAME = re.compile(r"[A-Za-z0-9_:-]+(\.[A-Za-z0-9_-]+){1,2}")


def bigquery_scoring_query(source: str, day: date | None, settings: Settings) -> str:
    """The query over `source` for one day of the configured zone, or for all rows.

    Its columns are those of the production view, under the names of `[bigquery]` `prefix` and `columns`.

    Raises:
        UsageError: `source` is no `project.dataset.table`.
    """
    if not _TABLE_NAME.fullmatch(source):
        raise UsageError(f"'{source}' is no table name", fix="write project.dataset.table or dataset.table")
    period = None
    if day:
        window = day_window(day, settings.time_zone)
        start, end = (literal(f"{instant:%Y-%m-%d %H:%M:%S}+00") for instant in (window.start, window.end))
        period = f"TIMESTAMP {start}", f"TIMESTAMP {end}"
    names = {str(name): path for name, path in settings.bigquery.columns.items()}
    return scoring_query(
        rejecting_unreadable(row_rubric(settings.monitoring.rubric)),
        chat_rows=chat_rows_query(source, prefix=settings.bigquery.prefix, names=names, period=period),
        time_zone=settings.time_zone,
        keep_text=settings.monitoring.keep_text,
    )
