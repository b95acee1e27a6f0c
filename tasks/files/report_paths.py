"""Paths of reports, for all code that writes, links, corrects and deletes them."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePath
from unicodedata import normalize
from urllib.parse import quote

from scoring.chat.periods import Period, period_of_key

FIRST_PAGE = "index.html"
ALERTS_PAGE = "alerts.html"
JUDGE_PAGE = "judge.html"
TESTRUNS = "test-runs"
SITE_LOCK = "site"
LONGEST_BUILD_S = 900.0
"""The warehouse's lock of who writes or removes pages, and how long it is waited for. A build that reads the tables
later must write the pages later.
"""
OVER_SERVICES = "../../"
"""The way from the site of a service to the one over all."""
SCORE_TABLES = ("scores", "excluded", "kpis", "crosstab", "rejected")
"""The tables of scored chat rows in the folder of `aqb score`."""
WORKBOOK = "scores.xlsx"
SCORE_FILES = (
    *(f"{table}.{ending}" for table in SCORE_TABLES for ending in ("parquet", "csv")),
    *("queries.parquet", "judgements.parquet", "review.csv", "scores.json", WORKBOOK),
)
"""All that `aqb score` writes into a folder, of chat rows or of a test run, beside `report.md` and `summary.json`."""
_REPORT = "monitoring-"
_ROWS = "-rows"
_DAY_REPORT = re.compile(r"monitoring-\d{4}-\d{2}-\d{2}\.md")
_HASH_DIGITS = 8
_NOT_IN_FOLDER_NAMES = re.compile(r"[^\w.()-]+")
_NOT_IN_PAGE_NAMES = re.compile(r"[^0-9A-Za-z가-힣_-]+")


@dataclass(frozen=True)
class ReportPaths:
    """The folder of the reports, and the URL where it is served; '' if it is not."""

    folder: Path
    url: str = ""

    @property
    def first_page(self) -> Path:
        """The first page, which links to all others."""
        return self.folder / FIRST_PAGE

    def report(self, of: date | Period) -> Path:
        """The Markdown report of a day, or of a week, a month or other days."""
        return self.folder / f"{_REPORT}{_key(of)}.md"

    def day_reports(self) -> list[Path]:
        """The existing Markdown reports of days."""
        return sorted(path for path in self.folder.glob(f"{_REPORT}*.md") if _DAY_REPORT.fullmatch(path.name))

    def page(self, of: date | Period) -> Path:
        """The page of a day, or of a week, a month or other days."""
        return self.folder / page_name(of)

    def period_pages(self) -> dict[Path, Period]:
        """The existing pages and Markdown reports of periods, and the pages of their rows."""
        pages = [*self.folder.glob("monitoring/*.html"), *self.folder.glob(f"{_REPORT}*.md")]
        found = ((page, period_of_key(page.stem.removeprefix(_REPORT).removesuffix(_ROWS))) for page in pages)
        return {page: period for page, period in found if period}

    def pages_of_rows(self, day: date) -> list[Path]:
        """The pages that show rows of a day with their ids; the next build of the site writes them again."""
        return [self.page(day), self.folder / rows_page_name(day)]

    def pages_of_patterns(self, day: date) -> list[Path]:
        """The pages that quote questions of a day among those of other days; they can be built again as a whole."""
        return [*(page for page, period in self.period_pages().items() if day in period), self.site_state]

    def pages_with_links(self) -> list[Path]:
        """The existing pages that lead to days and periods; a page of rows leads to its own day or period alone."""
        first = [page for name in (FIRST_PAGE, ALERTS_PAGE) if (page := self.folder / name).exists()]
        return [*first, *(page for page in self.folder.glob("monitoring/*.html") if not page.stem.endswith(_ROWS))]

    @property
    def site_state(self) -> Path:
        """The state that the site keeps between builds."""
        return self.folder / "monitoring" / "days.json"

    def testrun_folder(self, input_name: str, sha256: str) -> Path:
        """The folder of a scored test run: report, tables, workbook."""
        return self.folder / TESTRUNS / f"{safe_name(PurePath(input_name).stem)}-{sha256[:_HASH_DIGITS]}"

    def testrun_folders(self) -> list[Path]:
        """The folders of scored test runs, last written first."""
        summaries = self.folder.glob(f"{TESTRUNS}/*/summary.json")
        return [one.parent for one in sorted(summaries, key=lambda one: (-one.stat().st_mtime_ns, one))]

    def address(self, path: Path) -> str:
        """The URL of a report; '' if reports are not served."""
        if not self.url:
            return ""
        return f"{self.url.rstrip('/')}/{quote(path.relative_to(self.folder).as_posix())}"


def page_name(of: date | Period) -> str:
    """The page of a day, or of a week, a month or other days, relative to the first page."""
    return f"monitoring/{_key(of)}.html"


def rows_page_name(of: date | Period) -> str:
    """The page of the rows of a day or a period, relative to the first page."""
    return f"monitoring/{_key(of)}{_ROWS}.html"


def _key(of: date | Period) -> str:
    return of.key if isinstance(of, Period) else str(of)


def testrun_page_name(input_name: str, sha256: str, rubric: str) -> str:
    """The page of a test run in the folder `TESTRUNS`.

    It allows fewer characters than the report folder's name, so that links that were sent stay valid.
    """
    stem = _NOT_IN_PAGE_NAMES.sub("_", normalize("NFC", PurePath(input_name).stem)).strip("_")[:60]
    return f"{stem or 'run'}-{sha256[:_HASH_DIGITS]}-{rubric}.html"


def safe_name(name: str) -> str:
    """A file's name as a folder name that is valid on every system."""
    return _NOT_IN_FOLDER_NAMES.sub("_", name).strip("._ ")[:80] or "run"
