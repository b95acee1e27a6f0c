"""A page of the site as one self-contained file: style, scripts and data inside, and a policy that allows no more.

Templates escape what they are given. Data for charts travels as JSON in a script element that is never executed;
scripts and style are allowed by their hashes, so that no text of a row can become code even if an escape were
forgotten.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup

from scoring.figures import VERDICT_SIGNS, Figure, Verdict
from tasks.reports.templates import html

FOLDER = Path(__file__).parent
_CHART_SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "charts.js")
_FILTER_SCRIPT = "filter.js"
_ROWS_SCRIPT = "rows.js"
_STYLE = "site.css"
# What would end the script element that holds the data, or a line of it in old engines.
_UNSAFE_IN_SCRIPT = "<>&\u2028\u2029"


@dataclass(frozen=True)
class Link:
    """A cell that leads somewhere; without an address it is its text."""

    text: str
    href: str


@dataclass(frozen=True)
class Mark:
    """A cell with a verdict behind it: a sign, and the words for screen readers."""

    text: str
    code: str
    sign: str
    words: str


@dataclass(frozen=True)
class Trend(Mark):
    """A cell with a verdict, an arrow where the value has changed for sure, and the points of a small line."""

    arrow: str
    line: str


def verdict_cell(text: str, verdict: Verdict, words: str = "") -> Mark:
    """A cell with the sign that a verdict has everywhere."""
    return Mark(text, verdict, VERDICT_SIGNS[verdict], words)


def figure_cell(figure: Figure) -> Mark:
    """The value of a figure with its verdict."""
    return verdict_cell(figure.value_text, figure.verdict, figure.verdict_text)


@dataclass(frozen=True)
class Links:
    """A cell with several links, of which the first few are seen before it is opened; `more` only counts."""

    first: Sequence[Link]
    others: Sequence[Link] = ()
    more: int = 0


Cell = str | Link | Links | Mark


@dataclass(frozen=True)
class Table:
    """Rows of shown texts under their headings; the first column names the row."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Chart:
    """One chart: `kind` is the function of `charts.js` that draws `data`, `summary` a sentence that says what is seen.

    `table` holds the same figures as text, but for a KPI card, which shows them itself; `note` stands beside the title.
    """

    id: str
    kind: Literal["trend", "shares", "bars", "interval", "rounds", "scores", "latency", "history", "rates"]
    title: str
    summary: str
    data: Mapping[str, Any]
    table: Table = Table((), ())
    note: str = ""


def page(template: str, charts: Sequence[Chart] = (), **values: Any) -> str:
    """The page that `template` makes of `values`; `charts` are drawn where the template has a place for them.

    A page without charts does without the charting library; one with `row_data` lists these rows.
    """
    needed = [_ROWS_SCRIPT] if "row_data" in values else [_FILTER_SCRIPT, *(_CHART_SCRIPTS if charts else ())]
    (style, style_hash), *scripts = map(_inlined, (_STYLE, *needed))
    allowed = " ".join(digest for _, digest in scripts)
    return html(
        template,
        **values,
        style=style,
        scripts=[script for script, _ in scripts],
        policy=f"default-src 'none'; script-src {allowed}; style-src {style_hash}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        chart_data=embedded({chart.id: {"kind": chart.kind, **chart.data} for chart in charts}),
    )


def embedded(data: Any) -> Markup:
    """JSON that can stand in a script element: no sign in it means anything to HTML."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in _UNSAFE_IN_SCRIPT:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704  nothing left that HTML reads


@cache
def _inlined(name: str) -> tuple[Markup, str]:
    """One of our own files, which end no element early, and its hash for the policy."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    if "</script" in text or "</style" in text:
        raise AssertionError(f"{name} would end the element that holds it")
    return Markup(text), f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"  # noqa: S704  our own file
