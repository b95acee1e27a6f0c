"""Withdraws pages that the rows of their day no longer support: rows came late, were corrected, or half a day paged.

The digest of a day reports that an incident ended (scoring/alerting/day_messages.py). An incident whose day was scored
again has, according to its rows, never begun, so no digest would report its end. Source: SPEC 8.
"""

from collections.abc import Collection

from scoring.alerting.blocks import bold, bullets, context, paragraph, plain
from scoring.alerting.endings import ends
from scoring.alerting.facts import titles_of_rules
from scoring.alerting.messages import DayDigest, Message, NamedFact, fact_key, level_mark, messages, named_facts
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.wording import RESOLVED_SIGN, named_rule, report_line
from scoring.chat.kpis import rows_of_tenant
from scoring.chat.rubric import NO_ROWS
from scoring.days import day_text
from scoring.markdown import percent


def withdrawn_pages(digest: DayDigest, page_keys: Collection[str], known_keys: Collection[str]) -> list[Message]:
    """The single message that withdraws a route's pages (their keys) of the last days; none if there are none.

    An intraday run sends none: the result of half a day may change again.
    """
    if digest.kind == "intraday":
        return []
    known, titles = named_facts(known_keys), titles_of_rules(digest.rubric)
    found = [
        one
        for one in named_facts(page_keys)
        if one.rubric == digest.rubric.id and one.rule in titles and one.day in digest.lately and not one.is_over
        if not _stands(one, digest) and not any(ends(other, one) for other in known)
    ]
    if not found:
        return []
    names = [named_rule(titles[one.rule], one.tenant_id) for one in found]
    lines = [[bold(name), plain(f" — {_now(one, digest)}")] for name, one in zip(names, found, strict=True)]
    blocks = [
        *paragraph([plain("다시 채점해 보니 앞서 보낸 긴급 알림과 다릅니다. 이 일로 더 할 일은 없습니다.")]),
        *bullets(lines),
        *paragraph(report_line(digest.report, digest.report_url)),
        context(f"{digest.rubric.id} 버전 {digest.rubric.version}", digest.run_id),
    ]
    rubric = digest.rubric
    keys = [fact_key(rubric.id, rubric.version, one.rule, one.day, one.tenant_id, resolved=True) for one in found]
    more = f" 외 {len(found) - 1}건" if len(found) > 1 else ""
    title = (f"{RESOLVED_SIGN} 해소", f"{day_text(found[0].day)} 긴급 알림을 거둠", names[0] + more)
    return messages("all_clear", "info", keys, title, blocks, [rubric.title])


def outdated_pages(digest: DayDigest, page_keys: Collection[str], known_keys: Collection[str]) -> list[Message]:
    """The single message about a route's pages (their keys) whose rise was open when the rubric's version changed; none
    if there are none.

    Another version counts differently, so that no later day tells that their rates are back. Of a rule that it lacks
    nothing tells either whether the rise was still open.
    """
    if digest.kind == "intraday":
        return []
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
    rubric, day = digest.rubric, day_text(digest.day)
    names = [named_rule(titles.get(rule, rule), tenant) for rule, tenant in over]
    figures = [
        f"{day}은 {today.count:,}/{today.rows:,}건({percent(today.count / today.rows)})"
        if today
        else (f"{day}에는 없음" if rule in titles else "이 버전에는 없는 규칙")
        for (rule, _), today in over.items()
    ]
    what = (
        "채점 기준의 버전이 바뀌어, 앞 버전으로 알린 것이 돌아왔는지는 더 따지지 않습니다. "
        "이 버전에서 평소를 벗어나면 새로 알립니다."
    )
    blocks = [
        *paragraph([plain(what)]),
        *bullets([[bold(name), plain(f" — {figure}")] for name, figure in zip(names, figures, strict=True)]),
        *paragraph(report_line(digest.report, digest.report_url)),
        context(f"{rubric.id} 버전 {rubric.version}", digest.run_id),
    ]
    pages = [one for one in found if (one.rule, one.tenant_id) in over]
    keys = [fact_key(rubric.id, rubric.version, one.rule, one.day, one.tenant_id, resolved=True) for one in pages]
    more = f" 외 {len(names) - 1}건" if len(names) > 1 else ""
    title = (level_mark("info"), "채점 기준이 바뀌어 긴급 알림을 마침", names[0] + more)
    return messages("all_clear", "info", keys, title, blocks, [rubric.title])


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


def _now(page: NamedFact, digest: DayDigest) -> str:
    """The current figures of the day."""
    decided, day = digest.lately[page.day], day_text(page.day)
    if page.rule == NO_ROWS:
        return f"{day}에 {max(one.rows for one in decided.values()):,}행이 들어와 있음"
    if (one := decided.get((page.rule, page.tenant_id))) is None:
        return f"{day}에는 해당하는 행이 없음"
    return f"{day}은 {one.count:,}/{one.rows:,}건({percent(one.count / one.rows)})으로 평소 범위"
