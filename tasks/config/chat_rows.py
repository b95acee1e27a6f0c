"""The chat rows of a service, and `[[monitoring.service]]`: several of them.

Source: SPEC 13.
"""

from typing import Annotated, Literal

from pydantic import Field

from scoring.chat.reading import ROWS, Format
from scoring.rubrics import DEFAULT_ROW_RUBRIC
from tasks.config.bigquery import SourceColumn
from tasks.config.section import Place, Section, Zone

_ColumnName = Annotated[str, Field(min_length=1)]


class ChatRowSettings(Section):
    """The chat rows of a service: their source, their rubric, and the texts that the score table keeps."""

    rubric: str = DEFAULT_ROW_RUBRIC
    """The rubric of chat rows: its id, or its file (`my-rubric.toml`). A warehouse holds the days of one rubric."""

    source: Place = "data/chat_rows"
    """Chat rows: a file, a folder or a glob (Parquet, CSV, JSON Lines), or `bigquery://project.dataset.view`."""

    format: Format = ROWS
    """The format of the files: `rows` is a table with a row per turn, the others are exports of other tools."""

    columns: dict[SourceColumn, _ColumnName] = Field(default_factory=dict)
    """Columns of files with other names: `user_input = "question"`; dots lead into structs and JSON."""

    naive_timestamps: Zone = "UTC"
    """The zone of timestamps without one."""

    keep_text: Literal["flagged", "all", "none"] = "flagged"
    """Rows whose two texts the score table keeps: those with an alert or a final grade C or F, all, or none."""


class ServiceSettings(ChatRowSettings):
    """One of several services. Omitted settings are inherited from `[monitoring]`."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    """Its name in tables, pages and messages: small letters, digits and hyphens. A new name is a new service."""

    source: Place
    """Its chat rows, as `monitoring.source`."""

    routes: tuple[str, ...] = ()
    """The names of the routes that receive its messages; empty: all."""

    has_unnamed_days: bool = False
    """Whether days without a service name belong to it: those scored before there were services, and all later ones."""
