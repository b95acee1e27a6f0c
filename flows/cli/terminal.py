"""What every verb shares: options of one meaning, and how results and errors are printed."""

import json
from datetime import datetime
from typing import Annotated, Any

import typer

from scoring.errors import AqbError

_FIRST_DAY, _LAST_DAY = datetime(1970, 1, 1), datetime(9998, 12, 31)  # noqa: DTZ001  (calendar days have no zone)


def day_option(name: str, explained: str) -> Any:
    """An option that takes a calendar day; it arrives as the midnight of that day, without a zone."""
    return typer.Option(name, formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help=explained, callback=_possible)


def _possible(day: datetime | None) -> datetime | None:
    """Refuses days whose neighbours, or whose midnight in UTC, no calendar has."""
    if day and not _FIRST_DAY <= day <= _LAST_DAY:
        raise typer.BadParameter(f"{day.date()} is not between {_FIRST_DAY.date()} and {_LAST_DAY.date()}.")
    return day


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for programs.")]
FirstDay = Annotated[datetime, day_option("--from", "First day.")]
LastDay = Annotated[datetime, day_option("--to", "Last day.")]


def print_json(value: Any) -> None:
    """One document, Korean as it is."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def complain(error: AqbError) -> None:
    """An error as a line or two: what happened, where, what to do."""
    typer.echo(f"error: {error}", err=True)
