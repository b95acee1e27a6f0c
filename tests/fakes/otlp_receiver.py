"""A collector of OpenTelemetry on this machine: keeps what it is sent over OTLP/HTTP."""

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.fakes.local_server import LocalServer, Request


@dataclass
class Collector(LocalServer):
    """What has come: spans, metrics and events as their protobuf messages."""

    spans: list[Any] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    bodies: list[bytes] = field(default_factory=list)

    def answer(self, request: Request) -> None:
        path, body = request.path, request.body
        self.bodies.append(body)
        if path == "/v1/traces":
            for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                self._note_service(part)
                self.spans += [span for scope in part.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for part in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self._note_service(part)
                self.metrics |= {metric.name: metric for scope in part.scope_metrics for metric in scope.metrics}
        elif path == "/v1/logs":
            for part in ExportLogsServiceRequest.FromString(body).resource_logs:
                self._note_service(part)
                self.events += [record for scope in part.scope_logs for record in scope.log_records]
        request.reply(200)

    def _note_service(self, part: Any) -> None:
        self.services.add(attributes(part.resource)["service.name"])


def attributes(message: Any) -> dict[str, Any]:
    """The attributes of a span, a metric's point or an event."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in message.attributes}
