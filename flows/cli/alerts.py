"""`aqb alerts`: what people are told, sent, shown and previewed."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.terminal import Json, day_option, print_json
from scoring.errors import UsageError

if TYPE_CHECKING:
    from tasks.context import Context

_DAYS = re.compile(r"([1-9][0-9]{0,2})d?")


def alerts(
    day: Annotated[datetime | None, day_option("--date", "Also tell what is new of this day.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent, and send nothing.")] = False,
    preview: Annotated[
        str, typer.Option(help="Print what each route would have had in so many past days.", metavar="30d")
    ] = "",
    pending: Annotated[bool, typer.Option("--pending", help="List what waits and what was given up.")] = False,
    requeue: Annotated[bool, typer.Option("--revive", help="Try again what was given up.")] = False,
    as_json: Json = False,
) -> None:
    """Send the messages that wait for Slack, such as those that quiet hours have held; show or preview messages.

    Example: aqb alerts --date 2026-02-13 --dry-run
    """
    from flows.runtime.prefect_env import prepare_prefect
    from tasks.config.settings import load_settings
    from tasks.context import Context

    if bool(preview) + pending + (bool(day) or dry_run) + requeue > 1:
        raise UsageError("--date, --preview, --pending and --revive exclude each other", fix="give one of them")
    settings = load_settings()
    prepare_prefect(Path(settings.reports).parent / ".prefect")
    chosen = day.date() if day else None
    with Context(settings) as context:
        if preview:
            _preview(context, preview, as_json=as_json)
        elif pending:
            _pending(context, as_json=as_json)
        elif dry_run:
            _dry_run(context, chosen, as_json=as_json)
        else:
            _send(context, chosen, revived=requeue, as_json=as_json)


def _preview(context: Context, period: str, *, as_json: bool) -> None:
    from flows.cli.alert_text import preview_dict, preview_text
    from flows.steps.alerts import preview

    if not (match := _DAYS.fullmatch(period)):
        raise UsageError(f"'{period}' is no number of days", where="--preview", fix="for example --preview 30d")
    found = preview(context, int(match.group(1)))
    if as_json:
        print_json(preview_dict(found))
    else:
        typer.echo(preview_text(found))


def _pending(context: Context, *, as_json: bool) -> None:
    from flows.cli.alert_text import undelivered_dict, undelivered_text
    from flows.steps.alerts import undelivered

    waiting, given_up = undelivered(context)
    if as_json:
        print_json({"waiting": list(map(undelivered_dict, waiting)), "dead": list(map(undelivered_dict, given_up))})
    else:
        typer.echo(undelivered_text(waiting, given_up, context.settings.time_zone))


def _dry_run(context: Context, day: date | None, *, as_json: bool) -> None:
    from flows.cli.alert_text import message_dict, message_text
    from flows.steps.alerts import preview_messages

    if day is None:
        raise UsageError("--dry-run needs a day", fix="give --date; `aqb alerts --pending` lists what waits")
    found = preview_messages(context, [day])
    if as_json:
        print_json([message_dict(message, payload) for message, payload in found])
    else:
        shown = [message_text(message, payload) for message, payload in found]
        typer.echo("\n\n".join(shown) if shown else f"nothing new to tell of {day}")


def _send(context: Context, day: date | None, *, revived: bool, as_json: bool) -> None:
    from flows.cli.alert_text import report_text
    from flows.steps.alerts import announce, announce_days, requeue

    if revived:
        requeue(context)
    report = announce_days(context, [day]) if day else announce(context, [])
    if as_json:
        print_json(vars(report))
    else:
        typer.echo(report_text(report))
    for problem in report.problems:
        typer.echo(f"warning: {problem}", err=True)
    if report.problems:
        raise typer.Exit(1)
