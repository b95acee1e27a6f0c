"""Closes pages whose end no digest reports: each page has one end.

The digest of a day reports that an incident ended (scoring/alerting/day_messages.py). An incident whose day was scored
again has, according to its rows, never begun: rows came late, were corrected, or half a day paged. Every night decides
anew on its last days, so that a rise may also be none any more because of other days, settings or decisions of people:
what a route was told says which pages are left open. Source: SPEC 8.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from scoring.alerting.blocks import bold, bullets, context, paragraph, plain
from scoring.alerting.decision import RateDecision
from scoring.alerting.endings import ends
from scoring.alerting.facts import titles_of_rules
from scoring.alerting.messages import DayDigest, Message, NamedFact, fact_key, level_mark, messages, named_facts
from scoring.alerting.rates import REFERENCE_DAYS
from scoring.alerting.wording import RESOLVED_SIGN, named_rule, rate_text, report_line
from scoring.chat.kpis import rows_of_tenant
from scoring.chat.rubric import NO_ROWS
from scoring.days import day_text


class _Ending(NamedTuple):
    """A reason to close pages: title and text of the message, the `pages` that it closes, and the `figures` of each."""

    title: tuple[str, str]
    what: str
    pages: Callable[[Sequence[NamedFact], DayDigest], list[NamedFact]]
    figures: Callable[[NamedFact, DayDigest], str]


def closed_pages(digest: DayDigest, page_keys: Collection[str], known_keys: Collection[str]) -> list[Message]:
    """The messages that close a route's pages (their keys): those that are withdrawn, outdated, or left open.

    `known_keys` include those of the other messages of this night. An intraday run closes none: the result of half a
    day may change again.
    """
    found: list[Message] = []
    known = named_facts(known_keys)
    pages = [one for one in named_facts(page_keys) if one.rubric == digest.rubric.id and not one.is_over]
    for ending in _ENDINGS if digest.kind == "nightly" else ():
        left = [one for one in pages if not any(ends(fact, one) for fact in known)]
        if closed := ending.pages(left, digest):
            of_ending = _closing(closed, ending, digest)
            known += named_facts(key for message in of_ending for key in message.keys)
            found += of_ending
    return found


def _closing(pages: Sequence[NamedFact], ending: _Ending, digest: DayDigest) -> list[Message]:
    """The single message that closes these pages."""
    rubric, titles = digest.rubric, titles_of_rules(digest.rubric)
    lines = dict.fromkeys(
        (named_rule(titles.get(one.rule, one.rule), one.tenant_id), ending.figures(one, digest)) for one in pages
    )
    blocks = [
        *paragraph([plain(ending.what)]),
        *bullets([[bold(name), plain(f" — {figures}")] for name, figures in lines]),
        *paragraph(report_line(digest.report, digest.report_url)),
        context(f"{rubric.id} 버전 {rubric.version}", digest.run_id),
    ]
    keys = [fact_key(rubric.id, rubric.version, one.rule, one.day, one.tenant_id, resolved=True) for one in pages]
    sign, what = ending.title
    (first, _), more = next(iter(lines)), f" 외 {len(lines) - 1}건" if len(lines) > 1 else ""
    title = (sign, what.format(day=day_text(pages[0].day)), first + more)
    return messages("all_clear", "info", keys, title, blocks, [rubric.title])


def _withdrawn(pages: Sequence[NamedFact], digest: DayDigest) -> list[NamedFact]:
    """Pages of the last days that the current rows of these days do not support."""
    titles = titles_of_rules(digest.rubric)
    return [one for one in pages if one.rule in titles and one.day in digest.lately and not _stands(one, digest)]


def _outdated(pages: Sequence[NamedFact], digest: DayDigest) -> list[NamedFact]:
    """Pages whose rise was open when the rubric's version changed.

    Another version counts differently, so that no later day tells that their rates are back. Of a rule that it lacks
    nothing tells either whether the rise was still open.
    """
    titles = titles_of_rules(digest.rubric)
    was_open = [one for one in pages if (_was_open if one.rule in titles else _is_of_lost_rule)(one, digest)]
    return [one for one in was_open if (today := _decided(one, digest)) is None or today.change is None]


def _left_open(pages: Sequence[NamedFact], digest: DayDigest) -> list[NamedFact]:
    """Pages about days of the history of which no rule is risen any more.

    A rule that is above its usual range has to wait, and so has a tenant without rows for less than four weeks.
    """
    titles = titles_of_rules(digest.rubric)
    known = [one for one in pages if one.rule in titles and one.day in digest.kpis and one.day < digest.day]
    risen = {(one.tenant_id, one.day) for one in known if (today := _decided(one, digest)) and today.has_risen}
    return [one for one in known if (one.tenant_id, one.day) not in risen and _is_usual(one, digest)]


def _decided(page: NamedFact, digest: DayDigest) -> RateDecision | None:
    """What is decided about the rule of a page on this day."""
    return digest.lately.get(digest.day, {}).get((page.rule, page.tenant_id))


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
    today = _decided(page, digest)
    return today is None or today.count <= today.rows * today.usual.high


def _figures_now(page: NamedFact, digest: DayDigest) -> str:
    """The current figures of the day of a page."""
    decided, day = digest.lately[page.day], day_text(page.day)
    if page.rule == NO_ROWS:
        return f"{day}에 {max(one.rows for one in decided.values()):,}행이 들어와 있음"
    if (one := decided.get((page.rule, page.tenant_id))) is None:
        return f"{day}에는 해당하는 행이 없음"
    return f"{day}은 {rate_text(one.count, one.rows)}으로 평소 범위"


def _figures_of_version(page: NamedFact, digest: DayDigest) -> str:
    """The figures of this day under the new version."""
    day = day_text(digest.day)
    if today := _decided(page, digest):
        return f"{day}은 {rate_text(today.count, today.rows)}"
    return f"{day}에는 없음" if page.rule in titles_of_rules(digest.rubric) else "이 버전에는 없는 규칙"


def _figures_today(page: NamedFact, digest: DayDigest) -> str:
    """The figures of this day beside the usual rate."""
    day, row = day_text(digest.day), rows_of_tenant(digest.kpis, page.tenant_id).get(digest.day)
    if row is None:
        return f"{REFERENCE_DAYS}일 동안 행이 하나도 없음"
    if page.rule == NO_ROWS:
        return f"{day}에 {row['rows']:,}행이 들어옴"
    today = _decided(page, digest)
    return f"{day}은 {rate_text(today.count, today.rows, today.usual)}" if today else f"{day}에는 해당하는 행이 없음"


_ENDINGS = (
    _Ending(
        (f"{RESOLVED_SIGN} 해소", "{day} 긴급 알림을 거둠"),
        "다시 채점해 보니 앞서 보낸 긴급 알림과 다릅니다. 이 일로 더 할 일은 없습니다.",
        _withdrawn,
        _figures_now,
    ),
    _Ending(
        (level_mark("info"), "채점 기준이 바뀌어 긴급 알림을 마침"),
        "채점 기준의 버전이 바뀌어, 앞 버전으로 알린 것이 돌아왔는지는 더 따지지 않습니다. "
        "이 버전에서 평소를 벗어나면 새로 알립니다.",
        _outdated,
        _figures_of_version,
    ),
    _Ending(
        (level_mark("info"), "긴급 알림을 마침"),
        "앞서 긴급 알림을 보낸 아래 규칙을 이제 오른 것으로 보지 않아 알림을 마칩니다. "
        "평소로 보는 수준이 그사이 달라졌을 수 있으니 아래 수치를 보세요.",
        _left_open,
        _figures_today,
    ),
)
