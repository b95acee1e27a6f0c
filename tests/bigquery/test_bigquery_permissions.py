"""The right to write score tables: `aqb doctor` says before the night that it lacks."""

import pytest

from scoring.errors import UsageError
from tasks.chat.tables import KPIS
from tasks.config.settings import Settings
from tasks.warehouse import open_warehouse
from tasks.warehouse.bigquery.dataset_checks import refuse_unwritable
from tests.bigquery.conftest import Emulator
from tests.bigquery.test_bigquery_refusals import through
from tests.bigquery.test_bigquery_warehouse import DAY, SCHEMA, rows
from tests.fakes.bigquery_proxy import Refusal, proxy_to

DENIED = Refusal(
    403,
    "accessDenied",
    "Access Denied: Dataset team-project:aqb: Permission bigquery.tables.create denied on dataset team-project:aqb "
    "(or it may not exist).",
)


def test_right_to_write_is_tested_without_writing(emulator: Emulator, dataset: str, settings: Settings) -> None:
    with proxy_to(emulator.rest) as proxy:
        asking = through(proxy, settings).model_copy(update={"warehouse": f"bigquery://{dataset.replace('.', '/')}"})
        warehouse = open_warehouse(asking.warehouse, asking)
        assert "there is none yet" in refuse_unwritable(asking, KPIS)
        assert warehouse.days(KPIS) == []
        warehouse.replace_day(KPIS, DAY, SCHEMA, [rows(DAY, [1])])
        assert refuse_unwritable(asking, KPIS) == f"{KPIS} may be written"

        proxy.rewrite = b'"bigquery.tables.updateData"', b'"bigquery.tables.get"'
        with pytest.raises(UsageError, match=r"no permission bigquery\.tables\.updateData\n") as refused:
            refuse_unwritable(asking, KPIS)
        assert "roles/bigquery.dataEditor" in refused.value.fix
        proxy.refuse("POST", DENIED)
        with pytest.raises(UsageError, match=r"no permission bigquery\.tables\.create"):
            refuse_unwritable(asking, KPIS)
