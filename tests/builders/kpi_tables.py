"""Warehouses that hold nothing but KPI rows: for what works from `monitoring_kpis` alone."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
from hypothesis import strategies as st

from scoring.rubrics.ola_monitoring import RUBRIC
from scoring.rules.arrow_types import empty_frame
from tasks.chat.tables import KPIS
from tasks.warehouse.folder import FolderWarehouse

SCORED_COLUMNS = {
    **{name: st.integers(0, 100) for name in ("q_score", "a_score", "i_score")},
    "final_score": st.integers(0, 1000).map(lambda tenths: tenths / 10),
    "q_tier": st.sampled_from("SABCD"),
    "a_grade": st.sampled_from("ABCDF"),
    "final_grade": st.sampled_from(["STAR", "A", "B", "C", "F"]),
    "failure_type": st.sampled_from([None, "blocked"]),
    "answer_says_no_data": st.booleans(),
    "alert_level": st.sampled_from([None, "warning", "critical"]),
    "output_tokens": st.sampled_from([None, 0.0, 50.0, 500.0]),
}
"""What KPIs are made from, of scored rows that no rule has to have made."""


class CountedRows(list[dict[str, Any]]):
    """KPI rows of a day that count how often they are gone through."""

    times = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.times += 1
        return super().__iter__()


KpisOfDays = Mapping[date, Sequence[Mapping[str, Any]]]


def whole_rows(days: KpisOfDays) -> dict[date, list[dict[str, Any]]]:
    """The KPI rows of days as a warehouse gives them; what they leave out is NULL."""
    names = RUBRIC.kpis_schema.names
    of_rubric = {"rubric": RUBRIC.id, "rubric_version": RUBRIC.version, "critical_rows": 0, "warning_rows": 0}
    whole = {day: [of_rubric | {"score_date": day} | dict(row) for row in rows] for day, rows in days.items()}
    return {day: [{name: row.get(name) for name in names} for row in rows] for day, rows in whole.items()}


def write_kpis(warehouse: FolderWarehouse, days: KpisOfDays) -> None:
    """Writes the KPI rows of days."""
    schema = RUBRIC.kpis_schema
    for day, rows in whole_rows(days).items():
        warehouse.replace_day(KPIS, day, schema, [pl.DataFrame(rows, schema=dict(empty_frame(schema).schema))])
