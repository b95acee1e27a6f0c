"""Which engine scores chat rows: this machine, or the BigQuery that already has them."""

from __future__ import annotations

from scoring.errors import UsageError
from tasks.config.addresses import is_bigquery
from tasks.config.settings import Settings


def uses_pushdown(settings: Settings) -> bool:
    """Whether the rows are scored inside BigQuery.

    Raises:
        UsageError: they are to be, and the source or the tables are elsewhere.
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
