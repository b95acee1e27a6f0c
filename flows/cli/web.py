"""`aqb web`: serves the pages for browsers, for people without a shell."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import Annotated

import typer

from flows.cli.terminal import cannot_listen, open_context

_IDLE_S = 620
"""Time-out of idle connections, in seconds; longer than that of proxies (nginx 60, oauth2-proxy 90, Google's load
balancers 600): otherwise a proxy could send a request into a connection that is being closed here, and respond 502."""
_CONNECTIONS = 800
"""Maximum number of connections: six for each of 130 browsers, which keep idle ones; a process may open 1,024 files."""


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
            proxy_headers=False,  # only the header that the settings name identifies a person
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE_S,
            timeout_graceful_shutdown=10,
        )
        listening = _listening(host, port)  # before the address below is printed
        address = f"[{host}]" if ":" in host else host
        typer.echo(f"AQB: http://{address}:{listening.getsockname()[1]}/  (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens on an address.

    Raises:
        UsageError: the port is in use or not permitted for this user, or the machine has no such address.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise cannot_listen(host, port, error) from None
