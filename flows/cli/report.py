"""`aqb report`: the site that people look at."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import Json, print_json


def report(
    out: Annotated[Path | None, typer.Option(help="The folder of the site. Default: the setting `reports`.")] = None,
    days: Annotated[int, typer.Option(min=1, help="Calendar days up to the last scored one.")] = 60,
    as_json: Json = False,
) -> None:
    """Build the report site: pages that open from disk, one a day and one a test run, and a first page over all.

    Example: aqb report --out site --days 60
    """
    from tasks.config.settings import load_settings
    from tasks.context import Context
    from tasks.reports.site.build import build_pages

    settings = load_settings()
    context = Context(settings)
    built = build_pages(context.warehouse, context.rubric, out or Path(settings.reports), settings.time_zone, days)
    if as_json:
        print_json({"path": built.path, "pages": built.pages, "written": built.written})
    else:
        typer.echo(f"{built.pages} pages, {built.written} of them changed\nsite: {built.path}")
