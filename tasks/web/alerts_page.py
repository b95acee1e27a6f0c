"""The page of alerts: those of the last scored day, sent messages, snoozes, and past days under current settings."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from starlette.responses import RedirectResponse, Response

from scoring.alerting.blocks import inert, masked_text
from scoring.alerting.day_messages import visible_to
from scoring.alerting.decision import WatchedDays
from scoring.alerting.facts import AlertFact, titles_of_rules
from scoring.alerting.messages import DayDigest, OutboxMessage, RouteFilter
from scoring.alerting.preview import (
    KIND_TITLES,
    Forecast,
    PreviewedIncident,
    PreviewedMessage,
    forecast,
    preview_days,
)
from scoring.alerting.snoozes import Snooze
from scoring.alerting.watch import DECISION_DAYS, AlertPolicy
from scoring.alerting.wording import brief
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.row_filter import tenant_of, tenant_value
from scoring.days import days_between
from scoring.errors import UsageError
from scoring.markdown import score_text
from tasks.alerts.day_messages import digest_of, messages_of_day, route_filters
from tasks.alerts.outbox import Outbox
from tasks.alerts.rule_rates import known_tenants, snooze_rule
from tasks.chat.tables import read_kpis, read_kpis_of_verdicts
from tasks.config.alerts import DEFAULT_ROUTE
from tasks.context import Context
from tasks.files.web_addresses import incident_address
from tasks.reports.site.alert_pages import messages_table, rises_table
from tasks.reports.site.pages import Cell, Link, Table
from tasks.reports.wording import tenant_text
from tasks.state.alert_choices import AlertChoices
from tasks.web.asked import Asked

_SPANS = (60, 365)
_MESSAGES = 50
_WHY_CHARACTERS, _WHO_CHARACTERS, _TEXT_CHARACTERS = 200, 100, 300


def alerts_page(asked: Asked) -> Response:
    """The page over the last 60 days, or another span in the URL.

    Raises:
        NotFoundError: nothing has been scored yet.
    """
    context, rubric = asked.context, asked.context.rubric
    scored = asked.scored_days
    span = next((days for days in _SPANS if ("days", str(days)) in asked.pairs), _SPANS[0])
    choices, last = AlertChoices(context.state), scored[-1]
    policy = choices.policy(context.settings.alerts)
    reported, expected = _past_days(context, policy, scored, span)
    titles = titles_of_rules(rubric)
    of_last = [one for one in reported if one.day == last]
    digest, new = digest_of(context, last), {(one.rule, one.tenant_id) for each in of_last for one in each.named}
    fired = [one for one in visible_to(RouteFilter(), digest.incidents) if one.fires]
    going_on = [one for one in fired if (one.fact.rule, one.fact.tenant_id) not in new]

    def links(incidents: Sequence[PreviewedIncident]) -> list[Link]:
        return [Link(one.reason, _rows_of(one, last, rubric.rule_titles)) for one in incidents]

    return asked.page(
        "alerts_now.html",
        section="alerts",
        title="알림",
        last=last,
        now=[(KIND_TITLES[one.kind], links(one.named)) for one in of_last],
        going_on=[Link(brief([one]), _rows_of(one.fact, last, rubric.rule_titles)) for one in going_on],
        routes=_new_by_route(asked, digest),
        sent=_sent(Outbox(context.state).latest(_MESSAGES), context.settings.zone),
        snoozes=[_shown_snooze(one, titles) for one in choices.snoozes(_today(asked))],
        rules=titles,
        tenants={tenant_value(one): tenant_text(one) for one in sorted(known_tenants(context.warehouse), key=str)},
        today=_today(asked),
        messages=messages_table(reported, lambda one, day: _rows_of(one, day, rubric.rule_titles)),
        rises=rises_table(expected),
        expected=score_text(expected.false_pages_per_year, 1),
        allowed=f"{policy.false_pages_per_year:g}",
        span=span,
        spans=_SPANS,
    )


def _shown_snooze(one: Snooze, titles: Mapping[str, str]) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "tenant": tenant_value(one.tenant_id),
        "title": titles.get(one.rule, one.rule),
        "of": tenant_text(one.tenant_id),
        "until": one.until,
        "who": inert(one.who, _WHO_CHARACTERS),
        "why": masked_text(one.why, _WHY_CHARACTERS),
    }


def _past_days(
    context: Context, policy: AlertPolicy, scored: Sequence[date], span: int
) -> tuple[list[PreviewedMessage], Forecast]:
    """The messages of the last days, and what to expect of the next ones; the rows of the days, which may be those of
    thousands of tenants, are released before the last day is read.
    """
    kpis = read_kpis(context.warehouse, context.rubric, scored[-span - DECISION_DAYS :])
    watched = WatchedDays(context.rubric, kpis, policy)
    days = days_between(scored[-1] - timedelta(days=span - 1), scored[-1])
    of_verdicts = read_kpis_of_verdicts(context.warehouse, context.rubric, scored, kpis, days[0], (ALL_TENANTS,))
    return preview_days(watched, days, of_verdicts=of_verdicts), forecast(watched)


def snooze(asked: Asked) -> Response:
    """Snoozes a rule up to a day, with a reason.

    Raises:
        UsageError: no such rule or tenant, a day that is over, or no reason.
    """
    rule, tenant = _rule(asked), _tenant(asked)
    why = asked.form.get("why", "").strip()
    if not why or len(why) > _WHY_CHARACTERS:
        raise UsageError(f"이유를 {_WHY_CHARACTERS}자 안에서 쓰세요", fix="다른 사람이 요약에서 읽습니다.")
    try:
        until = date.fromisoformat(asked.form.get("until", ""))
    except ValueError:
        raise UsageError("언제까지인지 날짜를 고르세요", fix="오늘이나 그 뒤의 날을 고르세요.") from None
    if until < _today(asked):
        raise UsageError("이미 지난 날입니다", fix="오늘이나 그 뒤의 날을 고르세요.")
    asked.record("알림 일시 중지", f"{rule} {tenant_text(tenant)} {until}")
    snooze_rule(asked.context, rule, tenant, until, why, asked.viewer.name, datetime.now(UTC))
    return RedirectResponse("/alerts#snoozes", 303)


def unsnooze(asked: Asked) -> Response:
    """Ends a snooze early; one that is already over is unchanged."""
    rule, tenant = _rule(asked), tenant_of(asked.form.get("tenant", ALL_TENANTS))
    asked.record("다시 알림", f"{rule} {tenant_text(tenant)}")
    AlertChoices(asked.context.state).end_snooze(rule, tenant, datetime.now(UTC))
    return RedirectResponse("/alerts#snoozes", 303)


def _rule(asked: Asked) -> str:
    rule = asked.form.get("rule", "")
    if rule not in titles_of_rules(asked.context.rubric):
        raise UsageError("그런 알림 규칙은 없습니다", fix="알림 페이지의 목록에서 고르세요.")
    return rule


def _tenant(asked: Asked) -> str | None:
    tenant = tenant_of(asked.form.get("tenant", ALL_TENANTS))
    if tenant not in known_tenants(asked.context.warehouse):
        raise UsageError("최근에 그런 테넌트의 행이 없습니다", fix="알림 페이지의 목록에서 고르세요.")
    return tenant


def _today(asked: Asked) -> date:
    return datetime.now(asked.context.settings.zone).date()


def _rows_of(one: PreviewedIncident | AlertFact, day: date, with_rows: Collection[str]) -> str:
    """The link to the rows of an incident; none for a KPI or the day as a whole."""
    return incident_address(day, one.rule, one.tenant_id) if one.rule in with_rows else ""


def _new_by_route(asked: Asked, digest: DayDigest) -> Table:
    """The messages about a day that each route has not received yet."""
    context, outbox = asked.context, Outbox(asked.context.state)
    reported = messages_of_day(context, digest)
    rows: list[list[Cell]] = []
    for route, route_filter in route_filters(context.settings.alerts).items():
        known = outbox.known_keys(route)
        new = [one for _, messages_for in reported for one in messages_for(route_filter, known)]
        texts = [masked_text(one.text, _TEXT_CHARACTERS) for one in new] or ["새로 보낼 것이 없음"]
        rows += [[_route_title(route), text] for text in texts]
    return Table(["경로", "내용"], rows)


def _sent(messages: Sequence[OutboxMessage], zone: ZoneInfo) -> Table:
    rows: list[list[Cell]] = [
        [
            f"{one.created_at.astimezone(zone):%Y-%m-%d %H:%M}",
            _route_title(one.route),
            _state(one, zone),
            masked_text(one.text, _TEXT_CHARACTERS) if one.text else "(지움)",
        ]
        for one in messages
    ]
    return Table(["작성 시각", "경로", "상태", "내용"], rows)


def _route_title(name: str) -> str:
    """The configured name of a route; a webhook without routes has a default name."""
    return "기본" if name == DEFAULT_ROUTE else name


def _state(one: OutboxMessage, zone: ZoneInfo) -> str:
    if one.sent_at:
        return f"{one.sent_at.astimezone(zone):%m-%d %H:%M} 보냄"
    return "포기함" if one.dead_at else "기다림"
