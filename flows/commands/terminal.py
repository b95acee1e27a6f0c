"""What every verb shares: options of one meaning, and how results and errors are printed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

import typer

from scoring.errors import AqbError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for programs.")]
FirstDay = Annotated[datetime, typer.Option("--from", formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="First day.")]
LastDay = Annotated[datetime, typer.Option("--to", formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Last day.")]


def print_json(value: Any) -> None:
    """One document, Korean as it is."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def complain(error: AqbError) -> None:
    """An error as a line or two: what happened, where, what to do."""
    typer.echo(f"error: {error}", err=True)
