"""A page of the site as one self-contained file: style, scripts and data inside, and a policy that allows no more.

Templates escape what they are given. Data for charts travels as JSON in a script element that is never executed;
scripts and style are allowed by their hashes, so that no text of a row can become code even if an escape were
forgotten.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tasks.reports.site.charts import Chart

FOLDER = Path(__file__).parent
_CHART_SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "charts.js")
_FILTER_SCRIPT = "filter.js"
_STYLE = "site.css"
# What would end the script element that holds the data, or a line of it in old engines.
_UNSAFE_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Inlined:
    """A style sheet or a script as it stands in a page, and its hash for the policy."""

    text: Markup
    digest: str


def page(template: str, charts: Sequence[Chart] = (), **values: Any) -> str:
    """The page that `template` makes of `values`; `charts` are drawn where the template has a place for them.

    A page without charts does without the charting library.
    """
    style, scripts = _inlined(_STYLE), [_inlined(_FILTER_SCRIPT)]
    if charts:
        scripts += map(_inlined, _CHART_SCRIPTS)
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            style=style.text,
            scripts=[script.text for script in scripts],
            policy=_policy(style, scripts),
            charts={chart.id: chart for chart in charts},
            chart_data=embedded({chart.id: {"kind": chart.kind, **chart.data} for chart in charts}),
        )
    )


def embedded(data: Any) -> Markup:
    """JSON that can stand in a script element: no sign in it means anything to HTML."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_UNSAFE_IN_SCRIPT))  # noqa: S704  nothing left that HTML reads


def _policy(style: Inlined, scripts: Sequence[Inlined]) -> str:
    allowed = " ".join(f"'sha256-{script.digest}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'sha256-{style.digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _inlined(name: str) -> Inlined:
    """One of our own files, which end no element early."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    if "</script" in text or "</style" in text:
        raise AssertionError(f"{name} would end the element that holds it")
    return Inlined(Markup(text), b64encode(sha256(text.encode()).digest()).decode())  # noqa: S704  our own file


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
