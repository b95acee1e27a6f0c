"""Adds tabs in front of the sheets of a user's workbook, whose own parts stay unchanged, byte for byte.

The tabs are added to the package itself: a program that loads and saves a workbook loses charts, pictures, saved values
of formulas and formats that it does not know. Only the lists of sheets, parts, names and cell formats are extended, and
the old sheets are deselected: Excel would edit two selected sheets at once.
Source: seed 000, 5.2; SPEC 4.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import count, islice
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from xml.dom.minidom import Document, Element, parseString
from xml.parsers.expat import ExpatError

from scoring.errors import InputError
from tasks.files.atomic import TABLE_MODE, replacing
from tasks.files.xlsx.package import Package, TooManyTagsError
from tasks.files.xlsx.sheet_xml import Style, Tab, sheet_xml

LONGEST_NAME = 31
_TYPES = "[Content_Types].xml"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PIECES_AT_ONCE = 100
_CHUNK = 1 << 20
# How a sheet is shown stands at its beginning. A `<` inside a text is escaped.
_SHOWN = re.compile(rb"(<(?:\w+:)?sheetView\b[^>]*?\btabSelected=[\"'])(?:1|true)\b")
_BEFORE_NAMES = ("sheets", "functionGroups", "externalReferences")
_SHEET_RELATIONS = ("/worksheet", "/chartsheet", "/dialogsheet")
_DATE = (1980, 1, 1, 0, 0, 0)
# What parts that are not as Excel's raise. RecursionError: elements within elements, by the thousand.
_ODD = (ExpatError, LookupError, ValueError, StopIteration, RecursionError, TooManyTagsError)

_FONTS = (
    '<font><b/><sz val="11"/><color rgb="FFFFFFFF"/><name val="맑은 고딕"/></font>',
    '<font><b/><sz val="11"/><name val="맑은 고딕"/></font>',
    '<font><b/><sz val="14"/><name val="맑은 고딕"/></font>',
)
_FILLS = tuple(
    f'<fill><patternFill patternType="solid"><fgColor rgb="{colour}"/><bgColor indexed="64"/></patternFill></fill>'
    for colour in ("FF2F4B7C", "FFFFF2CC", "FFE7E6E6")
)
_NUMBER_FORMATS = {
    style.name: f"0.{'0' * digits}{unit}"
    for first, unit in ((Style.RATE, "%"), (Style.POINTS, '"점"'))
    for digits, style in enumerate(map(Style, range(first, first + 4)), start=1)
}
_FIRST_NUMBER_FORMAT = 164  # those below are Excel's own
_TOP, _CENTRED = 'vertical="top"', 'horizontal="center" vertical="top"'


def _format(aligned: str, number: str = "0", font: str = "0", fill: str = "0", more: str = "") -> str:
    """A cell format; a name in braces becomes the number or place of that format, font or fill of those above."""
    parts = {"NumberFormat": number, "Font": font, "Fill": fill, "Alignment": aligned}
    applied = " ".join(f'apply{name}="1"' for name, value in parts.items() if value not in ("0", ""))
    ids = f'numFmtId="{number}" fontId="{font}" fillId="{fill}" borderId="0" xfId="0"'
    return f"<xf {ids} {more}{applied}>{f'<alignment {aligned}/>' if aligned else ''}</xf>"


_FORMATS = {
    Style.HEADER: _format('vertical="center" wrapText="1"', font="{white}", fill="{dark}"),
    Style.TEXT: _format(_TOP),
    Style.WRAPPED: _format(f'{_TOP} wrapText="1"'),
    Style.LITERAL: _format(_TOP, number="49", more='quotePrefix="1" '),
    Style.NUMBER: _format(_CENTRED),
    Style.DECIMAL: _format(_CENTRED, number="2"),
    Style.LABEL: _format(_TOP, font="{bold}"),
    Style.SHARE: _format(_CENTRED, number="9"),
    Style.TITLE: _format("", font="{large}"),
    Style.OPEN: _format(_CENTRED, fill="{yellow}"),
    Style.CLOSED: _format(_CENTRED, fill="{grey}"),
    Style.MEAN: _format(_CENTRED, number="2"),
    **{Style[name]: _format(_CENTRED, number=f"{{{name}}}") for name in _NUMBER_FORMATS},
}
_STYLES = (
    f'{_XML}<styleSheet xmlns="{_MAIN}"><fonts count="1"><font><sz val="11"/><name val="맑은 고딕"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
# A workbook without sheets, which only its tabs make a whole one.
_EMPTY = {
    _TYPES: f'{_XML}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
    f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_SHEET_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><bookViews><workbookView/></bookViews>'
    "<sheets/></workbook>",
    "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": _STYLES,
}


def write_workbook(path: Path, tabs: Sequence[Tab], source: Path | None = None) -> None:
    """Writes `tabs`, and behind them the sheets of the workbook `source` (none without it), to `path`, atomically.

    It opens on the first tab. The same input gives the same bytes.

    Raises:
        InputError: `source` cannot be extended: its list of sheets or formats is not what a workbook has.
        StorageError: `path` cannot be written.
    """
    with replacing(path, TABLE_MODE) as file, Package(source or _empty_workbook()) as package:
        try:
            grown = _Grown(package, tabs)
        except (*_ODD, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(
                "no score tabs can be added to this workbook: its lists of sheets and formats are not as Excel's are",
                where=str(source),
                fix="open it in Excel and save it as .xlsx again, or score it as CSV",
            ) from error
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as written:
            for entry in package.infolist():
                with package.open(entry) as old, written.open(_entry(entry.filename), "w", force_zip64=True) as new:
                    if entry.filename in grown.parts:
                        new.write(grown.parts[entry.filename])
                        continue
                    chunk = old.read(_CHUNK)
                    if entry.filename in grown.old_sheets:
                        chunk = _SHOWN.sub(rb"\g<1>0", chunk)
                    while chunk:
                        new.write(chunk)
                        chunk = old.read(_CHUNK)
            for name in sorted(grown.parts.keys() - set(package.namelist())):
                written.writestr(_entry(name), grown.parts[name])
            for place, (name, tab) in enumerate(zip(grown.sheet_parts, tabs, strict=True)):
                with written.open(_entry(name), "w", force_zip64=True) as new:
                    pieces = sheet_xml(tab, grown.namespace, grown.first_style, shown=not place)
                    while text := "".join(islice(pieces, _PIECES_AT_ONCE)):
                        new.write(text.encode())


class _Grown:
    """The parts of a package that change when sheets are added, and the data that the new sheets need.

    `parts`: name -> new content; `sheet_parts`: names of the new sheets, `old_sheets` those of the others; `namespace`
    of the workbook's own XML; `first_style`: place of the first added cell format.
    """

    def __init__(self, package: zipfile.ZipFile, tabs: Sequence[Tab]) -> None:
        self._package = package
        self.parts: dict[str, bytes] = {}
        book_name = _target(_root(self._parse("_rels/.rels")), "/officeDocument", "")
        relations_name = join(dirname(book_name), "_rels", basename(book_name) + ".rels")
        relations, book, types = map(self._parse, (relations_name, book_name, _TYPES))
        self.namespace = str(_root(book).namespaceURI)
        if _relation(_root(relations), "/styles") is None:  # a program that formats nothing leaves it out
            styles_name, styles = _add_styles(relations, types, package.namelist(), dirname(book_name))
        else:
            styles_name = _target(_root(relations), "/styles", dirname(book_name))
            styles = self._parse(styles_name)
        self.first_style = _add_formats(_root(styles))
        self.old_sheets = frozenset(
            _part(relation, dirname(book_name))
            for relation in _elements(_root(relations))
            if relation.getAttribute("Type").endswith(_SHEET_RELATIONS)
        )
        names = _free_names([tab.name for tab in tabs], _child(_root(book), "sheets"))
        self.sheet_parts = _add_sheets(relations, book, types, names, package.namelist(), book_name)
        _add_print_names(_root(book), names, tabs)
        _open_on_first(_root(book))
        for name, document in (
            (relations_name, relations),
            (book_name, book),
            (_TYPES, types),
            (styles_name, styles),
        ):
            self.parts[name] = document.toxml(encoding="UTF-8")

    def _parse(self, name: str) -> Document:
        # Sizes are bounded before a workbook is opened, and expat refuses entities that multiply.
        return parseString(self._package.read(name))  # noqa: S318


def _add_styles(relations: Document, types: Document, taken: Sequence[str], folder: str) -> tuple[str, Document]:
    """Adds the missing part of formats, with its entries in the lists of parts."""
    name = next(free for number in count() if (free := join(folder, f"styles{number or ''}.xml")) not in taken)
    _add(_root(relations), "Relationship", Id="aqbStyles", Type=f"{_OFFICE}/styles", Target=f"/{name}")
    _add(_root(types), "Override", PartName=f"/{name}", ContentType=f"{_SHEET_TYPE}.styles+xml")
    return name, parseString(_STYLES)  # noqa: S318 - our own constant


def _add_sheets(
    relations: Document, book: Document, types: Document, names: Sequence[str], taken: Sequence[str], book_name: str
) -> list[str]:
    """Adds new sheets to the three lists of sheets, before the others; returns the names of their parts."""
    sheets = _child(_root(book), "sheets")
    present = _elements(sheets)
    next_id = max((int(sheet.getAttribute("sheetId")) for sheet in present), default=0) + 1
    strict = "purl.oclc.org" in str(_root(book).namespaceURI)
    office = "http://purl.oclc.org/ooxml/officeDocument/relationships" if strict else _OFFICE
    parts: list[str] = []
    for number, name in enumerate(names):
        part = next(free for free in _part_names(dirname(book_name), number) if free not in taken and free not in parts)
        parts.append(part)
        relation_id = f"aqb{number + 1}"
        while any(relation.getAttribute("Id") == relation_id for relation in _elements(_root(relations))):
            relation_id += "x"
        _add(_root(relations), "Relationship", Id=relation_id, Type=f"{office}/worksheet", Target=f"/{part}")
        _add(_root(types), "Override", PartName=f"/{part}", ContentType=f"{_SHEET_TYPE}.worksheet+xml")
        sheet = _add(sheets, "sheet", present[0] if present else None, name=name, sheetId=str(next_id + number))
        sheet.setAttribute("xmlns:r", office)
        sheet.setAttribute("r:id", relation_id)
    return parts


def _add_print_names(book: Element, names: Sequence[str], tabs: Sequence[Tab]) -> None:
    """Adds print areas and titles of the new sheets. Names of old sheets refer to their number, which is shifted."""
    defined = next((each for each in _elements(book) if each.localName == "definedNames"), None)
    if defined is None:
        parts = _elements(book)
        last = max(place for place, part in enumerate(parts) if part.localName in _BEFORE_NAMES)
        defined = _add(book, "definedNames", next(iter(parts[last + 1 :]), None))
    for old in _elements(defined):
        if place := old.getAttribute("localSheetId"):
            old.setAttribute("localSheetId", str(int(place) + len(tabs)))
    for number, (name, tab) in enumerate(zip(names, tabs, strict=True)):
        sheet = "'" + name.replace("'", "''") + "'"
        areas = {"Print_Area": tab.print_area, "Print_Titles": f"${tab.header_row}:${tab.header_row}"}
        for kind, area in areas.items():
            if area:
                named = _add(defined, "definedName", name=f"_xlnm.{kind}", localSheetId=str(number))
                named.appendChild(Document().createTextNode(f"{sheet}!{area}"))


def _open_on_first(book: Element) -> None:
    """Makes the workbook open on its first sheet."""
    for views in (each for each in _elements(book) if each.localName == "bookViews"):
        for view in _elements(views):
            for attribute in ("activeTab", "firstSheet"):
                if view.hasAttribute(attribute):
                    view.removeAttribute(attribute)


def _add_formats(style_sheet: Element) -> int:
    """Adds the fonts, fills, number and cell formats of the tabs; returns the place of the first cell format."""
    white = _append(_child(style_sheet, "fonts"), _FONTS)
    dark = _append(_child(style_sheet, "fills"), _FILLS)
    places = {"white": white, "bold": white + 1, "large": white + 2, "dark": dark, "yellow": dark + 1, "grey": dark + 2}
    numbers = _add_number_formats(style_sheet)
    formats = [_FORMATS[style].format(**places, **numbers) for style in Style]
    return _append(_child(style_sheet, "cellXfs"), formats)


def _add_number_formats(style_sheet: Element) -> dict[str, int]:
    """Adds the number formats of the tabs after those of the workbook; returns their numbers by name."""
    first = _elements(style_sheet)[0]
    formats = first if first.localName == "numFmts" else _add(style_sheet, "numFmts", first)
    taken = [int(each.getAttribute("numFmtId")) for each in _elements(formats)]
    numbers = {
        name: number for number, name in enumerate(_NUMBER_FORMATS, start=max([_FIRST_NUMBER_FORMAT - 1, *taken]) + 1)
    }
    for name, number in numbers.items():
        _add(formats, "numFmt", numFmtId=str(number), formatCode=_NUMBER_FORMATS[name])
    formats.setAttribute("count", str(len(_elements(formats))))
    return numbers


def _append(parent: Element, texts: Sequence[str]) -> int:
    """Adds elements given as XML without a namespace in the one of their parent; returns the place of the first."""
    first = len(_elements(parent))
    for text in texts:
        _adopt(parent, _root(parseString(text)))  # noqa: S318 - our own constants
    parent.setAttribute("count", str(first + len(texts)))
    return first


def _adopt(parent: Element, foreign: Element) -> None:
    attributes = {name: foreign.getAttribute(name) for name in foreign.attributes.keys()}  # noqa: SIM118 - no dict
    adopted = _add(parent, foreign.tagName, **attributes)
    for child in _elements(foreign):
        _adopt(adopted, child)


def _add(parent: Element, local_name: str, before: Element | None = None, /, **attributes: str) -> Element:
    """A new child, `before` another or the last, in the namespace of its parent with the prefix of this document."""
    prefix = f"{parent.prefix}:" if parent.prefix else ""
    child = Document().createElementNS(parent.namespaceURI, prefix + local_name)
    for name, value in attributes.items():
        child.setAttribute(name, value)
    parent.insertBefore(child, before)
    return child


def _free_names(titles: Sequence[str], sheets: Element) -> list[str]:
    """The `titles`, numbered if the workbook has a sheet of that name."""
    taken = {sheet.getAttribute("name").casefold() for sheet in _elements(sheets)}
    names = []
    for title in titles:
        name, number = title[:LONGEST_NAME], 1
        while name.casefold() in taken:
            number += 1
            name = f"{title[: LONGEST_NAME - 5]} ({number})"
        taken.add(name.casefold())
        names.append(name)
    return names


def _part_names(folder: str, number: int) -> Iterator[str]:
    """Unused names of parts, the plainest first."""
    stem = join(folder, "worksheets", f"aqb{number + 1}")
    yield f"{stem}.xml"
    yield from (f"{stem}_{attempt}.xml" for attempt in count(2))


def _target(relations: Element, kind: str, folder: str) -> str:
    """The part that the first relation of a kind leads to."""
    found = _relation(relations, kind)
    if found is None:
        raise LookupError(f"no relation {kind}")
    return _part(found, folder)


def _relation(relations: Element, kind: str) -> Element | None:
    """The first relation of a kind."""
    return next((each for each in _elements(relations) if each.getAttribute("Type").endswith(kind)), None)


def _part(relation: Element, folder: str) -> str:
    """The part that a relation of a part in `folder` leads to."""
    target = relation.getAttribute("Target")
    return target.lstrip("/") if target.startswith("/") else normpath(join(folder, target))


def _child(parent: Element, local_name: str) -> Element:
    return next(child for child in _elements(parent) if child.localName == local_name)


def _elements(parent: Element) -> list[Element]:
    return [node for node in parent.childNodes if isinstance(node, Element)]


def _root(document: Document) -> Element:
    root = document.documentElement
    if root is None:
        raise ValueError("a part has no root element")
    return root


def _entry(name: str) -> zipfile.ZipInfo:
    """A zip entry with a fixed date: the same workbook always has the same bytes."""
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _empty_workbook() -> BytesIO:
    package = BytesIO()
    with zipfile.ZipFile(package, "w") as written:
        for name, text in _EMPTY.items():
            written.writestr(_entry(name), text)
    return package
