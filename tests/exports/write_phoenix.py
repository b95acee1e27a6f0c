"""Writes phoenix.jsonl: spans of the support bot, recorded by OpenInference and fetched by Phoenix's client.

What Phoenix's server does between the two is done here: it gives the spans with flat attributes. In an environment of
its own, in this folder:

    pip install openai arize-phoenix-client==3.5.0 openinference-instrumentation-openai==0.1.66
    python write_phoenix.py
"""

import json
from datetime import UTC, datetime
from pathlib import Path

from openai import OpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from phoenix.client import Client
from support_bot import model_server, talk, tool_server


def main() -> None:
    """Holds the conversations, and fetches what was recorded of them."""
    recorded = InMemorySpanExporter()
    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(recorded))
    OpenAIInstrumentor().instrument(tracer_provider=spans)
    with model_server() as address:
        talk(OpenAI(base_url=address, api_key="none", max_retries=0), using_session)
    with tool_server({"data": list(map(_span, recorded.get_finished_spans())), "next_cursor": None}) as address:
        found = Client(base_url=address).spans.get_spans(project_identifier="recorded")
    lines = "".join(f"{json.dumps(span)}\n" for span in found)
    Path(__file__).with_name("phoenix.jsonl").write_text(lines, encoding="utf-8")


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
