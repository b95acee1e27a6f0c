"""`aqb worker`: executes the flow runs of a Prefect work pool; when stopped, it finishes the active ones first."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.terminal import INTERRUPTED
from flows.runtime.prefect_env import reaching_prefect, require_lasting_server


def worker(
    pool: Annotated[str, typer.Option(help="The work pool.")] = "aqb",
    limit: Annotated[int | None, typer.Option(min=1, help="Flow runs at a time; without it any number.")] = None,
    health: Annotated[
        bool, typer.Option("--health", help="Answer at /health, port 8080 (PREFECT_WORKER_WEBSERVER_PORT).")
    ] = False,
) -> None:
    """Run the flow runs of a work pool, each in a process of its own, until it is stopped.

    `prefect worker start` interrupts its runs when it is stopped, which then end as crashed; this one takes no further
    run, waits for those that go on, and ends. A second signal (SIGTERM, Ctrl-C) ends them as well.

    Example: aqb worker --limit 4
    """
    import asyncio

    from flows.runtime.worker import work

    require_lasting_server()
    try:
        with reaching_prefect():
            asyncio.run(work(pool, limit=limit, tells_health=health, tell=typer.echo))
    except asyncio.CancelledError:
        raise typer.Exit(INTERRUPTED) from None
