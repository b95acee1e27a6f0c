"""Templates of HTML pages and of Markdown reports. Both escape every value that a template shows."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from scoring.markdown import cell, kpi_text, percent, score_text, shortened

NOTHING = "–"


def html(template: str, **values: Any) -> str:
    """The page that a template of `site/templates` makes of `values`."""
    return _environment("site", None).get_template(template).render(values)


def markdown(template: str, **values: Any) -> str:
    """The text that a template of `markdown/templates` makes of `values`, with one empty line between its parts."""
    text = _environment("markdown", _escaped).get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def count_text(count: int | None) -> str:
    """A count with its thousands apart; None is a dash."""
    return NOTHING if count is None else f"{count:,}"


def share_text(count: int, total: int) -> str:
    """A count as a share of a total; a dash where the total is 0."""
    return percent(count / total if total else None)


def cost_text(usd: float | None) -> str:
    """What the judge cost; None where no price is known."""
    if usd is None:
        return "가격을 몰라 계산하지 못함"
    return f"{usd:.4f} USD" if usd else "0 USD"


@cache
def _environment(folder: str, finalize: Callable[[Any], Any] | None) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / folder / "templates"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = {"count": count_text, "share": share_text, "percent": percent, "score": score_text, "kpi": kpi_text}
    environment.filters |= filters | {"shortened": shortened, "cost": cost_text}
    return environment


def _escaped(value: Any) -> Any:
    """A value for Markdown; what a macro has made is escaped already."""
    return value if isinstance(value, Markup) else Markup(cell(value))  # noqa: S704  no HTML is left
