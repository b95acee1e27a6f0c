"""What a route is told of a scored day: pages that interrupt, and one digest of what else is new.

Each reads in this order: level and what; how many of how many, and usual; since when; what to do and where to look; up
to five examples; the run. Source: SPEC 8; seed 002, 10.1 and 10.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date

from scoring.alerting.block_kit import (
    Block,
    Line,
    bold,
    bullets,
    code,
    context,
    fallback,
    header,
    link,
    paragraph,
    plain,
)
from scoring.alerting.facts import EXAMPLES, NO_ROWS, ROWS_REJECTED
from scoring.alerting.figures import fact_figures, kpi_line, with_verdicts
from scoring.alerting.incidents import Incident
from scoring.alerting.messages import DayContext, Message, MessageLevel, fact_key, messages, without_part
from scoring.alerting.routing import RouteFilter
from scoring.alerting.wording import (
    LEVEL_SIGNS,
    RESOLVED_SIGN,
    action,
    brief,
    day_name,
    example_lines,
    headline,
    level_mark,
    resolved_line,
    since,
    tenant_name,
)
from scoring.chat.kpis import ALL_TENANTS

_TENANTS_SHOWN = 5
_OWN_PAGES = 2


def day_messages(route: RouteFilter, day: date, incidents: Sequence[Incident], about: DayContext) -> list[Message]:
    """The messages of one run to one route: pages, one digest, or none where nothing is new.

    An intraday run only pages, and not for a day without rows: the day is not over.
    """
    incidents = with_verdicts(incidents, about.rubric, about.kpis)
    concerned = visible_to(route, incidents)
    known = set(map(without_part, about.told))
    fresh = [one for one in concerned if incident_key(one) not in known]
    intraday = about.kind == "intraday"
    paging = [one for one in fresh if one.pages and not (intraday and one.fact.rule == NO_ROWS)]
    told = [message for event in _events(paging) for message in _page(day, event, incidents, about)]
    news = [one for one in fresh if not one.pages and one.state != "continuing"]
    if any(map(_worth_a_message, news)) and not intraday:
        told += _digest(day, news, [one for one in concerned if one.fires and one not in news], about)
    return told


def visible_to(route: RouteFilter, incidents: Sequence[Incident]) -> list[Incident]:
    """The incidents that concern a route.

    A route that names no tenant hears of all of them together, and of one by itself only where that one pages and all
    together do not. One that names tenants also hears of what befell the whole day.
    """
    paged = {one.fact.rule for one in incidents if one.pages and one.fact.tenant_id == ALL_TENANTS}

    def matches(one: Incident) -> bool:
        tenant = one.fact.tenant_id
        if not route.tenants:
            hidden = tenant != ALL_TENANTS and (not one.pages or one.fact.rule in paged)
            return not hidden and route.matches_rows(one.fact.level, one.rubric)
        if one.fact.rule in (NO_ROWS, ROWS_REJECTED):
            return any(route.matches_rows(one.fact.level, one.rubric, named) for named in route.tenants)
        return route.matches_rows(one.fact.level, one.rubric, tenant)

    return [one for one in incidents if matches(one)]


def incident_key(one: Incident) -> str:
    """The key of what an incident says on its day."""
    resolved = one.state == "resolved"
    return fact_key(one.rubric, one.rubric_version, one.fact.rule, one.day, one.fact.tenant_id, resolved=resolved)


def _worth_a_message(one: Incident) -> bool:
    """A Warning that has passed rides along with other news, by itself it is none."""
    return one.state != "resolved" or one.fact.level == "critical"


def _events(paging: Sequence[Incident]) -> list[list[list[Incident]]]:
    """What pages in messages of their own, rule by rule; three rules and more at once are one event, told once."""
    by_rule: dict[str, list[Incident]] = defaultdict(list)
    for one in paging:
        by_rule[one.fact.rule].append(one)
    rules = list(by_rule.values())
    return [[rule] for rule in rules] if len(rules) <= _OWN_PAGES else [rules]


def _page(
    day: date, event: Sequence[Sequence[Incident]], incidents: Sequence[Incident], about: DayContext
) -> list[Message]:
    """Rules that interrupt, each for all tenants together or for those whom it befell."""
    found = [one for rule in event for one in rule]
    level = found[0].fact.level
    alone = len(event) == 1
    what = _rule_name(event[0]) if alone else f"{found[0].fact.title} 외 {len(event) - 1}가지가 한꺼번에 평소를 벗어남"
    blocks = [
        header(f"{level_mark(level)} · {what}"),
        *paragraph(_subject(day, about)),
        *(block for rule in event for block in paragraph(*_rule_lines(rule, alone, incidents, about))),
        *paragraph(_where(about)),
        *_examples(found, about),
        _footer(about),
    ]
    text = fallback(level_mark(level), what, day_name(day), about.rubric.title)
    return messages("page", level, [incident_key(one) for one in found], text, blocks)


def _rule_name(rule: Sequence[Incident]) -> str:
    """What happened: to all tenants together, to one, or to some of them each by itself."""
    first = rule[0]
    if first.fact.tenant_id == ALL_TENANTS:
        return headline(first)
    if len(rule) == 1:
        return f"{headline(first)} ({tenant_name(first.fact.tenant_id)})"
    return f"{first.fact.title} · 테넌트 {len(rule)}곳이 평소를 벗어남"


def _rule_lines(
    rule: Sequence[Incident], alone: bool, incidents: Sequence[Incident], about: DayContext
) -> Iterator[Line]:
    """What a page says of one rule; its name stands in the header where the page has no other."""
    if not alone:
        yield [bold(_rule_name(rule))]
    for one in rule:
        yield from _figure_lines(one, incidents, about)
    yield [bold("언제부터  "), plain(since(rule[0]))]
    yield [bold("할 일  "), *action(rule[0], about.rubric)]


def _digest(day: date, news: Sequence[Incident], others: Sequence[Incident], about: DayContext) -> list[Message]:
    """Everything of a day that is new, what goes on in one line, and the KPIs."""
    require_started = [one for one in news if one.state != "resolved"]
    ended = [one for one in news if one.state == "resolved"]
    level: MessageLevel = require_started[0].fact.level if require_started else "info"
    sign = LEVEL_SIGNS[level] if require_started else RESOLVED_SIGN
    count = " · ".join(f"{what} {len(of)}건" for what, of in (("새로 볼 것", require_started), ("해소", ended)) if of)
    blocks = [
        header(f"{sign} {day_name(day)} 요약 · {count}"),
        *paragraph(_subject(day, about), _counts(about)),
        *(block for one in require_started for block in paragraph(*_entry(one, about))),
        *(paragraph(*map(resolved_line, ended)) if ended else []),
        *_going_on(others, about),
        *paragraph([bold("핵심 지표")]),
        *bullets([kpi_line(kpi) for kpi in about.kpis.values()]),
        *paragraph(_where(about)),
        *_examples(require_started, about),
        _footer(about),
    ]
    text = fallback(f"{sign} {day_name(day)} 요약", count, *(headline(one) for one in (*require_started, *ended)))
    return messages("digest", level, [incident_key(one) for one in news], text, blocks)


def _subject(day: date, about: DayContext) -> Line:
    provisional = " 지금까지, 잠정 집계" if about.kind == "intraday" else ""
    return [plain(f"{day_name(day)}{provisional} · {about.rubric.title}")]


def _counts(about: DayContext) -> Line:
    counts = about.counts
    parts = [f"채점 {counts.scored:,}건", f"제외 {counts.excluded:,}건", f"거부 {counts.rejected:,}건"]
    return [plain(f"읽은 행 {counts.rows_in:,}건 = {' + '.join(parts)}")]


def _figure_lines(one: Incident, incidents: Sequence[Incident], about: DayContext) -> Iterator[Line]:
    """How many of how many; for all tenants together also who they are, where there are several."""
    tenant = one.fact.tenant_id
    if tenant != ALL_TENANTS:
        yield [bold(f"{tenant_name(tenant)}  "), *fact_figures(one.fact, about.rubric)]
        return
    yield fact_figures(one.fact, about.rubric)
    same = (other.fact for other in incidents if other.fact.rule == one.fact.rule and other.fires)
    shares = sorted(
        (fact for fact in same if fact.tenant_id != ALL_TENANTS and fact.count), key=lambda fact: -(fact.count or 0)
    )
    if len(shares) > 1:
        named = ", ".join(f"{tenant_name(fact.tenant_id)} {fact.count:,}건" for fact in shares[:_TENANTS_SHOWN])
        more = f" 외 {len(shares) - _TENANTS_SHOWN}곳" if len(shares) > _TENANTS_SHOWN else ""
        yield [plain(named + more)]


def _entry(one: Incident, about: DayContext) -> Iterator[Line]:
    """A new incident within a digest."""
    yield [bold(f"{level_mark(one.fact.level)} · {_rule_name([one])}")]
    yield fact_figures(one.fact, about.rubric)
    yield [plain(f"{since(one)} · "), *action(one, about.rubric)]


def _going_on(others: Sequence[Incident], about: DayContext) -> list[Block]:
    paged = [one for one in others if one.pages]
    same = [one for one in others if not one.pages]
    lines: list[Line] = []
    if paged:
        lines.append([bold("따로 알림  "), plain(brief(paged, about.rubric))])
    if same:
        lines.append([bold("계속  "), plain(brief(same, about.rubric))])
    return paragraph(*lines) if lines else []


def _where(about: DayContext) -> Line:
    return [bold("보고서  "), link(about.report_url, "열기") if about.report_url else code(about.report)]


def _examples(found: Sequence[Incident], about: DayContext) -> list[Block]:
    """The worst rows of the first incidents, five at most."""
    ids = dict.fromkeys(row_id for one in found if one.fires for row_id in one.fact.row_ids)
    shown = [about.examples[row_id] for row_id in ids if row_id in about.examples][:EXAMPLES]
    if not shown:
        return []
    hint: Line = [bold("예시  "), plain("규칙별 점수 보기: "), code("aqb rows <행 id>")]
    return [*paragraph(hint), *bullets([example_lines(example) for example in shown])]


def _footer(about: DayContext) -> Block:
    return context(f"{about.rubric.id} {about.rubric.version} · 실행 {about.run_id}")
