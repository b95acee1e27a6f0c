"""Chooses the engine for chat rows: this machine, or BigQuery if it has the rows."""

from collections.abc import Mapping
from pathlib import Path

from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError
from tasks.chat.engine import ChatEngine
from tasks.chat.local_engine import LocalEngine, ScoreParts
from tasks.chat.sources import ChatRowSource, open_source
from tasks.config.addresses import is_bigquery
from tasks.config.settings import Settings
from tasks.warehouse import open_warehouse


def uses_pushdown(settings: Settings) -> bool:
    """Whether the rows are scored inside BigQuery.

    Raises:
        UsageError: the settings require it, but the source or the tables are elsewhere.
    """
    places = {"monitoring.source": settings.monitoring.source, "warehouse": settings.warehouse}
    elsewhere = [f'{name} = "{place}"' for name, place in places.items() if not is_bigquery(place)]
    if settings.monitoring.engine == "bigquery" and elsewhere:
        raise UsageError(
            f"scoring inside BigQuery needs both the rows and the tables there, but {' and '.join(elsewhere)}",
            where='monitoring.engine = "bigquery"',
            fix='give bigquery:// addresses for both, or set monitoring.engine = "local"',
        )
    return settings.monitoring.engine != "local" and not elsewhere


def open_engine(
    settings: Settings,
    rubric: RowRubric,
    staging: Path,
    labels: Mapping[str, str],
    read_before: ChatRowSource | None,
    score_parts: ScoreParts,
) -> ChatEngine:
    """The engine of the settings, over the configured source unless `read_before` has the rows.

    `labels` (`rubric`, `run_id`) mark the jobs of BigQuery. `score_parts` is how the local engine distributes its
    parts.

    Raises:
        InputError: the source does not exist.
        UsageError: as `uses_pushdown`, or an address that is not supported.
        StorageError: BigQuery is busy or unreachable.
    """
    monitoring, zone = settings.monitoring, settings.time_zone
    if uses_pushdown(settings):
        # A second of imports, needed for BigQuery only.
        from tasks.chat.bigquery_engine import PushdownEngine
        from tasks.chat.sources.bigquery import BigQueryChatRows
        from tasks.warehouse.bigquery.warehouse import BigQueryWarehouse

        view = BigQueryChatRows(monitoring.source, settings, labels)
        dataset = BigQueryWarehouse(settings.warehouse, settings, labels)
        return PushdownEngine(view, dataset, rubric, zone, monitoring.keep_text)
    source = read_before or open_source(monitoring.source, settings, labels)
    warehouse = open_warehouse(settings.warehouse, settings, labels)
    # A cluster has its own number of workers; any number above 1 makes the engine split the rows into parts.
    workers = settings.engine.workers if settings.engine.task_runner == "processes" else 2
    return LocalEngine(source, warehouse, rubric, zone, monitoring.keep_text, staging, workers, score_parts)
