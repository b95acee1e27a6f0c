"""Writes phoenix.jsonl: spans of the support bot, recorded by OpenInference and fetched by Phoenix's client.

What Phoenix's server does between the two is done here: it gives the spans with flat attributes. In an environment of
its own, in this folder:

    pip install openai arize-phoenix-client==3.5.0 openinference-instrumentation-openai==0.1.66
    python write_phoenix.py
"""

import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from openai import OpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from phoenix.client import Client
from support_bot import model_server, talk


def main() -> None:
    """Holds the conversations, and fetches what was recorded of them."""
    recorded = InMemorySpanExporter()
    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(recorded))
    OpenAIInstrumentor().instrument(tracer_provider=spans)
    with model_server() as address:
        talk(OpenAI(base_url=address, api_key="none", max_retries=0), using_session)
    server = HTTPServer(("127.0.0.1", 0), _reply_of(recorded.get_finished_spans()))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    client = Client(base_url=f"http://127.0.0.1:{server.server_port}")
    found = client.spans.get_spans(project_identifier="recorded")
    server.shutdown()
    thread.join()
    lines = "".join(f"{json.dumps(span)}\n" for span in found)
    Path(__file__).with_name("phoenix.jsonl").write_text(lines, encoding="utf-8")


def _reply_of(spans: Sequence[ReadableSpan]) -> type[BaseHTTPRequestHandler]:
    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"data": list(map(_span, spans)), "next_cursor": None}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Server


def _span(span: ReadableSpan) -> dict[str, object]:
    attributes = dict(span.attributes)
    return {
        "id": f"{span.context.span_id:016x}",
        "name": span.name,
        "context": {"trace_id": f"{span.context.trace_id:032x}", "span_id": f"{span.context.span_id:016x}"},
        "span_kind": attributes.pop("openinference.span.kind"),
        "parent_id": None,
        "start_time": datetime.fromtimestamp(span.start_time / 1e9, UTC).isoformat(),
        "end_time": datetime.fromtimestamp(span.end_time / 1e9, UTC).isoformat(),
        "status_code": span.status.status_code.name,
        "status_message": "",
        "attributes": attributes,
        "events": [],
    }


if __name__ == "__main__":
    main()
