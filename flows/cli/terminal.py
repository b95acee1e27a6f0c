"""Shared by all commands: common options, the context, and the output of results, progress and errors."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring.errors import OBEYED, AqbError, InputError, UsageError
from scoring.markdown import score_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasks.context import Context
    from tasks.judge.client import Progress

_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(9998, 12, 31)
_SECONDS_BETWEEN_LINES = 10.0

INTERRUPTED = 130
"""The exit code of a command that was stopped by Ctrl-C or a signal."""

Show = Callable[[int, int | None, str], None]
"""Called with the amount done, the total (None if unknown) and a note."""


def day_option(name: str, explained: str) -> Any:
    """An option for a calendar day."""
    return typer.Option(name, parser=_day, metavar="YYYY-MM-DD", help=explained)


def _day(text: str) -> date:
    """Parses a day from 1970-01-01 to 9998-12-31: its neighbours and its midnight in UTC can be represented, too.

    Raises:
        typer.BadParameter: the text is no such day.
    """
    try:
        day = datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007  (calendar days have no zone)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day; write it as 2026-03-09.") from None
    if not _FIRST_DAY <= day <= _LAST_DAY:
        raise typer.BadParameter(f"{day} is not between {_FIRST_DAY} and {_LAST_DAY}.")
    return day


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for programs.")]
FirstDay = Annotated[date, day_option("--from", "First day.")]
LastDay = Annotated[date, day_option("--to", "Last day.")]


def cannot_listen(host: str, port: int, error: OSError) -> UsageError:
    """The port is in use or not permitted for this user, or the machine has no such address."""
    return UsageError(
        f"cannot listen: {error.strerror}",
        where=f"--host {host} --port {port}",
        fix="choose another --port, or stop what listens there",
    )


def day_range(first: date, last: date) -> tuple[date, date]:
    """The days of `--from` and `--to`.

    Raises:
        UsageError: they are swapped.
    """
    if last < first:
        raise UsageError(f"--from {first} is after --to {last}", fix="swap the two days")
    return first, last


def refuse_other_than_csv(path: Path) -> None:
    """Checks the name of a CSV file that is to be written: Excel opens none under another ending.

    Raises:
        UsageError: it ends in something else.
    """
    if path.suffix.lower() != ".csv":
        raise UsageError(f"'{path}' is no CSV file", fix="end its name in .csv")


def nothing_scored(warehouse: str, days: Sequence[date]) -> InputError:
    """The error of a command that needs scored rows, for days that have none."""
    return InputError(
        f"no scored rows from {days[0]} to {days[-1]}",
        where=warehouse,
        fix=f"score these days first: aqb backfill --from {days[0]} --to {days[-1]}",
    )


def open_context() -> Context:
    """The context of the loaded settings, which the block of a `with` statement closes.

    Raises:
        UsageError: a wrong setting.
    """
    from tasks.config.settings import load_settings
    from tasks.context import Context

    return Context(load_settings())


def show(value: Any, text: str, *, as_json: bool) -> None:
    """Prints a result: as one JSON document, Korean unescaped, or as text."""
    typer.echo(_json(value) if as_json else text)


def _json(value: Any) -> str:
    """The document with what a terminal would obey in a text escaped."""
    document = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def complain(error: AqbError) -> None:
    """Prints an error on standard error in one or two lines: what happened, where, what to do."""
    typer.echo(f"error: {error}", err=True)


def finish(problems: Sequence[str], incomplete: AqbError | None = None) -> None:
    """Prints problems as warnings, each once; if there is any, the command ends with exit code 1.

    Raises:
        AqbError: `incomplete`, the reason why not everything was done.
        typer.Exit: there are problems.
    """
    for problem in dict.fromkeys(problems):  # several steps may report the same one, such as of Slack
        typer.echo(f"warning: {problem}", err=True)
    if incomplete:
        raise incomplete
    if problems:
        raise typer.Exit(1)


@contextmanager
def progress(title: str, unit: str) -> Iterator[Show]:
    """Shows on standard error how many `unit`s are done: a bar on a terminal, else a line at most every ten seconds."""
    if not sys.stderr.isatty():
        yield _lines(title, unit)
        return
    # Only a terminal needs rich, which is slow to import.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    said = TextColumn("{task.fields[said]}")
    times = (TextColumn("left"), TimeRemainingColumn(), TextColumn("of"), TimeElapsedColumn())
    with Progress(TextColumn("{task.description}"), BarColumn(), said, *times, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None, said="")
        yield lambda done, total, note: bar.update(
            task, completed=done, total=total, said=_said(done, total, unit, note)
        )


@contextmanager
def judge_progress(title: str) -> Iterator[Progress]:
    """Shows the number of questions that the judge has answered, and their cost in USD."""
    with progress(title, "questions") as show:
        yield lambda now: show(now.done, now.total, "" if now.usd is None else f"{score_text(now.usd, 4)} USD")


def _lines(title: str, unit: str) -> Show:
    last_s = time.monotonic()

    def show_line(done: int, total: int | None, note: str) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= _SECONDS_BETWEEN_LINES:
            last_s = time.monotonic()
            sys.stderr.write(f"{title}: {_said(done, total, unit, note)}\n")

    return show_line


def _said(done: int, total: int | None, unit: str, note: str) -> str:
    counted = f"{done:,} {unit}" if total is None else f"{done:,} of {total:,} {unit}"
    return f"{counted}, {note}" if note else counted
