"""Exports: all rows of a filter as CSV or as a workbook, in which no text becomes a formula."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain, islice

import xlsxwriter
from starlette.responses import Response, StreamingResponse

from scoring.errors import UsageError
from tasks.files.excel import display_width, excel_csv, shown_text
from tasks.files.web_addresses import rows_address
from tasks.files.xlsx.sheet_xml import FILTER_BUTTON
from tasks.reports.row_columns import TEXT_WIDTHS, RowColumn, Value, shown_value, table_columns
from tasks.web.asked import Asked
from tasks.web.row_results import counts_of, export_frames, rows_view, searchable

_MOST_CSV_ROWS, _MOST_SHEET_ROWS = 200_000, 50_000
_LINES_AT_ONCE = 200  # a chunk of one line costs more than the line
_TIME_WIDTH, _USUAL_WIDTH = 20, 12
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)  # the same rows give the same bytes


def export_csv(asked: Asked) -> Response:
    """The rows as CSV, sent a day at a time; times are local."""
    columns, rows, headers = _export(asked, "CSV", "csv", _MOST_CSV_ROWS)
    lines = excel_csv(chain([[column.title for column in columns]], rows))
    chunks = iter(lambda: "".join(islice(lines, _LINES_AT_ONCE)).encode(), b"")
    return StreamingResponse(chunks, media_type="text/csv; charset=utf-8", headers=headers)


def export_workbook(asked: Asked) -> Response:
    """The same rows as a workbook of one sheet."""
    columns, rows, headers = _export(asked, "Excel", "xlsx", _MOST_SHEET_ROWS)
    file = BytesIO()
    with xlsxwriter.Workbook(file, {"constant_memory": True}) as book:
        _write_sheet(book, columns, rows)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    return Response(file.getvalue(), media_type=kind, headers=headers)


def _export(
    asked: Asked, kind: str, ending: str, most: int
) -> tuple[Sequence[RowColumn], Iterator[list[Value]], dict[str, str]]:
    """All columns and rows of the filter in the URL, and the headers of the download, which no browser shows itself and
    whose name contains nothing that a client sent; refuses more rows than one file may have.
    """
    view, rubric = rows_view(asked), asked.context.rubric
    search = asked.context.warehouse.row_search(rubric)
    personal = asked.sees_personal_data
    wanted = searchable(rubric, search, view.wanted, personal=personal)
    count = counts_of(search, wanted, rubric).rows
    if count > most:
        raise UsageError(
            f"{count:,}행은 파일 하나에 담기에 많습니다({kind} 파일은 {most:,}행까지)",
            fix="기간이나 조건을 좁히세요.",
        )
    asked.record(f"{kind} {count}행", rows_address(view.wanted))
    columns = view.every_column
    rows = (
        [shown_value(column, row, personal=personal) for column in columns]
        for frame in export_frames(search, wanted, table_columns(columns))
        for row in frame.iter_rows(named=True)
    )
    name = f"rows_{wanted.first}_{wanted.last}.{ending}"
    return columns, rows, {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


def _write_sheet(book: xlsxwriter.Workbook, columns: Sequence[RowColumn], rows: Iterator[list[Value]]) -> None:
    """Adds the sheet of the rows under their heading; texts stay texts."""
    book.set_properties({"created": _NO_TIME})
    head = book.add_format({"bold": True})
    moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    sheet = book.add_worksheet("행")
    sheet.freeze_panes(1, 1)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    for place, column in enumerate(columns):
        sheet.set_column(place, place, _width(column))
        sheet.write_string(0, place, column.title, head)
    line = 0
    for line, row in enumerate(rows, start=1):
        for place, value in enumerate(row):
            if isinstance(value, str):
                sheet.write_string(line, place, shown_text(value))
            elif isinstance(value, datetime):
                sheet.write_datetime(line, place, value.replace(tzinfo=None), moment)  # Excel knows no zones
            elif value is not None:
                sheet.write_number(line, place, value)
    sheet.autofilter(0, 0, line, len(columns) - 1)


def _width(column: RowColumn) -> int:
    """Characters: a narrower cell would show a time as `###`."""
    usual = _TIME_WIDTH if column.name == "timestamp" else _USUAL_WIDTH
    return TEXT_WIDTHS.get(column.name) or max(usual, display_width(column.title) + FILTER_BUTTON)
