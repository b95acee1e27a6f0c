"""`aqb report`: the site that people look at."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.terminal import Json, open_context, show


def report(
    out: Annotated[Path | None, typer.Option(help="The folder of the site. Default: the setting `reports`.")] = None,
    days: Annotated[int, typer.Option(min=1, help="Calendar days up to the last scored one.")] = 60,
    as_json: Json = False,
) -> None:
    """Build the report site: pages that open from disk, one a day and one a test run, and a first page over all.

    Example: aqb report --out site --days 60
    """
    from tasks.reports.site.build import build_pages
    from tasks.state.alert_choices import AlertChoices

    context = open_context()
    settings = context.settings
    choices, folder = AlertChoices(context.state), out or Path(settings.reports)
    policy, snoozes = choices.policy(settings.alerts), choices.every_snooze()
    built = build_pages(context.warehouse, context.rubric, folder, settings.time_zone, days, policy, snoozes)
    text = f"{built.pages} pages, {built.written} of them changed\nsite: {built.path}"
    show({"path": built.path, "pages": built.pages, "written": built.written}, text, as_json=as_json)
