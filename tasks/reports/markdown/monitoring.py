"""The report of scored chat rows: what a QA lead reads first, in Korean markdown."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, partial
from typing import Any

from scoring.alerting.facts import AlertFact, titles_of_rules
from scoring.alerting.growth import Grown
from scoring.alerting.growth_wording import grown_texts, tokens_action
from scoring.alerting.watch import alert_counts
from scoring.chat.conclusion import conclusion
from scoring.chat.kpi_figures import kpi_figures
from scoring.chat.kpi_windows import ComparedKpi, compared_kpi, deciding, kpi_windows, of_all_rows
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import KPI_RULE, LEVEL_TITLES, AlertRule, RowRubric
from scoring.figures import Figure
from scoring.rules.expressions import AllOf, Expression, Not
from tasks.chat.engine import KpiTables, ScoringOutcome
from tasks.reports.markdown.grouped_rows import GroupedRows, group_rows, lowest_rows
from tasks.reports.site.failure_types import EarlierFailures
from tasks.reports.templates import markdown
from tasks.reports.wording import MOST_TENANTS, NOTHING, REJECTION_TITLES, count_text, share_text
from tasks.warehouse.day_queries import DayQueries, ValueCounts

_WORST_ROWS, _FRAMED_ROWS = 20, 10
_LOOKED_AT = 10
"""How many times as many rows are looked at for questions alike."""


@dataclass(frozen=True)
class Findings:
    """Failure types with their rows; the worst rows in the frame of the cross table, and the worst of the other flagged
    rows.

    A template of questions is listed once for each failure type, with its lowest row; `alike` is the number of the
    lowest rows that have both.
    """

    failures: ValueCounts
    framed: Sequence[Mapping[str, Any]]
    worst: Sequence[Mapping[str, Any]]


def findings_of(rubric: RowRubric, scores: DayQueries, failures: ValueCounts) -> Findings:
    """The findings of scores that have these `failures`."""
    shown = (rubric.total, rubric.final_scale.column, *(part.column for part in rubric.parts), rubric.failure.column)
    columns = ["row_id", "timestamp", *shown, *filter(None, [rubric.cause]), "user_input"]
    framed = rubric.framed
    others = AllOf((rubric.flagged, Not(framed))) if framed else rubric.flagged
    return Findings(
        failures,
        _by_template(rubric, scores, columns, _FRAMED_ROWS, framed) if framed else [],
        _by_template(rubric, scores, columns, _WORST_ROWS, others),
    )


def _by_template(
    rubric: RowRubric, scores: DayQueries, columns: Sequence[str], count: int, where: Expression
) -> list[dict[str, Any]]:
    """The worst rows that meet a condition, one for each template of questions and failure type."""
    found: GroupedRows = {}
    group_rows(rubric, found, scores.worst_rows(columns, count * _LOOKED_AT, where).to_dicts())
    return lowest_rows(rubric, found, count)


@dataclass(frozen=True)
class MonitoringReport:
    """The report of rows whose tables are written; `title` names the rows. Of files `empty` counts the scored rows with
    an empty question, and those with an empty answer.

    The rest is known of a `day` in a warehouse. `history` are the KPI rows of all tenants together of that day and of
    those before it, `earlier` the failures of the days before it, `facts` its alert facts of all tenants together.
    `standing_out` are the alert rules that stand out on it, the gravest first. `grown` is what made most of the rise of
    that one on the day, `mostly` its tenant over all days of the rise (Korean). `changes` say what is not as usual
    about the rates of rules, if any stands out; `few` says that the day has far fewer rows than usual (both Korean).
    """

    outcome: ScoringOutcome
    title: str
    tables: KpiTables
    findings: Findings
    day: date | None = None
    history: Mapping[date, Mapping[str, Any]] = field(default_factory=dict)
    earlier: EarlierFailures = field(default_factory=EarlierFailures)
    standing_out: Sequence[str] = ()
    grown: Sequence[Grown] = ()
    mostly: str = ""
    facts: Sequence[AlertFact] = ()
    changes: Mapping[str, str] = field(default_factory=dict)
    few: str = ""
    empty: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def windows(self) -> Mapping[str, Sequence[ComparedKpi]]:
        """The windows of each KPI: a day's, or all rows together."""
        if self.day is not None and self.day in self.history:
            return {kpi.name: kpi_windows(kpi, self.history, self.day) for kpi in self.outcome.rubric.targeted}
        return {name: [of_all_rows(figure)] for name, figure in self.figures.items()}

    @property
    def decided(self) -> list[ComparedKpi]:
        """Each KPI over the window whose verdict people should know."""
        return [deciding(windows) for windows in self.windows.values()]

    @property
    def sentences(self) -> list[str]:
        """What happened, what matters most, what to do."""
        rubric, period = self.outcome.rubric, self.tables.period
        framed = rubric.framed_rows(self.crosstab)
        return conclusion(
            rubric,
            self.windows,
            period["rows"],
            period,
            framed,
            self.standing_out,
            few=self.few,
            mostly=self.mostly,
            rejected=self.outcome.counts.rejected,
            action=tokens_action(self.grown),
        ).sentences

    @property
    def grown_lines(self) -> list[str]:
        """What made most of the rise, in Korean."""
        title = titles_of_rules(self.outcome.rubric)[self.standing_out[0]] if self.grown else ""
        return [f"{title}: 주로 {text}" for text in grown_texts(self.grown, self.outcome.rubric)]

    @cached_property
    def crosstab(self) -> Counter[tuple[str, str]]:
        """The number of rows by pair of grades."""
        return self.outcome.rubric.crosstab_counts(self.tables.crosstab.iter_rows(named=True))

    @cached_property
    def alerts(self) -> list[tuple[AlertRule, int, int]]:
        """Each alert rule, the number of rows that met it, and of those that it applies to."""
        return alert_counts(self.outcome.rubric, [self.tables.period])

    @property
    def alert_lines(self) -> list[tuple[str, str, str, str]]:
        """Level, title, rows and share of each alert rule, and of the day's other alerts: of a KPI its value and
        target.
        """
        rubric = self.outcome.rubric
        of_rules = [
            (one.level, one.title, one.id, count_text(count), share_text(count, of)) for one, count, of in self.alerts
        ]
        others = [
            (one.level, one.title, one.rule, *self._shown(one))
            for one in self.facts
            if one.rule not in rubric.rule_titles
        ]
        changes = {rule: f" ({text})" for rule, text in self.changes.items() if text}
        return [
            (LEVEL_TITLES[level], title + changes.get(rule, ""), rows, share)
            for level, title, rule, rows, share in (*of_rules, *others)
        ]

    def _shown(self, fact: AlertFact) -> tuple[str, str]:
        """Rows and share of an alert that is not of a row rule."""
        if fact.count is not None:
            return count_text(fact.count), share_text(fact.count, fact.rows)
        figure = self.figures[fact.rule.removeprefix(KPI_RULE)]
        return NOTHING, f"{figure.value_text} (목표 {figure.target_text})"

    @cached_property
    def figures(self) -> Mapping[str, Figure]:
        """The KPIs of all rows together, over several days as windows are."""
        return {kpi.name: compared_kpi(kpi, "", self._days, ()).figure for kpi in self.outcome.rubric.targeted}

    @cached_property
    def _days(self) -> list[dict[str, Any]]:
        """The KPI rows of all tenants together, a row a day."""
        return self.tables.kpis.filter(tenant_id=ALL_TENANTS).to_dicts()

    def headline(self) -> str:
        """Counts and KPIs only."""
        return markdown("headline.md", report=self, rubric=self.outcome.rubric).rstrip()

    def worst_without_texts(self) -> list[dict[str, Any]]:
        """The worst rows for use outside the warehouse: without question, answer and session."""
        rubric = self.outcome.rubric
        final = rubric.final_scale
        codes = {final.column: final.names, rubric.failure.column: rubric.failure.titles, rubric.cause: rubric.titles}
        parts = (part.column for part in rubric.parts)
        shown = [rubric.total, final.column, *parts, rubric.failure.column, *filter(None, [rubric.cause])]

        def value(row: Mapping[str, Any], name: str) -> Any:
            return NOTHING if row[name] is None else codes.get(name, {}).get(row[name], row[name])

        return [
            {**{rubric.titles[name]: value(row, name) for name in shown}, "행 ID": row["row_id"]}
            for row in (*self.findings.framed, *self.findings.worst)
        ]

    def markdown(self) -> str:
        """The whole report: KPIs (of the period, per day or tenant), grades, failures, worst rows, data quality."""
        rubric, kpis = self.outcome.rubric, self.tables.kpis.to_dicts()
        return markdown(
            "monitoring.md",
            report=self,
            outcome=self.outcome,
            rubric=rubric,
            period=self.tables.period,
            history=self.history,
            findings=self.findings,
            days=self._days,
            figures_of=partial(kpi_figures, rubric.targeted),
            tenants=sorted((row for row in kpis if row["tenant_id"] != ALL_TENANTS), key=lambda row: -row["rows"]),
            most_tenants=MOST_TENANTS,
            crosstab=self.crosstab,
            looked_at=_WORST_ROWS * _LOOKED_AT,
            framed_count=rubric.framed_rows(self.crosstab),
            part_titles=[rubric.titles[part.column] for part in rubric.parts],
            rejection_titles={rule.code: rule.reason for rule in rubric.rejects} | REJECTION_TITLES,
            exclusion_titles={rule.code: rule.title for rule in rubric.exclusions},
        )
