"""Closes pages whose end no digest reports: each page has one end.

The digest of a day reports that an incident ended (scoring/alerting/day_messages.py). An incident whose day was scored
again has, according to its rows, never begun: rows came late, were corrected, or half a day paged. Every night decides
anew on its last days, so that a rise may also be none any more because of other days, settings or decisions of people:
what a route was told says which pages are left open. Source: SPEC 8.
"""

from collections.abc import Collection, Sequence

from scoring.alerting.blocks import bold, bullets, context, paragraph, plain
from scoring.alerting.endings import ends
from scoring.alerting.facts import titles_of_rules
from scoring.alerting.messages import DayDigest, Message, NamedFact, fact_key, level_mark, messages, named_facts
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.watch import RuleOfTenant
from scoring.alerting.wording import RESOLVED_SIGN, named_rule, report_line
from scoring.chat.kpis import rows_of_tenant
from scoring.chat.rubric import NO_ROWS
from scoring.days import day_text
from scoring.markdown import percent


def closed_pages(digest: DayDigest, page_keys: Collection[str], known_keys: Collection[str]) -> list[Message]:
    """The messages that close a route's pages (their keys): those that are withdrawn, outdated, or left open.

    `known_keys` include those of the other messages of this night. An intraday run closes none: the result of half a
    day may change again.
    """
    found: list[Message] = []
    for closed in (withdrawn_pages, outdated_pages, left_pages) if digest.kind == "nightly" else ():
        found += closed(digest, page_keys, [*known_keys, *(key for message in found for key in message.keys)])
    return found


def withdrawn_pages(digest: DayDigest, page_keys: Collection[str], known_keys: Collection[str]) -> list[Message]:
    """The single message that withdraws a route's pages (their keys) of the last days; none if there are none."""
    known, titles = named_facts(known_keys), titles_of_rules(digest.rubric)
    found = [
        one
        for one in named_facts(page_keys)
        if one.rubric == digest.rubric.id and one.rule in titles and one.day in digest.lately and not one.is_over
        if not _stands(one, digest) and not any(ends(other, one) for other in known)
    ]
    if not found:
        return []
    lines = [((one.rule, one.tenant_id), _now(one, digest)) for one in found]
    title = (f"{RESOLVED_SIGN} 해소", f"{day_text(found[0].day)} 긴급 알림을 거둠")
    what = "다시 채점해 보니 앞서 보낸 긴급 알림과 다릅니다. 이 일로 더 할 일은 없습니다."
    return _closing(found, digest, title, what, lines)


def left_pages(digest: DayDigest, page_keys: Collection[str], known_keys: Collection[str]) -> list[Message]:
    """The single message about a route's pages (their keys) that are left open though no rule of theirs is risen any
    more; none if there are none. `known_keys` include those of the other messages of this night.

    A rule that is above its usual range has to wait, and so has a tenant without rows for less than four weeks. Only
    pages about days of the history are looked at.
    """
    known, titles, now = named_facts(known_keys), titles_of_rules(digest.rubric), digest.lately.get(digest.day, {})
    pages = [
        one
        for one in named_facts(page_keys)
        if one.rubric == digest.rubric.id and one.rule in titles and one.day in digest.kpis and one.day < digest.day
        if not one.is_over and not any(ends(other, one) for other in known)
    ]
    risen = {
        (one.tenant_id, one.day) for one in pages if (today := now.get((one.rule, one.tenant_id))) and today.has_risen
    }
    found = [one for one in pages if (one.tenant_id, one.day) not in risen and _is_usual(one, digest)]
    if not found:
        return []
    lines = {(one.rule, one.tenant_id): _today(one, digest) for one in found}
    what = (
        "앞서 긴급 알림을 보낸 아래 규칙을 이제 오른 것으로 보지 않아 알림을 마칩니다. "
        "평소로 보는 수준이 그사이 달라졌을 수 있으니 아래 수치를 보세요."
    )
    return _closing(found, digest, (level_mark("info"), "긴급 알림을 마침"), what, [*lines.items()])


def outdated_pages(digest: DayDigest, page_keys: Collection[str], known_keys: Collection[str]) -> list[Message]:
    """The single message about a route's pages (their keys) whose rise was open when the rubric's version changed; none
    if there are none.

    Another version counts differently, so that no later day tells that their rates are back. Of a rule that it lacks
    nothing tells either whether the rise was still open.
    """
    known, titles, now = named_facts(known_keys), titles_of_rules(digest.rubric), digest.lately.get(digest.day, {})
    found = [
        one
        for one in named_facts(page_keys)
        if one.rubric == digest.rubric.id and not one.is_over
        if (_was_open(one, digest) if one.rule in titles else _is_of_lost_rule(one, digest))
        if not any(ends(other, one) for other in known)
    ]
    decided = {(one.rule, one.tenant_id): now.get((one.rule, one.tenant_id)) for one in found}
    over = {rule: today for rule, today in decided.items() if today is None or today.change is None}
    if not over:
        return []
    day = day_text(digest.day)
    lines = {
        (rule, tenant): f"{day}은 {today.count:,}/{today.rows:,}건({percent(today.count / today.rows)})"
        if today
        else (f"{day}에는 없음" if rule in titles else "이 버전에는 없는 규칙")
        for (rule, tenant), today in over.items()
    }
    what = (
        "채점 기준의 버전이 바뀌어, 앞 버전으로 알린 것이 돌아왔는지는 더 따지지 않습니다. "
        "이 버전에서 평소를 벗어나면 새로 알립니다."
    )
    pages = [one for one in found if (one.rule, one.tenant_id) in over]
    title = (level_mark("info"), "채점 기준이 바뀌어 긴급 알림을 마침")
    return _closing(pages, digest, title, what, [*lines.items()])


def _closing(
    pages: Sequence[NamedFact],
    digest: DayDigest,
    title: tuple[str, str],
    what: str,
    lines: Sequence[tuple[RuleOfTenant, str]],
) -> list[Message]:
    """The message that closes these pages: `what` has happened, and the `lines` of their rules."""
    rubric, titles = digest.rubric, titles_of_rules(digest.rubric)
    names = [named_rule(titles.get(rule, rule), tenant) for (rule, tenant), _ in lines]
    blocks = [
        *paragraph([plain(what)]),
        *bullets([[bold(name), plain(f" — {line}")] for name, (_, line) in zip(names, lines, strict=True)]),
        *paragraph(report_line(digest.report, digest.report_url)),
        context(f"{rubric.id} 버전 {rubric.version}", digest.run_id),
    ]
    keys = [fact_key(rubric.id, rubric.version, one.rule, one.day, one.tenant_id, resolved=True) for one in pages]
    more = f" 외 {len(names) - 1}건" if len(names) > 1 else ""
    return messages("all_clear", "info", keys, (*title, names[0] + more), blocks, [rubric.title])


def _was_open(page: NamedFact, digest: DayDigest) -> bool:
    """Whether the rise that paged went on to the last day of the version before."""
    last = digest.of_version_before.get((page.rule, page.tenant_id))
    return bool(last and last.has_risen and not last.settles and last.since and last.since <= page.day)


def _is_of_lost_rule(page: NamedFact, digest: DayDigest) -> bool:
    """Whether a page of a rule that the rubric lacks is recent enough to be open, and its version has just begun."""
    return bool(digest.of_version_before) and 0 < (digest.day - page.day).days <= REFERENCE_DAYS


def _stands(page: NamedFact, digest: DayDigest) -> bool:
    """Whether its day, or a later one, still supports it, or a digest reports its end."""
    rule_of_tenant = page.rule, page.tenant_id
    since = [decided for day, decided in digest.lately.items() if day >= page.day]
    if page.rule == NO_ROWS:
        is_so = not all(since)
    else:
        is_so = any(decided[rule_of_tenant].has_risen for decided in since if rule_of_tenant in decided)
    over = (one for one in digest.incidents if one.is_over and (one.fact.rule, one.fact.tenant_id) == rule_of_tenant)
    return is_so or any(one.since <= page.day for one in over) or _is_new(page, digest)


def _is_new(page: NamedFact, digest: DayDigest) -> bool:
    """Whether rows met the rule on its day, and none on the days before: such a rule is part of a page though its rate
    is not improbable.
    """
    met = {day: row.get(f"alert_{page.rule}") for day, row in rows_of_tenant(digest.kpis, page.tenant_id).items()}
    before = sorted(day for day in met if day < page.day)[-REFERENCE_DAYS:]
    return bool(met.get(page.day)) and not any(met[day] for day in before)


def _is_usual(page: NamedFact, digest: DayDigest) -> bool:
    """Whether the rule of a page is within its usual range on this day, or its tenant has no rows for four weeks. A day
    on which no row was scored tells nothing of a rate.
    """
    rows = rows_of_tenant(digest.kpis, page.tenant_id)
    if digest.day not in rows:
        return not any(day in rows for day in sorted(digest.kpis)[-REFERENCE_DAYS:])
    if page.rule == NO_ROWS or not rows[digest.day]["rows"]:
        return bool(rows[digest.day]["rows"])
    today = digest.lately.get(digest.day, {}).get((page.rule, page.tenant_id))
    return today is None or today.count <= today.rows * today.usual.high


def _today(page: NamedFact, digest: DayDigest) -> str:
    """The figures of this day."""
    day, row = day_text(digest.day), rows_of_tenant(digest.kpis, page.tenant_id).get(digest.day)
    if row is None:
        return f"{REFERENCE_DAYS}일 동안 행이 하나도 없음"
    if page.rule == NO_ROWS:
        return f"{day}에 {row['rows']:,}행이 들어옴"
    today = digest.lately[digest.day].get((page.rule, page.tenant_id))
    if today is None:
        return f"{day}에는 해당하는 행이 없음"
    share, usual = percent(today.count / today.rows), percent(today.usual.rate)
    return f"{day}은 {today.count:,}/{today.rows:,}건({share}, 평소 {usual})"


def _now(page: NamedFact, digest: DayDigest) -> str:
    """The current figures of the day."""
    decided, day = digest.lately[page.day], day_text(page.day)
    if page.rule == NO_ROWS:
        return f"{day}에 {max(one.rows for one in decided.values()):,}행이 들어와 있음"
    if (one := decided.get((page.rule, page.tenant_id))) is None:
        return f"{day}에는 해당하는 행이 없음"
    return f"{day}은 {one.count:,}/{one.rows:,}건({percent(one.count / one.rows)})으로 평소 범위"
