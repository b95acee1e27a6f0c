"""`ola-monitoring` as a file is `ola-monitoring` in Python: tables, SQL and page to the byte."""

import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

from docs.generators.row_rubric_readme import row_rubric_readme
from scoring import score
from scoring.catalog import row_rubric_of_text
from scoring.chat.erasure import PERSONAL_COLUMNS
from scoring.chat.rubric import RowRubric
from scoring.chat.sql_rows import chat_rows_query, rejecting_unreadable
from scoring.chat.sql_scores import scoring_query, staged_query
from scoring.chat.sql_tables import crosstab_query, excluded_query, kpis_query, rejected_query, scores_query
from scoring.rubric_files.shape import rubric_schema
from scoring.rubrics.ola_monitoring import RUBRIC
from tests.cases.ola_monitoring.adversarial import FIXED
from tests.cases.ola_monitoring.all_golden import GOLDEN_ROWS
from tests.fakes.googlesql import CHAT_ROWS, TABLE

ROOT = Path(__file__).parents[3]
SHIPPED = (ROOT / "docs" / "examples" / "ola-monitoring.toml").read_text("utf-8")
STARTER = (ROOT / "flows" / "cli" / "starter_rubric.toml").read_text("utf-8")
SCHEMA = rubric_schema()


@pytest.fixture(scope="module")
def in_file() -> RowRubric:
    return row_rubric_of_text(SHIPPED)


def queries(rubric: RowRubric) -> list[str]:
    read = rejecting_unreadable(rubric)
    asked = {"chat_rows": chat_rows_query(TABLE), "time_zone": "Asia/Seoul", "keep_text": "flagged"}
    return [
        scoring_query(read, **asked),
        staged_query(read, **asked),
        scores_query(read, "staged", PERSONAL_COLUMNS),
        excluded_query(read, "staged", PERSONAL_COLUMNS),
        rejected_query(read, "staged", "a.b.c"),
        crosstab_query(read, "scores"),
        kpis_query(read, "scores", "excluded"),
    ]


def test_rubric_file_gives_the_queries_of_the_same_rubric_in_python(in_file: RowRubric) -> None:
    assert queries(in_file) == queries(RUBRIC)


def test_rubric_file_gives_the_page_of_the_same_rubric_in_python(in_file: RowRubric) -> None:
    assert row_rubric_readme(in_file) == row_rubric_readme(RUBRIC)


def test_rubric_file_gives_the_tables_of_the_same_rubric_in_python() -> None:
    rows = [row | {"request_metadata": {"session_id": row["session_id"]}} for row in [*GOLDEN_ROWS, *FIXED][::4]]
    table = pa.Table.from_pylist(rows, CHAT_ROWS)
    found, expected = score(table, SHIPPED), score(table)
    for name in vars(expected):
        here, there = getattr(found, name), getattr(expected, name)
        assert as_bytes(here) == as_bytes(there), name
    assert len(expected.scored) > 100


def as_bytes(table: pa.Table) -> bytes:
    """The table with its columns' descriptions as Arrow writes it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_rubric_file_keeps_alerts_grades_and_titles_of_the_same_rubric_in_python(in_file: RowRubric) -> None:
    for name in (
        "alert_rules",
        "quotients",
        "measures",
        "scales",
        "parts",
        "failure",
        "category",
        "crosstab",
        "flagged",
        "stocks",
    ):
        assert getattr(in_file, name) == getattr(RUBRIC, name), name


@pytest.mark.parametrize("text", [SHIPPED, STARTER], ids=["shipped", "starter"])
def test_schema_for_editors_takes_the_rubric_files_that_are_shipped(text: str) -> None:
    jsonschema.validate(tomllib.loads(text), SCHEMA)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ((), "titel", "x"),
        (("columns", "help_score"), "titel", "x"),
        (("columns", "total_score"), "value", "help_score"),
        (("alerts", "no_answer"), "level", "grave"),
        (("kpis", "good_rate"), "at_least", "0.8"),
        (("crosstab",), "rows", 1),
        (("columns",), "Not-A-Name", {"title": "x", "value": "help_score"}),
    ],
)
def test_schema_for_editors_refuses_what_the_command_refuses(table: tuple[str, ...], key: str, value: Any) -> None:
    file = tomllib.loads(STARTER)
    changed = file
    for part in table:
        changed = changed[part]
    changed[key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(file, SCHEMA)
