"""Templates of HTML pages and of Markdown reports. Both escape every value that a template shows."""

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from scoring.chat.rubric import FAILURE_NOTE
from scoring.days import day_text
from scoring.figures import VERDICT_SIGNS
from scoring.markdown import cell, percent, score_text, shortened, signed
from scoring.testruns.page_parts import safe_text
from scoring.testruns.summaries import mean_text, undecided_text
from tasks.reports.wording import (
    cost_text,
    count_text,
    counted_rows_text,
    kappa_text,
    repeated_rows_text,
    rules_text,
    share_text,
    tenant_text,
    weights_text,
)

_HERE = Path(__file__).parent
_SENTENCE_CHARACTERS = 2_000  # of a headline, which has a name and a cause of the test file in it
_FILTERS: dict[str, Callable[..., str]] = {
    "cost": cost_text,
    "count": count_text,
    "counted_rows": counted_rows_text,
    "day": day_text,
    "kappa": kappa_text,
    "masked": safe_text,
    "masked_sentence": partial(safe_text, characters=_SENTENCE_CHARACTERS),
    "mean": mean_text,
    "percent": percent,
    "repeated_rows": repeated_rows_text,
    "rules": rules_text,
    "score": score_text,
    "share": share_text,
    "shortened": shortened,
    "signed": signed,
    "tenant": tenant_text,
    "weights": weights_text,
    "undecided": undecided_text,
}


def html(template: str, **values: Any) -> str:
    """The page that a template of `site/templates` makes of `values`."""
    return html_environment().get_template(template).render(values)


def html_environment(*folders: Path) -> Environment:
    """What makes pages: their templates stand in `folders`, or are those of `site/templates`, which they build on."""
    return _environment((*folders, _HERE / "site" / "templates"), None)


def markdown(template: str, *folders: Path, **values: Any) -> str:
    """The text that a template makes of `values`: one of `folders`, or of `markdown/templates`, on which it builds.

    There is one empty line between its parts.
    """
    environment = _environment((*folders, _HERE / "markdown" / "templates"), _escaped)
    return re.sub(r"\n{3,}", "\n\n", environment.get_template(template).render(values)).strip() + "\n"


@cache
def _environment(folders: tuple[Path, ...], finalize: Callable[[Any], Any] | None) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(folders),
        bytecode_cache=_CompiledTemplates(str(Path(cache_from_source(__file__)).parent), "jinja2-%s.pyc"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= _FILTERS
    environment.globals |= {"signs": VERDICT_SIGNS, "failure_note": FAILURE_NOTE}
    environment.globals["scripted"] = True  # pages of `aqb web` run no script
    return environment


class _CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates, kept where Python keeps compiled modules: compiling them takes a quarter of a second."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keeps one, unless Python is to keep none or the folder cannot be written."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)


def _escaped(value: Any) -> Any:
    """A value for Markdown; what a macro has made is escaped already."""
    return value if isinstance(value, Markup) else Markup(cell(value))  # noqa: S704  no HTML is left
