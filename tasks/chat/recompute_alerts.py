"""Alert facts of the days after one that was written: their history has changed.

A day is compared with the days before it. So that the table does not depend on the order in which days are scored,
whoever writes a day brings the facts of the days after it up to date.
"""

from datetime import date

import polars as pl

from scoring.alerting.facts import HISTORY_DAYS
from scoring.chat.rubric import RowRubric
from tasks.chat.tables import KPIS, write_alerts
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import REJECTED


def recompute_later_alerts(warehouse: Warehouse, day: date, rubric: RowRubric) -> None:
    """Works out the alert facts of the scored days whose history holds `day`.

    A day that another version of the rubric has scored keeps the facts that this version found.
    """
    days_with_rows = 0
    for later in (scored for scored in warehouse.days(KPIS) if scored > day):
        kpis = warehouse.read(KPIS, [later])
        if kpis is None or days_with_rows == HISTORY_DAYS:
            return
        rows = kpis.select("rows", "excluded", "rubric", "rubric_version").collect()
        if rows.select("rubric", "rubric_version").unique().rows() == [(rubric.id, rubric.version)]:
            write_alerts(warehouse, later, rubric, _rejected(warehouse, later, rubric))
        days_with_rows += any(row_count or excluded for row_count, excluded, *_ in rows.iter_rows())


def _rejected(warehouse: Warehouse, day: date, rubric: RowRubric) -> int:
    rows = warehouse.read(REJECTED, [day])
    return 0 if rows is None else rows.filter(pl.col("rubric") == rubric.id).select("rubric").collect().height
