"""`aqb export`: scores go back to the tool that recorded the turns, under the ids that it gave them."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import Parse  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from scoring.rubrics.ola_monitoring.thresholds import VERSION
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, plain, refused
from tests.builders.site import write_day
from tests.flows.conftest import Command

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
DAYS = ("--from", DAY.isoformat(), "--to", DAY.isoformat(), "--out", "scores.jsonl")
ROWS = [
    best(source_id=f"{TRACE}/{SPAN}"),
    refused(source_id="chatcmpl-7"),
    plain(),
    plain(source_id="unanswered", llm_response=None),
]
TOTAL, FAILURE = "ola-monitoring.final_score", "ola-monitoring.failure_type"


def exported(aqb: Command, form: str, rows: Iterable[Mapping[str, Any]] = ROWS) -> list[dict[str, Any]]:
    """The lines of the file that holds the scores of these rows."""
    write_day(FolderWarehouse(Path("data/warehouse")), DAY, rows)
    ended = aqb("export", *DAYS, "--as", form)
    assert (ended.exit_code, ended.err) == (0, "")
    assert ended.out == "2 of 3 scored rows have an id of their source: scores.jsonl\n"
    return list(map(json.loads, Path("scores.jsonl").read_text(encoding="utf-8").splitlines()))


def events(aqb: Command) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    (line,) = exported(aqb, "otel-events")
    (resource,) = line["resourceLogs"]
    (scope,) = resource["scopeLogs"]
    pairs = [(one, {pair["key"]: pair["value"] for pair in one["attributes"]}) for one in scope["logRecords"]]
    return [(one, {key: next(iter(value.values())) for key, value in held.items()}) for one, held in pairs]


def test_exported_events_belong_to_the_span_that_was_scored(aqb: Command, folder: Path) -> None:
    of_span = [(event, held) for event, held in events(aqb) if "spanId" in event]
    assert {(event["traceId"], event["spanId"], event["eventName"]) for event, _ in of_span} == {
        (TRACE, SPAN, "gen_ai.evaluation.result")
    }
    (total,) = [held for _, held in of_span if held["gen_ai.evaluation.name"] == TOTAL]
    assert (total["gen_ai.evaluation.score.value"], total["gen_ai.evaluation.score.label"]) == (97.5, "STAR")
    assert total["gen_ai.evaluation.explanation"] == "우수"
    assert (total["aqb.rubric_version"], "gen_ai.response.id" in total) == (VERSION, False)


def test_exported_events_belong_to_their_span_however_its_hex_digits_are_written(aqb: Command, folder: Path) -> None:
    write_day(FolderWarehouse(Path("data/warehouse")), DAY, [plain(source_id=f"{TRACE.upper()}/{SPAN.upper()}")])
    assert aqb("export", *DAYS, "--as", "otel-events").exit_code == 0
    (line,) = map(json.loads, Path("scores.jsonl").read_text(encoding="utf-8").splitlines())
    records = line["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert {(one["traceId"], one["spanId"]) for one in records} == {(TRACE.upper(), SPAN.upper())}


def test_exported_events_name_the_response_where_there_is_no_span(aqb: Command, folder: Path) -> None:
    of_response = [held for event, held in events(aqb) if "spanId" not in event]
    assert {held["gen_ai.response.id"] for held in of_response} == {"chatcmpl-7"}
    (failure,) = [held for held in of_response if held["gen_ai.evaluation.name"] == FAILURE]
    assert failure["gen_ai.evaluation.score.label"] == "refused_advice"
    assert "gen_ai.evaluation.score.value" not in failure


def test_exported_events_are_what_opentelemetry_calls_logs(aqb: Command, folder: Path) -> None:
    exported(aqb, "otel-events")
    request = Parse(Path("scores.jsonl").read_bytes(), ExportLogsServiceRequest())  # refuses what it does not know
    names = {record.event_name for record in request.resource_logs[0].scope_logs[0].log_records}
    assert names == {"gen_ai.evaluation.result"}


def test_exported_scores_of_langfuse_name_trace_and_observation(aqb: Command, folder: Path) -> None:
    lines = exported(aqb, "langfuse")
    totals = [line for line in lines if line["name"] == TOTAL]
    assert [(line["traceId"], line.get("observationId"), line["value"]) for line in totals] == [
        (TRACE, SPAN, 97.5),
        ("chatcmpl-7", None, 10.0),
    ]
    assert [line["comment"] for line in totals] == ["STAR · 우수", "F · 실패"]
    (failure,) = [line for line in lines if line["name"] == FAILURE]
    assert (failure["value"], failure["dataType"]) == ("refused_advice", "CATEGORICAL")
    assert len({line["id"] for line in lines}) == len(lines)


def test_scores_that_are_exported_again_are_the_same_bytes(aqb: Command, folder: Path) -> None:
    exported(aqb, "langfuse")
    before = Path("scores.jsonl").read_bytes()
    exported(aqb, "langfuse")
    assert Path("scores.jsonl").read_bytes() == before


def test_export_tells_of_days_that_have_no_scores(aqb: Command, folder: Path) -> None:
    exported(aqb, "langfuse")
    days = ("--from", str(DAY - timedelta(days=2)), "--to", DAY.isoformat(), "--out", "scores.jsonl")
    ended = aqb("export", *days, "--as", "langfuse")
    assert (ended.exit_code, ended.err) == (0, "")
    assert ended.out.endswith(f"\nof 3 days 2 have no scores, the first is {DAY - timedelta(days=2)}\n")


def test_export_refuses_a_folder_for_its_file(aqb: Command, folder: Path) -> None:
    ended = aqb("export", *DAYS[:4], "--as", "langfuse", "--out", ".")
    assert (ended.exit_code, "is a directory" in ended.err) == (2, True)


def test_export_of_rows_without_ids_writes_nothing_and_says_why(aqb: Command, folder: Path) -> None:
    write_day(FolderWarehouse(Path("data/warehouse")), DAY, [plain()])
    ended = aqb("export", *DAYS, "--as", "langfuse")
    assert ended.exit_code == 1
    assert "nothing to send: of 1 scored rows of these days none has an id" in ended.err
    assert not Path("scores.jsonl").exists()


def test_export_of_rows_of_a_view_without_ids_names_the_setting_of_views(
    aqb: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_day(FolderWarehouse(Path("data/warehouse")), DAY, [plain()])
    monkeypatch.setenv("AQB_MONITORING__SOURCE", "bigquery://project.logs.view")
    ended = aqb("export", *DAYS, "--as", "langfuse")
    assert "formats of tools have it, bigquery.columns.source_id names it" in ended.err


def test_export_of_days_that_are_yet_to_be_scored_says_what_scores_them(aqb: Command, folder: Path) -> None:
    ended = aqb("export", *DAYS, "--as", "langfuse")
    assert (ended.exit_code, ended.out) == (1, "")
    assert ended.err == (
        f"error: data/warehouse: no scored rows from {DAY} to {DAY}\n"
        f"  -> score these days first: aqb backfill --from {DAY} --to {DAY}\n"
    )
    assert not Path("scores.jsonl").exists()
