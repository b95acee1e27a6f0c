"""`scores.xlsx` of scored chat rows: summary, rows (worst first), days, grades, excluded and rejected rows.

Headings and values are Korean. The CSV and Parquet tables have every stored column for programs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from scoring.chat.kpi_figures import kpi_figures
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.errors import UsageError
from scoring.figures import Figure
from scoring.limits import MOST_SHEET_ROWS
from tasks.files.report_paths import WORKBOOK
from tasks.files.xlsx.sheet_xml import NumberCell, SheetColumn, Style, Tab
from tasks.files.xlsx.workbook import write_workbook
from tasks.reports.markdown.monitoring import MonitoringReport
from tasks.reports.row_columns import TEXT_WIDTHS, RowColumn, row_columns, table_columns
from tasks.reports.wording import EMPTY_TENANT, share_text, tenant_text

_ROWS_AT_ONCE = 20_000
_TENANT = pl.col("tenant_id").replace("", EMPTY_TENANT)  # an empty cell is a row without one


def write_chat_workbook(folder: Path, report: MonitoringReport, time_zone: str) -> None:
    """Writes `scores.xlsx` beside the tables of a folder; times are those of the zone.

    Raises:
        StorageError: the folder cannot be written.
        UsageError: there are more rows than a sheet can hold.
    """
    if report.outcome.counts.scored > MOST_SHEET_ROWS - 1:
        raise UsageError(
            f"there are {report.outcome.counts.scored:,} rows, and a sheet of Excel holds {MOST_SHEET_ROWS:,}",
            where=str(folder),
            fix="take --also csv, or score fewer files at once",
        )
    rubric = report.outcome.rubric
    # What people read stands first, and is printed.
    first = ("timestamp", "user_input", "llm_response", rubric.total, rubric.failure.column, "alert_rules")
    place = {name: number for number, name in enumerate(first)}
    columns = sorted(row_columns(rubric, time_zone), key=lambda one: place.get(one.name, len(first)))
    shown = [
        SheetColumn(one.title, "long" if one.name in TEXT_WIDTHS else "text", TEXT_WIDTHS.get(one.name))
        for one in columns
    ]
    stored = pl.scan_parquet(folder / "scores.parquet", glob=False).with_columns(_TENANT)
    scores = stored.select(table_columns(columns)).sort(rubric.total, "row_id")
    tabs = [
        _summary(report),
        Tab("행", shown, _rows(scores, columns), frozen=1, printed=(len(first), report.outcome.counts.scored)),
        _days(report),
        _grades(report),
        *_left_out(folder, rubric, time_zone),
    ]
    write_workbook(folder / WORKBOOK, tabs)


def _summary(report: MonitoringReport) -> Tab:
    """The conclusion of the report, its KPIs, and counts below them."""
    rubric, counts = report.outcome.rubric, report.outcome.counts
    rows = [
        [one.title, _value(one), one.interval_text, one.target_text, one.judged_text, one.n]
        for one in report.figures.values()
    ]
    listed = [
        *((f"알림: {rule.title}", count, rows) for rule, count, rows in report.alerts),
        *(
            (f"실패 유형: {rubric.failure.titles.get(code, code)}", count, counts.scored)
            for code, count in report.findings.failures
        ),
    ]
    notes = [
        ("행", f"{counts.rows_in:,} = 채점 {counts.scored:,} + 제외 {counts.excluded:,} + 거부 {counts.rejected:,}"),
        *((title, f"{count:,}행 ({share_text(count, rows)})") for title, count, rows in listed if count),
    ]
    header = (
        *(SheetColumn(title) for title in ("지표", "값", "95% 구간", "목표", "판단")),
        SheetColumn("n", "number"),
    )
    return Tab("요약", header, rows, notes, (f"{rubric.title}: {report.title}", *report.sentences))


def _value(figure: Figure) -> NumberCell | str:
    """The number of a figure, with the digits of its text; the text if nothing was measured."""
    text = figure.value_text
    if figure.value is None:
        return text
    first, digits = Style.RATE if figure.is_rate else Style.POINTS, len(text.rstrip("%점").partition(".")[2])
    return NumberCell(figure.value, Style(first + digits - 1), text)


def _rows(scores: pl.LazyFrame, columns: Sequence[RowColumn]) -> Iterator[list[Any]]:
    for batch in scores.collect_batches(chunk_size=_ROWS_AT_ONCE, maintain_order=True):
        for row in batch.iter_rows(named=True):
            time, *others = (column.value(row) for column in columns)
            yield [f"{time:%Y-%m-%d %H:%M:%S}", *others]


def _days(report: MonitoringReport) -> Tab:
    """The KPIs of each day and tenant, all tenants first."""
    rubric = report.outcome.rubric
    counts = {"rows": "채점", "excluded": "제외"} | {
        f"{level}_rows": title for level, title in rubric.alert_levels.items()
    }
    rows = [
        [
            str(row["score_date"]),
            tenant_text(row["tenant_id"]),
            *(row[count] for count in counts),
            *(_value(figure) for figure in kpi_figures(rubric.quotients, row).values()),
        ]
        for row in report.tables.kpis.sort(
            "score_date", pl.col("tenant_id").ne_missing(ALL_TENANTS), "tenant_id"
        ).iter_rows(named=True)
    ]
    header = [SheetColumn("날짜"), SheetColumn("테넌트"), *(SheetColumn(title, "number") for title in counts.values())]
    return Tab("날짜별 지표", [*header, *(SheetColumn(kpi.title) for kpi in rubric.targeted)], rows, frozen=2)


def _grades(report: MonitoringReport) -> Tab:
    """The number of rows by pair of grades."""
    rubric = report.outcome.rubric
    down, across = rubric.crosstab_scales
    header = [SheetColumn(rubric.crosstab_title)]
    rows = [[one.name, *(report.crosstab[one.code, other] for other in across.codes)] for one in down.grades]
    return Tab("등급표", [*header, *(SheetColumn(one.name, "number") for one in across.grades)], rows)


def _left_out(folder: Path, rubric: RowRubric, time_zone: str) -> Iterator[Tab]:
    """Excluded and rejected rows with their reasons; no tab if there are none."""
    time = pl.col("timestamp").dt.convert_time_zone(time_zone)
    excluded = pl.read_parquet(folder / "excluded.parquet", glob=False).select(
        time.dt.strftime("%Y-%m-%d %H:%M:%S").alias("시각"),
        _TENANT.alias("테넌트"),
        pl.col("reason").replace({rule.code: rule.title for rule in rubric.exclusions}).alias("까닭"),
    )
    rejected = pl.read_parquet(folder / "rejected.parquet", glob=False).select(
        pl.col("file").alias("파일"),
        pl.col("line").cast(pl.String).alias("줄"),
        pl.col("column").alias("열"),
        pl.col("reason").alias("까닭"),
    )
    for title, table in (("제외한 행", excluded), ("거부한 행", rejected)):
        if not table.is_empty():
            yield Tab(title, [SheetColumn(name) for name in table.columns], table.head(MOST_SHEET_ROWS - 1).rows())
