"""Where the reports lie: one place for those who write, link, correct and delete them."""

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
SCORE_FILES = (
    *(
        f"{table}.{ending}"
        for table in ("scores", "excluded", "kpis", "crosstab", "rejected")
        for ending in ("parquet", "csv")
    ),
    *("queries.parquet", "judgements.parquet", "review.csv", "scores.json", "scores.xlsx"),
)
"""All that `aqb score` writes into a folder, of chat rows or of a test run, beside `report.md` and `summary.json`."""
_PERIOD_REPORT = "monitoring-"
_ROWS = "-rows"
_DAY_REPORT = re.compile(r"monitoring-\d{4}-\d{2}-\d{2}\.md")
_HASH_DIGITS = 8
_NOT_IN_FOLDER_NAMES = re.compile(r"[^\w.()-]+")
_NOT_IN_PAGE_NAMES = re.compile(r"[^0-9A-Za-z가-힣_-]+")


@dataclass(frozen=True)
class ReportPaths:
    """The folder of the reports, and the address where it is served; '' where it is not."""

    folder: Path
    url: str = ""

    @property
    def first_page(self) -> Path:
        """The page that leads to all others."""
        return self.folder / FIRST_PAGE

    def day_report(self, day: date) -> Path:
        """The Markdown report of a day."""
        return self.folder / f"monitoring-{day}.md"

    def day_reports(self) -> list[Path]:
        """The Markdown reports of all days that there are."""
        return sorted(path for path in self.folder.glob("monitoring-*.md") if _DAY_REPORT.fullmatch(path.name))

    def period_report(self, period: Period) -> Path:
        """The Markdown report of a week, a month or other days."""
        return self.folder / f"{_PERIOD_REPORT}{period.key}.md"

    def period_page(self, period: Period) -> Path:
        """The page of a week, a month or other days."""
        return self.folder / period_page_name(period)

    def period_pages(self) -> dict[Path, Period]:
        """The pages and Markdown reports of periods that there are, and the pages of their rows."""
        pages = [*self.folder.glob("monitoring/*.html"), *self.folder.glob(f"{_PERIOD_REPORT}*.md")]
        found = ((page, period_of_key(page.stem.removeprefix(_PERIOD_REPORT).removesuffix(_ROWS))) for page in pages)
        return {page: period for page, period in found if period}

    def day_page(self, day: date) -> Path:
        """The page of a day."""
        return self.folder / day_page_name(day)

    def pages_of_rows(self, day: date) -> list[Path]:
        """The pages that show rows of a day with their ids, as the next build of the site makes them."""
        return [self.day_page(day), self.folder / rows_page_name(day)]

    def pages_of_patterns(self, day: date) -> list[Path]:
        """What quotes questions of a day among those of other days, and can be made anew as a whole."""
        return [*(page for page, period in self.period_pages().items() if day in period), self.site_state]

    @property
    def site_state(self) -> Path:
        """What the site remembers of its days from one build to the next."""
        return self.folder / "monitoring" / "days.json"

    def testrun_folder(self, input_name: str, sha256: str) -> Path:
        """The folder of a scored test run: report, tables, workbook."""
        return self.folder / TESTRUNS / f"{safe_name(PurePath(input_name).stem)}-{sha256[:_HASH_DIGITS]}"

    def testrun_folders(self) -> list[Path]:
        """The folders of scored test runs, the last written one first."""
        summaries = self.folder.glob(f"{TESTRUNS}/*/summary.json")
        return [one.parent for one in sorted(summaries, key=lambda one: (-one.stat().st_mtime_ns, one))]

    def address(self, path: Path) -> str:
        """Where people open a report; '' where reports are not served."""
        if not self.url:
            return ""
        return f"{self.url.rstrip('/')}/{quote(path.relative_to(self.folder).as_posix())}"


def day_page_name(day: date) -> str:
    """The page of a day, seen from the first page."""
    return f"monitoring/{day}.html"


def rows_page_name(of: date | Period) -> str:
    """The page of the rows of a day or a period, seen from the first page."""
    return f"monitoring/{of.key if isinstance(of, Period) else of}{_ROWS}.html"


def period_page_name(period: Period) -> str:
    """The page of a week, a month or other days, seen from the first page."""
    return f"monitoring/{period.key}.html"


def testrun_page_name(input_name: str, sha256: str, rubric: str) -> str:
    """The page of a test run in the folder `TESTRUNS`.

    It allows fewer signs than the report folder's name: links that were sent keep leading to it.
    """
    stem = _NOT_IN_PAGE_NAMES.sub("_", normalize("NFC", PurePath(input_name).stem)).strip("_")[:60]
    return f"{stem or 'run'}-{sha256[:_HASH_DIGITS]}-{rubric}.html"


def safe_name(name: str) -> str:
    """A file's name as a folder's name that every system allows."""
    return _NOT_IN_FOLDER_NAMES.sub("_", name).strip("._ ")[:80] or "run"
