"""`aqb runs`, `aqb runs show`: what ran, and with which outcome."""

from typing import Annotated

import typer

from flows.cli.terminal import Json, print_json

runs_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@runs_app.callback()
def runs(
    context: typer.Context,
    last: Annotated[int, typer.Option(help="How many runs, the latest ones.", min=1, max=1_000_000)] = 20,
    as_json: Json = False,
) -> None:
    """List the latest runs: when, which day, how they ended.

    Example: aqb runs --last 50
    """
    if context.invoked_subcommand:
        return
    from flows.cli.ledger_text import last_runs, run_dict, runs_text
    from tasks.config.settings import load_settings
    from tasks.state.database import StateDatabase

    settings = load_settings()
    with StateDatabase(settings.state_url) as state:
        found = last_runs(state, last)
    if as_json:
        print_json([run_dict(run) for run in found])
    else:
        typer.echo(runs_text(found, settings.time_zone) if found else "no runs yet")


@runs_app.command()
def show(
    run_id: Annotated[str, typer.Argument(help="The run's id, or how it begins.", metavar="ID")], as_json: Json = False
) -> None:
    """Explain one run: versions, settings, inputs, counts, every step with its time.

    Example: aqb runs show 3f9c2a1b
    """
    from flows.cli.ledger_text import entry_dict, entry_text, ledger_entry
    from tasks.config.settings import load_settings
    from tasks.state.database import StateDatabase

    settings = load_settings()
    with StateDatabase(settings.state_url) as state:
        entry = ledger_entry(state, run_id)
    if as_json:
        print_json(entry_dict(entry))
    else:
        typer.echo(entry_text(entry, settings.time_zone))
