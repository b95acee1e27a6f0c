"""The first sentences of pages and reports of chat rows: what happened, what matters most, what to do.

Source: SPEC 10.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.chat.kpi_windows import ComparedKpi, deciding
from scoring.chat.kpis import Quotient
from scoring.chat.rubric import AlertRule, RowRubric
from scoring.chat.standard_rubric import one_if
from scoring.figures import VERDICT_TITLES, Figure, Verdict

_LEAST_ALLOWED = 1e-9  # for a target that allows no rows
_EXCLUDED_ACTION = "답변 없이 쌓이고 있는지 LLM 호출과 로그 적재부터 확인하세요."
_REJECTED_ACTION = "왜 읽지 못했는지 거부한 까닭(rejected 테이블)부터 확인하고, 원본을 고쳐 다시 채점하세요."
_MANY_REJECTED = 0.1
"""Share of the input rows: the readable rest may be biased, such as the turns with few tokens."""
_KPI_ACTION = "점수가 낮은 것부터 읽고 실패 유형 표에서 무엇이 많은지 확인하세요."


@dataclass(frozen=True)
class FirstRows:
    """The rows to look at first: those with an alert of the `rule`, those that count against the target of the rate
    `kpi`, or, without either, those in the framed cells of the cross table.

    Their `count` stands between `before` and "행입니다.".
    """

    count: int
    before: str
    rule: AlertRule | None = None
    kpi: Quotient | None = None


@dataclass(frozen=True)
class Conclusion:
    """At most three sentences in Korean: what happened, which rows matter most, what to do."""

    happened: str
    first: FirstRows | None
    action: str

    @property
    def sentences(self) -> list[str]:
        """The sentences in order."""
        first = [f"{self.first.before}{self.first.count:,}행입니다."] if self.first else []
        return [self.happened, *first, self.action]


def verdicts_text(windows: Iterable[Sequence[ComparedKpi]]) -> str:
    """`목표 4개 중 2개 미달 · 2개 판단 보류`: each KPI over the shortest window with a decided verdict."""
    found = [deciding(of_kpi).figure for of_kpi in windows]
    decided: tuple[Verdict, ...] = ("missed", "met")
    counted = [(VERDICT_TITLES[verdict], sum(one.verdict == verdict for one in found)) for verdict in decided]
    counted += _undecided(found)
    return f"목표 {len(found)}개 중 " + " · ".join(f"{count}개 {title}" for title, count in counted if count)


def _undecided(figures: Sequence[Figure]) -> list[tuple[str, int]]:
    """How many verdicts are undecided, those because of one day first, each with its words."""
    found = [one for one in figures if one.verdict == "undecided"]
    apart = [one for one in found if one.despite_one_day]
    of_day = [(apart[0].verdict_text, len(apart))] if apart else []
    return [*of_day, (VERDICT_TITLES["undecided"], len(found) - len(apart))]


def conclusion(
    rubric: RowRubric,
    windows: Mapping[str, Sequence[ComparedKpi]],
    rows: int,
    alerted: Mapping[str, Any],
    framed: int,
    standing_out: Sequence[str] = (),
    than: str = "평소보다",
    few: str = "",
    mostly: str = "",
    rejected: int = 0,
    action: str = "",
) -> Conclusion:
    """Summarises one or more days.

    `windows` are the windows of each KPI by name, the first of them over these days only. `alerted` is the KPI row (or
    a sum of such rows) with the counts of alerts, `framed` the number of rows in the framed cells of the cross table.
    `standing_out` are the unusually frequent alert rules, most severe first, `than` is the baseline they are compared
    with (Korean). Unusual changes come before permanent problems, and of these the target that is missed by the most.
    `few` says that a day has far fewer rows than usual, so that its figures prove little. `mostly` is the tenant with
    most of the increase of the first rule (Korean), `action` what to do about it if its cause is known. `rejected` rows
    could not be read: if there are many, nothing else is recommended first.
    """
    if not rows and rejected:
        return Conclusion(f"{rejected:,}행이 들어왔지만 채점한 행이 없습니다.", None, _REJECTED_ACTION)
    if not rows:
        look = (
            "질문이나 답변이 왜 비었는지 먼저 확인하세요."
            if alerted.get("excluded")
            else "원본에 행이 들어왔는지 먼저 확인하세요."
        )
        return Conclusion("채점한 행이 없습니다.", None, look)
    happened = _targets_sentence([*windows.values()])
    if rejected:
        came = rows + rejected + (alerted.get("excluded") or 0)
        happened = f"{came:,}행 가운데 {rejected:,}행을 읽지 못했고, 나머지에서 {happened}"
        if rejected >= _MANY_REJECTED * came:
            return Conclusion(happened, None, _REJECTED_ACTION)
    if few:
        return Conclusion(f"{few} {happened}", None, "원본에 행이 다 들어왔는지 먼저 확인하세요.")
    if standing_out:
        rule = next((rule for rule in rubric.alert_rules if rule.id == standing_out[0]), None)
        if rule is None:  # the share of excluded rows has risen
            return Conclusion(happened, None, f"제외한 행이 {than} 늘었으니 {_EXCLUDED_ACTION}")
        where = f"주로 {mostly}에서 " if mostly else ""
        said = f"가장 먼저 볼 것은 {where}{than} 늘어난 '{rule.title}' "
        return Conclusion(happened, FirstRows(alerted[f"alert_{rule.id}"], said, rule), action or rule.action)
    pairs, most_missed = rubric.crosstab.framed, _most_missed(rubric, windows)
    if most_missed and not _is_framed(rubric, most_missed):
        said = f"가장 먼저 볼 것은 목표에서 가장 많이 벗어난 {most_missed.counted_title.removesuffix('행')}"
        return Conclusion(
            happened, FirstRows(_rows_against_target(windows[most_missed.name][0]), said, kpi=most_missed), _KPI_ACTION
        )
    if pairs and framed:
        return Conclusion(happened, FirstRows(framed, f"가장 먼저 볼 것은 {pairs.title} "), pairs.action)
    rule, count = max(((rule, alerted.get(f"alert_{rule.id}") or 0) for rule in rubric.alert_rules), key=_severity)
    if not count:
        return Conclusion(happened, None, "알림이 있는 행은 없습니다.")
    return Conclusion(happened, FirstRows(count, f"가장 먼저 볼 것은 '{rule.title}' ", rule), rule.action)


def _targets_sentence(windows: Sequence[Sequence[ComparedKpi]]) -> str:
    """The missed targets, or how many are met over which windows; then the other KPIs that moved away from their
    target.
    """
    decided = [deciding(of_kpi) for of_kpi in windows]
    missed = [one for one in decided if one.figure.verdict == "missed"]
    met = [one for one in decided if one.figure.verdict == "met"]
    said = f"목표 미달은 {len(missed)}개입니다: {', '.join(map(_named, missed))}."
    if not missed:
        over = f"({', '.join(dict.fromkeys(one.window for one in met))})" if met else ""
        counted = _undecided([one.figure for one in decided])
        undecided = "".join(f", {title} {count}개" for title, count in counted if count or len(counted) == 1)
        said = f"미달로 판단한 목표는 없습니다: 달성 {len(met)}개{over}{undecided}."
    others = [of_kpi for of_kpi, one in zip(windows, decided, strict=True) if one not in missed]
    worse = [one for one in map(_worsened, others) if one]
    also = "그 밖에" if missed else "그러나"
    moved = ", ".join(_named(one, f"{one.before_text} → ") for one in worse)
    return f"{said[:-1]}; {also} 나빠진 지표: {moved}." if worse else said


def _most_missed(rubric: RowRubric, windows: Mapping[str, Sequence[ComparedKpi]]) -> Quotient | None:
    """The rate that misses its target by the most and has rows to look at; the framed rate wins a tie."""
    missed = [
        (_times_allowed(deciding(windows[kpi.name]).figure), _is_framed(rubric, kpi), kpi)
        for kpi in rubric.quotients
        if kpi.is_rate and kpi.name in windows and deciding(windows[kpi.name]).figure.verdict == "missed"
    ]
    missed = [one for one in missed if _rows_against_target(windows[one[2].name][0])]
    return max(missed, key=lambda one: one[:2], default=(0, False, None))[2]


def _times_allowed(figure: Figure) -> float:
    """The lower 95% bound of the rows that count against the target, as a multiple of the rows that it allows."""
    assert figure.interval is not None
    if figure.target.operator == "<=":
        return figure.interval.low / max(figure.target.value, _LEAST_ALLOWED)
    return (1 - figure.interval.high) / max(1 - figure.target.value, _LEAST_ALLOWED)


def _rows_against_target(one: ComparedKpi) -> int:
    """The number of rows that count against the target of a rate."""
    figure = one.figure
    met = round((figure.value or 0) * figure.n)
    return figure.n - met if figure.target.operator == ">=" else met


def _is_framed(rubric: RowRubric, kpi: Quotient) -> bool:
    """Whether a rate is the share of rows in the framed cells of the cross table."""
    return rubric.framed is not None and kpi.expression == one_if(rubric.framed)


def _worsened(of_kpi: Sequence[ComparedKpi]) -> ComparedKpi | None:
    """The shortest window in which a KPI moved away from its target without a `met` verdict."""
    return next((one for one in of_kpi if one.has_worsened and one.figure.verdict != "met"), None)


def _named(one: ComparedKpi, before: str = "") -> str:
    figure = one.figure
    return f"{figure.title} {before}{figure.value_text}({one.window}, 목표 {figure.target_text})"


def _severity(counted: tuple[AlertRule, int]) -> tuple[bool, bool, int]:
    """Sort key: critical before warning, then by frequency."""
    rule, count = counted
    return count > 0, rule.level == "critical", count
