"""The cost of a page of `aqb web` over two months of large days, on one core."""

from statistics import median
from urllib.parse import urlencode

from benchmarks.children import input_file, job
from benchmarks.report import Scale, table
from benchmarks.site import ROWS_A_DAY

_PEOPLE = 20
_EVERY_DAY = {"first": "2026-03-02", "last": "2026-05-30"}
_PAGES: dict[str, str | list[tuple[str, str]]] = {
    "first page of a new process": "/rows",
    "the same again": "/rows",
    "every row of all days": [],
    "the last page of these": [("page", "10000")],
    "by score": [("sort", "final_score")],
    "two grades": [("final_grade", "C"), ("final_grade", "F")],
    "a word": [("text", "주가")],
    "a word that is looked for in masked texts": [("text", "2027")],
    "a repeated question": [("template", "{종목} 주가")],
    "alerts": "/alerts",
    "alerts, a year": "/alerts?days=365",
}


def web(scale: Scale) -> str:
    """Filters over two months, and the page of alerts."""
    addresses = [_address(page, place) for place, page in enumerate(_PAGES.values())]
    warehouse = input_file("warehouse", scale.days_of_site, ROWS_A_DAY)
    asked, at_once = job("ask_pages", warehouse, *addresses), job("ask_at_once", warehouse, str(_PEOPLE), *addresses)
    seconds = at_once.printed["seconds"]
    return table(
        f"Pages in a browser: {scale.days_of_site} days of {ROWS_A_DAY:,} rows (target: first 0.5 s, any filter 1 s)",
        ("", "CPU s", "s"),
        [
            (title, *(f"{one:.2f}" for one in asked.printed[address]))
            for title, address in zip(_PAGES, addresses, strict=True)
        ],
        f"Peak {asked.peak_mb:,.0f} MB (target: 500). {_PEOPLE} people who open these pages in the same moment: half "
        f"of them have theirs after {median(seconds):.1f} s, the last one after {seconds[-1]:.1f} s; "
        f"peak {at_once.peak_mb:,.0f} MB.",
    )


def _address(page: str | list[tuple[str, str]], place: int) -> str:
    """Makes every address unique, so that each has its own line."""
    if isinstance(page, str):
        return f"{page}{'&' if '?' in page else '?'}line={place}"
    return f"/rows?{urlencode([*_EVERY_DAY.items(), *page, ('line', str(place))])}"
