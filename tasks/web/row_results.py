"""The rows of a URL: the filter prepared for a search, the view, and the counts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import polars as pl

from scoring.chat.row_filter import RowFilter, is_in_hours, parse_filter
from scoring.chat.rubric import RowRubric
from scoring.chat.templates import literal_parts
from scoring.errors import UsageError
from scoring.judging.masking import LABELS, masked
from tasks.chat.tables import EXCLUDED
from tasks.reports.row_columns import RowColumn, row_columns, usual_columns
from tasks.warehouse import Warehouse, table_rows
from tasks.warehouse.row_search import RowOrder, RowSearch
from tasks.web.asked import Asked, Pairs, href

PAGE_ROWS = 50
_USUAL_DAYS = 7
_MOST_CHECKED = 5_000
_MOST_PAGES = 10_000
_COLUMN, _SORT, _PAGE = "show", "sort", "page"
_LABEL = re.compile("|".join(map(re.escape, LABELS)), re.IGNORECASE)
_ROW_ID = re.compile(r"[0-9a-f]{32}(?:-[0-9]+)?")
# Hangul but for the syllables that numbers are spoken with: no part of what is masked.
_NOTHING_PERSONAL = re.compile(r"(?:[ ]|(?![공영일이삼사오육륙칠팔구])[가-힣])*")


@dataclass(frozen=True)
class RowsView:
    """The view of a URL: filter, shown columns, order, and page (1 is the first). `days` are the scored days of the
    warehouse.
    """

    wanted: RowFilter
    columns: tuple[RowColumn, ...]
    every_column: tuple[RowColumn, ...]
    order: RowOrder
    page: int
    days: Sequence[date]

    @property
    def has_scored_day(self) -> bool:
        """Whether one of the days of the filter has been scored."""
        return any(self.wanted.first <= day <= self.wanted.last for day in self.days)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The query parameters of the view, without the page."""
        chosen = [(_COLUMN, column.name) for column in self.columns]
        return [*chosen, (_SORT, f"{'-' if self.order.descending else ''}{self.order.column}")]

    @property
    def orders(self) -> list[tuple[str, str, bool]]:
        """The available orders: the value in URLs, the title, and whether it is the current one."""
        ways = ((True, "-", "내림차순"), (False, "", "오름차순"))
        return [
            (f"{sign}{column.name}", f"{column.title} {title}", RowOrder(column.name, down) == self.order)
            for column in self.every_column
            if column.sorts
            for down, sign, title in ways
        ]

    def href(self, pairs: Pairs, page: int = 1, path: str = "/rows") -> str:
        """The URL of these rows in the same view."""
        return href(path, [*pairs, *self.shown, *([(_PAGE, str(page))] if page > 1 else [])])

    def narrowed(self, **wanted: str) -> str:
        """The URL of the rows that also have these values, which replace others of the same names."""
        kept = [pair for pair in self.wanted.pairs() if pair[0] not in wanted]
        return self.href([*kept, *wanted.items()])

    def without(self, pair: tuple[str, str]) -> str:
        """The URL without one of the conditions."""
        return self.href([one for one in self.wanted.pairs() if one != pair])

    def ordered(self, column: RowColumn) -> str:
        """The URL in the order of a column, reversed if it is the current one."""
        is_down = self.order.column == column.name and self.order.descending
        return replace(self, order=RowOrder(column.name, not is_down)).href(self.wanted.pairs())


def rows_view(asked: Asked) -> RowsView:
    """The view of a URL; the last scored days if it names none.

    Raises:
        NotFoundError: nothing has been scored yet.
        UsageError: an invalid value.
    """
    rubric, settings = asked.context.rubric, asked.context.settings
    days = asked.scored_days
    first = max(days[0], days[-1] - timedelta(days=_USUAL_DAYS - 1))
    columns = tuple(row_columns(rubric, settings.time_zone))
    chosen = {value for name, value in asked.pairs if name == _COLUMN} or {*usual_columns(rubric)}
    last_of = dict(asked.pairs)
    return RowsView(
        parse_filter(asked.pairs, rubric, first, days[-1], settings.time_zone),
        tuple(column for column in columns if column.name in chosen) or columns[:1],
        columns,
        _order(last_of.get(_SORT, ""), columns),
        _page(last_of.get(_PAGE, "1")),
        days,
    )


def _order(text: str, columns: Iterable[RowColumn]) -> RowOrder:
    name = text.removeprefix("-")
    if name not in {column.name for column in columns if column.sorts}:
        return RowOrder()
    return RowOrder(name, text.startswith("-"))


def _page(text: str) -> int:
    return min(int(text), _MOST_PAGES) if text.isascii() and text.isdigit() and text.strip("0") else 1


def searchable(rubric: RowRubric, search: RowSearch, wanted: RowFilter, *, personal: bool) -> RowFilter:
    """The filter with the row ids that the warehouse cannot find by itself: those of a template, and those that contain
    a text.

    Without `personal` the masked texts are searched: people who may not read a number must not find it either.

    Raises:
        UsageError: too many rows would have to be searched.
    """
    tells_nothing = _NOTHING_PERSONAL.fullmatch(wanted.text) or _ROW_ID.fullmatch(wanted.text)
    checks_text = bool(wanted.text) and not personal and not tells_nothing
    if not wanted.template and not checks_text:
        return wanted
    seen = wanted.text.lower()
    if checks_text:  # no stored text has the labels that people read, but all have what stands beside them
        wanted = replace(wanted, text=max(_LABEL.split(wanted.text), key=len))
    if wanted.template:
        found = search.texts(wanted, literal_parts(wanted.template))
        alike = [text for text in found["user_input"].unique() if rubric.template(text) == wanted.template]
        found = found.filter(pl.col("user_input").is_in(alike))
    else:
        found = search.texts(wanted, (), _MOST_CHECKED + 1)
    if checks_text:
        if found.height > _MOST_CHECKED:
            raise UsageError(
                f"이 말은 개인정보를 가린 글에서 찾아야 해서 {_MOST_CHECKED:,}행까지만 살핍니다",
                fix="기간이나 다른 조건으로 좁히세요.",
            )
        found = found.filter([_is_seen(seen, row[1:]) for row in found.iter_rows()])
    return replace(wanted, row_ids=tuple(found["row_id"]))


def _is_seen(text: str, texts: Iterable[str | None]) -> bool:
    return any(one is not None and text in masked(one).lower() for one in texts)


@dataclass(frozen=True)
class FilteredCounts:
    """The number of rows in all, by day with the mean of their totals, and by pair of grades."""

    rows: int
    mean: float | None
    by_day: dict[date, tuple[int, float]]
    by_grades: Counter[tuple[str, str]]


def counts_of(search: RowSearch, wanted: RowFilter, rubric: RowRubric) -> FilteredCounts:
    """The counts of the rows that meet a filter."""
    counted = search.counts(wanted)
    rows, tenths = (int(counted[name].sum()) for name in ("rows", "tenths"))
    by_day = counted.group_by("score_date").agg(pl.col("rows", "tenths").sum()).sort("score_date")
    grades = Counter[tuple[str, str]]()
    for _, one, other, count, _ in counted.select(*rubric.crosstab.keys, "rows", "tenths").iter_rows():
        grades[one, other] += count
    return FilteredCounts(
        rows,
        tenths / rows / 10 if rows else None,
        {day: (count, of_day / count / 10) for day, count, of_day in by_day.iter_rows()},
        grades,
    )


def unscored_rows(warehouse: Warehouse, wanted: RowFilter, rubric: RowRubric) -> int:
    """The number of rows without a question or an answer that have fired an alert rule of the filter.

    0 if only scored rows can meet a condition.
    """
    met_unscored = RowFilter(
        wanted.first, wanted.last, wanted.tenants, rules=wanted.rules, hours=wanted.hours, time_zone=wanted.time_zone
    )
    if not wanted.rules or wanted != met_unscored:
        return 0
    found = table_rows(warehouse, EXCLUDED, rubric.excluded_schema, wanted.days)
    if wanted.tenants:
        found = found.filter(pl.col("tenant_id").is_in(wanted.tenants, nulls_equal=True))
    if wanted.hours:
        found = found.filter(is_in_hours(wanted))
    fired = pl.any_horizontal(pl.col("alert_rules").list.contains(rule) for rule in wanted.rules)
    return int(found.filter(fired).select(pl.len()).collect().item())


def export_frames(search: RowSearch, wanted: RowFilter, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows day by day, earliest first, with at most one day's texts in memory."""
    for day in wanted.days:
        of_day = replace(wanted, first=day, last=day)
        count = int(search.counts(of_day)["rows"].sum())
        if count:
            yield search.rows(of_day, columns, RowOrder("timestamp", descending=False), 0, count)
