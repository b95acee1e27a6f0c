"""Writes observations of the support bot: langfuse.jsonl, recorded and fetched again by Langfuse's SDK, and
langfuse.parquet, the same as its scheduled export writes them.

What Langfuse's server does between the two is done here: it gives attributes of spans as fields of observations, and
has ClickHouse write the Parquet files. In an environment of its own, in this folder:

    pip install openai langfuse==5.0.4 chdb==4.4.0
    python write_langfuse.py
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

import chdb
from langfuse import Langfuse, propagate_attributes
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support_bot import model_server, talk, tool_server

_USAGE = {"prompt_tokens": "input", "completion_tokens": "output", "total_tokens": "total", "input": "input"}
_TEXTS = {
    "id": "id",
    "trace_id": "traceId",
    "project_id": "projectId",
    "type": "type",
    "name": "name",
    "level": "level",
    "status_message": "statusMessage",
    "input": "input",
    "output": "output",
    "session_id": "sessionId",
}
_TEXT, _CODE, _TIME = "String", "LowCardinality(String)", r"DateTime64(6, \'UTC\')"
_TYPES = dict.fromkeys(_TEXTS, _TEXT) | {
    **dict.fromkeys(["type", "level"], _CODE),
    "start_time": _TIME,
    "end_time": f"Nullable({_TIME})",
    "usage_details": f"Map({_CODE}, UInt64)",
    "tags": f"Array({_TEXT})",
    "metadata": f"Map({_CODE}, {_TEXT})",
}


def main() -> None:
    """Holds the conversations, and fetches what was recorded of them."""
    recorded = InMemorySpanExporter()
    recorder = Langfuse(
        public_key="pk-recorded", secret_key="none", base_url="http://127.0.0.1:9", span_exporter=recorded
    )
    from langfuse.openai import OpenAI  # takes the client that is there

    with model_server() as address:
        client = OpenAI(base_url=address, api_key="none", max_retries=0)
        talk(client, lambda session: propagate_attributes(session_id=session))
    recorder.flush()
    with tool_server({"data": list(map(_observation, recorded.get_finished_spans())), "meta": {}}) as address:
        langfuse = Langfuse(public_key="pk-fetched", secret_key="none", base_url=address, tracing_enabled=False)
        found = langfuse.api.observations.get_many(fields="core,basic,time,io,model,usage,trace_context")
    lines = "".join(f"{observation.json()}\n" for observation in found.data)
    Path(__file__).with_name("langfuse.jsonl").write_text(lines, encoding="utf-8")
    write_scheduled_export(Path(__file__).with_name("langfuse.parquet"), list(map(json.loads, lines.splitlines())))


def write_scheduled_export(path: Path, fetched: list[dict[str, object]]) -> None:
    """Has ClickHouse write observations, in the columns of its table, to a Parquet file."""
    rows = "".join(f"{json.dumps(_exported(observation))}\n" for observation in fetched)
    with NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.write(rows)
        file.flush()
        columns = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
        table = f"file('{file.name}', JSONEachRow, '{columns}')"
        chdb.query(f"SELECT * FROM {table} INTO OUTFILE '{path}' TRUNCATE FORMAT Parquet")


def _exported(observation: dict[str, object]) -> dict[str, object]:
    """The fields of the export; texts that are not set are empty there."""
    texts = {name: observation[field] or "" for name, field in _TEXTS.items()}
    times = {
        name: str(observation[field]).removesuffix("Z").replace("T", " ")
        for name, field in (("start_time", "startTime"), ("end_time", "endTime"))
    }
    return {**texts, **times, "usage_details": observation["usageDetails"], "tags": observation["tags"], "metadata": {}}


def _observation(span: ReadableSpan) -> dict[str, object]:
    of = {key.removeprefix("langfuse.observation."): value for key, value in span.attributes.items()}
    usage = json.loads(of.get("usage_details", "{}"))
    return {
        "id": f"{span.context.span_id:016x}",
        "traceId": f"{span.context.trace_id:032x}",
        "projectId": "recorded",
        "type": of["type"].upper(),
        "name": span.name,
        "level": of.get("level", "DEFAULT"),
        "statusMessage": of.get("status_message"),
        "startTime": datetime.fromtimestamp(span.start_time / 1e9, UTC).isoformat(timespec="milliseconds"),
        "endTime": datetime.fromtimestamp(span.end_time / 1e9, UTC).isoformat(timespec="milliseconds"),
        "sessionId": of.get("session.id"),
        "input": of.get("input"),
        "output": of.get("output"),
        "model": of["model.name"],
        "usageDetails": {_USAGE[name]: count for name, count in usage.items() if name in _USAGE},
        "tags": [],
    }


if __name__ == "__main__":
    main()
