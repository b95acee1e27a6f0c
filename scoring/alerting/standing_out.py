"""Finds the alerts that stand out on a day: its report and page name them first. Source: SPEC 10."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta

from scoring.alerting.decision import DayDecisions, RateDecision, likely_cause
from scoring.alerting.facts import AlertFact
from scoring.alerting.growth_wording import tokens_action
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.watch import WatchedRule, watched_rules
from scoring.chat.kpi_windows import WEEK
from scoring.chat.kpis import ALL_TENANTS, KpiRow
from scoring.chat.rubric import RowRubric
from scoring.stats.intervals import wilson_interval

_Z = 2.5
_LEAST_DAYS = WEEK


def standing_out(
    rubric: RowRubric,
    days: Mapping[date, KpiRow],
    day: date,
    decided: Callable[[], DayDecisions],
    facts: Iterable[AlertFact] = (),
) -> list[str]:
    """The alert rules of all tenants together that have risen and are higher than usual on this day, most severe first.

    `days` are the KPI rows of all tenants by day. The decisions of the day need the history of all tenants, so
    `decided` is called only if the share of any rule is significantly above that of the four weeks before the last
    four. These weeks contain no active rise, since a rise becomes the usual rate after four weeks. Of a slow rise only
    the share of the week that ends with the day may be above it: it stands out if people were paged for it. A rule
    whose rows lack their tokens, by the `facts` of the day, comes before equally urgent ones: it names their cause,
    too. Else the first one is the rule whose action the page of the day names.
    """
    before, rules = _before(days, day), watched_rules(rubric, ALL_TENANTS)
    today, week = (_is_any_above(rules, _rows(days, day, range(count)), before) for count in (1, WEEK))
    if not today and not week:
        return []
    found = [one for one in decided().values() if one.tenant_id == ALL_TENANTS and one.is_high]
    lacking = {one.rule for one in facts if one.tenant_id == ALL_TENANTS and tokens_action(one.grown)}

    def gravity(one: RateDecision) -> tuple[bool, bool, bool, bool]:
        """Sort key: pages of the day first, as in its messages, then earlier ones that last, then rules that name a
        cause, then critical ones, then the order of the rubric.
        """
        return not one.pages, not one.paged, one.rule not in lacking, one.level != "critical"

    shown = [one for one in sorted(found, key=gravity) if today or one.pages or one.paged]
    first = [_cause(shown)] if shown and shown[0].pages and shown[0].rule not in lacking else []
    return list(dict.fromkeys(one.rule for one in (*first, *shown)))


def _cause(found: Sequence[RateDecision]) -> RateDecision:
    """What the page of the day names as the cause of its rules, of those with mostly the same rows as the first."""
    first = found[0]
    alike = [one for one in found if one.pages and (one.rule in first.together or first.rule in one.together)]
    rates = [first, *alike]
    return rates[likely_cause([(one.count, one.rows * one.usual.rate) for one in rates])]


def _before(days: Mapping[date, KpiRow], day: date) -> Sequence[KpiRow]:
    """The rows of the four weeks before the last four under the same version; of all eight if few are so old."""
    earlier = _rows(days, day, range(1, 2 * REFERENCE_DAYS))
    old = _rows(days, day, range(REFERENCE_DAYS + 1, 2 * REFERENCE_DAYS))
    return old if len(old) >= _LEAST_DAYS else earlier


def _rows(days: Mapping[date, KpiRow], day: date, back: range) -> list[KpiRow]:
    """The rows of the days so many days `back`, under the version of the day."""
    found = [days.get(day - timedelta(count)) for count in back]
    return [row for row in found if row and row.get("rubric_version") == days[day].get("rubric_version")]


def _is_any_above(rules: Sequence[WatchedRule], rows: Sequence[KpiRow], before: Sequence[KpiRow]) -> bool:
    for rule in rules:
        usual_count, usual_rows = rule.total(before)
        interval = wilson_interval(*rule.total(rows), z=_Z)
        if usual_rows and interval is not None and interval.low > usual_count / usual_rows:
            return True
    return False
