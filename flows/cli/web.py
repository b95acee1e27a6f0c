"""`aqb web`: the pages in a browser, for people without a shell."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated

import typer

from flows.cli.terminal import open_context


def web(
    host: Annotated[
        str, typer.Option(help="The address to listen on. Other than this machine's needs web.auth.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0: any that is free.", min=0, max=65_535)] = 8400,
) -> None:
    """Serve the pages over the score tables until it is stopped: every row with filters, explained and to take home.

    Also what the last day tells, snoozes, and test runs, sent and scored there. It writes to the state database and to
    its upload folder. Without `web.auth` it serves this machine alone.

    Example: aqb web --port 8400
    """
    import uvicorn

    from tasks.config.log_lines import ToStandardError, send_lines_to
    from tasks.config.services import refuse_several
    from tasks.web.access import Access
    from tasks.web.app import web_app

    with open_context() as context:
        refuse_several(context.settings)
        if context.settings.log_format == "json":
            send_lines_to(ToStandardError(as_json=True))
        access = Access(context.settings.web, host, time.monotonic)
        config = uvicorn.Config(
            web_app(context, access),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            proxy_headers=False,  # who asks is told by the header that the settings name, and from nowhere else
            server_header=False,
            limit_concurrency=200,
            timeout_keep_alive=20,
            timeout_graceful_shutdown=10,
        )
        socket = config.bind_socket()
        socket.listen()  # whoever reads the address below is served at once
        address = f"[{host}]" if ":" in host else host
        typer.echo(f"AQB: http://{address}:{socket.getsockname()[1]}/  (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[socket])
