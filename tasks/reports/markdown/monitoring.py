"""The report of scored chat rows: what a QA lead reads first, in Korean markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.chat.kpis import ALL_TENANTS, kpi_figures
from scoring.chat.rubric import LEVEL_TITLES
from scoring.figures import Figure
from scoring.markdown import cell, kpi_text, percent, score_text, shortened, table
from tasks.chat.engine import KpiTables, ScoringOutcome
from tasks.chat.queries import Findings

Rows = Sequence[Mapping[str, Any]]
_QUESTION_CHARACTERS = 60


def monitoring_report(outcome: ScoringOutcome, title: str, tables: KpiTables, findings: Findings) -> MonitoringReport:
    """The report of rows whose tables are written."""
    return MonitoringReport(
        outcome=outcome,
        title=title,
        period=tables.period,
        figures=kpi_figures(outcome.rubric.quotients, tables.period, findings.mean_intervals),
        kpis=tables.kpis.to_dicts(),
        crosstab=tables.crosstab.to_dicts(),
        findings=findings,
    )


@dataclass(frozen=True)
class MonitoringReport:
    """What the report shows: KPIs (per day and tenant, and of the whole period), cross table, failures, worst rows."""

    outcome: ScoringOutcome
    title: str
    period: Mapping[str, Any]
    figures: Mapping[str, Figure]
    kpis: Rows
    crosstab: Rows
    findings: Findings

    def headline(self) -> str:
        """Counts and KPIs alone."""
        return f"{self._counts()}\n\n{kpi_lines(self.figures.values())}"

    def worst_without_texts(self) -> list[dict[str, Any]]:
        """The worst rows as people may see them outside the warehouse: no question, no answer, no session."""
        hidden = ("timestamp", "user_input")
        return [{name: row[name] for name in row if name not in hidden} for row in self.findings.worst]

    def markdown(self) -> str:
        """The whole report."""
        parts = [
            f"# {self.outcome.rubric.title} — {self.title}",
            "## 핵심 지표",
            self.headline(),
            *self._days(),
            "## 등급 분포",
            self._grades(),
            f"## {self.outcome.rubric.crosstab_title}",
            self._crosstab(),
            "## 실패 유형",
            self._failures(),
            "## 알림",
            self._alerts(),
            "## 점수가 가장 낮은 행",
            self._worst(),
            "## 데이터 상태",
            self._data_quality(),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _counts(self) -> str:
        counts = self.outcome.counts
        return (
            f"행 {counts.rows_in:,}건 = 채점 {counts.scored:,} + 제외 {counts.excluded:,} + 거부 {counts.rejected:,}. "
            f"루브릭 `{self.outcome.rubric.id}` 버전 {self.outcome.rubric.version}."
        )

    def _days(self) -> list[str]:
        days = [row for row in self.kpis if row["tenant_id"] == ALL_TENANTS]
        tenants = [row for row in self.kpis if row["tenant_id"] != ALL_TENANTS]
        parts = []
        if len(days) > 1:
            parts += ["### 날짜별", self._kpi_table(days, "날짜", lambda row: row["score_date"])]
        if len(days) == 1 and len(tenants) > 1:
            parts += ["### 테넌트별", self._kpi_table(tenants, "테넌트", lambda row: row["tenant_id"] or "(없음)")]
        return parts

    def _kpi_table(self, rows: Rows, first: str, name: Any) -> str:
        shown = [quotient for quotient in self.outcome.rubric.quotients if quotient.target]
        levels = self.outcome.rubric.alert_levels
        header = [first, "채점", "제외", *(quotient.title for quotient in shown), *levels.values()]
        return table(
            header,
            (
                [
                    name(row),
                    f"{row['rows']:,}",
                    f"{row['excluded']:,}",
                    *(kpi_text(row[quotient.name], quotient.scale) for quotient in shown),
                    *(f"{row[f'{level}_rows']:,}" for level in levels),
                ]
                for row in rows
            ),
        )

    def _grades(self) -> str:
        rows, period, scale = self.period["rows"], self.period, self.outcome.rubric.final_scale
        return table(
            ["등급", "뜻", "행", "비율", "조치"],
            (
                [
                    grade.sign,
                    grade.title,
                    f"{period[scale.count_column(grade.code)]:,}",
                    percent(period[scale.count_column(grade.code)] / rows if rows else None),
                    grade.action,
                ]
                for grade in scale.grades
            ),
        )

    def _crosstab(self) -> str:
        rows, columns = self.outcome.rubric.crosstab_scales
        cells = Counter[tuple[str, str]]()
        for pair in self.crosstab:
            cells[pair[rows.column], pair[columns.column]] += pair["cnt"]
        counts = table(
            [f"{rows.subject} \\ {columns.subject}", *columns.codes],
            ([row, *(f"{cells[row, column]:,}" for column in columns.codes)] for row in rows.codes),
        )
        return "\n\n".join(filter(None, (counts, self.outcome.rubric.crosstab.note)))

    def _failures(self) -> str:
        if not self.findings.failures:
            return "실패 유형에 해당하는 행이 없습니다."
        rows, failure = self.period["rows"], self.outcome.rubric.failure
        return table(
            ["유형", "코드", "행", "비율"],
            (
                [
                    failure.titles[row[failure.column]],
                    row[failure.column],
                    f"{row['row_count']:,}",
                    percent(row["row_count"] / rows),
                ]
                for row in self.findings.failures
            ),
        )

    def _alerts(self) -> str:
        return table(
            ["수준", "규칙", "내용", "행", "비율"],
            (
                [
                    LEVEL_TITLES[rule.level],
                    rule.id,
                    rule.title,
                    f"{self.period[f'alert_{rule.id}']:,}",
                    percent(self.period[f"alert_{rule.id}"] / self.period["rows"] if self.period["rows"] else None),
                ]
                for rule in self.outcome.rubric.alert_rules
            ),
        )

    def _worst(self) -> str:
        if not self.findings.worst:
            return "채점한 행이 없습니다."
        rubric = self.outcome.rubric
        parts = [part.column for part in rubric.parts]
        rows = table(
            ["행 ID", rubric.final_scale.subject, *(rubric.titles[part] for part in parts), "실패 유형", "질문"],
            (
                [
                    row["row_id"],
                    score_text(row[rubric.total], 1),
                    *(row[part] for part in parts),
                    rubric.failure.titles.get(row[rubric.failure.column], "–"),
                    shortened(row["user_input"] or "–", _QUESTION_CHARACTERS),
                ]
                for row in self.findings.worst
            ),
        )
        return f"{rows}\n\n규칙별 점수는 `aqb rows 행ID`로 볼 수 있습니다."

    def _data_quality(self) -> str:
        outcome = self.outcome
        titles = {rule.code: rule.title for rule in outcome.rubric.exclusions}
        lines = [
            f"- 제외 — {titles[reason]}: {count:,}건" for reason, count in sorted(outcome.excluded_by_reason.items())
        ]
        lines += [f"- 거부 — {code}: {count:,}건" for code, count in sorted(outcome.rejected_by_code.items())]
        lines += [
            f"- 읽지 못한 파일 — {cell(failure.error.what)} ({cell(failure.file)})" for failure in outcome.failures
        ]
        if outcome.naive_timestamps:
            lines.append(f"- 시간대가 없어 UTC로 읽은 시각: {outcome.naive_timestamps:,}건")
        if not lines:
            return "제외·거부한 행이 없고, 모든 시각에 시간대가 있습니다."
        return "\n\n".join(["\n".join(lines), *self._rejected()])

    def _rejected(self) -> list[str]:
        """Where the first rejected rows stand, and why they were rejected; what they hold stays out."""
        rejects = self.outcome.first_rejected
        if not rejects:
            return []
        rows = ([row["file"], row["line"], row["column"], row["reason"]] for row in rejects)
        parts = [table(["파일", "줄", "열", "거부한 까닭"], rows)]
        if (more := self.outcome.counts.rejected - len(rejects)) > 0:
            parts.append(f"그 밖에 거부한 {more:,}건은 `rejected` 테이블(`aqb score`는 `rejected.parquet`)에 있습니다.")
        return parts


def kpi_lines(figures: Iterable[Figure]) -> str:
    """One table line per KPI with its target and the verdict."""
    return table(
        ["지표", "값", "95% 구간", "목표", "판정", "n"],
        (
            [kpi.title, kpi.value_text, kpi.interval_text, kpi.target_text, kpi.verdict_text, f"{kpi.n:,}"]
            for kpi in figures
        ),
    )
