"""OpenTelemetry of runs: spans, metrics and judgements, sent to OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over HTTP).

Without that variable nothing is sent or collected, and the SDK is not imported. Texts of people are never included:
names, counts, durations, costs and verdicts only.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from opentelemetry._logs import Logger, NoOpLogger
from opentelemetry.metrics import Meter, NoOpMeter
from opentelemetry.trace import NoOpTracer, StatusCode, Tracer

from tasks.judge.verdict_store import Judgement
from tasks.state.run_ledger import Run

_SERVICE = "aqb"


@dataclass(frozen=True)
class _Telemetry:
    """The destinations of spans, metrics and events. They are sent in the background, the last of them at exit."""

    tracer: Tracer
    meter: Meter
    logger: Logger


def _telemetry() -> _Telemetry:
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not endpoint or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return _Telemetry(NoOpTracer(), NoOpMeter(_SERVICE), NoOpLogger(_SERVICE))
    return _sending_to(endpoint)


@cache
def _sending_to(_endpoint: str) -> _Telemetry:
    """The exporters of OpenTelemetry; they read the endpoint and other OTEL_* variables from the environment."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or _SERVICE})
    traces, logs = TracerProvider(resource=resource), LoggerProvider(resource=resource)
    metrics = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    return _Telemetry(traces.get_tracer(_SERVICE), metrics.get_meter(_SERVICE), logs.get_logger(_SERVICE))


@contextmanager
def span(name: str) -> Iterator[dict[str, Any]]:
    """A span for the duration of the block; the entries that the block adds to the dictionary become its attributes.

    An error marks it as failed, with the class of the error and without its message, which may quote an input.
    """
    attributes: dict[str, Any] = {}
    tracer = _telemetry().tracer
    with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as sent:
        try:
            yield attributes
        except BaseException as error:
            sent.set_status(StatusCode.ERROR)
            sent.set_attribute("error.type", type(error).__name__)
            raise
        finally:
            sent.set_attributes(_known(attributes))


def run_attributes(run: Run) -> dict[str, Any]:
    """The attributes of a run's span."""
    return {
        "aqb.run_id": run.run_id,
        "aqb.kind": run.kind,
        "aqb.day": str(run.score_date),
        "aqb.rubric": run.rubric,
        "aqb.rubric_version": run.rubric_version,
        "aqb.outcome": run.outcome,
        "aqb.rows_in": run.rows_in,
        "aqb.cost_usd": run.cost_usd,
    }


def measure_run(run: Run) -> None:
    """Adds an ended run to the metrics `aqb.rows`, `aqb.run.duration` (seconds) and `aqb.judge.cost` (USD)."""
    if run.finished_at is None:
        return
    meter = _telemetry().meter
    about = {"aqb.kind": run.kind, "aqb.rubric": run.rubric}
    rows = meter.create_counter("aqb.rows", unit="{row}", description="Rows read, by what became of them")
    for outcome in ("scored", "excluded", "rejected"):
        if count := getattr(run, outcome):
            rows.add(count, about | {"aqb.fate": outcome})
    seconds = (run.finished_at - run.started_at).total_seconds()
    durations = meter.create_histogram("aqb.run.duration", unit="s", description="How long a run took")
    durations.record(seconds, about | {"aqb.outcome": run.outcome})
    if run.cost_usd:
        meter.create_counter("aqb.judge.cost", unit="USD", description="Paid").add(run.cost_usd, about)


def tell_judgements(judgements: Sequence[Judgement]) -> None:
    """Sends an event `gen_ai.evaluation.result` for each new judgement, without its reason."""
    logger = _telemetry().logger
    for judgement in judgements:
        if not judgement.from_store:
            logger.emit(event_name="gen_ai.evaluation.result", attributes=_known(_evaluation(judgement)))


def _evaluation(judgement: Judgement) -> dict[str, Any]:
    """Source: OpenTelemetry, semantic conventions for generative AI events."""
    answered = judgement.status.value == "ok"
    return {
        "gen_ai.evaluation.name": judgement.kind,
        "gen_ai.evaluation.score.value": judgement.answer.get("score", judgement.answer.get("points")),
        "gen_ai.evaluation.score.label": judgement.answer.get("intent_verdict"),
        "gen_ai.request.model": judgement.model_asked,
        "gen_ai.response.model": judgement.model_answered or None,
        "gen_ai.usage.input_tokens": judgement.tokens_in,
        "gen_ai.usage.output_tokens": judgement.tokens_out,
        "error.type": None if answered else judgement.status.value,
        "aqb.rubric": judgement.rubric,
        "aqb.rubric_version": judgement.rubric_version,
        "aqb.prompt_version": judgement.prompt_version,
        "aqb.judgement": judgement.key,
        "aqb.cost_usd": judgement.usd,
    }


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes without NULLs, which OpenTelemetry does not have."""
    return {name: value for name, value in attributes.items() if value is not None}
