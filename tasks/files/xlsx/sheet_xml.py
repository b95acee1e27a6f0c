"""Rows as the XML of a worksheet, written as a stream: numbers as numbers, texts that can never be formulas."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from itertools import chain, islice
from math import isfinite
from typing import Any
from xml.sax.saxutils import escape

from scoring.limits import MOST_SHEET_ROWS
from scoring.stats.exact import exact, rounded
from tasks.files.excel import display_width, formula_like, shown_text

_WIDEST = 60
_NARROWEST = 8
_ROWS_MEASURED = 300
_FILTER_BUTTON = 4
_LINE_HEIGHT = 15
_MOST_LINES = 8
_SHORT = 500
# Excel reads `_x0041_` in a text as an A.
_ESCAPE_LIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")


class Style(IntEnum):
    """Cell formats, in the order in which `tasks.files.xlsx.workbook` adds them to a workbook."""

    HEADER = 0
    TEXT = 1
    WRAPPED = 2
    LITERAL = 3
    NUMBER = 4
    DECIMAL = 5
    LABEL = 6


@dataclass(frozen=True)
class SheetColumn:
    """A column of a tab. `kind`: `score` is coloured from red (0) over yellow (3) to green (5), `number` is
    rounded to two decimals, `seconds` shows two, `long` texts are wrapped."""

    title: str
    kind: str = "text"


@dataclass(frozen=True)
class Tab:
    """A sheet to add: a header, rows, and below them `notes` (label, value) that the filter leaves alone."""

    name: str
    columns: Sequence[SheetColumn]
    rows: Iterable[Sequence[Any]]
    notes: Sequence[tuple[str, str]] = field(default_factory=tuple)


def sheet_xml(tab: Tab, namespace: str, first_style: int) -> Iterator[str]:
    """The XML of `tab`; `first_style` is the place of `Style.HEADER` among the workbook's cell formats."""
    rows = iter(tab.rows)
    measured = list(islice(rows, _ROWS_MEASURED))
    letters = [_letters(place) for place in range(len(tab.columns))]
    widths = _widths(tab, measured)
    cols = "".join(
        f'<col min="{place}" max="{place}" width="{width}" customWidth="1"/>'
        for place, width in enumerate(widths, start=1)
    )
    yield (
        f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="{namespace}">'
        '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" '
        'state="frozen"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/>'
        f"<cols>{cols}</cols><sheetData>"
    )
    header = (
        _cell(at, 1, column.title, Style.HEADER, first_style) for at, column in zip(letters, tab.columns, strict=True)
    )
    yield f'<row r="1" ht="24" customHeight="1">{"".join(header)}</row>'
    styles = [_style_of(column) for column in tab.columns]
    wrapped = [(place, widths[place] - 2) for place, style in enumerate(styles) if style is Style.WRAPPED]
    last = 1
    for last, values in enumerate(islice(chain(measured, rows), MOST_SHEET_ROWS - 1 - len(tab.notes)), start=2):
        cells = [
            f'<c r="{at}{last}"{content}'
            for at, value, style in zip(letters, values, styles, strict=False)
            if value is not None and (content := _content(value, style, first_style))
        ]
        lines = _lines(values, wrapped)
        height = f' ht="{_LINE_HEIGHT * lines}" customHeight="1"' if lines > 1 else ""
        yield f'<row r="{last}"{height}>{"".join(cells)}</row>'
    for line, (label, value) in enumerate(tab.notes, start=last + 2):
        pair = _cell("A", line, label, Style.LABEL, first_style) + _cell("B", line, value, Style.TEXT, first_style)
        yield f'<row r="{line}">{pair}</row>'
    yield f'</sheetData><autoFilter ref="A1:{letters[-1]}{last}"/>'
    yield from _colours(tab, letters, last)
    yield "</worksheet>"


def _cell(letters: str, line: int, text: str, style: Style, first_style: int) -> str:
    return f'<c r="{letters}{line}"{_content(text, style, first_style)}' if text else ""


def _content(value: Any, style: Style, first_style: int) -> str:
    """The XML of a cell behind its place, '' for an empty cell."""
    if type(value) is str:
        return _repeated_text(value, style, first_style) if len(value) < _SHORT else _text(value, style, first_style)
    if isinstance(value, bool):
        return f' s="{first_style + style}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        if not isfinite(value):
            return ""
        shown = _rounded(value) if style is Style.NUMBER else value
        return f' s="{first_style + style}"><v>{shown!r}</v></c>'
    return _text(_as_text(value), style, first_style)


def _text(text: str, style: Style, first_style: int) -> str:
    if not text:
        return ""
    if formula_like(text):
        style = Style.LITERAL  # stays a text after an edit
    shown = _ESCAPE_LIKE.sub("_x005F_", escape(shown_text(text)))
    return f' s="{first_style + style}" t="inlineStr"><is><t xml:space="preserve">{shown}</t></is></c>'


# Ids, classes and reasons repeat from row to row.
_repeated_text = lru_cache(maxsize=10_000)(_text)


def _as_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _rounded(value: float) -> float:
    """Two decimals, halves away from zero, and whole numbers without any."""
    return int(value) if value == int(value) else float(rounded(exact(value), 2)) if value > 0 else value


def _style_of(column: SheetColumn) -> Style:
    return {"score": Style.NUMBER, "number": Style.NUMBER, "seconds": Style.DECIMAL, "long": Style.WRAPPED}.get(
        column.kind, Style.TEXT
    )


def _colours(tab: Tab, letters: Sequence[str], last: int) -> Iterator[str]:
    for priority, place in enumerate((p for p, column in enumerate(tab.columns) if column.kind == "score"), start=1):
        at = letters[place]
        yield (
            f'<conditionalFormatting sqref="{at}2:{at}{max(last, 2)}"><cfRule type="colorScale" priority="{priority}">'
            '<colorScale><cfvo type="num" val="0"/><cfvo type="num" val="3"/><cfvo type="num" val="5"/>'
            '<color rgb="FFF4A59E"/><color rgb="FFFFF2B3"/><color rgb="FFA6D8A8"/></colorScale></cfRule>'
            "</conditionalFormatting>"
        )


def _lines(values: Sequence[Any], wrapped: Iterable[tuple[int, int]]) -> int:
    """How many lines the `wrapped` texts (place, width) of a row take, up to `_MOST_LINES`.

    Not every program works that out itself.
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
        texts = (str(row[place]) for row in measured if place < len(row) and row[place] is not None)
        lines = (text[: 2 * _WIDEST].partition("\n")[0] for text in texts)
        longest = max(map(display_width, lines), default=0) if column.kind != "score" else 0
        needed = max(longest, display_width(column.title) + _FILTER_BUTTON, 0 if place else labels) + 1
        widths.append(min(max(needed, _NARROWEST), _WIDEST))
    return widths


def _letters(place: int) -> str:
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
