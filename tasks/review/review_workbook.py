"""The review list as a workbook: a row per item, a drop-down per verdict, room for a note; and read back as labels."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xlsxwriter

from scoring.errors import InputError, UsageError
from scoring.inputs import TextRow
from tasks.files.atomic import TABLE_MODE, replacing
from tasks.files.discovery import readable
from tasks.files.excel import display_width, shown_text
from tasks.review.labels import Label
from tasks.review.queue import ReviewItem, reviewed_metrics
from tasks.testruns.read_folder import ScoredFolder
from tasks.testruns.workbooks import TestRunWorkbook

SHEET = "검토"
CANNOT_TELL = "판단 불가"
_CHOICES: list[Any] = [5, 4, 3, 2, 1, 0, CANNOT_TELL]
_FILE, _QUERY, _ROUND, _NOTE = "파일", "Query ID", "방/반복", "메모"
_GIVEN = {_FILE: 14, _QUERY: 12, _ROUND: 9, "질의": 30, "기대결과": 40, "답변": 60, "화면 요소": 40}
_NOTE_WIDTH = 40
_VERDICT_WIDTH = 16
_HEADER_HEIGHT = 34
_LINE_HEIGHT = 16
_MOST_LINES = 14
# A workbook notes when it was made; the same run gives the same bytes.
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_HELP = (
    "행마다 답변을 읽고 노란 칸에 0~5점을 고르십시오. 판단할 수 없으면 '판단 불가'를 고르거나 비워 두십시오.",
    "회색 칸은 그 행에서 판단하지 않는 지표입니다. 방/반복이 빈 행은 한 질의의 답변을 모두 모은 것입니다.",
    "자동 점수와 목록에 오른 까닭은 판단에 영향을 주지 않도록 일부러 싣지 않았습니다. "
    "무작위로 뽑은 질의도 섞여 있습니다.",
    "다 채운 뒤: aqb review import 이파일.xlsx --out labels.csv --reviewer 이름",
    "그다음: aqb agreement labels.csv --run 채점한_폴더",
)


def write_review_workbook(path: Path, run: ScoredFolder, items: Iterable[ReviewItem]) -> None:
    """Writes the items to `path`. Every cell is text: what people wrote never becomes a formula.

    Raises:
        StorageError: the file cannot be written.
    """
    metrics = {metric.name: f"{metric.title} [{metric.name}]" for metric in reviewed_metrics(run)}
    with replacing(path, TABLE_MODE) as unfinished, xlsxwriter.Workbook(str(unfinished)) as book:
        book.set_properties({"created": _NO_TIME})
        text = {"valign": "top", "text_wrap": True, "border": 1, "border_color": "#BFBFBF", "num_format": "@"}
        plain, other = book.add_format(text), book.add_format({**text, "bg_color": "#E7E6E6"})
        open_cell = book.add_format({**text, "bg_color": "#FFF2CC", "align": "center", "num_format": "General"})
        head = book.add_format({"bold": True, "bg_color": "#1F3864", "font_color": "#FFFFFF", "text_wrap": True})
        sheet = book.add_worksheet(SHEET)
        sheet.set_row(0, _HEADER_HEIGHT)
        columns = _GIVEN | dict.fromkeys(metrics.values(), _VERDICT_WIDTH) | {_NOTE: _NOTE_WIDTH}
        for place, (title, width) in enumerate(columns.items()):
            sheet.set_column(place, place, width)
            sheet.write_string(0, place, title, head)
        first, note = len(_GIVEN), len(columns) - 1
        for line, item in enumerate(items, start=1):
            given = (run.file, item.query_id, item.round, item.question, item.expected, item.answer, item.shown)
            sheet.set_row(line, _LINE_HEIGHT * _lines(given))
            for place, value in enumerate(given):
                sheet.write_string(line, place, shown_text(value), plain)
            for place, metric in enumerate(metrics, start=first):
                asked = metric in item.metrics
                sheet.write_blank(line, place, None, open_cell if asked else other)
                if asked:
                    sheet.data_validation(line, place, line, place, _validation())
            sheet.write_blank(line, note, None, plain)
        sheet.freeze_panes(1, 3)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.repeat_rows(0)
        _write_help(book)


def read_review_workbook(path: Path, reviewer: str) -> list[Label]:
    """The verdicts of a filled workbook, a label each; empty ones and `판단 불가` are none.

    Raises:
        InputError: no such file, no review workbook, a column is missing, or a verdict is no number of points.
        UsageError: not one verdict is filled in.
    """
    with readable(path), path.open("rb"):
        pass  # a file that is not there is no workbook that was spoilt
    try:
        with closing(TestRunWorkbook(path)) as book:
            sheet = next(sheet for sheet in book.sheets if sheet.name == SHEET)
            rows = sheet.rows()
    except (InputError, StopIteration) as error:
        raise InputError(
            f"no review workbook with a sheet '{SHEET}'",
            where=str(path),
            fix="fill the one that `aqb review export` wrote",
        ) from error
    header = [cell.strip() for cell in sheet.columns]
    metrics = {place: title.rpartition("[")[2][:-1] for place, title in enumerate(header) if title.endswith("]")}
    places = {title: header.index(title) for title in (_FILE, _QUERY, _ROUND, _NOTE) if title in header}
    if len(places) < 4 or not metrics:
        raise InputError(
            "columns are missing", where=f"{path}: {SHEET}", fix="keep the header as `aqb review export` wrote it"
        )
    labels = list(_labels(rows, metrics, places, reviewer, path))
    if not labels:
        raise UsageError(
            "no yellow cell is filled with points yet",
            where=f"{path}: {SHEET}",
            fix="choose 0 to 5 in the yellow cells, save the workbook and import it again",
        )
    return labels


def _labels(
    rows: Sequence[TextRow], metrics: dict[int, str], places: dict[str, int], reviewer: str, path: Path
) -> Iterator[Label]:
    for line, cells in rows:
        file, query_id, round_, note = (cells[place] for place in places.values())
        for place, metric in metrics.items():
            verdict = cells[place].strip()
            if verdict in ("", CANNOT_TELL):
                continue
            if verdict not in map(str, _CHOICES):
                raise InputError(
                    f"'{verdict}' is no verdict ({metric})",
                    where=f"{path}: {SHEET}, row {line}",
                    fix=f"choose one of {', '.join(map(str, _CHOICES))}",
                )
            yield Label(metric, verdict, file, query_id, round_, reviewer=reviewer, note=note)


def _lines(given: Sequence[str]) -> int:
    """How many lines the longest text of a row takes, two for a drop-down at least."""
    wrapped = (
        sum(-(-display_width(line) // width) or 1 for line in text[: _MOST_LINES * width].split("\n"))
        for text, width in zip(given, _GIVEN.values(), strict=True)
    )
    return min(max(2, *wrapped), _MOST_LINES)


def _validation() -> dict[str, Any]:
    return {
        "validate": "list",
        "source": _CHOICES,
        "error_title": "점수",
        "error_message": f"5, 4, 3, 2, 1, 0 또는 '{CANNOT_TELL}'을 고르십시오.",
    }


def _write_help(book: Any) -> None:
    sheet = book.add_worksheet("안내")
    sheet.set_column(0, 0, 110)
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    for line, sentence in enumerate(_HELP):
        sheet.write_string(line, 0, sentence, wrapped)
