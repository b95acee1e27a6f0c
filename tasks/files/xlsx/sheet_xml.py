"""Rows as the XML of a worksheet, as a stream: numbers as numbers, texts that are never formulas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate, chain, groupby, islice
from math import isfinite
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from scoring.limits import MOST_SHEET_ROWS
from scoring.stats.exact import exact, rounded
from tasks.files.excel import display_width, formula_like, shown_text
from tasks.files.xlsx.escapes import escaped

_WIDEST = 60
_NARROWEST = 8
_ROWS_MEASURED = 300
FILTER_BUTTON = 4
"""How many characters of a heading its filter button hides."""
_LINE_HEIGHT = 16.5  # points, of a line of Hangul
_HEADER_HEIGHT = 34
_SCREEN = 140  # characters beside one another that a usual window shows
_MOST_LINES = 24  # Excel takes no row that is higher than 409 points
_SHORT = 500
_A4 = 9
_MOST_RANGES = 100


class Style(IntEnum):
    """Cell formats by their places after those of a workbook; `tasks.files.xlsx.workbook` says how each looks."""

    HEADER = 0
    TEXT = 1
    WRAPPED = 2
    LITERAL = 3
    NUMBER = 4
    DECIMAL = 5
    LABEL = 6
    SHARE = 7
    TITLE = 8
    OPEN = 9
    CLOSED = 10
    MEAN = 11
    RATE = 12  # with one decimal, then with two to four
    RATE_2 = 13
    RATE_3 = 14
    RATE_4 = 15
    POINTS = 16
    POINTS_2 = 17
    POINTS_3 = 18
    POINTS_4 = 19


_STYLE_OF_KIND = {
    "score": Style.NUMBER,
    "mean": Style.MEAN,
    "number": Style.NUMBER,
    "seconds": Style.DECIMAL,
    "share": Style.SHARE,
    "long": Style.WRAPPED,
}
_COLOURED = ("score", "mean")


@dataclass(frozen=True)
class SheetColumn:
    """A column of a tab, as wide as its texts unless `width` (characters) is given; a `folded` one opens with a click.

    `kind`: `score` is coloured from red (0) over yellow (3) to green (5), as `mean` is, which always shows two
    decimals. Both and `number` are rounded to two; `seconds` shows two, `share` is a percentage, `long` texts are
    wrapped; with `choices` a cell is a yellow one with a drop-down, where the row has '', and a grey one where it has
    None.
    """

    title: str
    kind: str = "text"
    width: int | None = None
    folded: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class NumberCell:
    """A number that reads as `text`: `10.0%` where it is a `RATE`, `34.2점` where it is of `POINTS`, `97.96%` of
    `RATE_2`.
    """

    value: float
    style: Style
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Tab:
    """A sheet to add: lines above (`head`, the first in bold, the others wrapped to the width of a screen), a header,
    rows, and below them `notes` (label, value) that the filter leaves alone. The first `frozen` columns stay in sight;
    `printed` are the numbers of columns and of rows below the header to print, None for all."""

    name: str
    columns: Sequence[SheetColumn]
    rows: Iterable[Sequence[Any]]
    notes: Sequence[tuple[str, str]] = field(default_factory=tuple)
    head: Sequence[str] = ()
    frozen: int = 0
    printed: tuple[int, int] | None = None

    @property
    def header_row(self) -> int:
        """The row of the header, counted from 1; an empty row separates it from the lines above."""
        return len(self.head) + 2 if self.head else 1

    @property
    def print_area(self) -> str:
        """The cells to print (`$A$1:$F$9`), '' for all."""
        if self.printed is None:
            return ""
        columns, rows = self.printed
        return f"$A$1:${column_letters(columns - 1)}${self.header_row + rows}"


def sheet_xml(tab: Tab, namespace: str, first_style: int, *, shown: bool) -> Iterator[str]:
    """The XML of `tab`; `first_style` is the place of `Style.HEADER` among the workbook's cell formats, and the
    workbook opens on a `shown` one."""
    rows = iter(tab.rows)
    measured = list(islice(rows, _ROWS_MEASURED))
    letters = [column_letters(place) for place in range(len(tab.columns))]
    widths = _widths(tab, measured)
    yield f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="{namespace}">'
    yield from _view(tab, widths, shown)
    across = max(sum(end <= _SCREEN for end in accumulate(widths)), 1)
    for line, text in enumerate(tab.head, start=1):
        style, lines = (Style.WRAPPED, _wrapped_lines(text, sum(widths[:across]) - 2)) if line > 1 else (Style.TITLE, 1)
        yield f'<row r="{line}"{_height(lines)}>{_cell("A", line, text, style, first_style)}</row>'
    top = tab.header_row
    header = (
        _cell(at, top, column.title, Style.HEADER, first_style) for at, column in zip(letters, tab.columns, strict=True)
    )
    yield f'<row r="{top}" ht="{_HEADER_HEIGHT}" customHeight="1">{"".join(header)}</row>'
    styles = [Style.OPEN if one.choices else _STYLE_OF_KIND.get(one.kind, Style.TEXT) for one in tab.columns]
    wrapped = [(place, widths[place] - 2) for place, style in enumerate(styles) if style is Style.WRAPPED]
    asked: dict[int, list[int]] = {place: [] for place, column in enumerate(tab.columns) if column.choices}
    last, room = top, MOST_SHEET_ROWS - top - len(tab.notes)
    for last, values in enumerate(islice(chain(measured, rows), room), start=top + 1):
        cells = [
            f'<c r="{at}{last}"{content}'
            for at, value, style in zip(letters, values, styles, strict=False)
            if (value is not None or style is Style.OPEN) and (content := _content(value, style, first_style))
        ]
        for place, asked_in in asked.items():
            if values[place] is not None:
                asked_in.append(last)
        yield f'<row r="{last}"{_height(_lines(values, wrapped))}>{"".join(cells)}</row>'
    for line, (label, value) in enumerate(tab.notes, start=last + 2):
        pair = _cell("A", line, label, Style.LABEL, first_style) + _cell("B", line, value, Style.TEXT, first_style)
        yield f'<row r="{line}">{pair}</row>'
    yield f'</sheetData><autoFilter ref="A{top}:{letters[-1]}{last}"/>'
    if across > 1 and (sentences := range(2, len(tab.head) + 1)):
        merged = "".join(f'<mergeCell ref="A{line}:{letters[across - 1]}{line}"/>' for line in sentences)
        yield f'<mergeCells count="{len(sentences)}">{merged}</mergeCells>'
    yield from _colours(tab, letters, last)
    yield from _drop_downs(tab, letters, asked)
    yield (
        '<pageMargins left="0.4" right="0.4" top="0.5" bottom="0.5" header="0.2" footer="0.2"/>'
        f'<pageSetup paperSize="{_A4}" orientation="landscape" fitToWidth="1" fitToHeight="0"/>'
        "<headerFooter><oddFooter>&amp;L&amp;A&amp;R&amp;P / &amp;N</oddFooter></headerFooter></worksheet>"
    )


def _ranges(letters: str, lines: Iterable[int]) -> Iterator[str]:
    """The cells of these rows as references of at most `_MOST_RANGES` ranges each: Excel reads no endless ones."""
    runs = ([line for _, line in run] for _, run in groupby(enumerate(lines), lambda one: one[1] - one[0]))
    ranges = (f"{letters}{run[0]}:{letters}{run[-1]}" for run in runs)
    while piece := " ".join(islice(ranges, _MOST_RANGES)):
        yield piece


def _view(tab: Tab, widths: Sequence[int], shown: bool) -> Iterator[str]:
    """The XML before the cells: the view of the sheet, and its columns."""
    below, right = tab.header_row, tab.frozen
    corner = f"{column_letters(right)}{below + 1}"
    across = f'xSplit="{right}" ' if right else ""
    pane = "bottomRight" if right else "bottomLeft"
    selected = 'tabSelected="1" ' if shown else ""
    levels = int(any(column.folded for column in tab.columns))
    yield (
        '<sheetPr><outlinePr summaryRight="0"/><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView '
        f'{selected}workbookViewId="0"><pane {across}ySplit="{below}" topLeftCell="{corner}" activePane="{pane}" '
        'state="frozen"/></sheetView></sheetViews>'
        f'<sheetFormatPr defaultRowHeight="{_LINE_HEIGHT}" outlineLevelCol="{levels}"/>'
    )
    fold = ' hidden="1" outlineLevel="1"'
    columns = (
        f'<col min="{place}" max="{place}" width="{width}" customWidth="1"{fold if column.folded else ""}/>'
        for place, (column, width) in enumerate(zip(tab.columns, widths, strict=True), start=1)
    )
    yield f"<cols>{''.join(columns)}</cols><sheetData>"


def _cell(letters: str, line: int, text: str, style: Style, first_style: int) -> str:
    return f'<c r="{letters}{line}"{_content(text, style, first_style)}' if text else ""


def _content(value: Any, style: Style, first_style: int) -> str:
    """The XML of a cell after its reference, '' for an empty cell."""
    if style is Style.OPEN and not value:
        return f' s="{first_style + (Style.CLOSED if value is None else Style.OPEN)}"/>'
    if type(value) is str:
        return _repeated_text(value, style, first_style) if len(value) < _SHORT else _text(value, style, first_style)
    if isinstance(value, bool):
        return f' s="{first_style + style}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        if not isfinite(value):
            return ""
        shown = _rounded(value) if style in (Style.NUMBER, Style.MEAN) else value
        return f' s="{first_style + style}"><v>{shown!r}</v></c>'
    if isinstance(value, NumberCell):
        return _content(value.value, value.style, first_style)
    return _text(_as_text(value), style, first_style)


def _text(text: str, style: Style, first_style: int) -> str:
    if not text:
        return ""
    if formula_like(text):
        style = Style.LITERAL  # stays a text after an edit
    shown = escaped(escape(shown_text(text)))
    return f' s="{first_style + style}" t="inlineStr"><is><t xml:space="preserve">{shown}</t></is></c>'


# Ids, classes and reasons repeat from row to row.
_repeated_text = lru_cache(maxsize=10_000)(_text)


def _as_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _rounded(value: float) -> float:
    """Two decimals, halves away from zero, and whole numbers without any."""
    return int(value) if value == int(value) else float(rounded(exact(value), 2))


def _colours(tab: Tab, letters: Sequence[str], last: int) -> Iterator[str]:
    for priority, place in enumerate((p for p, column in enumerate(tab.columns) if column.kind in _COLOURED), start=1):
        at, first = letters[place], tab.header_row + 1
        yield (
            f'<conditionalFormatting sqref="{at}{first}:{at}{max(last, first)}">'
            f'<cfRule type="colorScale" priority="{priority}">'
            '<colorScale><cfvo type="num" val="0"/><cfvo type="num" val="3"/><cfvo type="num" val="5"/>'
            '<color rgb="FFF4A59E"/><color rgb="FFFFF2B3"/><color rgb="FFA6D8A8"/></colorScale></cfRule>'
            "</conditionalFormatting>"
        )


def _drop_downs(tab: Tab, letters: Sequence[str], asked: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """The lists of choices; `asked` are the rows by the place of their column."""
    lists = [(cells, tab.columns[place]) for place, lines in asked.items() for cells in _ranges(letters[place], lines)]
    if not lists:
        return
    yield f'<dataValidations count="{len(lists)}">'
    for cells, column in lists:
        offered, error = ",".join(column.choices), f"{', '.join(column.choices)} 가운데 하나를 고르세요."
        yield (
            f'<dataValidation type="list" allowBlank="1" showErrorMessage="1" errorTitle={quoteattr(column.title)} '
            f'error={quoteattr(error)} sqref="{cells}"><formula1>"{escape(offered)}"</formula1></dataValidation>'
        )
    yield "</dataValidations>"


def _height(lines: int) -> str:
    """The attributes of a row for its height, '' for the default."""
    return f' ht="{_LINE_HEIGHT * lines}" customHeight="1"' if lines > 1 else ""


def _lines(values: Sequence[Any], wrapped: Iterable[tuple[int, int]]) -> int:
    """The number of lines of the `wrapped` texts (index, width) of a row, up to `_MOST_LINES`. Not every program
    computes it.
    """
    texts = ((_as_text(values[place]), width) for place, width in wrapped if place < len(values) and values[place])
    return min(max((_wrapped_lines(text, width) for text, width in texts), default=1), _MOST_LINES)


@lru_cache(maxsize=10_000)
def _wrapped_lines(text: str, width: int) -> int:
    return sum(-(-display_width(line) // width) or 1 for line in text.split("\n"))


def _widths(tab: Tab, measured: Sequence[Sequence[Any]]) -> list[int]:
    """Widths by the longest line of the header and the first rows."""
    widths = []
    labels = max((display_width(label) for label, _ in tab.notes), default=0)
    for place, column in enumerate(tab.columns):
        if column.width:
            widths.append(column.width)
            continue
        texts = (str(row[place]) for row in measured if place < len(row) and row[place] is not None)
        lines = (text[: 2 * _WIDEST].partition("\n")[0] for text in texts)
        longest = max(map(display_width, lines), default=0) if column.kind not in _COLOURED else 0
        needed = max(longest, display_width(column.title) + FILTER_BUTTON, 0 if place else labels) + 1
        widths.append(min(max(needed, _NARROWEST), _WIDEST))
    return widths


def column_letters(place: int) -> str:
    """The letters of a column, counted from 0: `A`, ..., `Z`, `AA`."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
