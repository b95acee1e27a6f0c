"""Which days the tables of chat rows have, and of which runs: they may have been lost or restored since."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from datetime import date

import pyarrow as pa

from scoring.errors import DamagedFileError
from tasks.chat.tables import KPIS
from tasks.config.addresses import is_bigquery
from tasks.context import Context
from tasks.state.run_ledger import RUNS_SCHEMA, Run
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.tables import RUNS, SCORES

_log = logging.getLogger(__name__)
_NAMED = pa.schema([RUNS_SCHEMA.field(name) for name in ("score_date", "run_id")])


class WrittenDays:
    """The days that the KPI and score tables have now, and the runs of some `days` that their table of runs names.

    Raises:
        StorageError: the warehouse cannot be read.
    """

    def __init__(self, context: Context, days: Sequence[date]) -> None:
        self.kpis, self.scores = (set(context.warehouse.days(table)) for table in (KPIS, SCORES))
        self._runs = _named_runs(context.warehouse, days)
        self._expire = is_bigquery(context.settings.warehouse)

    def have(self, run: Run) -> bool:
        """Whether the tables have the results of a run, except for scores that may have expired since.

        BigQuery keeps no scores of a day without scored rows.
        """
        day = run.score_date
        has_scores = day in self.scores or not run.scored or self.may_have_expired(day, self.scores)
        return day in self.kpis and has_scores and not self.are_older(run)

    def are_older(self, run: Run) -> bool:
        """Whether tables do not name a completed run of their day, as after a restore: it is named before it ends."""
        named = self._runs.get(run.score_date)
        return run.outcome == "completed" and named is not None and run.run_id not in named

    def may_have_expired(self, day: date, days: Set[date]) -> bool:
        """Whether BigQuery may have expired a day of a table with these days: it is before the first of them."""
        return self._expire and bool(days) and day < min(days)


def _named_runs(warehouse: Warehouse, days: Sequence[date]) -> Mapping[date, Set[str]]:
    """The ids of the runs that the table of runs names, by day; none of a day whose file is damaged."""
    found = defaultdict[date, set[str]](set)
    try:
        for day, run_id in table_rows(warehouse, RUNS, _NAMED, days).collect().iter_rows() if days else ():
            found[day].add(run_id)
    except DamagedFileError as error:
        if len(days) == 1:
            _log.warning("%s: damaged, so %s is scored again", error.where, days[0])
            return {days[0]: set()}
        return {day: ids for one in days for day, ids in _named_runs(warehouse, [one]).items()}
    return found
