"""Which alerts stand out on a day: what its report and its page tell people to look at first. Source: SPEC 10."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from scoring.alerting.decision import DayDecisions, RateDecision
from scoring.alerting.facts import HISTORY_DAYS
from scoring.alerting.watch import WatchedRule, watched_rules
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import RowRubric
from scoring.stats.intervals import wilson_interval

_Z = 3.0
"""How far a share must be above that of the days before: a rate that never changes gets there on one day in 700."""

KpiRow = Mapping[str, Any]


def standing_out(
    rubric: RowRubric, days: Mapping[date, KpiRow], day: date, decided: Callable[[], DayDecisions]
) -> list[str]:
    """The alert rules of all tenants together that have risen and are far above the last seven scored days, gravest
    first.

    `days` are the KPI rows of all tenants by day; what is `decided` about the day is asked for only where a rule is far
    above, for it takes the history of all tenants.
    """
    version = _version(days[day])
    before = [row for when, row in sorted(days.items()) if when < day and row["rows"] and _version(row) == version]
    watched = {rule.id: rule for rule in watched_rules(rubric, ALL_TENANTS)}
    far = [rule.id for rule in rubric.alert_rules if _is_far_above(watched[rule.id], days[day], before[-HISTORY_DAYS:])]
    if not far:
        return []
    of_day = decided()
    found = [one for rule in far if (one := of_day.get((rule, ALL_TENANTS))) and one.change in ("rising", "drifting")]
    return [one.rule for one in sorted(found, key=_gravity)]


def _gravity(one: RateDecision) -> tuple[bool, bool]:
    """What interrupts people, then what is critical; the order of the rubric, as in messages, else."""
    return not (one.pages or one.paged), one.level != "critical"


def _is_far_above(rule: WatchedRule, row: KpiRow, before: Sequence[KpiRow]) -> bool:
    usual = [rule.read(one) for one in before]
    usual_count, usual_rows = (sum(column) for column in zip(*usual, strict=True)) if usual else (0, 0)
    interval = wilson_interval(*rule.read(row), z=_Z)
    return bool(usual_rows) and interval is not None and interval.low > usual_count / usual_rows


def _version(row: KpiRow) -> Any:
    return row.get("rubric_version")
