"""`[bigquery]`: how BigQuery is reached, what a query may cost, how the columns of a view are called."""

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
    """Where its jobs run, for example asia-northeast3; empty: where the view or the dataset is."""

    billing_project: str = ""
    """The project that pays for its jobs; empty: the project of the view or the dataset."""

    maximum_bytes_billed: int = Field(default=1_099_511_627_776, ge=0)
    """A query that would bill more is refused before it costs anything; 0 is no limit."""

    usd_per_tib: float = Field(default=6.25, ge=0)
    """The price of scanning a TiB, for estimates: on demand in the US; 0 where slots are paid for."""

    use_storage_api: bool = True
    """Read rows through the BigQuery Storage API, many times faster; without its permission REST is used."""

    retry_s: float = Field(default=600.0, ge=0)
    """Seconds for which a call is repeated while BigQuery is busy or out of reach (600 or more for starting a job)."""

    scratch: str = "data/bigquery"
    """A folder of this machine for what is on its way: scored rows before they are loaded."""

    endpoint: Url = ""
    """The address of the API, where it is not Google's public one: a private endpoint, or an emulator."""

    storage_endpoint: Url = ""
    """The same for the Storage API; with `endpoint` alone rows are read over REST."""

    anonymous: bool = False
    """Send no credentials, as emulators want it."""

    prefix: str = Field(default="", pattern=_PATH.replace("+$", "*$"))
    """What stands before the columns of the source where they are so called: `jsonPayload.` in exported logs."""

    columns: dict[SourceColumn, ColumnPath] = Field(default_factory=dict)
    """Columns of the source that are called differently: `user_input = "question"`; looked up with the prefix first."""
