"""Writes otel-genai.jsonl: spans of the support bot, by OpenTelemetry's own instrumentation and file exporter.

In an environment of its own, in this folder:

    pip install openai httpx opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-json-file==0.66b1 \
        opentelemetry-instrumentation-openai-v2==2.4b0 opentelemetry-util-genai==1.1b0
    python write_otel_genai.py
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"

from openai import OpenAI
from opentelemetry import baggage, context
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.util.genai.handler import get_telemetry_handler
from support_bot import model_server, talk

CONVERSATION = "gen_ai.conversation.id"


class Conversations(SpanProcessor):
    """Puts the conversation on each span that is begun within it, as applications do."""

    def on_start(self, span: Span, parent_context: context.Context | None = None) -> None:
        """Takes it from the context."""
        if conversation := baggage.get_baggage(CONVERSATION, parent_context):
            span.set_attribute(CONVERSATION, str(conversation))


def main() -> None:
    """Holds the conversations and writes their spans, four of them a line."""
    path = Path(__file__).with_name("otel-genai.jsonl")
    path.unlink(missing_ok=True)
    resource = Resource.create({"service.name": "support-bot", "tenant.name": "example-outdoor"})
    spans = TracerProvider(resource=resource)
    spans.add_span_processor(Conversations())
    spans.add_span_processor(BatchSpanProcessor(FileSpanExporter(path), max_export_batch_size=4))
    OpenAIInstrumentor().instrument(tracer_provider=spans)
    handler = get_telemetry_handler(tracer_provider=spans)

    @contextmanager
    def in_session(session: str) -> Iterator[None]:
        token = context.attach(baggage.set_baggage(CONVERSATION, session))
        try:
            with handler.invoke_local_agent(agent_name="support"):
                yield
        finally:
            context.detach(token)

    with model_server() as address:
        talk(OpenAI(base_url=address, api_key="none", max_retries=0), in_session)
    spans.shutdown()


if __name__ == "__main__":
    main()
