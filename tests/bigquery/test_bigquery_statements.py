"""How many statements a day sends to BigQuery: each takes about a second and is billed as 10 MB of a table or more."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from google.cloud.bigquery import Client

from scoring.alerting.watch import AlertPolicy
from scoring.chat.periods import Period
from tasks.config.alerts import AlertsSettings
from tasks.config.settings import MonitoringSettings, Settings
from tasks.context import Context
from tasks.reports.markdown.period import period_report
from tasks.reports.site.build import build_pages
from tests.bigquery.test_pushdown import load
from tests.builders.chat_rows import DAY, plain, refused
from tests.builders.flows import backfill, nightly
from tests.fakes.googlesql import refuse_wrong_syntax

DAY_BEFORE = DAY - timedelta(days=1)
A_DAY = 24 * 60
Statements = Counter[tuple[str, str]]

EVERY_DAY = Statements(
    {
        ("contents", "logs"): 1,
        # That the day does not shrink, the days around it for its alert facts, the windows of its report.
        ("read", "monitoring_kpis"): 3,
        ("days", "monitoring_kpis"): 2,
        ("merge", "monitoring_scores"): 1,
        ("merge", "monitoring_excluded"): 1,
        ("merge", "monitoring_kpis"): 1,
        ("merge", "monitoring_crosstab"): 1,
        ("merge", "rejected"): 1,
        # How sure the mean is; the rows with an alert of all days compared; for the report failures, two lists of rows.
        ("ask", "monitoring_scores"): 5,
        ("load", "alerts"): 1,
        ("merge", "alerts"): 1,
        ("read", "runs"): 1,
        ("load", "runs"): 1,
        ("merge", "runs"): 1,
    }
)
BY_ENGINE = {
    "local": Statements(
        {
            ("extract", "logs"): 1,
            ("load", "monitoring_scores"): 1,
            ("load", "monitoring_kpis"): 1,
            ("load", "monitoring_crosstab"): 1,
        }
    ),
    "bigquery": Statements(
        {
            ("stage", "monitoring_scores"): 1,
            ("ask", "monitoring_scores"): 2,  # how many rows there are of each kind, and the KPIs
            ("load", "monitoring_kpis"): 1,
            ("read", "monitoring_crosstab"): 1,
        }
    ),
}
SITE = Statements(
    {
        ("days", "monitoring_kpis"): 1,
        ("read", "monitoring_kpis"): 1,
        ("read", "monitoring_crosstab"): 1,
        ("read", "alerts"): 1,
        ("read", "runs"): 1,
        ("versions", "monitoring_scores"): 1,
        ("versions", "monitoring_excluded"): 1,
    }
)
PAGE_OF_DAY = Statements(
    {
        ("ask", "monitoring_scores"): 3,  # the worst rows, those that are shown, and how many came twice
        ("read", "monitoring_excluded"): 1,
    }
)
COUNTS_OF_DAYS = Statements({("ask", "monitoring_scores"): 1})  # of all days whose pages are made
ROWS_OF_PERIOD = Statements({("search", "monitoring_scores"): 1, ("read", "monitoring_excluded"): 1})
PERIODS = ROWS_OF_PERIOD + ROWS_OF_PERIOD  # the week and the month that both days are in
MESSAGES = Statements(
    {
        ("days", "monitoring_kpis"): 1,
        ("read", "monitoring_kpis"): 1,
        ("read", "alerts"): 1,
        ("ask", "monitoring_scores"): 1,  # the examples
    }
)
PLAN = Statements(
    {
        ("contents", "logs"): 1,
        ("days", "monitoring_kpis"): 1,
        ("days", "monitoring_scores"): 1,
        ("read", "monitoring_kpis"): 1,
        ("read", "runs"): 1,  # whether a restore has made the tables older than the runs
    }
)
PERIOD_REPORT_OF_TWO_DAYS = Statements(
    {
        ("days", "monitoring_kpis"): 2,
        ("read", "monitoring_kpis"): 2,
        ("read", "monitoring_crosstab"): 1,
        # The rows of each day, and the counts of all days.
        ("ask", "monitoring_scores"): 2 + 1,
        ("read", "monitoring_excluded"): 2,
    }
)
LATER_DAYS = Statements({("read", "rejected"): 1})


def statements(client: Client, since: datetime, *, of_no_run: bool = False) -> Statements:
    """How often each step was sent since then, with the table that it was about; or those without the id of a run.

    Each is GoogleSQL for Google's own parser.
    """
    found = Statements()
    for job in client.list_jobs(min_creation_time=since):
        if job.job_id.startswith("aqb-") and job.created > since and not (of_no_run and "run_id" in job.labels):
            text = job.query if job.job_type == "query" else f".{job.destination.table_id}`"
            if job.job_type == "query":
                refuse_wrong_syntax(text)
            name = re.search(r"\.(\w+?)(_staging_\w+)?`", text)
            assert name
            found[job.labels["step"], name[1]] += 1
    return found


@pytest.mark.parametrize("engine", ["local", "bigquery"])
def test_statements_of_a_new_day_and_of_an_old_one_are_these_and_no_more(
    client: Client,
    dataset: str,
    settings: Settings,
    engine: Literal["local", "bigquery"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", "https://hooks.slack.test/nobody")
    source = f"bigquery://{dataset}.logs"
    settings = settings.model_copy(
        update={
            "warehouse": f"bigquery://{dataset.replace('.', '/')}",
            "monitoring": MonitoringSettings(source=source, engine=engine),
            "alerts": AlertsSettings(dry_run=True),
        }
    )
    before, rows = [refused(-A_DAY), plain(-A_DAY)], [refused(0), plain(1)]
    load(client, source, [*before, *rows])
    nightly(settings, DAY_BEFORE)

    since = datetime.now(UTC)
    nightly(settings, DAY)
    # The page of the day before only gets its link to the new day.
    site = SITE + COUNTS_OF_DAYS + PAGE_OF_DAY + PERIODS
    day_and_site = EVERY_DAY + BY_ENGINE[engine] + site
    assert statements(client, since) == day_and_site + MESSAGES
    assert statements(client, since, of_no_run=True) == site + MESSAGES

    since = datetime.now(UTC)
    with Context(settings) as context:
        build_pages(context.warehouse, context.rubric, context.reports.folder, settings.time_zone)
    assert statements(client, since) == SITE

    load(client, source, [*before, *rows, plain(1 - A_DAY)])
    since = datetime.now(UTC)
    backfill(DAY_BEFORE, DAY_BEFORE, settings=settings)
    # The page of the day after compares itself with this one, so it is drawn again.
    assert statements(client, since) == day_and_site + PAGE_OF_DAY + PLAN + LATER_DAYS

    since = datetime.now(UTC)
    with Context(settings) as context:
        period = Period(DAY_BEFORE, DAY)
        period_report(context.warehouse, context.rubric, period, settings.time_zone, AlertPolicy())
    assert statements(client, since) == PERIOD_REPORT_OF_TWO_DAYS
