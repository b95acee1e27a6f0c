"""`aqb alerts`: messages to people, sent, shown and previewed."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from flows.cli.terminal import Json, day_option, finish, open_context, show
from scoring.errors import UsageError

if TYPE_CHECKING:
    from scoring.alerting.messages import OutboxMessage
    from tasks.context import Context

_DAYS = re.compile(r"([1-9][0-9]{0,2})d?")
_CONTENT = {"blocks", "keys", "thread_ts"}


alerts_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@alerts_app.callback()
def alerts(
    called: typer.Context,
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
    if called.invoked_subcommand:
        return
    from flows.runtime.prefect_env import prepare_prefect

    if bool(preview) + pending + (bool(day) or dry_run) + requeue > 1:
        raise UsageError("--date, --preview, --pending and --revive exclude each other", fix="give one of them")
    with open_context() as context:
        prepare_prefect(context.settings.reports)
        chosen = day.date() if day else None
        if preview:
            _preview(context, preview, as_json=as_json)
        elif pending:
            _pending(context, as_json=as_json)
        elif dry_run:
            _dry_run(context, chosen, as_json=as_json)
        else:
            _send(context, chosen, requeue=requeue, as_json=as_json)


def _preview(context: Context, period: str, *, as_json: bool) -> None:
    """How many messages each route would have had, and every one with its reasons."""
    from flows.steps.alerts import preview

    if not (match := _DAYS.fullmatch(period)):
        raise UsageError(f"'{period}' is no number of days", where="--preview", fix="for example --preview 30d")
    first, last, found = preview(context, int(match.group(1)))
    lines = [f"{first} to {last}, as if each day had been told in its own night"]
    for route, messages in found.items():
        kinds = Counter(message.kind for message in messages)
        busiest = max(Counter(message.day for message in messages).values(), default=0)
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        lines.append(f"route {route}: {len(messages)} messages ({counted or 'none'}), at most {busiest} a day")
        lines += [f"  {one.day}  {one.kind:<7} {'; '.join(one.reasons)}" for one in messages]
    show({route: list(map(vars, messages)) for route, messages in found.items()}, "\n".join(lines), as_json=as_json)


def _pending(context: Context, *, as_json: bool) -> None:
    """What waits, and what was given up; for programs without the content."""
    from tasks.alerts.outbox import Outbox

    outbox, zone = Outbox(context.state), ZoneInfo(context.settings.time_zone)
    waiting, given_up = outbox.waiting(), outbox.given_up()
    lines = [f"{len(waiting)} messages wait, {len(given_up)} were given up"]
    for state, one in [*(("waiting", one) for one in waiting), *(("given up", one) for one in given_up)]:
        error = f" ({one.last_error})" if one.last_error else ""
        lines.append(f"{state:<8}  {one.created_at.astimezone(zone):%Y-%m-%d %H:%M}  {one.route}: {one.text}{error}")
    value = {
        state: [{name: value for name, value in vars(one).items() if name not in _CONTENT} for one in messages]
        for state, messages in (("waiting", waiting), ("dead", given_up))
    }
    show(value, "\n".join(lines), as_json=as_json)


def _dry_run(context: Context, day: date | None, *, as_json: bool) -> None:
    from flows.steps.alerts import preview_messages

    if day is None:
        raise UsageError("--dry-run needs a day", fix="give --date; `aqb alerts --pending` lists what waits")
    found = preview_messages(context, [day])
    texts = [f"{message_text(one)}\npayload: {json.dumps(payload, ensure_ascii=False)}" for one, payload in found]
    show(
        [{"route": one.route, "kind": one.kind, "level": one.level, "payload": payload} for one, payload in found],
        "\n\n".join(texts) or f"nothing new to tell of {day}",
        as_json=as_json,
    )


def message_text(message: OutboxMessage) -> str:
    """What the reader of a message would see."""
    from scoring.alerting.blocks import readable

    lines = readable(message.blocks).splitlines()
    return "\n".join([f"route {message.route}: {message.kind}, {message.level}", *(f"  {line}" for line in lines)])


def _send(context: Context, day: date | None, *, requeue: bool, as_json: bool) -> None:
    from flows.runtime.clock import now
    from flows.steps.alerts import announce_days
    from flows.steps.announce import announce
    from tasks.alerts.outbox import Outbox

    if requeue:
        Outbox(context.state).requeue(now())
    report = announce_days(context, [day]) if day else announce(context, [])
    counted = f"{len(report.sent)} messages sent, {report.waiting} waiting"
    show(vars(report), "\n".join([*(f"sent: {text}" for text in report.sent), counted]), as_json=as_json)
    finish(report.problems)
