"""The report of scored chat rows: what a QA lead reads first, in Korean markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scoring.chat.kpis import ALL_TENANTS, kpi_figures
from scoring.chat.rubric import RowRubric
from scoring.figures import Figure
from scoring.stats.intervals import Interval
from tasks.chat.engine import KpiTables, ScoringOutcome
from tasks.reports.templates import markdown
from tasks.warehouse.day_queries import DayQueries

_WORST_ROWS = 20


@dataclass(frozen=True)
class Findings:
    """Failure types with their `row_count`, most first, the rows with the lowest scores, worst first, and how sure the
    means are."""

    failures: Sequence[Mapping[str, Any]]
    worst: Sequence[Mapping[str, Any]]
    mean_intervals: Mapping[str, Interval | None]


def findings_of(rubric: RowRubric, scores: DayQueries) -> Findings:
    """The findings among scores."""
    shown = (rubric.total, rubric.final_scale.column, *(part.column for part in rubric.parts), rubric.failure.column)
    columns = ["row_id", "timestamp", *shown, *filter(None, [rubric.cause]), "user_input"]
    return Findings(scores.failure_types(), scores.worst_rows(columns, _WORST_ROWS).to_dicts(), scores.mean_intervals())


@dataclass(frozen=True)
class MonitoringReport:
    """The report of rows whose tables are written; `title` says which rows."""

    outcome: ScoringOutcome
    title: str
    tables: KpiTables
    findings: Findings

    @cached_property
    def figures(self) -> Mapping[str, Figure]:
        """The KPIs of all rows together."""
        return kpi_figures(self.outcome.rubric.quotients, self.tables.period, self.findings.mean_intervals)

    def headline(self) -> str:
        """Counts and KPIs alone."""
        return markdown("headline.md", report=self, rubric=self.outcome.rubric).rstrip()

    def worst_without_texts(self) -> list[dict[str, Any]]:
        """The worst rows as people may see them outside the warehouse: no question, no answer, no session."""
        hidden = ("timestamp", "user_input")
        return [{name: row[name] for name in row if name not in hidden} for row in self.findings.worst]

    def markdown(self) -> str:
        """The whole report: KPIs (of the period, per day or tenant), grades, failures, worst rows, data quality."""
        rubric, kpis = self.outcome.rubric, self.tables.kpis.to_dicts()
        return markdown(
            "monitoring.md",
            report=self,
            outcome=self.outcome,
            rubric=rubric,
            period=self.tables.period,
            findings=self.findings,
            days=[row for row in kpis if row["tenant_id"] == ALL_TENANTS],
            tenants=[row for row in kpis if row["tenant_id"] != ALL_TENANTS],
            crosstab=rubric.crosstab_counts(self.tables.crosstab.iter_rows(named=True)),
            part_titles=[rubric.titles[part.column] for part in rubric.parts],
            exclusion_titles={rule.code: rule.title for rule in rubric.exclusions},
        )
