"""Which alerts stand out on a day: what its report and page name, and tell people to look at first. Source: SPEC 10."""

from scoring.alerting.decision import DayDecisions, RateDecision
from scoring.chat.kpis import ALL_TENANTS


def standing_out(decided: DayDecisions) -> list[str]:
    """The alert rules of all tenants together that have risen and are higher than usual on this day, gravest first."""
    found = [one for one in decided.values() if one.tenant_id == ALL_TENANTS and one.is_high]
    return [one.rule for one in sorted(found, key=_gravity)]


def _gravity(one: RateDecision) -> tuple[bool, bool]:
    """What interrupts people, then what is critical; the order of the rubric, as in messages, else."""
    return not (one.pages or one.paged), one.level != "critical"
