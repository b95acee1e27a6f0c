"""Scores in the formats of other tools: the results of each scored turn that its source can store.

Source: SPEC 13.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from scoring.chat.cells import microseconds_of
from scoring.chat.row_ids import SOURCE_ID
from scoring.chat.rubric import RowRubric

_SPAN = re.compile(r"([0-9a-f]{32})/([0-9a-f]{16})", re.IGNORECASE)
_EVENT = "gen_ai.evaluation.result"


class Result(NamedTuple):
    """One result of a turn: a number, a label, or both, and the meaning of the label (Korean)."""

    name: str
    value: float | None
    label: str | None
    meaning: str


def results_schema(rubric: RowRubric) -> pa.Schema:
    """The columns of the score table that results are built from."""
    graded = [part.grade_column for part in rubric.parts if part.grade_column]
    found = [*rubric.scores, rubric.final_scale.column, *graded, rubric.failure.column]
    names = ["row_id", "timestamp", *found, "rubric_version"]
    return pa.schema([*map(rubric.scores_schema.field, names), SOURCE_ID])


def results_of(rubric: RowRubric, row: Mapping[str, Any]) -> Iterator[Result]:
    """The total, its parts, and the failure type of a failed turn; unknown values are left out."""
    grades = {part.column: part.grade_column for part in rubric.parts} | {rubric.total: rubric.final_scale.column}
    titles = {scale.column: {grade.code: grade.title for grade in scale.grades} for scale in rubric.scales}
    for score, grade in grades.items():
        code = row.get(grade)
        if row[score] is not None:
            yield Result(f"{rubric.id}.{score}", float(row[score]), code, titles.get(grade, {}).get(str(code), ""))
    failure = row[rubric.failure.column]
    if failure is not None:
        yield Result(f"{rubric.id}.{rubric.failure.column}", None, failure, rubric.failure.titles.get(failure, ""))


def otel_events(rubric: RowRubric, row: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The results of a turn as OTLP log records: events of its span, or of its response if there is no span.

    Their time is the turn's, so that equal scores give equal events.
    """
    span = _SPAN.fullmatch(row[SOURCE_ID.name])
    place = {"traceId": span[1], "spanId": span[2]} if span else {}
    time = {"timeUnixNano": str(microseconds_of(row["timestamp"]) * 1000)}
    of_row = {"aqb.row_id": row["row_id"], "aqb.rubric_version": row["rubric_version"]}
    if not span:
        of_row["gen_ai.response.id"] = row[SOURCE_ID.name]
    for result in results_of(rubric, row):
        texts = {
            "gen_ai.evaluation.name": result.name,
            "gen_ai.evaluation.score.label": result.label,
            "gen_ai.evaluation.explanation": result.meaning,
            **of_row,
        }
        attributes: list[object] = [{"key": key, "value": {"stringValue": text}} for key, text in texts.items() if text]
        if result.value is not None:
            attributes.append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": result.value}})
        yield {**time, "eventName": _EVENT, **place, "attributes": attributes}


def otel_line(events: list[dict[str, object]]) -> dict[str, object]:
    """An `ExportLogsServiceRequest` with these events."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "aqb"}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {"name": "aqb"}, "logRecords": events}]}]}


def langfuse_scores(rubric: RowRubric, row: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The results of a turn as bodies of Langfuse's `POST /api/public/scores`.

    Repeated requests overwrite earlier ones: id and time are the turn's.
    """
    trace, _, observation = row[SOURCE_ID.name].partition("/")
    moment: datetime = row["timestamp"]
    for result in results_of(rubric, row):
        is_number = result.value is not None
        comment = " · ".join(filter(None, [result.label if is_number else None, result.meaning]))
        yield {
            "id": f"{row['row_id']}-{result.name}",
            "traceId": trace,
            **({"observationId": observation} if observation else {}),
            "name": result.name,
            "value": result.value if is_number else result.label,
            "dataType": "NUMERIC" if is_number else "CATEGORICAL",
            **({"comment": comment} if comment else {}),
            "metadata": {"rubric_version": row["rubric_version"]},
            "timestamp": moment.isoformat(),
        }
