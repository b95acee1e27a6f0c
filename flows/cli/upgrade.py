"""`aqb upgrade`: migrates the state database to this version, and counts the days to score again."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.terminal import Json, show
from flows.runtime.clock import today
from scoring.errors import counted

if TYPE_CHECKING:
    from tasks.config.settings import Settings

_LONGEST_LIST = 10
STORES = (
    "tasks.alerts.outbox",
    "tasks.judge.verdict_store",
    "tasks.judge_quality.anchor_store",
    "tasks.judge_quality.model_end",
    "tasks.review.label_store",
    "tasks.state.alert_choices",
    "tasks.state.audit_log",
    "tasks.state.erased_sessions",
    "tasks.state.leases",
    "tasks.state.run_ledger",
)
"""The modules whose tables are in the state database."""


def upgrade(
    check: Annotated[bool, typer.Option("--check", help="Say what would be done, and change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Bring the state database to this version: tables and columns that it lacks, in one transaction.

    Runs do it too when they first need them. Score tables need nothing: days of earlier versions are read as they are,
    and those that a backfill would score again are counted. With --check exit code 1: there is something to do; tables
    that nothing has needed yet are no such thing.

    Example: aqb upgrade --check
    """
    from tasks.config.settings import load_settings

    settings = load_settings()
    lacking = lacking_of_state(settings, change=not check)
    stale = {} if check and lacking else _stale(settings)  # before the upgrade columns may be missing
    state = "up to date" if not lacking else f"{'lacks' if check else 'added'} {listed(lacking)}"
    lines = [f"state database: {state}"]
    lines += ["score tables: days to score again are counted by `aqb upgrade`"] if check and lacking else []
    lines += [
        f"score tables: {counted(count, 'day')} scored before ({why}); `aqb backfill`" for why, count in stale.items()
    ]
    show({"lacking": lacking, "stale": stale}, "\n".join(lines), as_json=as_json)
    if check and lacking:
        raise typer.Exit(1)


def lacking_of_state(settings: Settings, *, change: bool = False) -> list[str]:
    """The tables and columns that the state database lacks; with `change` they are then created.

    Without `change`, tables that nothing has needed yet are not included.
    """
    from tasks.state.database import STATE_TABLES, StateDatabase

    for module in STORES:
        import_module(module)
    tables = STATE_TABLES.sorted_tables
    with StateDatabase(settings.state_url, read_only=True) as seen:
        seen.create_tables(*tables)
    if change:
        with StateDatabase(settings.state_url) as changed:
            changed.create_tables(*tables)
        return seen.lacking
    return seen.outdated


def _stale(settings: Settings) -> dict[str, int]:
    """The number of scored days that a backfill with this version would score again, by reason."""
    from tasks.chat.day_plan import stale_days
    from tasks.context import Context

    with Context(settings, read_only=True) as context:
        yesterday = today(settings.time_zone) - timedelta(days=1)
        return dict(Counter(stale_days(context, yesterday).values()))


def listed(names: list[str]) -> str:
    """The first names, and the number of the others."""
    left = len(names) - _LONGEST_LIST
    return ", ".join(names[:_LONGEST_LIST]) + (f" and {left} more" if left > 0 else "")
