"""The numbers of a message: how many of how many, how sure that is, and what is usual. Korean."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from scoring.alerting.blocks import Span, bold, plain
from scoring.alerting.facts import EXCLUDED_RATE_RISING, KPI_RULE, NO_ROWS, ROWS_REJECTED, AlertFact
from scoring.alerting.incidents import Incident
from scoring.chat.kpis import ALL_TENANTS, kpi_figure
from scoring.chat.rubric import RowRubric
from scoring.figures import Figure, Verdict
from scoring.markdown import kpi_text, percent, score_text
from scoring.stats.exact import exact, rounded
from scoring.stats.intervals import Interval, wilson_interval

_SIGNS: dict[Verdict, str] = {"met": "🟢", "missed": "🔴", "undecided": "⚪"}


def fact_figure(
    rubric: RowRubric, rule: str, tenant: str | None, value: float | None, rows: int, kpis: Mapping[str, Figure]
) -> Figure | None:
    """The figure behind the fact of a KPI; None for other facts, and for a KPI that the rubric no longer has.

    `kpis` are those of all tenants by name. The mean of one tenant has no interval.
    """
    kpi = next((kpi for kpi in rubric.quotients if kpi.target and KPI_RULE + kpi.name == rule), None)
    if kpi is None:
        return None
    of_all = kpis.get(kpi.name) if tenant == ALL_TENANTS else None
    return of_all or kpi_figure(kpi, value, rows)


def with_verdicts(incidents: Iterable[Incident], rubric: RowRubric, kpis: Mapping[str, Figure]) -> list[Incident]:
    """Today's facts of KPIs under the verdict of the day: every missed day is a fact, also one that decides nothing."""
    found = []
    for one in incidents:
        fact = one.fact
        figure = fact_figure(rubric, fact.rule, fact.tenant_id, fact.value, fact.rows, kpis) if one.fires else None
        found.append(replace(one, fact=replace(fact, title=figure.goal_text)) if figure else one)
    return found


def fact_figures(fact: AlertFact, rubric: RowRubric) -> list[Span]:
    """`535건 중 64건 (12.0%, 95% 구간 9.5~15.0%) · 평소 18건 (최근 7일 14건~22건)`."""
    if fact.rule == NO_ROWS:
        return [bold("행이 하나도 들어오지 않았습니다."), plain(f" · {_usual(fact.usual, _cases)}")]
    if fact.count is None:
        return _kpi_fact(fact, rubric)
    share = percent(fact.count / fact.rows if fact.rows else None)
    # What is usual of rejected rows nobody counts; to say that there is no day to compare with would be false.
    usual = "" if fact.rule == ROWS_REJECTED else f" · {_usual(fact.usual, _cases)}"
    return [
        bold(f"{_cases(fact.rows)} 중 {_cases(fact.count)}"),
        plain(f" ({share}{_interval(wilson_interval(fact.count, fact.rows))}){usual}"),
    ]


def brief_figure(fact: AlertFact, rubric: RowRubric) -> str:
    """`29건(평소 28건)`, for a KPI `5.4%`."""
    if fact.count is None:
        kpi = fact_figure(rubric, fact.rule, fact.tenant_id, fact.value, fact.rows, {})
        return kpi.value_text if kpi else "" if fact.value is None else score_text(fact.value, 3)
    return _cases(fact.count) + (f"(평소 {_cases(median(fact.usual))})" if fact.usual else "")


def times_usual(fact: AlertFact) -> str:
    """`평소의 3.6배`; '' where nothing was usual."""
    rate = fact.rule == EXCLUDED_RATE_RISING  # its title speaks of the rate, and a day may have half as many rows
    value, usual = (fact.value, fact.usual_values) if rate else (fact.count, fact.usual)
    return f"평소의 {score_text(value / median(usual), 1)}배" if value and usual and median(usual) else ""


def kpi_line(kpi: Figure) -> list[Span]:
    """`🔴 실패율 5.4% (95% 구간 3.8~7.7%) · 목표 3% 이하 · 미달 · n=535`."""
    return [plain(f"{_SIGNS[kpi.verdict]} {kpi.title} "), bold(kpi.value_text), plain(kpi.details)]


def _kpi_fact(fact: AlertFact, rubric: RowRubric) -> list[Span]:
    assert fact.value is not None, "a value that is not known misses no target"
    kpi = fact_figure(rubric, fact.rule, fact.tenant_id, fact.value, fact.rows, {})
    if kpi is None:
        return [bold(score_text(fact.value, 3)), plain(f" (n={fact.rows:,})")]
    interval = f", 95% 구간 {kpi.interval_text}" if kpi.interval else ""
    return [
        bold(f"{kpi.title} {kpi.value_text}"),
        plain(f" (n={fact.rows:,}{interval}) · 목표 {kpi.target_text}"),
        plain(f" · {_usual(fact.usual_values, lambda value: kpi_text(value, kpi.scale))}"),
    ]


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f", 95% 구간 {percent(interval.low).removesuffix('%')}~{percent(interval.high)}"


def _usual(values: Sequence[float], shown: Callable[[float], str]) -> str:
    if not values:
        return "비교할 지난 날이 없음"
    low, high = shown(min(values)), shown(max(values))
    return f"평소 {shown(median(values))} (최근 {len(values)}일 {low if low == high else f'{low}~{high}'})"


def _cases(count: float) -> str:
    """A number of rows; a median may lie between two."""
    return f"{rounded(exact(count), 1 if count % 1 else 0):,}건"
