"""`aqb alerts snooze`, `snoozed`, `unsnooze`, `accept`: store and list people's decisions about alerts."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.terminal import Json, day_option, open_context, show
from flows.runtime.clock import now, today
from scoring.errors import UsageError
from scoring.markdown import percent

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from scoring.alerting.snoozes import Snooze
    from tasks.context import Context

Rule = Annotated[str, typer.Argument(help="The rule, as messages or tables name it.", metavar="RULE")]
Tenant = Annotated[
    str | None, typer.Option(help='Of this tenant alone ("": of rows without one). Default: of all.', metavar="TENANT")
]
Who = Annotated[str, typer.Option(help="Who decided it. Default: who is logged in.", metavar="NAME")]


def snooze(
    rule: Rule,
    until: Annotated[date, day_option("--until", "The last day that is kept quiet.")],
    why: Annotated[str, typer.Option(help="The reason that every digest shows.", metavar="TEXT")],
    tenant: Tenant = None,
    who: Who = "",
    as_json: Json = False,
) -> None:
    """Keep a rule quiet up to a day. Digests say so; a day with twice its rate is reported all the same.

    Example: aqb alerts snooze weak_answer --until 2026-03-20 --why "new prompt on Friday"
    """
    from tasks.alerts.rule_rates import snooze_rule

    if not why.strip():
        raise UsageError("a snooze needs a reason", where="--why", fix="say what people should know who miss the rule")
    with open_context() as context:
        this_day = today(context.settings.time_zone)
        if until < this_day:
            raise UsageError(f"{until} is over", where="--until", fix="give today or a later day")
        rule, named = _known(context, rule), _tenant(context, tenant)
        made, day = snooze_rule(context, rule, named, until, why.strip(), _who(who), now())
    text = f"snoozed {_snooze_text(made, context.settings.zone)}\n{_breaking_text(made, day)}"
    show(_snooze_dict(made), text, as_json=as_json)


def snoozed(as_json: Json = False) -> None:
    """List the rules that are snoozed: until when, since when, by whom and why.

    Example: aqb alerts snoozed
    """
    with open_context() as context:
        found = _going_on(context)
    lines = [_snooze_text(one, context.settings.zone) for one in found]
    show(list(map(_snooze_dict, found)), "\n".join(lines) or "nothing is snoozed", as_json=as_json)


def unsnooze(rule: Rule, tenant: Tenant = None) -> None:
    """End a snooze before its day.

    Example: aqb alerts unsnooze weak_answer
    """
    from tasks.state.alert_choices import AlertChoices

    with open_context() as context:
        rule, named = _known(context, rule), _as_stored(tenant)
        if not AlertChoices(context.state).end_snooze(rule, named, now()):
            zone = context.settings.zone
            listed = "; ".join(_snooze_text(one, zone) for one in _going_on(context)) or "nothing"
            raise UsageError(f"{_about(rule, named)} is not snoozed", fix=f"what is snoozed: {listed}")
    typer.echo(f"{_about(rule, named)} is reported again")


def accept(
    rule: Rule,
    tenant: Tenant = None,
    why: Annotated[str, typer.Option(help="The reason, for those who look later.", metavar="TEXT")] = "",
    who: Who = "",
    as_json: Json = False,
) -> None:
    """Accept what is high now as the new usual: from the last scored day on the rule is compared with it.

    Example: aqb alerts accept answer_failed --why "half of the answers moved to the new agent"
    """
    from scoring.alerting.watch import watched_rules
    from tasks.alerts.rule_rates import scored_days
    from tasks.state.alert_choices import Acceptance, AlertChoices

    with open_context() as context:
        rule, named = _known(context, rule), _tenant(context, tenant)
        if rule not in [one.id for one in watched_rules(context.rubric, named)]:
            raise UsageError(
                f"'{rule}' has no rate that could be usual", where="RULE", fix="aqb alerts snooze keeps it quiet"
            )
        day = scored_days(context.warehouse)[-1]
        made = Acceptance(rule, named, day, why.strip(), _who(who), now())
        AlertChoices(context.state).accept(made)
    show(asdict(made), f"accepted {_about(rule, named)}: usual from {day} on", as_json=as_json)


def _who(named: str) -> str:
    """The name of the person who decides: the given one, or that of the account.

    Raises:
        UsageError: no name is given and the account has none, as in many containers.
    """
    try:
        return named or getpass.getuser()
    except (KeyError, OSError) as error:  # OSError from Python 3.13 on
        raise UsageError("your account has no name here", where="--who", fix="give your name") from error


def _known(context: Context, rule: str) -> str:
    """The id of a rule that is given by its id or by its title in messages (Korean).

    Raises:
        UsageError: the rubric has no such rule.
    """
    from scoring.alerting.facts import VANISHED_TITLE, titles_of_rules
    from scoring.chat.rubric import FEW_ROWS

    titles = titles_of_rules(context.rubric)
    if rule == VANISHED_TITLE:
        return FEW_ROWS
    if found := next((name for name, title in titles.items() if rule in (name, title)), None):
        return found
    listed = ", ".join(f"{name} ({title})" for name, title in titles.items())
    raise UsageError(f"there is no rule '{rule}'", where="RULE", fix=f"the rules: {listed}")


def _tenant(context: Context, tenant: str | None) -> str | None:
    """The tenant as stored in tables; `*` if none is given.

    Raises:
        UsageError: no recently scored day has rows of it: the name may be mistyped, and would have no effect.
    """
    from tasks.alerts.rule_rates import known_tenants

    named = _as_stored(tenant)
    if named not in (known := known_tenants(context.warehouse)):
        names = ", ".join(sorted(repr(one or "") for one in known if one != _as_stored(None)))
        raise UsageError(f"no row of tenant '{tenant}' lately", where="--tenant", fix=f"the tenants: {names or 'none'}")
    return named


def _as_stored(tenant: str | None) -> str | None:
    from scoring.chat.kpis import ALL_TENANTS

    return ALL_TENANTS if tenant is None else tenant or None


def _going_on(context: Context) -> list[Snooze]:
    from tasks.state.alert_choices import AlertChoices

    return AlertChoices(context.state).snoozes(today(context.settings.time_zone))


def _about(rule: str, tenant_id: str | None) -> str:
    if tenant_id == _as_stored(None):
        return rule
    return f"{rule} of {tenant_id or 'rows without a tenant'}"


def _snooze_text(one: Snooze, zone: ZoneInfo) -> str:
    made_on = one.made_at.astimezone(zone).date()
    return f"{_about(one.rule, one.tenant_id)} until {one.until}: {one.why} ({one.who}, {made_on})"


def _breaking_text(made: Snooze, day: date) -> str:
    """The sentence that says from which rate the rule is reported in spite of the snooze."""
    from scoring.alerting.snoozes import RULES_WITHOUT_RATE

    if made.rule in RULES_WITHOUT_RATE:
        return "it has no rate that could double: it is quiet until then, whatever comes"
    if not (rate := made.breaking_rate(made.tenant_id)):
        return f"it did not fire lately, up to {day}: it is reported as soon as it does"
    if not made.rule.startswith("kpi_") and rate > 1:
        return f"twice its rate is more than all rows: this rise is quiet up to {made.until}; a new one after it is not"
    figure = f"{rate:.3f} from its target" if made.rule.startswith("kpi_") else f"{percent(rate)} of the rows"
    return f"reported all the same from twice its rate on: {figure}"


def _snooze_dict(one: Snooze) -> dict[str, object]:
    rates = [{"tenant_id": tenant, "rate": rate} for tenant, rate in one.rates.items()]
    return asdict(one) | {"rates": rates}
