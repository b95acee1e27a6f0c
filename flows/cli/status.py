"""`aqb status`: shows the state of the installation as text, JSON or Prometheus metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.terminal import Json, cannot_listen, show
from flows.runtime.code_version import code_version
from scoring.errors import UsageError

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

    from flows.steps.status import Status

_HEALTHY, _UNHEALTHY = 200, 503


def status(
    as_json: Json = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Print metrics as Prometheus reads them.")] = False,
    port: Annotated[
        int | None, typer.Option(help="Go on, and answer /health and /metrics on this port.", min=1, max=65535)
    ] = None,
    host: Annotated[str, typer.Option(help="The address for --port.")] = "127.0.0.1",
) -> None:
    """Show how the installation is: last and next night, days missing or stale, inbox, outbox, money, disk, database.

    It reads only, makes no database, and needs neither Prefect nor its server. Exit code 1: a person should look.

    Example: aqb status
    """
    from flows.steps.status import status_of
    from tasks.config.settings import load_settings

    if port is not None:
        with status_server(host, port) as server:
            server.serve_forever()
    found = status_of(load_settings())
    if prometheus:
        typer.echo(metrics(found), nl=False)
    else:
        show(_document(found), "\n".join(_lines(found)), as_json=as_json)
    if not found.ok:
        raise typer.Exit(1)


def status_server(host: str, port: int) -> ThreadingHTTPServer:
    """An HTTP server of `/metrics` and `/health`; the latter is the JSON with status 200, or 503 if there are problems.

    Raises:
        UsageError: the address is in use or cannot be used.
    """
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path not in ("/health", "/metrics"):
                self.send_error(404)
                return
            found = _status_now()
            is_health = self.path == "/health"
            body = json.dumps(_document(found), ensure_ascii=False, default=str) if is_health else metrics(found)
            self.send_response(_UNHEALTHY if is_health and not found.ok else _HEALTHY)
            self.send_header("Content-Type", "application/json" if is_health else "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            """Logs nothing, because requests arrive several times a minute."""

    try:
        return ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise cannot_listen(host, port, error) from None


def _status_now() -> Status:
    """The status under the settings of now; wrong ones are its problem, until they are corrected."""
    from flows.steps.status import Status, status_of
    from tasks.config.settings import load_settings

    try:
        return status_of(load_settings())
    except UsageError as error:
        return Status({"versions": {"aqb": code_version()}}, {"problems": 1.0}, [f"settings: {error}"])


def metrics(found: Status) -> str:
    """The gauges in the text format of Prometheus, with the versions as labels of `aqb_info`."""
    values: dict[str, list[str]] = {}
    for name, value in found.gauges.items():
        values.setdefault(name.partition("{")[0], []).append(f"aqb_{name} {value:.15g}")
    lines = [line for name, of_gauge in values.items() for line in (f"# TYPE aqb_{name} gauge", *of_gauge)]
    labels = ",".join(f"{name}={json.dumps(value)}" for name, value in found.facts["versions"].items())
    return "\n".join([*lines, f"# TYPE aqb_info gauge\naqb_info{{{labels}}} 1"]) + "\n"


def _document(found: Status) -> dict[str, Any]:
    return {"ok": found.ok, "problems": found.problems, **found.facts}


def _lines(found: Status) -> Iterator[str]:
    """One line per subject, then the problems."""
    for subject, facts in found.facts.items():
        shown = (f"{name.replace('_', ' ')} {_shown(name, value)}" for name, value in facts.items())
        yield f"{subject:<9} {', '.join(shown)}"
    yield "" if found.problems else "all is well"
    yield from (f"NOT  {problem}" for problem in found.problems)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, dict) and "started_at" in value:
        return "{kind} of {day} {outcome} (began {started_at})".format(**value)
    if isinstance(value, (dict, list, tuple)):
        return f"{len(value)}"
    if name.endswith("_bytes"):
        return f"{value / 1e9:,.1f} GB"
    if "_usd" in name and value is not None:
        return f"{value:,.2f}"
    return "-" if value is None else str(value)
