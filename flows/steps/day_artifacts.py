"""The Prefect artifacts of a scored day: KPIs, worst rows and fired alerts, without texts of people.

The keys are equal every day, so that Prefect shows the history of each; those of a service have its name.
"""

from collections.abc import Iterable
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from flows.runtime.flow_run import show
from scoring.alerting.facts import AlertFact
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import KPI_RULE, LEVEL_TITLES
from tasks.reports.markdown.monitoring import MonitoringReport
from tasks.state.run_ledger import BACKFILL, INTRADAY


def show_day(report: MonitoringReport, alerts: Iterable[AlertFact], title: str, kind: str, service: str) -> None:
    """Creates the artifacts of a day. A backfill creates none: a year would have a thousand, and its site has all of
    it.
    """
    if kind == BACKFILL:
        return
    prefix = "-".join(filter(None, ("monitoring", service, INTRADAY if kind == INTRADAY else "")))
    show(create_markdown_artifact, key=prefix, markdown=report.headline(), description=f"{title}: 핵심 지표")
    show(
        create_table_artifact,
        key=f"{prefix}-worst",
        table=report.worst_without_texts(),
        description=f"{title}: 점수가 가장 낮은 행",
    )
    fired = [_alert_row(fact, report) for fact in alerts if fact.tenant_id == ALL_TENANTS]
    show(create_table_artifact, key=f"{prefix}-alerts", table=fired, description=f"{title}: 발생한 알림")


def _alert_row(fact: AlertFact, report: MonitoringReport) -> dict[str, Any]:
    """A row of the table; a KPI has a value, and its usual values are in the tables only."""
    is_kpi = fact.count is None
    return {
        "알림 수준": LEVEL_TITLES[fact.level],
        "알림": fact.title,
        "값": report.figures[fact.rule.removeprefix(KPI_RULE)].value_text if is_kpi else f"{fact.count:,}건",
        "대상 행": fact.rows,
        "앞선 날의 건수": ", ".join(map(str, fact.usual)),
    }
