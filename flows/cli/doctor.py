"""`aqb doctor`: settings, reachability, versions."""

import typer

from flows.cli.terminal import Json, print_json


def doctor(as_json: Json = False) -> None:
    """Show every setting with its origin, what can be reached, and versions. No secret is ever printed.

    Example: aqb doctor
    """
    from flows.cli.diagnosis import diagnosis
    from tasks.config.settings import load_settings

    found = diagnosis(load_settings())
    if as_json:
        print_json(found.as_dict())
    else:
        typer.echo(found.text())
    if not found.healthy:
        raise typer.Exit(1)
