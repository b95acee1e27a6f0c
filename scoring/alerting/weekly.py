"""The message on Mondays: the KPIs of a week compared with the week before, and what changed most.

Source: SPEC 8 and 10.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from scoring.alerting.blocks import Block, Line, Span, bold, bullets, context, paragraph, plain
from scoring.alerting.decision import WatchedDays
from scoring.alerting.facts import titles_of_rules
from scoring.alerting.growth import Growth
from scoring.alerting.growth_wording import grown_name, tenant_name
from scoring.alerting.judge_messages import ModelEnd, end_lines
from scoring.alerting.messages import (
    Message,
    NamedFact,
    RouteFilter,
    level_mark,
    messages,
    named_facts,
    without_part,
)
from scoring.alerting.preview import preview_days
from scoring.alerting.rule_changes import rule_changes
from scoring.alerting.snoozes import Snooze
from scoring.alerting.wording import kpi_line, named_rule, rate_text, report_line, snooze_lines
from scoring.chat.kpi_windows import WEEK, ComparedKpi, change_text, compared_kpi
from scoring.chat.kpis import ALL_TENANTS, KpiRow, KpisByDay, rows_of_tenant, rubric_version_of
from scoring.chat.rubric import RowRubric
from scoring.days import day_text
from scoring.markdown import percent

_Fact = tuple[str, date, str | None]
"""A rule, a day and a tenant."""


@dataclass(frozen=True)
class Week:
    """The seven days up to `last`.

    `kpis` are the KPI rows of these days and of the week before by day, of any version; `growth` is the growth of a
    rule against that week by (rule, tenant). `watched` are the days that show what paged in it. `report` is its page,
    '' if there is none, `report_url` its address if it is served. `snoozes` are active after it. `judge_end` is the
    shutdown of the judge's model, if it is near.
    """

    last: date
    rubric: RowRubric
    kpis: KpisByDay
    growth: Mapping[tuple[str, str | None], Growth] = field(default_factory=dict)
    watched: WatchedDays | None = None
    report: str = ""
    report_url: str = ""
    run_id: str = ""
    snoozes: Sequence[Snooze] = ()
    judge_end: ModelEnd | None = None

    def rows(self, tenant: str | None, *, of_version: bool = True) -> tuple[list[KpiRow], list[KpiRow]]:
        """The rows of a tenant in this week and in the one before: those of the rubric's version, or those that another
        rubric or version has scored, which are in no figure.
        """
        version, of_tenant = (self.rubric.id, self.rubric.version), sorted(rows_of_tenant(self.kpis, tenant).items())
        known = [(day, row) for day, row in of_tenant if (rubric_version_of(row) == version) is of_version]
        weeks = (self.last, self.last - timedelta(WEEK))
        this, before = ([row for day, row in known if 0 <= (end - day).days < WEEK] for end in weeks)
        return this, before


def weekly_message(
    week: Week, route: RouteFilter, known_keys: Collection[str] = (), page_keys: Collection[str] | None = None
) -> list[Message]:
    """The message about a week; none if the route has received it or does not accept it, or if nothing was scored.

    A route that names tenants gets theirs. It lists the pages of the week that the route received (`page_keys`; None if
    that is unknown).
    """
    rubric = week.rubric
    heard = [one for one in route.whose if route.matches_rows("info", rubric.id, one)]
    tenants = [one for one in heard if any(_turns(week.rows(one)[0]))]
    key = f"weekly|{rubric.id}@{rubric.version}|{week.last}"
    if not tenants or key in set(map(without_part, known_keys)):
        return []
    first = week.last - timedelta(WEEK - 1)
    what = f"{day_text(first)}~{day_text(week.last)} 주간 요약"
    blocks = paragraph([plain(rubric.title)])
    paged = [*_paged(week, route, None if page_keys is None else named_facts(page_keys))]
    for tenant in tenants:
        blocks += _of_tenant(week, tenant, but_paged=bool(paged))
    blocks += paragraph(*paged)
    blocks += paragraph(*snooze_lines(rubric, week.snoozes, week.last, route))
    if week.judge_end:
        blocks += paragraph(*end_lines(week.judge_end, week.last))
    if week.report:
        blocks += paragraph(report_line(week.report, week.report_url))
    blocks.append(context(f"{rubric.id} 버전 {rubric.version}", week.run_id))
    changed = [text for tenant in tenants for text in _worsened(week, tenant)]
    title = (level_mark("info"), what, *changed[:1])
    return messages("weekly", "info", [key], title, blocks, [rubric.title])


def _worsened(week: Week, tenant: str | None) -> Iterator[str]:
    """The KPIs that missed their targets and moved away from them significantly."""
    this, before = week.rows(tenant)
    for kpi in week.rubric.targeted:
        compared = compared_kpi(kpi, "", this, before)
        if compared.figure.verdict == "missed" and compared.has_worsened:
            of_tenant = "" if tenant == ALL_TENANTS else f"{tenant_name(tenant)} "
            yield f"{of_tenant}{kpi.title} {compared.before.value_text} → {compared.figure.value_text}"


def _paged(week: Week, route: RouteFilter, pages: Sequence[NamedFact] | None) -> Iterator[Line]:
    """What paged in the week, a line for each day: later days may have made the rates usual.

    A page of noon names other rules than the whole day would: of the pages that the route received only what they named
    is listed, as the days are now. A page also reports rules that the preview leaves to a digest.
    """
    days, titles = [week.last - timedelta(back) for back in range(WEEK)], titles_of_rules(week.rubric)
    reasons: dict[_Fact, str] = {}
    paged: list[_Fact] = []
    for message in preview_days(week.watched, days, {"": route}) if week.watched else ():
        facts = {(one.rule, message.day, one.tenant_id): one.reason for one in message.incidents}
        reasons |= facts
        paged += facts if message.kind == "page" else ()
    if pages is not None:
        of_rubric = {(one.rule, one.day, one.tenant_id) for one in pages if one.rubric == week.rubric.id}
        sent = sorted((one for one in of_rubric if one[1] in days and one[0] in titles), key=str)
        place = {fact: number for number, fact in enumerate(reasons)}
        paged = sorted(sent, key=lambda fact: place.get(fact, len(place)))
    found: dict[date, list[str]] = {}
    for fact in paged:
        rule, day, tenant = fact
        now = reasons.get(fact) or f"{named_rule(titles[rule], tenant)} · {_now(week, fact)}"
        found.setdefault(day, []).append(now)
    for day, texts in sorted(found.items()):
        yield [bold(f"{day_text(day)} 긴급 알림  "), plain("; ".join(texts))]


def _now(week: Week, page: _Fact) -> str:
    """The current rate of a page that today's rows would not send."""
    rule, day, tenant = page
    now = week.watched.decided.get(day, {}).get((rule, tenant)) if week.watched else None
    if now is None or now.count <= now.rows * now.usual.high:
        return "다시 채점해 보니 평소 범위"
    return f"다시 채점해 보니 {rate_text(now.count, now.rows)}, 평소 범위보다 많음"


def _turns(rows: Iterable[KpiRow]) -> list[int]:
    return [row["rows"] for row in rows]


def _days(rows: Sequence[KpiRow]) -> str:
    """`6일`, and the number of further days without rows to score."""
    empty = sum(not turns for turns in _turns(rows))
    return f"{len(rows) - empty}일" + (f", 채점한 행이 없는 날 {empty}일" if empty else "")


def _of_tenant(week: Week, tenant: str | None, *, but_paged: bool) -> Iterator[Block]:
    """The week of all tenants together, or of one; `but_paged` if rules that paged stand below it."""
    this, before = week.rows(tenant)
    turns, had = sum(_turns(this)), sum(_turns(before))
    counted = f"채점 {turns:,}건({_days(this)})" + (f", 앞 주 {had:,}건({_days(before)})" if had else ", 앞 주는 없음")
    yield from paragraph([bold(f"{tenant_name(tenant)}  "), plain(counted)], *_left_out(week, tenant))
    kpis = week.rubric.targeted
    compared = [compared_kpi(kpi, "", this, before) for kpi in kpis]
    yield from bullets([[*kpi_line(one.figure, None), *_against(one)] for one in compared])
    if had:
        is_comparable = any(one.change for one in compared) or not compared
        lead: Line = [bold("알림 규칙  "), plain("비교할 날이 모자람")]
        yield from paragraph(_most_changed(week, tenant, this, before, but_paged=but_paged) if is_comparable else lead)


def _left_out(week: Week, tenant: str | None) -> Iterator[Line]:
    """How many rows of which week are in no figure: without it a week of two versions looks like one of few days."""
    of_weeks = zip(("이 주", "앞 주"), week.rows(tenant, of_version=False), strict=True)
    if counted := [f"{name} {sum(_turns(rows)):,}건({_days(rows)})" for name, rows in of_weeks if any(_turns(rows))]:
        yield [plain(f"다른 채점 기준이나 버전으로 채점한 {', '.join(counted)}은 넣지 않음")]


def _against(one: ComparedKpi) -> list[Span]:
    """The day that keeps a KPI undecided, and the KPI compared with the week before."""
    found = [plain(f"\n{one.apart.text}")] if one.apart else []
    if one.before.value is None or one.figure.value is None:
        return found
    of_day = f" ({one.apart_before.text})" if one.apart_before else ""
    return [*found, plain(f"\n앞 주 {one.before.value_text}{of_day}, {one.change_text}")]


def _most_changed(
    week: Week, tenant: str | None, this: Sequence[KpiRow], before: Sequence[KpiRow], *, but_paged: bool
) -> Line:
    """The alert rule whose rate changed most and significantly; with many rules there may be none although a KPI
    changed.
    """
    lead = bold("가장 달라진 것  ")
    changes = rule_changes(week.rubric, this, before)
    if not changes:
        worsened = next(_worsened(week, tenant), "")
        if worsened:
            return [lead, plain(worsened)]
        but = "아래 긴급 알림의 규칙을 빼면 " if but_paged else ""
        return [bold("알림 규칙  "), plain(f"{but}앞 주와 달라졌다고 할 만한 것이 없음")]
    most = changes[0]
    grown = week.growth.get((most.rule.id, tenant), Growth()).grown if most.has_risen else ()
    mostly = f" · 주로 {grown_name(grown[0], week.rubric)}" if grown else ""
    rates = f"{percent(most.before)} → {percent(most.now)}"
    return [lead, bold(most.rule.title), plain(f" {rates}, {change_text(most.change, 100, '%p')}{mostly}")]
