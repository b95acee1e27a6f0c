"""URLs of `aqb web` for rows and test runs, for links between pages and in messages."""

from datetime import date
from urllib.parse import quote, urlencode

from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.row_filter import RowFilter
from tasks.files.report_paths import TESTRUNS, testrun_page_name


def rows_address(wanted: RowFilter) -> str:
    """The page of the rows that meet a filter."""
    return f"/rows?{urlencode(wanted.pairs())}"


def incident_address(day: date, rule: str, tenant: str | None) -> str:
    """The page of the rows of a day that met an alert rule, of a tenant or of all (`*`)."""
    return rows_address(RowFilter(day, day, () if tenant == ALL_TENANTS else (tenant,), rules=(rule,)))


def row_address(day: date, row_id: str) -> str:
    """The page that explains a row."""
    return f"/rows/{day}/{row_id}"


def testrun_address(input_name: str, sha256: str, rubric: str) -> str:
    """The page of a test run of the warehouse."""
    return f"/{TESTRUNS}/{quote(testrun_page_name(input_name, sha256, rubric))}"
