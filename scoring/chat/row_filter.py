"""A filter of scored rows: one value that is stored in URLs and that every engine applies.

Values known to the rubric (codes, rates) become part of a query, as rules do. Values from people or rows (tenants,
texts, bounds) are passed as parameters.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import reduce
from operator import and_, or_
from typing import Any

import polars as pl

from scoring.chat.reading import UTC_ZONE
from scoring.chat.row_ids import TEXTS
from scoring.chat.rubric import CodedColumn, RowRubric
from scoring.days import days_between
from scoring.errors import UsageError
from scoring.rules.googlesql_backend import literal, to_sql
from scoring.rules.polars_backend import to_polars

NOTHING = "-"
"""NULL in a URL: a row without tenant or without code."""

_NAMED = "-="
"""Prefix of a tenant's name in a URL if the name is empty or begins with this mark or the one above."""

HOURS = tuple(map(str, range(24)))
MOST_DAYS = 400
_LONGEST_VALUE = 300
_FIRST, _LAST, _TENANT, _RULE, _KPI = "first", "last", "tenant", "alert", "kpi"
_HOUR, _LOWEST, _HIGHEST, _TEXT, _TEMPLATE, _SESSION = "hour", "lowest", "highest", "text", "template", "session"
_OF_ROWS = (_TENANT, _TEMPLATE, _SESSION)  # set by links from rows, not typed by people

Codes = Mapping[str, tuple[str | None, ...]]


@dataclass(frozen=True)
class RowFilter:
    """The rows of the days from `first` to `last` that meet every condition; an empty condition matches all rows.

    `codes` are the allowed codes of each column, `rules` alert rules (one of them fired), `kpi` a rate (the row counts
    against it), `hours` (0 to 23) hours of the day in `time_zone`. `lowest` and `highest` bound the total. `text`
    occurs in the question or answer, ignoring case, as far as the table keeps them, or equals the row's id. `template`
    is the question's template. `row_ids` are rows found by conditions that no engine can evaluate by itself. `row_ids`
    and the zone are not stored in URLs.
    """

    first: date
    last: date
    tenants: tuple[str | None, ...] = ()
    codes: Codes = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    kpi: str = ""
    hours: tuple[int, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    text: str = ""
    template: str = ""
    session: str = ""
    row_ids: tuple[str, ...] | None = None
    time_zone: str = UTC_ZONE

    @property
    def days(self) -> list[date]:
        """All days of the filter."""
        return days_between(self.first, self.last)

    def pairs(self) -> list[tuple[str, str]]:
        """The filter as names and values of a URL; `parse_filter` is the inverse."""
        found = [(_FIRST, str(self.first)), (_LAST, str(self.last))]
        found += [(_TENANT, tenant_value(one)) for one in self.tenants]
        found += [(name, code or NOTHING) for name, codes in self.codes.items() for code in codes]
        found += [(_RULE, rule) for rule in self.rules]
        found += [(_HOUR, str(hour)) for hour in self.hours]
        bounds = ((_LOWEST, self.lowest), (_HIGHEST, self.highest))
        found += [(name, f"{bound:g}") for name, bound in bounds if bound is not None]
        typed = ((_KPI, self.kpi), (_TEXT, self.text), (_TEMPLATE, self.template), (_SESSION, self.session))
        return found + [(name, value) for name, value in typed if value]


def tenant_value(tenant: str | None) -> str:
    """A tenant in URLs and forms: never empty, and no tenant's name is mistaken for NULL."""
    if tenant is None:
        return NOTHING
    return tenant if tenant and not tenant.startswith(NOTHING) else f"{_NAMED}{tenant}"


def tenant_of(value: str) -> str | None:
    """The inverse of `tenant_value`."""
    return None if value == NOTHING else value.removeprefix(_NAMED)


def parse_filter(
    pairs: Iterable[tuple[str, str]], rubric: RowRubric, first: date, last: date, time_zone: str
) -> RowFilter:
    """The filter from a URL's parameters; the days default to `first` to `last`.

    Unknown names and empty values are ignored, because forms send them, and blanks around typed values are removed.

    Raises:
        UsageError: an invalid value: no such code or rule, no date, no number, too long (Korean).
    """
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if meant := value if name in _OF_ROWS else value.strip():
            given.setdefault(name, []).append(meant)
    if any(len(value) > _LONGEST_VALUE for values in given.values() for value in values):
        raise UsageError(f"조건 하나는 {_LONGEST_VALUE}자까지 쓸 수 있습니다")
    chosen = RowFilter(
        *_days(given, first, last),
        tenants=tuple(map(tenant_of, given.get(_TENANT, ()))),
        codes={
            one.column: tuple(_code(one, value) for value in given[one.column])
            for one in rubric.coded_columns
            if one.column in given
        },
        rules=tuple(given.get(_RULE, ())),
        kpi=given.get(_KPI, [""])[-1],
        hours=tuple(map(_hour, given.get(_HOUR, ()))),
        lowest=_number(given, _LOWEST),
        highest=_number(given, _HIGHEST),
        text=given.get(_TEXT, [""])[-1],
        template=given.get(_TEMPLATE, [""])[-1],
        session=given.get(_SESSION, [""])[-1],
        time_zone=time_zone,
    )
    if unknown := sorted({*chosen.rules} - rubric.rule_titles.keys()):
        raise UsageError(f"그런 알림 규칙은 없습니다: {', '.join(unknown)}")
    if chosen.kpi and chosen.kpi not in rubric.rates:
        raise UsageError(f"그런 지표는 없습니다: {chosen.kpi}")
    return chosen


def _days(given: Mapping[str, Sequence[str]], first: date, last: date) -> tuple[date, date]:
    usual_span = last - first
    try:
        first, last = (
            date.fromisoformat(given[name][-1]) if name in given else usual
            for name, usual in ((_FIRST, first), (_LAST, last))
        )
    except ValueError:
        raise UsageError("날짜는 2026-02-13처럼 씁니다") from None
    if last < first and _FIRST not in given:
        first = last - min(usual_span, last - date.min)
    if last < first:
        raise UsageError("첫날이 마지막 날보다 늦습니다")
    if (last - first).days >= MOST_DAYS:
        raise UsageError(f"한 번에 {MOST_DAYS}일까지 볼 수 있습니다")
    return first, last


def _code(column: CodedColumn, value: str) -> str | None:
    if value == NOTHING:
        return None
    if value not in column.titles:
        raise UsageError(f"그런 값은 없습니다: {value}")
    return value


def _hour(value: str) -> int:
    if value not in HOURS:
        raise UsageError("시각은 0~23으로 씁니다")
    return int(value)


def _number(given: Mapping[str, Sequence[str]], name: str) -> float | None:
    if name not in given:
        return None
    try:
        number = float(given[name][-1])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError("점수는 숫자로 씁니다")
    return number


def polars_condition(wanted: RowFilter, rubric: RowRubric) -> pl.Expr:
    """The condition on columns of the score table."""
    conditions: list[pl.Expr] = [pl.col("score_date").is_between(wanted.first, wanted.last)]
    conditions += [_is_one_of(name, codes) for name, codes in _columns(wanted)]
    if wanted.rules:
        fired = [pl.col("alert_rules").list.contains(pl.lit(rule)) for rule in wanted.rules]
        conditions.append(reduce(or_, fired))
    if wanted.kpi:
        conditions.append(to_polars(rubric.rates[wanted.kpi].counted))
    if wanted.hours:
        conditions.append(is_in_hours(wanted))
    if wanted.lowest is not None:
        conditions.append(pl.col(rubric.total) >= wanted.lowest)
    if wanted.highest is not None:
        conditions.append(pl.col(rubric.total) <= wanted.highest)
    if wanted.text:
        # As fast as a case-sensitive search; converting every text to lower case first takes twenty times as long.
        pattern = f"(?i){pl.escape_regex(wanted.text)}"
        found = [pl.col(name).str.contains(pattern) for name in TEXTS]
        conditions.append(reduce(or_, found, pl.col("row_id") == wanted.text))
    if wanted.row_ids is not None:
        conditions.append(pl.col("row_id").is_in(list(wanted.row_ids)))
    return reduce(and_, conditions)


def is_in_hours(wanted: RowFilter) -> pl.Expr:
    """Whether a row, scored or not, is within the hours of the filter."""
    hour = pl.col("timestamp").dt.convert_time_zone(wanted.time_zone).dt.hour()
    return hour.is_in(list(wanted.hours))


def sql_condition(wanted: RowFilter, rubric: RowRubric) -> tuple[str, dict[str, Any]]:
    """The same condition in GoogleSQL, with its parameters by name: dates, numbers, texts and tuples of texts."""
    conditions = ["score_date BETWEEN @first AND @last"]
    bound: dict[str, Any] = {"first": wanted.first, "last": wanted.last}
    for place, (name, codes) in enumerate(_columns(wanted)):
        bound[f"codes_{place}"] = tuple(code for code in codes if code is not None)
        conditions.append(f"(`{name}` IN UNNEST(@codes_{place}){f' OR `{name}` IS NULL' if None in codes else ''})")
    if wanted.rules:
        fired = " OR ".join(f"{literal(rule)} IN UNNEST(alert_rules)" for rule in wanted.rules)
        conditions.append(f"({fired})")
    if wanted.kpi:
        conditions.append(f"({to_sql(rubric.rates[wanted.kpi].counted)})")
    if wanted.hours:
        hours = ", ".join(map(str, wanted.hours))
        conditions.append(f"EXTRACT(HOUR FROM timestamp AT TIME ZONE @time_zone) IN ({hours})")
        bound["time_zone"] = wanted.time_zone
    for operator, name, value in ((">=", "lowest", wanted.lowest), ("<=", "highest", wanted.highest)):
        if value is not None:
            conditions.append(f"`{rubric.total}` {operator} @{name}")
            bound[name] = value
    if wanted.text:
        found = " OR ".join(f"STRPOS(LOWER({name}), LOWER(@text)) > 0" for name in TEXTS)
        conditions.append(f"({found} OR row_id = @text)")
        bound["text"] = wanted.text
    if wanted.row_ids is not None:
        conditions.append("row_id IN UNNEST(@row_ids)")
        bound["row_ids"] = wanted.row_ids
    return " AND ".join(conditions), bound


def _columns(wanted: RowFilter) -> list[tuple[str, tuple[str | None, ...]]]:
    """The columns that are restricted to some values."""
    sessions = (wanted.session,) if wanted.session else ()
    columns = (("tenant_id", wanted.tenants), ("session_id", sessions), *wanted.codes.items())
    return [(name, values) for name, values in columns if values]


def _is_one_of(name: str, values: Sequence[str | None]) -> pl.Expr:
    column = pl.col(name)
    named = column.is_in([value for value in values if value is not None])
    return named | column.is_null() if None in values else named
