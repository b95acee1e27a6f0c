"""The Korean texts about one incident: title, count, since when, action."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, timedelta
from shlex import quote
from statistics import median

from scoring.alerting.blocks import Line, Span, bold, code, inert, link, masked_text, plain
from scoring.alerting.days_off import is_day_off
from scoring.alerting.decision import RateDecision, UsualRate
from scoring.alerting.facts import AlertFact, is_unread, titles_of_rules
from scoring.alerting.growth_wording import tenant_name, tokens_action
from scoring.alerting.incidents import Incident
from scoring.alerting.messages import LEVEL_SIGNS, NO_TENANT, NamedFact, RouteFilter
from scoring.alerting.snoozes import Snooze, fact_rate
from scoring.chat.kpi_windows import FOUR_WEEKS
from scoring.chat.kpis import ALL_TENANTS
from scoring.chat.rubric import EXCLUDED_RATE_RISING, FEW_ROWS, KPI_RULE, NO_ROWS, ROWS_REJECTED, RowRubric
from scoring.days import day_text
from scoring.figures import Figure, Verdict
from scoring.markdown import percent, percent_interval, score_text
from scoring.stats.exact import exact, rounded
from scoring.stats.intervals import wilson_interval

_SIGNS: dict[Verdict, str] = {"met": "🟢", "missed": "🔴", "undecided": "⚪"}
STATE_NAMES = {
    "new": "새로 나타남",
    "rising": "급증",
    "drifting": "오르는 중",
    "continuing": "계속",
    "resolved": "해소",
    "settled": "평소가 됨",
}
RESOLVED_SIGN = "🟢"

_DAY_ACTIONS = {
    NO_ROWS: "원본 표와 적재 작업을 확인하고, 고친 뒤 이 명령으로 다시 채점하세요.",
    FEW_ROWS: "원본에 행이 다 들어왔는지 확인하고, 늦게 들어왔다면 이 명령으로 다시 채점하세요.",
    ROWS_REJECTED: "거부한 까닭은 rejected 테이블에 줄마다 있습니다. 원본을 고친 뒤 이 명령으로 다시 채점하세요.",
    EXCLUDED_RATE_RISING: "답변 없이 쌓이고 있는지 LLM 호출과 로그 적재를 확인하세요.",
}
_VANISHED_ACTION = (
    "떠난 고객이면 할 일이 없습니다. 아니면 연동과 적재를 확인하고, 늦게 들어왔다면 이 명령으로 다시 채점하세요."
)
_IF_AT_REST = "원래 쉬는 날이면 할 일이 없고, 다음 쉬는 날에도 비면 곧 알리지 않습니다. 아니면 "
_SCORED_AGAIN = (NO_ROWS, FEW_ROWS, ROWS_REJECTED)
_KPI_ACTION = "보고서에서 등급 분포와 실패 유형을 보고 어디서 목표를 놓쳤는지 확인하세요."
_DROPPED_RULE_ACTION = "지금 채점 기준에는 없는 규칙입니다. 이날을 채점한 버전의 예시를 읽으세요."
_REASON_CHARACTERS = 200
TENANTS_SHOWN = 5
_MANY_TIMES = 100
_FEW_MATCHES = 5
"""With fewer matching rows before a rise no multiple of their rate is given: it could as well be half or twice that."""
_SNOOZED_DAYS = 7


def report_line(path: str, url: str) -> Line:
    """The location of the report: a link if the reports are served, else its file."""
    return [bold("보고서  "), link(url, "열기") if url else code(path)]


def headline(one: Incident) -> str:
    """Title and state of an incident: `답변 실패 · 급증, 평소의 3.6배`."""
    is_high = one.pages or one.state in ("rising", "drifting") or (one.state == "continuing" and is_above_usual(one))
    times = times_usual(one) if is_high else ""
    return f"{one.fact.title} · {', '.join(filter(None, (STATE_NAMES[one.state], times)))}"


def change_text(decision: RateDecision | None, day: date) -> str:
    """`급증`, or since when the rate has been higher; '' if it is as usual."""
    if decision is None or decision.since is None or decision.change not in ("rising", "drifting"):
        return ""
    since = f"{day_text(decision.since)}부터"
    if not decision.is_high:
        return f"이날은 평소 수준, {since} 지켜보는 중"
    return STATE_NAMES[decision.change] + ("" if decision.since == day else f", {since}")


def since(one: Incident) -> str:
    """Since when it exists, or is above its usual range."""
    if one.since_or_before:
        return f"적어도 {day_text(one.since)}부터"
    return "이날부터" if one.since == one.day else f"{day_text(one.since)}부터"


def action(one: Incident, rubric: RowRubric) -> list[Span]:
    """The action, with the command if the day has to be scored again."""
    rule = ROWS_REJECTED if is_unread(one.fact) else one.fact.rule
    if rule.startswith(KPI_RULE):
        return [plain(_KPI_ACTION)]
    if missing := tokens_action(one.fact.grown):
        return [plain(f"{missing} "), code(f"aqb nightly --date {one.day}")]
    by_rule = {rule.id: rule.action for rule in rubric.alert_rules}
    of_rule = (_DAY_ACTIONS | by_rule).get(rule, _DROPPED_RULE_ACTION)
    what = plain(_VANISHED_ACTION if one.is_of_vanished else of_rule)
    again = [plain(" "), code(f"aqb nightly --date {one.day}")] if rule in _SCORED_AGAIN else []
    rests = rule == NO_ROWS and is_day_off(one.day) and not one.fact.usual  # no day off is known that had rows
    return [*([plain(_IF_AT_REST)] if rests else []), what, *again]


def if_known(one: Incident) -> list[list[Span]]:
    """The command for readers who know the cause: accept the rate if it lasts, else snooze it for a week.

    None for an incident without a rate.
    """
    if one.usual is None:
        return []
    rule, tenant = quote(one.fact.title), one.fact.tenant_id
    named = "" if tenant == ALL_TENANTS else f" --tenant {quote(masked_text(tenant, 60) if tenant else NO_TENANT)}"
    if one.since < one.day:
        return [[bold("앞으로도 이 수준이면  "), code(f"aqb alerts accept {rule}{named}")]]
    until = one.day + timedelta(_SNOOZED_DAYS)
    return [[bold("알고 있는 일이면  "), code(f"aqb alerts snooze {rule}{named} --until {until} --why 이유")]]


def ended_line(one: Incident) -> list[Span]:
    """How an incident ended: it is over, or it lasts and is no longer reported."""
    today = (
        f"이날 {brief_figure(one)}" if one.fires else f"이날은 없음, 마지막은 {day_text(one.seen)} {one.fact.count:,}건"
    )
    if one.figure:
        how = f"{_window(one)} {one.figure.text}"
    elif one.fact.rule == NO_ROWS:
        again, still = ("다시 읽음", "읽지 못한 채로") if is_unread(one.fact) else ("다시 들어옴", "비어")
        days = "~".join(map(day_text, sorted({one.since, one.seen})))
        how = f"{again}, {days}은 아직 {still} 있음"
    elif one.is_of_vanished and one.state == "resolved":
        how = f"다시 들어옴, 마지막으로 없던 날은 {day_text(one.seen)}"
    elif one.fact.rule == FEW_ROWS and one.state == "resolved":
        how = f"다시 평소만큼 들어옴, 마지막으로 적은 날은 {day_text(one.seen)} {one.fact.rows:,}행"
    elif one.state == "settled":
        how = f"{today}, {day_text(one.since)}부터 돌아오지 않아 다음 날부터는 이 수준을 평소로 봄"
    else:
        how = f"{today}, 늘기 전 범위로 돌아옴" if one.fires else today
    sign = LEVEL_SIGNS["info"] if one.state == "settled" else RESOLVED_SIGN
    return [
        plain(f"{sign} {STATE_NAMES[one.state]}: "),
        bold(named_rule(one.fact.title.removeprefix("이날 "), one.fact.tenant_id)),
        plain(f" — {how}"),
    ]


def snooze_lines(
    rubric: RowRubric, snoozes: Iterable[Snooze], day: date, route: RouteFilter, found: Sequence[Incident] = ()
) -> list[list[Span]]:
    """The snoozes of a day, without those of tenants that the route does not name: until when, why, and which of the
    `found` incidents break them.
    """
    titles = titles_of_rules(rubric)
    return [
        _snooze_line(snooze, titles.get(snooze.rule, snooze.rule), found)
        for snooze in snoozes
        if snooze.until >= day
        and (not route.tenants or (snooze.tenant_id or NO_TENANT) in (ALL_TENANTS, *route.tenants))
    ]


def _snooze_line(snooze: Snooze, title: str, found: Sequence[Incident]) -> list[Span]:
    where = "" if snooze.tenant_id == ALL_TENANTS else f"({tenant_name(snooze.tenant_id)})"
    broken = [
        tenant_name(one.fact.tenant_id)
        for one in found
        if one.fires and snooze.is_about(one.fact.rule, one.fact.tenant_id) and not snooze.silences(one)
    ]
    not_held = f" · 비율이 두 배 이상이라 그래도 알림: {', '.join(broken[:TENANTS_SHOWN])}" if broken else ""
    reason = masked_text(snooze.why, _REASON_CHARACTERS)
    return [
        bold("일시 중지  "),
        plain(f"{title}{where}: {day_text(snooze.until)}까지, 이유: {reason} ({inert(snooze.who, 40)}){not_held}"),
    ]


def brief(found: Iterable[Incident]) -> str:
    """Incidents in a few words each: `답변 실패 29/535건(5.4%, 평소 5.2%) · ...`."""
    return " · ".join(f"{named_rule(one.fact.title, one.fact.tenant_id)} {brief_figure(one)}".strip() for one in found)


def named_rule(title: str, tenant_id: str | None) -> str:
    """`답변 실패(테넌트 t1)`, the title alone for all tenants together."""
    return title if tenant_id == ALL_TENANTS else f"{title}({tenant_name(tenant_id)})"


def fact_figures(one: Incident) -> list[Span]:
    """`64/535건 (12.0%, 95% 구간 9.5~15.0%) · 평소 3.4% (2.1~4.9%)`."""
    fact = one.fact
    if is_unread(fact):
        return [bold(f"{fact.rows:,}행이 들어왔지만 하나도 읽지 못했습니다.")]
    if fact.rule == NO_ROWS or one.is_of_vanished:
        return [bold("행이 하나도 들어오지 않았습니다."), plain(f" · {_usual_rows(fact.usual)}")]
    if fact.rule == FEW_ROWS:
        return [bold(f"{fact.rows:,}행뿐입니다."), plain(f" · {_usual_rows(fact.usual)}")]
    if one.figure:
        return [bold(f"{_window(one)} {one.figure.title} {one.figure.value_text}"), plain(one.figure.details)]
    if fact.count is None:  # of a KPI that the rubric no longer has
        return [bold(score_text(fact.value, 3)), plain(f" (n={fact.rows:,})")]
    share = percent(fact.count / fact.rows if fact.rows else None)
    interval = wilson_interval(fact.count, fact.rows)
    shown = f" ({share}, 95% 구간 {percent_interval(interval.low, interval.high)})" if interval else ""
    of_session = f" · 한 세션에서 {one.of_session:,}건" if one.of_session else ""
    return [bold(f"{fact.count:,}/{fact.rows:,}건"), plain(shown + _usual_rate(one) + of_session + _so_far(one))]


def _window(one: Incident) -> str:
    """The window of a KPI: `최근 28일`, or `최근 28일 가운데 3일` if it is known on fewer days."""
    return f"최근 {FOUR_WEEKS}일" + (f" 가운데 {one.figure_days}일" if one.figure_days < FOUR_WEEKS else "")


def _so_far(one: Incident) -> str:
    """`· 3월 2일부터 12/540건 (2.2%), 그 전 0.6%`: several days prove what a single one may not.

    The usual rate of today already contains days of the rise.
    """
    if not one.so_far or not one.so_far[0][1]:
        return ""
    (count, rows), (count_before, rows_before) = one.so_far
    few = f"{count_before:,}/{rows_before:,}건 " if count_before < _FEW_MATCHES else ""
    earlier = f", 그 전 {few}{percent(count_before / rows_before)}" if rows_before else ""
    return f" · {day_text(one.since)}부터 {count:,}/{rows:,}건 ({percent(count / rows)}{earlier})"


def brief_figure(one: Incident) -> str:
    """`29/535건(5.4%, 평소 5.2%)`, for a KPI `5.4%`."""
    fact = one.fact
    if one.figure:
        return f"{one.figure.value_text}({_window(one)})"
    if fact.count is None:
        return score_text(fact.value, 3)
    if fact.rule == FEW_ROWS:
        return f"{_in_rows(fact.rows)}(평소 {_in_rows(median(fact.usual))})"
    return rate_text(fact.count, fact.rows, one.usual) if fact.rows else f"{fact.count:,}건"


def rate_text(count: int, rows: int, usual: UsualRate | None = None) -> str:
    """`29/535건(5.4%, 평소 5.2%)`, without a usual rate that is unknown."""
    beside = f", 평소 {percent(usual.rate)}" if usual and usual.is_known else ""
    return f"{count:,}/{rows:,}건({percent(count / rows)}{beside})"


def back_line(one: NamedFact, rubric: RowRubric, now: RateDecision | None) -> Line:
    """What a page named along with what has ended, and is back in its usual range (`now`, None for no row at all): `🟢
    평소 범위: 답변 실패 — 이날 29/535건(5.4%, 평소 5.2%), 긴급 알림에서 함께 알린 규칙`.
    """
    figure = f"이날 {rate_text(now.count, now.rows, now.usual)}" if now else "이날은 없음"
    name = named_rule(titles_of_rules(rubric)[one.rule], one.tenant_id)
    return [plain(f"{RESOLVED_SIGN} 평소 범위: "), bold(name), plain(f" — {figure}, 긴급 알림에서 함께 알린 규칙")]


def is_above_usual(one: Incident) -> bool:
    """Whether the rate of a rule is above its usual range on the day."""
    rate = fact_rate(one.fact)
    return rate is not None and one.usual is not None and one.usual.is_known and rate > one.usual.high


def times_usual(one: Incident) -> str:
    """`평소의 3.6배` for a rate; '' without a usual rate.

    All days of a rise count where a single one proves little, beside those before it: `그 전의 1.6배`. If few rows met
    the rule before it, their counts stand in place of a multiple: `17/700건, 그 전 1/2,000건`.
    """
    rate, of = fact_rate(one.fact), "평소"
    known = one.usual and one.usual.is_known and one.usual.rate
    if one.state == "drifting" and one.so_far:
        (count, rows), (count_before, rows_before) = one.so_far
        if rows_before and count_before < _FEW_MATCHES:
            return f"{count:,}/{rows:,}건, 그 전 {count_before:,}/{rows_before:,}건"
        if rows and rows_before:
            rate, known, of = count / rows, count_before / rows_before, "그 전"
    return f"{of}의 {times_text(rate / known)}" if rate and known else ""


def times_text(times: float) -> str:
    """`3.6배`, `100배 이상` for a rule that is hardly ever met."""
    return f"{score_text(times, 1)}배" if times < _MANY_TIMES else f"{_MANY_TIMES}배 이상"


def kpi_line(kpi: Figure, wider: Figure | None) -> list[Span]:
    """`🔴 실패율 6.1% (95% 구간 4.7~7.9%) · 목표 3% 이하 · 미달 · n=535`.

    If only the longer window `wider` decides, the line shows its figure and names the window; the figure of the day
    follows.
    """
    if wider is None:
        return [plain(f"{_SIGNS[kpi.verdict]} {kpi.title} "), bold(kpi.value_text), plain(kpi.details)]
    line = [plain(f"{_SIGNS[wider.verdict]} {kpi.title} {wider.title} "), bold(wider.value_text), plain(wider.details)]
    return [*line, plain(f"\n이날 {kpi.value_text}{kpi.details}")]


def _usual_rate(one: Incident) -> str:
    """The usual rate of an incident; '' if it has none."""
    if one.usual is None:
        return ""
    return f" · {'평소 ' if one.usual.is_known else ''}{usual_rate_text(one.usual)}"


def usual_rate_text(usual: UsualRate) -> str:
    """`5.2% (3.9~6.6%)`, with its basis while there are few days."""
    if not usual.is_known:
        return "비교할 지난 날이 없음"
    sources = {"days": "", "rubric": ", 기준 문서의 비율에서 어림", "nothing": f", 지난 {usual.days}일에서 어림"}
    return f"{percent(usual.rate)} ({percent_interval(usual.low, usual.high)}){sources[usual.basis]}"


def _usual_rows(counts: Sequence[int]) -> str:
    if not counts:
        return "비교할 지난 날이 없음"
    return f"평소 {_in_rows(median(counts))} (비교한 {len(counts)}일 {rows_range(counts)}행)"


def rows_range(counts: Collection[int]) -> str:
    """`120~180`, a single number if all are equal."""
    return "~".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))


def tenants_text(short: Sequence[AlertFact]) -> str:
    """The tenants with few rows or none: `테넌트 acme: 행 없음(평소 120~180행) · ...`."""
    named = [
        f"{tenant_name(one.tenant_id)}: {_in_rows(one.rows) if one.rows else '행 없음'}(평소 {rows_range(one.usual)}행)"
        for one in short[:TENANTS_SHOWN]
    ]
    more = len(short) - len(named)
    return " · ".join(named) + (f" 외 {more:,}곳" if more else "")


def _in_rows(count: float) -> str:
    """A number of rows; a median may lie between two integers."""
    return f"{rounded(exact(count), 1 if count % 1 else 0):,}행"
