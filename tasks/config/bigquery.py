"""`[bigquery]`: the connection to BigQuery, cost limits of queries, and the column names of a view."""

from typing import Annotated, Literal

from pydantic import Field

from tasks.config.secrets import Url
from tasks.config.section import Section

_PATH = r"^[^`\\\s]+$"
ColumnPath = Annotated[str, Field(pattern=_PATH)]
SourceColumn = Literal[
    "user_input",
    "llm_response",
    "input_tokens",
    "output_tokens",
    "timestamp",
    "tenant_id",
    "session_id",
    "request_metadata",
    "source_id",
]


class BigQuerySettings(Section):
    """BigQuery. The credentials are those of the machine (Application Default Credentials), never a setting."""

    location: str = ""
    """The location of its jobs, for example asia-northeast3; empty: that of the view or the dataset."""

    billing_project: str = ""
    """The project that is billed for its jobs; empty: that of the score tables, or of the view if they are files."""

    maximum_bytes_billed: int = Field(default=1_099_511_627_776, ge=0)
    """The maximum bytes billed per query: larger queries are refused at no cost; 0 is no limit."""

    usd_per_tib: float = Field(default=6.25, ge=0)
    """The price in USD of scanning a TiB, for estimates: on demand in the US; 0 for reserved slots."""

    use_storage_api: bool = True
    """Read rows through the BigQuery Storage API, many times faster; without permission for it REST is used."""

    retry_s: float = Field(default=600.0, ge=0)
    """Seconds for which a call is retried while BigQuery is busy or unreachable (at least 600 for starting a job)."""

    scratch: str = "data/bigquery"
    """A local folder for data in transit: scored rows before they are loaded."""

    endpoint: Url = ""
    """The address of the API if it is not Google's public one: a private endpoint, or an emulator."""

    storage_endpoint: Url = ""
    """The same for the Storage API; with `endpoint` only, rows are read over REST."""

    anonymous: bool = False
    """Send no credentials, for emulators."""

    prefix: str = Field(default="", pattern=_PATH.replace("+$", "*$"))
    """The prefix of the source's column names, where they have it: `jsonPayload.` in exported logs."""

    columns: dict[SourceColumn, ColumnPath] = Field(default_factory=dict)
    """Columns of the source with other names: `user_input = "question"`; looked up with the prefix first."""
