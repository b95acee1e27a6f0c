"""Charts and tables as values: what `charts.js` draws, and the same figures for those who read or hear them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Link:
    """A cell that leads somewhere."""

    text: str
    href: str


@dataclass(frozen=True)
class Mark:
    """A cell with a verdict behind it: a sign, and the words for those who hear the page."""

    text: str
    code: str
    sign: str
    words: str


Cell = str | Link | Mark


@dataclass(frozen=True)
class Table:
    """Rows of shown texts under their headings; the first column names the row."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Chart:
    """One chart: `kind` is the function of `charts.js` that draws `data`, `summary` a sentence that says what is seen.

    `table` holds the same figures as text, `note` stands beside the title.
    """

    id: str
    kind: Literal["trend", "shares", "bars", "interval", "rounds", "scores", "latency"]
    title: str
    summary: str
    data: Mapping[str, Any]
    table: Table
    note: str = ""
