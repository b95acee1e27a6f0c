"""The texts of the messages about a scored day: a page, and the digest.

Every message has this order: level and title; count, rows and the usual rate; since when; what to do and where to look;
up to five examples; the run. Source: SPEC 8; seed 002, 10.1 and 10.2.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from scoring.alerting.blocks import Block, Line, bold, bullets, context, link, paragraph, plain
from scoring.alerting.decision import likely_cause
from scoring.alerting.endings import incident_key
from scoring.alerting.facts import VANISHED_TITLE
from scoring.alerting.growth_wording import example_blocks, growth_lines, headline_growth, tenant_name
from scoring.alerting.incidents import Incident
from scoring.alerting.messages import (
    LEVEL_SIGNS,
    DayDigest,
    Message,
    MessageLevel,
    NamedFact,
    level_mark,
    messages,
)
from scoring.alerting.wording import (
    RESOLVED_SIGN,
    STATE_NAMES,
    TENANTS_SHOWN,
    action,
    back_line,
    brief,
    brief_figure,
    ended_line,
    fact_figures,
    headline,
    if_known,
    is_above_usual,
    kpi_line,
    report_line,
    since,
    tenants_text,
)
from scoring.chat.kpi_figures import kpi_figure
from scoring.chat.kpi_windows import wider_figure
from scoring.chat.kpis import ALL_TENANTS, KpiRow, rows_of_tenant, scored_and_excluded
from scoring.chat.rubric import FEW_ROWS
from scoring.days import day_text

_FIRST_DAY = (
    "처음 채점한 날이라 비교할 평소가 없습니다. 새로 나타남은 평소보다 많다는 뜻이 아니고, "
    "이날의 수치는 다음 날부터 비교할 기준입니다."
)


def rows_above_usual(one: Incident) -> float:
    """The number of rows above usual that met a rule today."""
    return (one.fact.count or 0) - _usual_rows(one) if one.fires else 0.0


def _usual_rows(one: Incident) -> float:
    """The number of rows that usually meet a rule on a day like today."""
    return one.fact.rows * one.usual.rate if one.usual else 0.0


def _cause(found: Sequence[Incident]) -> Incident:
    """The rule that is likely to be the cause of the first one."""
    rates = [found[0], *(one for one in found[1:] if one.pages and one.usual)]
    return rates[likely_cause([(one.fact.count or 0, _usual_rows(one)) for one in rates])]


def page_messages(
    event: Sequence[Sequence[Incident]], digest: DayDigest, whole: Sequence[Incident], of_all: Sequence[Incident]
) -> list[Message]:
    """One page for rules with one cause, each for all tenants together or for the affected ones, with the `whole` that
    rose with them, and the open rises `of_all` tenants together: the headline does not blame a tenant for these.

    The action is given once, for the rule that is likely to be the cause of the others.
    """
    found, rubric = [one for rule in event for one in rule], digest.rubric
    others = [one for one in of_all if one not in found]
    also = next((f"전체도 {day_text(one.since)}부터 오름" for one in others if one.fact.rule == found[0].fact.rule), "")
    level = found[0].fact.level
    what = _rule_name(event[0]) + (f" · 외 {len(event) - 1}가지" if len(event) > 1 else "")
    to_do: list[Line] = [
        *growth_lines(found, rubric),
        [bold("언제부터  "), plain(since(found[0]))],
        [bold("할 일  "), *action(_cause(found), rubric)],
        *if_known(found[0]),
    ]
    blocks = [
        *paragraph(_subject(digest), *_few_rows(digest)),
        *(
            block
            for rule in event
            for block in paragraph(*_rule_lines(rule, digest, [*whole, *others], named=len(event) > 1))
        ),
        *paragraph(*to_do),
        *paragraph(report_line(digest.report, digest.report_url)),
        *example_blocks(found, digest, of_one_cause=True),
        _footer(digest),
    ]
    title = list(filter(None, (level_mark(level), what, also, headline_growth(found, rubric))))
    details = (day_text(digest.day), rubric.title)
    return messages("page", level, list(map(incident_key, found)), title, blocks, details)


def _few_rows(digest: DayDigest) -> Iterator[Line]:
    """That most rows of the day may be missing: its rates are those of the others. A day in progress always has few."""
    for one in digest.incidents if digest.kind == "nightly" else ():
        if one.fact.rule == FEW_ROWS and one.fact.tenant_id == ALL_TENANTS and one.fires:
            yield [bold(f"{one.fact.title}  "), *fact_figures(one), plain(" · 아래 비율은 들어온 행만의 것입니다.")]


def _rule_name(rule: Sequence[Incident]) -> str:
    """The title of what happened: for all tenants together, for one, or for several tenants individually."""
    first = rule[0]
    if first.fact.tenant_id == ALL_TENANTS:
        return headline(first)
    if len(rule) == 1:
        return f"{headline(first)} ({tenant_name(first.fact.tenant_id)})"
    count, rows = sum(one.fact.count or 0 for one in rule), sum(one.fact.rows for one in rule)
    return f"{first.fact.title} · 테넌트 {len(rule)}곳이 평소를 벗어남, {count:,}/{rows:,}건"


def _rule_lines(
    rule: Sequence[Incident], digest: DayDigest, whole: Sequence[Incident], *, named: bool
) -> Iterator[Line]:
    """The figures of one rule, with its name if the header names another rule."""
    if named:
        yield [bold(_rule_name(rule))]
    for one in rule:
        yield from _figure_lines(one, digest)
    for one in whole:
        if one.fact.rule == rule[0].fact.rule:
            yield [bold(f"{tenant_name(ALL_TENANTS)}  "), *_figures(one, digest)]


def digest_messages(
    news: Sequence[Incident],
    back: Sequence[NamedFact],
    apart: Sequence[Incident],
    same: Sequence[Incident],
    digest: DayDigest,
    snoozed: Sequence[Line],
    tenants: Sequence[str | None],
    keys: Sequence[str],
) -> list[Message]:
    """The digest: everything that is new on a day, one line each for what is `back` together with it, for what pages
    reported (`apart`) and for what continues (`same`), snoozed rules, and the rows and KPIs of these `tenants`.
    """
    started, ended = [one for one in news if not one.is_over], [one for one in news if one.is_over]
    baseline = any(_is_baseline(one, digest) for one in started)
    resolved, settled = ([one for one in ended if one.state == state] for state in ("resolved", "settled"))
    level: MessageLevel = started[0].fact.level if started else "info"
    sign = RESOLVED_SIGN if len(resolved) == len(news) else LEVEL_SIGNS[level]
    of_tenant = any(one.fact.tenant_id != ALL_TENANTS for one in (*news, *apart, *same))
    counted = (("새로 볼 것", started), (STATE_NAMES["resolved"], resolved), (STATE_NAMES["settled"], settled))
    counts = [f"{what} {len(of)}건" for what, of in counted if of]
    count = " · ".join([*(["첫날"] if baseline else []), *counts])
    others, decided = len(tenants) - TENANTS_SHOWN, digest.lately.get(digest.day, {})
    back_lines = [back_line(one, digest.rubric, decided.get((one.rule, one.tenant_id))) for one in back]
    (shown, more), (shown_ended, more_ended), (same, more_same) = map(_with_most_rows, (started, ended, same))
    blocks = [
        *paragraph(_subject(digest), *([_counts(digest)] if tenants == [ALL_TENANTS] else [])),
        *(paragraph([bold("첫날  "), plain(_FIRST_DAY)]) if baseline else []),
        *(block for one in shown for block in paragraph(*_entry(one, digest))),
        *paragraph(*more),
        *paragraph(*map(ended_line, shown_ended), *more_ended, *back_lines),
        *paragraph(*_going_on(apart, same), *more_same),
        *paragraph(*snoozed),
        *(block for tenant in tenants[:TENANTS_SHOWN] for block in _kpis(digest, tenant, named=of_tenant)),
        *(paragraph([plain(f"다른 테넌트 {others}곳의 핵심 지표는 보고서에 있습니다.")]) if others > 0 else []),
        *paragraph(report_line(digest.report, digest.report_url)),
        *example_blocks(started, digest, apart),
        _footer(digest),
    ]
    title = (f"{sign} {day_text(digest.day)} 요약", count)
    details = (_rule_name([one]) for one in (*shown, *shown_ended))
    return messages("digest", level, keys, title, blocks, details)


def _is_baseline(one: Incident, digest: DayDigest) -> bool:
    """Whether it is new only because its day is the first of the rubric version: there is no usual rate to judge it by.

    One that is improbable under what the rubric knows is not: it has `reported_on`.
    """
    is_first = [*digest.lately] == [digest.day]
    has_rate = one.usual is not None or one.figure is not None
    return is_first and has_rate and one.state == "new" and one.reported_on is None


def _with_most_rows(found: Sequence[Incident]) -> tuple[Sequence[Incident], list[Line]]:
    """The incidents, of vanished tenants the few with the most rows alone, and how many others there are."""
    vanished = sorted((one for one in found if one.is_of_vanished), key=lambda one: -median(one.fact.usual))
    more = {one.fact.tenant_id for one in vanished[TENANTS_SHOWN:]}
    shown = [one for one in found if not (one.is_of_vanished and one.fact.tenant_id in more)]
    return shown, [[plain(f"{VANISHED_TITLE}: 그 밖의 테넌트 {len(more):,}곳")]] if more else []


def _subject(digest: DayDigest) -> Line:
    provisional = " 지금까지, 잠정 집계" if digest.kind == "intraday" else ""
    return [plain(f"{day_text(digest.day)}{provisional} · {digest.rubric.title}")]


def _counts(digest: DayDigest) -> Line:
    """The rows of the day; the tenant of a rejected row is unknown."""
    row = rows_of_tenant(digest.kpis)[digest.day]
    parts = [_scored(row), f"거부 {digest.rejected:,}건"]
    return [plain(f"읽은 행 {scored_and_excluded(row) + digest.rejected:,}건 = {' + '.join(parts)}")]


def _scored(row: KpiRow) -> str:
    return f"채점 {row['rows']:,}건 + 제외 {row['excluded']:,}건"


def _kpis(digest: DayDigest, tenant: str | None, *, named: bool) -> list[Block]:
    """The KPIs of all tenants together, labelled as such (`named`) if the message also reports one of them; or the KPIs
    and rows of one tenant.
    """
    kpis = rows_of_tenant(digest.kpis, tenant)
    title = bold(f"핵심 지표({tenant_name(tenant)})" if named or tenant != ALL_TENANTS else "핵심 지표")
    row = kpis.get(digest.day)
    if row is None:
        return paragraph([title, plain("  이날은 행이 없음")])
    counts = [plain(f"  {_scored(row)}")] if tenant != ALL_TENANTS else []
    figures = ((kpi_figure(kpi, row), wider_figure(kpi, kpis, digest.day)) for kpi in digest.rubric.targeted)
    return [*paragraph([title, *counts]), *bullets([kpi_line(*of_kpi) for of_kpi in figures])]


def _figure_lines(one: Incident, digest: DayDigest) -> Iterator[Line]:
    """Count and rows; for all tenants together also those above their usual rate, if there are several tenants: the one
    with the most rows above it first.
    """
    tenant = one.fact.tenant_id
    if tenant != ALL_TENANTS:
        yield [bold(f"{tenant_name(tenant)}  "), *_figures(one, digest)]
        return
    yield _figures(one, digest)
    tenants = [other for other in digest.incidents if other.fact.rule == one.fact.rule and other.fact.count]
    tenants = [other for other in tenants if other.fact.tenant_id != ALL_TENANTS and other.fires]
    shares = sorted(
        (other for other in tenants if rows_above_usual(other) > 0), key=lambda other: -rows_above_usual(other)
    )
    if len(tenants) > 1 and shares:
        shown = shares[:TENANTS_SHOWN]
        named = [f"{tenant_name(other.fact.tenant_id)} {brief_figure(other)}" for other in shown]
        more = f" 외 {len(shares) - TENANTS_SHOWN}곳" if len(shares) > TENANTS_SHOWN else ""
        yield [plain(" · ".join(named) + more)]


def _figures(one: Incident, digest: DayDigest) -> Line:
    """Count and rows, with a link to the list of these rows."""
    url = digest.rows_urls.get((one.fact.rule, one.fact.tenant_id), "")
    return [*fact_figures(one), *([plain(" · "), link(url, "행 보기")] if url else [])]


def _entry(one: Incident, digest: DayDigest) -> Iterator[Line]:
    """A new incident within a digest."""
    yield [bold(f"{level_mark(one.fact.level)} · {_rule_name([one])}")]
    yield _figures(one, digest)
    yield from ([[plain(tenants_text(one.of_tenants))]] if one.of_tenants else [])
    yield from growth_lines([one], digest.rubric)
    yield [plain(f"{since(one)} · "), *action(one, digest.rubric)]


def _going_on(apart: Sequence[Incident], same: Sequence[Incident]) -> list[Line]:
    rates, others = ([one for one in same if (one.usual is not None) is has_rate] for has_rate in (True, False))
    high, usual = ([one for one in rates if is_above_usual(one) is above] for above in (True, False))
    still, unreported = ([one for one in high if (one.reported_on is not None) is yes] for yes in (True, False))
    named = (
        ("긴급 알림", apart),
        ("아직 평소보다 많음", still),
        ("평소 범위보다 많음", unreported),
        ("평소 수준", usual),
        ("계속", others),
    )
    return [[bold(f"{title}  "), plain(brief(of))] for title, of in named if of]


def _footer(digest: DayDigest) -> Block:
    return context(f"{digest.rubric.id} 버전 {digest.rubric.version}", digest.run_id)
