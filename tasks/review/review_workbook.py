"""The review list as a workbook: a row per answer, a drop-down per verdict, room for a note; read back as labels."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from scoring.errors import InputError, UsageError, counted
from scoring.inputs import TextRow
from tasks.files.discovery import readable
from tasks.files.xlsx.sheet_xml import SheetColumn, Tab
from tasks.files.xlsx.workbook import write_workbook
from tasks.review.labels import Label, one_each
from tasks.review.queue import Review
from tasks.review.review_tab import (
    CANNOT_TELL,
    CRITERIA,
    FILE,
    METRIC,
    NOTE,
    POINTS,
    PROBABILITY,
    QUERY,
    ROUND,
    SHEET,
    STORED_NAME,
    criteria_tab,
    review_tab,
)
from tasks.testruns.read_folder import ScoredFolder
from tasks.testruns.workbooks import Sheet, TestRunWorkbook

_ITEM = {"file": FILE, "query_id": QUERY, "round": ROUND, "note": NOTE}
_HEADINGS_SHOWN, _VERDICT_SHOWN = 20, 20
# Earlier workbooks had these headings, and the stored name of a metric after its title.
_EARLIER_HEADINGS = {"Query ID": QUERY, "방/반복": ROUND}
_HELP = (
    "행마다 답변을 읽고 노란 칸에서 0~5점을 고르세요. 무엇이 몇 점인지는 '점수 기준' 탭에 있습니다. "
    "판단할 수 없으면 '판단 불가'를 고르거나 비워 두세요.",
    "회색 칸은 그 행에서 판단하지 않는 지표입니다. 회차가 빈 행은 한 질의의 답변을 모두 모은 것입니다.",
    "회차 2/1은 둘째 방의 첫 실행이라는 뜻입니다.",
    "판단에 영향을 주지 않도록 자동 점수는 싣지 않았고, 검토하는 까닭은 접어 두었습니다. "
    "오른쪽 끝의 열 위에 있는 [+]를 누르면 보이니 점수를 고른 뒤에 여세요. 무작위로 뽑은 질의도 섞여 있습니다.",
    "다 채운 뒤: aqb review import 이파일.xlsx --run 채점한_폴더 --out labels.csv --reviewer 이름",
    "그다음: aqb agreement labels.csv --run 채점한_폴더",
)


def write_review_workbook(path: Path, run: ScoredFolder, review: Review) -> None:
    """Writes the items to `path`. Texts of people never become formulas; the same review gives the same bytes.

    Raises:
        StorageError: the file cannot be written.
    """
    help_tab = Tab("안내", [SheetColumn("이 엑셀을 채우는 법", "long", 110)], [[sentence] for sentence in _HELP])
    tab = review_tab(run.file, run.rubric, review.items, blind=True)
    write_workbook(path, [tab, criteria_tab(run.rubric), help_tab])


def read_review_workbook(path: Path, reviewer: str) -> list[Label]:
    """The verdicts of a filled workbook, a label each; empty cells and `판단 불가` give none.

    Raises:
        InputError: no such file, no review workbook, a column is missing, a formula has no value, a verdict is no
            number of points, or a row exists twice.
        UsageError: no verdict is filled in.
    """
    with readable(path), path.open("rb"):
        pass  # a missing file is not a damaged workbook
    try:
        with closing(TestRunWorkbook(path)) as book:
            sheets = {sheet.name: sheet for sheet in book.sheets}
            sheet, names = sheets[SHEET], _stored_names(sheets.get(CRITERIA))
            rows = sheet.rows()
    except (InputError, LookupError, ValueError) as error:
        raise InputError(
            f"no review workbook with a sheet '{SHEET}'",
            where=str(path),
            fix="fill the one that `aqb review export` wrote",
        ) from error
    headings = [cell.strip() for cell in sheet.columns]
    titles = [_EARLIER_HEADINGS.get(heading, heading) for heading in headings]
    metrics = {place: name for place, title in enumerate(titles) if (name := _stored_name(title, names))}
    is_earlier = not _EARLIER_HEADINGS.keys().isdisjoint(headings)  # those have no probability
    missing = [title for title in (*_ITEM.values(), *([] if is_earlier else [PROBABILITY])) if title not in titles]
    if missing or not metrics:
        # Without a known heading, the first row may be a question with its answer.
        is_header = metrics or not {*_ITEM.values(), PROBABILITY}.isdisjoint(titles)
        found = ", ".join(filter(None, headings[:_HEADINGS_SHOWN])) if is_header else "no known column"
        raise InputError(
            f"columns are missing: {', '.join(missing or ['one for each metric'])}; found {found}",
            where=f"{path}: {SHEET}, row 1",
            fix="keep the header as `aqb review export` wrote it, in the first row",
        )
    if sheet.not_calculated:
        raise InputError(
            f"{counted(sheet.not_calculated, 'formula')} without a value",
            where=f"{path}: {SHEET}",
            fix="open the workbook in Excel and save it, or type the points",
        )
    problems: list[tuple[int, str]] = []
    labels = one_each(_labels(rows, titles, metrics, reviewer, problems), problems, path)
    if not labels:
        raise UsageError(
            "no yellow cell is filled with points yet",
            where=f"{path}: {SHEET}",
            fix="choose 0 to 5 in the yellow cells, save the workbook and import it again",
        )
    return labels


def _labels(
    rows: Sequence[TextRow],
    titles: Sequence[str],
    metrics: Mapping[int, str],
    reviewer: str,
    problems: list[tuple[int, str]],
) -> list[Label]:
    """A label for each verdict; an invalid cell is added to the `problems`."""
    item = {name: titles.index(title) for name, title in _ITEM.items()}
    drawn_with = titles.index(PROBABILITY) if PROBABILITY in titles else None
    labels = []
    for line, cells in rows:
        probability = "" if drawn_with is None else cells[drawn_with].strip()
        of_item = {name: cells[place] for name, place in item.items()}
        for place, metric in metrics.items():
            verdict = cells[place].strip()
            if verdict in ("", CANNOT_TELL):
                continue
            if verdict in POINTS:
                given = Label(metric, verdict, **of_item, reviewer=reviewer, probability=probability, line=line)
                labels.append(given)
            else:
                allowed = ", ".join((*POINTS, CANNOT_TELL))
                problems.append(
                    (line, f"'{verdict[:_VERDICT_SHOWN]}' is no verdict ({metric}); choose one of {allowed}")
                )
    return labels


def _stored_names(criteria: Sheet | None) -> dict[str, str]:
    """The title of each metric -> its stored name, from the tab of criteria."""
    if criteria is None:
        return {}
    title, name = (criteria.columns.index(column) for column in (METRIC, STORED_NAME))
    return {row.cells[title]: row.cells[name] for row in criteria.rows()}


def _stored_name(heading: str, names: Mapping[str, str]) -> str:
    """The metric of a column, '' if it has none; earlier workbooks have it after the title: `정확성 [accuracy]`."""
    _, bracket, name = heading.removesuffix("]").rpartition(" [")
    return name if bracket and heading.endswith("]") else names.get(heading, "")
