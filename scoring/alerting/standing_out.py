"""Finds the alerts that stand out on a day: its report and page name them first. Source: SPEC 10."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

from scoring.alerting.decision import DayDecisions, RateDecision
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.watch import WatchedRule, watched_rules
from scoring.chat.kpis import ALL_TENANTS, KpiRow
from scoring.chat.rubric import RowRubric
from scoring.stats.intervals import wilson_interval

_Z = 2.5
_LEAST_DAYS = 7


def standing_out(
    rubric: RowRubric, days: Mapping[date, KpiRow], day: date, decided: Callable[[], DayDecisions]
) -> list[str]:
    """The alert rules of all tenants together that have risen and are higher than usual on this day, most severe first.

    `days` are the KPI rows of all tenants by day. The decisions of the day need the history of all tenants, so
    `decided` is called only if the share of any rule is significantly above that of the four weeks before the last
    four: a rise becomes the usual rate after four weeks, so these weeks contain no active one.
    """
    before, rules = _before(days, day), watched_rules(rubric, ALL_TENANTS)
    if not any(_is_above(rule, days[day], before) for rule in rules):
        return []
    found = [one for one in decided().values() if one.tenant_id == ALL_TENANTS and one.is_high]
    return [one.rule for one in sorted(found, key=_gravity)]


def _gravity(one: RateDecision) -> tuple[bool, bool]:
    """Sort key: pages first, then critical rules, then the order of the rubric, as in messages."""
    return not (one.pages or one.paged), one.level != "critical"


def _before(days: Mapping[date, KpiRow], day: date) -> Sequence[KpiRow]:
    """The rows of the four weeks before the last four under the same version; of all eight if few are so old."""
    version, eight_weeks = days[day].get("rubric_version"), timedelta(2 * REFERENCE_DAYS)
    known = {when: row for when, row in days.items() if row.get("rubric_version") == version}
    earlier = {when: row for when, row in known.items() if day - eight_weeks < when < day}
    old = [row for when, row in earlier.items() if when < day - timedelta(REFERENCE_DAYS)]
    return old if len(old) >= _LEAST_DAYS else [*earlier.values()]


def _is_above(rule: WatchedRule, row: KpiRow, before: Sequence[KpiRow]) -> bool:
    usual_count, usual_rows = rule.total(before)
    interval = wilson_interval(*rule.read(row), z=_Z)
    return bool(usual_rows) and interval is not None and interval.low > usual_count / usual_rows
