"""`aqb prune`, `aqb erase`: remove stored content by age, or that of one session."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated

import typer

from flows.cli.terminal import Json, open_context, show
from flows.runtime.clock import now, today
from scoring.errors import AqbError, UsageError

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be taken away.")]

_OUT_OF_REACH = (
    "out of reach: the source (a session that is there stays there), files written by `aqb score`, `aqb golden` and "
    "`aqb report --out`, backups, messages that Slack has taken"
)


def prune(
    older_than: Annotated[str, typer.Option(help="Age in days, of what is taken away.", metavar="DAYSd")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take away texts, judgements and messages of old days, and leftovers of killed runs. Scores and KPIs stay.

    Example: aqb prune --older-than 400d --dry-run
    """
    from tasks import retention

    if not (days := re.fullmatch("([1-9][0-9]{0,4})d", older_than)):
        raise UsageError(f"'{older_than}' is no age in days", where="--older-than", fix="for example 400d")
    with open_context() as context:
        before = today(context.settings.time_zone) - timedelta(days=int(days[1]))
        found = retention.prune(context, before, now(), dry_run=dry_run)
        left = retention.left_tables(context)
    _show(found, f"older than {before}", dry_run=dry_run, as_json=as_json)
    _refuse_left(left)


def erase(
    session: Annotated[str, typer.Option(help="The session's id, as the source has it.", metavar="ID")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take a session's texts and id out of every table, report and message, and out of every later run.

    Example: aqb erase --session 3f2a91 --dry-run
    """
    from tasks import retention

    if not session:
        raise UsageError("the session id is empty", where="--session", fix="give it as the source has it")
    with open_context() as context:
        found = retention.erase(context, session, now(), dry_run=dry_run)
        left = retention.left_tables(context)
    _show(found, "of the session", dry_run=dry_run, as_json=as_json)
    if not as_json:
        if not any(found.values()):
            typer.echo(f"nothing of it is in {context.settings.warehouse}: check the id and the place of the tables")
        typer.echo(_OUT_OF_REACH)
    _refuse_left(left)


def _refuse_left(services: Sequence[str]) -> None:
    """Refuses to end well while texts may be left in tables of services that the settings do not name.

    Raises:
        AqbError: there are such services.
    """
    if services:
        raise AqbError(
            f"not looked at: tables of {', '.join(name or 'rows without a service' for name in services)}, "
            "which the settings name no more",
            fix="name it in a [[monitoring.service]] (rows without a service: has_unnamed_days = true) and run this "
            "again, or remove its tables and reports",
        )


def _show(found: Mapping[str, int], what: str, *, dry_run: bool, as_json: bool) -> None:
    lines = [f"{'would take away' if dry_run else 'taken away'}, {what}:"]
    lines += [f"  {place:<28} {count:,}" for place, count in found.items()]
    show({"dry_run": dry_run, "counts": found}, "\n".join(lines), as_json=as_json)
