"""The hostile rows, scored once by this project and once by Google's own evaluator."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.chat.sql_rows import chat_rows_query, rejecting_unreadable
from scoring.chat.sql_scores import staged_query, staged_schema
from scoring.chat.sql_tables import scores_query
from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.chat.local_engine import ScoredRows, ScoringJob
from tasks.chat.sources import ChatRowFiles
from tests.cases.ola_monitoring.adversarial import FIXED, Row, invented
from tests.cases.ola_monitoring.all_golden import GOLDEN_ROWS
from tests.fakes.googlesql import CHAT_ROWS, TABLE, answers, answers_over

INVENTED_ROWS = 300


@pytest.fixture(scope="session")
def hostile_rows() -> list[Row]:
    """Golden, fixed and invented rows: what every engine has to agree on."""
    return [*GOLDEN_ROWS, *FIXED, *invented(INVENTED_ROWS)]


@pytest.fixture(scope="session")
def local_outcome(hostile_rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScoredRows]:
    """The hostile rows from a Parquet file through the local engine."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    rows = [row | {"request_metadata": {"session_id": row["session_id"]}} for row in hostile_rows]
    pq.write_table(pa.Table.from_pylist(rows, CHAT_ROWS), folder / "rows.parquet", row_group_size=97)
    source = ChatRowFiles([folder / "rows.parquet"])
    yield ScoringJob(source, RUBRIC, "Asia/Seoul", None, "flagged", folder / "staging").scored()


@pytest.fixture(scope="session")
def local_scores(local_outcome: ScoredRows) -> list[Row]:
    """The local score table, in its order."""
    return [row for frame in local_outcome.score_frames() for row in frame.iter_rows(named=True)]


@pytest.fixture(scope="session")
def local_excluded(local_outcome: ScoredRows) -> list[Row]:
    """The local table of excluded rows."""
    return [row for frame in local_outcome.excluded_frames() for row in frame.iter_rows(named=True)]


@pytest.fixture(scope="session")
def staged_rows(hostile_rows: list[Row]) -> list[dict[str, Any]]:
    """The hostile rows as the pushdown stages them inside GoogleSQL."""
    query = staged_query(
        rejecting_unreadable(RUBRIC), chat_rows=chat_rows_query(TABLE), time_zone="Asia/Seoul", keep_text="flagged"
    )
    return answers(query, hostile_rows)


@pytest.fixture(scope="session")
def googlesql_scores(staged_rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The score table that the pushdown makes of them."""
    query = scores_query(RUBRIC, "staged", personal=()).replace("@erased", "CAST([] AS ARRAY<STRING>)")
    return answers_over(query, {"staged": (staged_schema(RUBRIC), staged_rows)})
