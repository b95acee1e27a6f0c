"""The report of scored chat rows: what a QA lead reads first, in Korean markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.chat.kpis import ALL_TENANTS, kpi_figures
from scoring.figures import Figure
from scoring.markdown import cell, kpi_text, percent, score_text, shortened, table
from tasks.chat.engine import KpiTables, ScoringOutcome
from tasks.chat.queries import FAILURE_TITLES, Findings

Rows = Sequence[Mapping[str, Any]]
_QUESTION_CHARACTERS = 60

EXCLUSION_TITLES = {
    "both_texts_null": "질문과 답변이 NULL",
    "user_input_null": "질문이 NULL",
    "llm_response_null": "답변이 NULL",
}


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
        shown = ("row_id", "final_score", "final_grade", "q_score", "a_score", "i_score", "failure_type", "cause")
        return [{name: row[name] for name in shown} for row in self.findings.worst]

    def markdown(self) -> str:
        """The whole report."""
        parts = [
            f"# {self.outcome.rubric.title} — {self.title}",
            "## 핵심 지표",
            self.headline(),
            *self._days(),
            "## 등급 분포",
            self._grades(),
            "## 질문 등급 × 답변 등급",
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
        header = [first, "채점", "제외", *(quotient.title for quotient in shown), "Critical", "Warning"]
        return table(
            header,
            (
                [
                    name(row),
                    f"{row['rows']:,}",
                    f"{row['excluded']:,}",
                    *(kpi_text(row[quotient.name], quotient.scale) for quotient in shown),
                    f"{row['critical_rows']:,}",
                    f"{row['warning_rows']:,}",
                ]
                for row in rows
            ),
        )

    def _grades(self) -> str:
        rows, period = self.period["rows"], self.period
        return table(
            ["등급", "뜻", "행", "비율", "조치"],
            (
                [
                    label.sign,
                    label.label,
                    f"{period[f'final_grade_{grade.lower()}']:,}",
                    percent(period[f"final_grade_{grade.lower()}"] / rows if rows else None),
                    label.action,
                ]
                for grade, label in self.outcome.rubric.grade_labels.items()
            ),
        )

    def _crosstab(self) -> str:
        grades = ("A", "B", "C", "D", "F")
        cells = {
            (tier, grade): sum(row["cnt"] for row in self.crosstab if (row["q_tier"], row["a_grade"]) == (tier, grade))
            for tier in ("S", "A", "B", "C", "D")
            for grade in grades
        }
        counts = table(
            ["질문 \\ 답변", *grades],
            ([tier, *(f"{cells[tier, grade]:,}" for grade in grades)] for tier in ("S", "A", "B", "C", "D")),
        )
        return (
            f"{counts}\n\n답변 우수율은 답변 A·B, 실패율은 답변 F, GOLD MINE은 좋은 질문(S·A)에 나쁜 답변(D·F)인 행의 "
            "비율입니다."
        )

    def _failures(self) -> str:
        if not self.findings.failures:
            return "실패 유형에 해당하는 행이 없습니다."
        rows = self.period["rows"]
        return table(
            ["유형", "코드", "행", "비율"],
            (
                [
                    FAILURE_TITLES[row["failure_type"]],
                    row["failure_type"],
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
                    "Critical" if rule.level == "critical" else "Warning",
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
        rows = table(
            ["행 ID", "종합", "질문 점수", "답변 점수", "상호작용 점수", "실패 유형", "질문"],
            (
                [
                    row["row_id"],
                    score_text(row["final_score"], 1),
                    row["q_score"],
                    row["a_score"],
                    row["i_score"],
                    FAILURE_TITLES.get(row["failure_type"], "–"),
                    shortened(row["user_input"] or "–", _QUESTION_CHARACTERS),
                ]
                for row in self.findings.worst
            ),
        )
        return f"{rows}\n\n규칙별 점수는 `aqb rows 행ID`로 볼 수 있습니다."

    def _data_quality(self) -> str:
        outcome = self.outcome
        lines = [
            f"- 제외 — {EXCLUSION_TITLES[reason]}: {count:,}건"
            for reason, count in sorted(outcome.excluded_by_reason.items())
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
