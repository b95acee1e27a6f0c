"""The command line `aqb`: `app` lists the commands, one file a command beside the texts that it prints.

Heavy imports stand in the functions.
"""


def main() -> None:
    """Runs `flows.cli.app`, imported here so that a module of this package does not bring all commands with it."""
    from flows.cli.app import main as run_app

    run_app()
