"""The statements that change the tables of a dataset are GoogleSQL for Google's own parser."""

import pytest

from scoring.rubrics.ola_monitoring import RUBRIC
from tasks.config.addresses import TableName
from tasks.warehouse.bigquery.tables import clearing_query, new_table, of_service, replacing_query, small_enough
from tasks.warehouse.tables import schema_of_service
from tests.fakes.googlesql import refuse_wrong_syntax

NAME = TableName("team-project", "aqb", "monitoring_scores")


@pytest.mark.parametrize("service", [None, "support"])
@pytest.mark.parametrize("rows", ["`team-project.aqb.staged`", "(\nSELECT * FROM `team-project.aqb.staged`\n)"])
def test_statements_of_a_dataset_use_no_keyword_as_a_name(service: str | None, rows: str) -> None:
    schema = schema_of_service(RUBRIC.scores_schema, service)
    table = new_table(NAME, schema)
    allowed, _ = small_enough(of_service(table, service), {"*": 1})
    refuse_wrong_syntax(replacing_query(table, service, rows, schema.names, ["rubric"], allowed))
    refuse_wrong_syntax(clearing_query(table, service, ["user_input", "session_id"], "s1"))
