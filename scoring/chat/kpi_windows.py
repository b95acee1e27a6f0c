"""KPIs pooled over several days, from the KPI rows alone, and the day since which a KPI has its verdict.

With the usual number of turns one day rarely decides a verdict; four weeks do. Days of different rubric versions are
never pooled.

Source: SPEC 10.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from scoring.chat.kpi_figures import in_points, kpi_figure
from scoring.chat.kpis import KpiRow, Quotient, RubricVersion, rubric_version_of
from scoring.chat.periods import Period
from scoring.days import day_text, days_between
from scoring.figures import Figure, Verdict
from scoring.markdown import interval_text, signed
from scoring.stats.intervals import MIN_N_FOR_VERDICT, Interval, difference_of_days, mean_of_days, wilson_interval

WEEK, FOUR_WEEKS = 7, 28
"""The windows in days; `FOUR_WEEKS` is the window whose verdict people are notified of."""

WINDOWS = (1, WEEK, FOUR_WEEKS)
"""The displayed windows, shortest first."""


@dataclass(frozen=True)
class Standing:
    """A KPI on a day: the `figure` of its last four weeks, in which it is known on that many `days`, and the latest
    decided verdict, None before any.

    `since` is the day of that decision. `changed` is true if it is this day and the verdict before was a different one,
    or if the first verdict is `missed`.
    """

    figure: Figure
    days: int
    verdict: Verdict | None
    since: date | None
    changed: bool


@dataclass(frozen=True)
class DayApart:
    """The worst day of several: the `others` together miss the target with 95 % confidence, although that day makes the
    interval of all days too wide to decide.
    """

    day: date
    figure: Figure
    others: Figure

    @property
    def text(self) -> str:
        """`2월 5일(목) 하루가 100.0%, 다른 날들은 8.7%(미달)`."""
        return (
            f"{day_text(self.day)} 하루가 {self.figure.value_text}, "
            f"다른 날들은 {self.others.value_text}({self.others.verdict_text})"
        )


@dataclass(frozen=True)
class ComparedKpi:
    """A KPI over a `window` of days, and `before`, the same over as many days right before them.

    `change` is the interval of the difference, in the unit of the values; None if there are too few days. `days` and
    `days_before` are the numbers of scored days. `apart` and `apart_before` are the worst days, if they keep their
    figures undecided.
    """

    window: str
    figure: Figure
    before: Figure
    change: Interval | None
    days: int = 0
    days_before: int = 0
    apart: DayApart | None = None
    apart_before: DayApart | None = None

    @property
    def before_text(self) -> str:
        """The value before, `7.0% (14일치)` if it has fewer days than the value it is compared with (Korean)."""
        is_short = 0 < self.days_before < self.days
        return self.before.value_text + (f" ({self.days_before}일치)" if is_short else "")

    @property
    def is_decided(self) -> bool:
        """Whether the verdict is met or missed, with 95 % confidence."""
        return self.figure.verdict != "undecided"

    @property
    def has_worsened(self) -> bool:
        """Whether the value moved away from its target, with 95 % confidence."""
        if self.change is None:
            return False
        return self.change.low > 0 if self.figure.target.operator == "<=" else self.change.high < 0

    @property
    def change_text(self) -> str:
        """`올라감 (95% 구간 +1.2~+3.4%p)`."""
        factor, unit = (100, "%p") if self.figure.is_rate else (1, "점")
        if self.before.value is None:
            return "앞 기간이 없음"
        if self.window == window_name(1):
            return "하루끼리는 비교하지 않음"  # two days do not tell the variance between days
        return change_text(self.change, factor, unit)


def compared_kpi(kpi: Quotient, window: str, rows: Iterable[KpiRow], before: Iterable[KpiRow]) -> ComparedKpi:
    """A KPI over the rows of a window, a row a day, and over the days before."""
    this, earlier = list(rows), list(before)
    sums, had = window_sums(kpi, this), window_sums(kpi, earlier)
    change = difference_of_days(*had, *sums, is_rate=kpi.is_rate)
    in_units = change and Interval(change.low / kpi.scale, change.high / kpi.scale)
    figure, before_figure = window_figure(kpi, this), window_figure(kpi, earlier)
    apart, apart_before = _day_apart(kpi, this, figure), _day_apart(kpi, earlier, before_figure)
    shown = replace(figure, despite_one_day=apart is not None)
    return ComparedKpi(window, shown, before_figure, in_units, len(sums[0]), len(had[0]), apart, apart_before)


def _day_apart(kpi: Quotient, rows: Iterable[KpiRow], together: Figure) -> DayApart | None:
    """The worst day (the turns farthest beyond the target), if the figure of all days `together` is undecided and the
    others miss the target with 95 % confidence.
    """
    assert kpi.target is not None
    if together.verdict != "undecided" or together.value is None:
        return None
    side, goal = (-1 if kpi.target.operator == ">=" else 1), kpi.target.value
    worst_last = sorted(_known(kpi, rows), key=lambda row: side * (row[kpi.name] - goal) * row["rows"])
    worst, others = worst_last[-1], window_figure(kpi, worst_last[:-1])
    return DayApart(worst["score_date"], kpi_figure(kpi, worst), others) if others.verdict == "missed" else None


def of_all_rows(figure: Figure) -> ComparedKpi:
    """A KPI over rows that are no day of a history."""
    return ComparedKpi("전체 기간", figure, replace(figure, value=None, n=0, interval=None), None)


def kpi_windows(kpi: Quotient, days: Mapping[date, KpiRow], day: date) -> list[ComparedKpi]:
    """A KPI over the day and over the windows that end with it, the shortest first."""
    found = []
    for length in WINDOWS:
        both = rows_of_window(days, day, 2 * length)
        this = rows_of_window(days, day, length)
        found.append(compared_kpi(kpi, window_name(length), this, both[len(this) :]))
    return found


def window_name(length: int) -> str:
    """`하루`, `최근 7일`."""
    return "하루" if length == 1 else f"최근 {length}일"


def deciding(windows: Sequence[ComparedKpi]) -> ComparedKpi:
    """The shortest window with a decided verdict; if none has one, the window with the most data."""
    return next((one for one in windows if one.is_decided), max(windows, key=lambda one: one.figure.n))


def change_text(change: Interval | None, factor: float, unit: str) -> str:
    """The change in words with its size, after multiplying by `factor`; no change if it is not significant."""
    if change is None:
        return "비교할 날이 모자람"
    between = interval_text(change.low * factor, change.high * factor, partial(signed, digits=1))
    shown = f"95% 구간 {between}{unit}"
    if change.low <= 0 <= change.high:
        return f"달라졌다고 할 수 없음 ({shown})"
    return f"{'올라감' if change.low > 0 else '내려감'} ({shown})"


def window_figure(kpi: Quotient, rows: Iterable[KpiRow]) -> Figure:
    """The figure of a KPI with a target, from KPI rows of one tenant, a row a day, weighted by the turns.

    Days are the independent observations, so that the interval includes dependence within sessions and variation
    between days. For a rate it is never narrower than Wilson's, and it never exceeds the range of the daily intervals:
    two or three days hardly determine the variance, and their own interval would be almost unlimited. A single day has
    its own figure.
    """
    known = _known(kpi, rows)
    return _figure_of_days(kpi, known, [kpi_figure(kpi, row).interval for row in known])


def _figure_of_days(kpi: Quotient, known: Sequence[KpiRow], intervals: Sequence[Interval | None]) -> Figure:
    """`window_figure` for rows that have the KPI, with the interval of each."""
    assert kpi.target is not None, f"{kpi.name} has no target"
    if not known:
        return Figure(kpi.title, None, 0, kpi.target, None, kpi.is_rate)
    if len(known) == 1:
        return kpi_figure(kpi, known[0])
    sums, sizes = _sums(kpi, known)
    size, total = sum(sizes), sum(sums)
    of_days = mean_of_days(sums, sizes)
    interval = of_days and in_points(kpi, of_days)
    if kpi.is_rate:
        interval = _rate_interval(total, size, interval)
    shown = interval and _within_days(interval, intervals)
    return Figure(kpi.title, total / (size * kpi.scale), size, kpi.target, shown, kpi.is_rate)


def window_sums(kpi: Quotient, rows: Iterable[KpiRow]) -> tuple[list[int], list[int]]:
    """The sum behind a KPI (in parts of a point for a mean) and the number of turns of each day with turns."""
    return _sums(kpi, _known(kpi, rows))


def _sums(kpi: Quotient, known: Sequence[KpiRow]) -> tuple[list[int], list[int]]:
    return [round(row[kpi.name] * row["rows"] * kpi.scale) for row in known], [int(row["rows"]) for row in known]


def _known(kpi: Quotient, rows: Iterable[KpiRow]) -> list[KpiRow]:
    return [row for row in rows if row["rows"] and row.get(kpi.name) is not None]


def _rate_interval(count: int, rows: int, of_days: Interval | None) -> Interval | None:
    wilson = wilson_interval(count, rows)
    if wilson is None or of_days is None:
        return wilson
    return Interval(max(min(wilson.low, of_days.low), 0.0), min(max(wilson.high, of_days.high), 1.0))


def _within_days(interval: Interval, of_days: Sequence[Interval | None]) -> Interval:
    """An interval limited to the range of the days' own intervals; unchanged if a day has none."""
    known = [one for one in of_days if one]
    if len(known) < len(of_days):
        return interval
    lowest, highest = min(one.low for one in known), max(one.high for one in known)
    return Interval(max(interval.low, lowest), min(interval.high, highest))


def may_be_decided(days: Mapping[date, KpiRow]) -> bool:
    """Whether any four weeks of a tenant have enough turns for a verdict; of thousands of tenants few have."""
    recent, turns = deque[tuple[date, int]](), 0
    for day, row in sorted(days.items()):
        recent.append((day, int(row["rows"] or 0)))
        turns += recent[-1][1]
        while (day - recent[0][0]).days >= FOUR_WEEKS:
            turns -= recent.popleft()[1]
        if turns >= MIN_N_FOR_VERDICT:
            return True
    return False


def standings(kpi: Quotient, days: Mapping[date, KpiRow]) -> dict[date, Standing]:
    """The standing of a KPI on each of the scored days of one tenant; undecided days keep the verdict before.

    A new rubric version starts without a verdict.
    """
    found: dict[date, Standing] = {}
    before: Standing | None = None
    version = None
    recent: deque[tuple[date, Any, KpiRow, Interval | None]] = deque()  # with versions and intervals, newest first
    for day, row in sorted(days.items()):
        if rubric_version_of(row) != version:
            before, version = None, rubric_version_of(row)
        if _known(kpi, [row]):
            recent.appendleft((day, version, row, kpi_figure(kpi, row).interval))
        while recent and (day - recent[-1][0]).days >= FOUR_WEEKS:
            recent.pop()
        window = [(row, of_day) for _, of_row, row, of_day in recent if of_row == version]
        figure = _figure_of_days(kpi, [row for row, _ in window], [of_day for _, of_day in window])
        before = found[day] = _standing(day, figure, len(window), before)
    return found


def _standing(day: date, figure: Figure, days: int, before: Standing | None) -> Standing:
    last = before.verdict if before else None
    if figure.verdict in ("undecided", last):
        return Standing(figure, days, last, before.since if before else None, changed=False)
    return Standing(figure, days, figure.verdict, day, changed=last is not None or figure.verdict == "missed")


def keeps_verdict_of_before(kpi: Quotient, days: Mapping[date, KpiRow], first: date) -> bool:
    """Whether the verdict of a KPI before `first` may stem from days before these, which are those of one tenant: none
    of these decides it, as far as all of its four weeks are among them, and no rubric version begins with them.
    """
    told = [day for day in days if day >= first]
    if not told:
        return False
    version, began = rubric_version_of(days[min(told)]), min(days) + timedelta(days=FOUR_WEEKS - 1)
    for day in sorted((day for day in days if day < first), reverse=True):
        if rubric_version_of(days[day]) != version:
            return False
        if day < began:
            break
        if window_figure(kpi, rows_of_window(days, day, FOUR_WEEKS)).verdict != "undecided":
            return False
    return True


def rows_of_window(days: Mapping[date, KpiRow], last: date, length: int) -> list[KpiRow]:
    """The rows of the `length` calendar days up to `last` that were scored by the rubric version of `last`."""
    version = rubric_version_of(days[last])
    window = (last - timedelta(days=back) for back in range(length))
    return [days[day] for day in window if day in days and rubric_version_of(days[day]) == version]


def rows_of_period(days: Mapping[date, KpiRow], period: Period, version: RubricVersion) -> list[KpiRow]:
    """The rows of a tenant on the days of a period that a rubric version has scored, earliest first."""
    wanted = days_between(period.first, period.last)
    return [days[day] for day in wanted if day in days and rubric_version_of(days[day]) == version]


def wider_figure(kpi: Quotient, days: Mapping[date, KpiRow], day: date) -> Figure | None:
    """The figure of a longer window if a day decides nothing: a week, or four weeks; None if these do not decide
    either.

    The title names the window.
    """
    if kpi_figure(kpi, days[day]).verdict != "undecided":
        return None
    found = next((one for one in kpi_windows(kpi, days, day)[1:] if one.is_decided), None)
    return replace(found.figure, title=found.window) if found else None
