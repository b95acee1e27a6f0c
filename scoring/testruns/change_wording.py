"""The Korean texts about how a run compares with the previous one, from the JSON of `change_figures`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scoring.markdown import interval_text, percent, score_text, signed, signed_percent
from scoring.stats.comparison import FINDING_TITLES
from scoring.stats.intervals import MIN_N_FOR_VERDICT
from scoring.stats.outages import Failures
from scoring.testruns.page_parts import PageTable, safe_text

_UNKNOWN = "판단 보류"
_SAME = "같음"
_OTHER_JUDGE = "판정한 모델이나 조건이 다름"
OUTAGE_ACTION = "오류를 고치고 다시 실행"
"""The action after a run with an outage."""
_FIRST_RUN = "첫 실행"
_GROUP_CHARACTERS, _GROUPS_SHOWN = 40, 20
_MOST_LOST = f" (점수를 가장 많이 잃은 {_GROUPS_SHOWN}개)"


def finding_of(change: Mapping[str, Any], metric: Mapping[str, Any]) -> str:
    """The conclusion about a metric, and why there is none if so (Korean)."""
    if obstacle := change.get("obstacle"):
        return f"판단 보류({obstacle})"
    if metric.get("of_two_judges"):
        return f"판단 보류({_OTHER_JUDGE})"
    if metric["withheld"]:
        return "판단 보류(미판정 질의가 많음)"
    return FINDING_TITLES[metric["finding"]] if metric["finding"] else "판단 보류(채점한 짝이 없음)"


def failures_text(failures: Failures) -> str:
    """`실행 267건 중 137건(51%)이 실패하거나 빈 응답`."""
    share = percent(failures.failed / failures.executions, 0)
    return f"실행 {failures.executions:,}건 중 {failures.failed:,}건({share})이 실패하거나 빈 응답"


def more_failed_text(failures: Failures, others: Failures, other: str) -> str:
    """`실행 262건 중 65건(25%)이 실패하거나 빈 응답(기준 0건)이어서 그 0점이 차이에 들어`, without its ending."""
    return f"{failures_text(failures)}({other} {others.failed:,}건)이어서 그 0점이 차이에 들어"


def outage_text(change: Mapping[str, Any]) -> str:
    """A clause that one of the two runs had an outage, so that they are not compared (Korean); '' without one."""
    outage = change.get("outage")
    if not outage:
        return ""
    of = "" if has_outage(change) else f"{_run_before(change)}의 "
    return f"{of}{failures_text(Failures(outage['failed'], outage['executions']))}이어서 품질을 비교하지 않습니다"


def has_outage(change: Mapping[str, Any] | None) -> bool:
    """Whether the run itself had the outage, not the previous one."""
    return bool(change and change.get("outage") and change["outage"]["run"] == "candidate")


def _run_before(change: Mapping[str, Any]) -> str:
    """The run compared with; teams test twice a day, so its date alone does not identify it (Korean)."""
    return f"지난 실행({change['name']}, {change['when'][:10]})"


def passed_over_text(change: Mapping[str, Any]) -> str:
    """The runs since the previous one that were unfit for the comparison, and why (Korean); '' if there are none."""
    runs = [
        f"{one['name']}({one['when'][:10]}), "
        f"{one.get('why') or failures_text(Failures(one['failed'], one['executions']))}"
        for one in change.get("passed_over", ())
    ]
    return f"비교 기준에서 뺀 실행: {'; '.join(runs)}" if runs else ""


def change_text(change: Mapping[str, Any]) -> str:
    """The comparison in one clause (Korean): what got worse and better, else why there is no conclusion."""
    if said := outage_text(change):
        return said
    of = f"{_run_before(change)}보다"
    if change["obstacle"]:
        return f"{of} 나아졌는지 판단 보류: {change['obstacle']}"
    rates = f"{said}; " if (said := rates_text(change)) else ""
    if change.get("same"):
        return f"{rates}{_run_before(change)}과 질의 {change['paired']:,}개의 점수가 모두 같음"
    of, counts = _more_failed(change) + of, moved_text(change) + rates
    told = [
        f"{one['title']} {FINDING_TITLES[one['finding']]}({signed(one['difference'])})"
        for finding in ("worse", "better")
        for one in change["metrics"]
        if one["finding"] == finding
    ]
    if told:
        where = cause_name(change.get("groups", {}))
        return f"{of} {counts}{', '.join(told)}" + (f", 주로 나빠진 곳은 {where}" if where else "")
    if not change["paired"]:
        why = (
            "기대 결과나 정답 수치의 유무가 모두 바뀜" if change.get("expected_otherwise") else "함께 있는 질의가 없음"
        )
        return f"{of} 나아졌는지 판단 보류: {why}"
    moved = [one for one in change["metrics"] if one["difference"]]
    moved = [one for one in moved if not one.get("of_repeats")] or moved
    most = max(moved, key=lambda one: abs(one["difference"]), default=None)
    why = undecided_text(
        few=all(one["finding"] in (None, "too_few") for one in change["metrics"]),
        compared=any(one["finding"] for one in change["metrics"]),
        withheld=[one["title"] for one in change["metrics"] if one["withheld"]],
        of_two_judges=[one["title"] for one in change["metrics"] if one.get("of_two_judges")],
        largest=f"(가장 크게 움직인 지표는 {most['title']} {signed(most['difference'])})" if most else "",
    )
    return f"{of} {counts}{'점수가 나아졌는지는' if rates else '나아졌는지'} {_UNKNOWN}: {why}"


def telling_rates(figures: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Metric -> its significantly changed rates, worse before better, if one of them changed unlike the metric.

    They come from `decided_figures`; the key '' has the rates without a metric. Earlier versions have no rates.
    """
    of_metrics = {one["metric"]: one["finding"] for one in figures["metrics"]}
    sure: dict[str, list[Mapping[str, Any]]] = {}
    for finding in ("worse", "better"):
        for one in figures.get("rates", ()):
            if one["finding"] == finding:
                sure.setdefault(one["part_of"], []).append(one)
    return {of: rates for of, rates in sure.items() if any(one["finding"] != of_metrics.get(of) for one in rates)}


def rates_text(figures: Mapping[str, Any]) -> str:
    """`정확성 점수는 판단 보류지만 목표별로는 결과 정확도(정답 수치) 나빠짐(질의 40개, 78.8% → 66.2%)`; '' without any.

    The queries are those of both runs, fewer than the run's own rate counts.
    """
    metrics = {one["metric"]: one for one in figures["metrics"]}
    said = []
    for metric, rates in telling_rates(figures).items():
        shown = (
            f"{one['title']} {FINDING_TITLES[one['finding']]}"
            f"(질의 {one['n']:,}개, {percent(one['before'])} → {percent(one['now'])})"
            for one in rates
        )
        said.append(f"{_beside(metrics.get(metric))} {', '.join(shown)}")
    return "; ".join(said)


def _beside(metric: Mapping[str, Any] | None) -> str:
    if metric is None:
        return "지표로 채점하지 않은"
    told = {"worse": "나빠졌지만", "better": "좋아졌지만"}.get(metric["finding"], f"{_UNKNOWN}지만")
    return f"{metric['title']} 점수는 {told} 목표별로는"


def _more_failed(change: Mapping[str, Any]) -> str:
    """A clause that one of the two runs has significantly more failed or empty executions (Korean); '' if not."""
    found = change.get("more_failed")
    if not found:
        return ""
    before, now = Failures(**found["before"]), Failures(**found["now"])
    if found["run"] == "candidate":
        return f"{more_failed_text(now, before, '지난 실행')} 있음; "
    return f"지난 실행은 {more_failed_text(before, now, '이번 실행')} 있음; "


def undecided_text(
    *, few: bool, compared: bool, withheld: Sequence[str], of_two_judges: Sequence[str], largest: str = ""
) -> str:
    """Why nothing got significantly worse or better (Korean): chance among the metrics that are `compared`, of which
    `largest` names one, and the metrics that are not.
    """
    chance = (f"질의가 {MIN_N_FOR_VERDICT}개 미만" if few else "차이가 우연과 구별되지 않음") + largest
    if of_two_judges:
        left_out = f"판정한 모델이나 조건이 달라 비교하지 않은 지표: {', '.join(of_two_judges)}"
    elif withheld:
        left_out = f"미판정 질의가 많아 비교하지 않은 지표: {', '.join(withheld)}"
    else:
        return chance
    return f"비교한 지표는 {chance}, {left_out}" if compared else left_out


def moved_text(change: Mapping[str, Any]) -> str:
    """`답변이 나빠진 질의 11개, 좋아진 질의 5개, 속도만 느려진 질의 12개; `, '' if no query moved."""
    shown = ", ".join(moved_queries(change).values())
    return f"{shown}; " if shown else ""


MOVED_TITLES: Mapping[str, str] = {
    "worse": "답변이 나빠진 질의",
    "better": "좋아진 질의",
    "slower": "속도만 느려진 질의",
    "faster": "속도만 빨라진 질의",
}
"""The kinds of queries that moved: the answers decide, response times only count if nothing else moved (Korean)."""


def moved_queries(counts: Mapping[str, int]) -> dict[str, str]:
    """Kind of `MOVED_TITLES` -> `답변이 나빠진 질의 11개(그중 2개는 빨라짐)`, from `Comparison.counts`.

    Both kinds of answers are present if either has queries, and the kinds of response times that have some.
    """
    slower, faster = counts.get("slower", 0), counts.get("faster", 0)
    of_kind = {"worse": counts["worse"] - slower, "better": counts["better"] - faster}
    shown = (of_kind if any(of_kind.values()) else {}) | ({"slower": slower} if slower else {})
    shown |= {"faster": faster} if faster else {}
    against = {
        "worse": _of_these(counts.get("worse_but_faster", 0), "빨라짐"),
        "better": _of_these(counts.get("better_but_slower", 0), "느려짐"),
    }
    return {kind: f"{MOVED_TITLES[kind]} {count:,}개{against.get(kind, '')}" for kind, count in shown.items()}


def _of_these(count: int, what: str) -> str:
    return f"(그중 {count:,}개는 {what})" if count else ""


def moved_ids(change: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Kind of `MOVED_TITLES` -> the ids of its queries, largest change first."""
    worse, better = change.get("worse_ids", ()), change.get("better_ids", ())
    answers = change["worse"] - change.get("slower", 0), change["better"] - change.get("faster", 0)
    return {
        "worse": worse[: answers[0]],
        "better": better[: answers[1]],
        "slower": worse[answers[0] :],
        "faster": better[answers[1] :],
    }


def cause_name(groups: Mapping[str, Any]) -> str:
    """`카테고리 '학력·경력'(질의 24개, 정확성 4.38 → 3.27)`, from `group_figures`; '' if no group explains a loss."""
    cause = groups.get("cause")
    if not cause:
        return ""
    scores = f"{groups['title']} {score_text(cause['base'])} → {score_text(cause['candidate'])}"
    return f"{_group_name(cause)}(질의 {cause['n']:,}개, {scores})"


def regression_todo(change: Mapping[str, Any]) -> str:
    """The advice after a significant loss (Korean): to look first at the group that explains it, else at the queries
    whose answers got worse, if these are more than the better ones; '' for anything else. Scores that are open because
    the judge failed come before such queries.
    """
    if change["obstacle"]:
        return ""
    if cause := change.get("groups", {}).get("cause"):
        return f"{_group_name(cause)}의 질의부터 확인하세요."
    worse, better = change["worse"] - change.get("slower", 0), change["better"] - change.get("faster", 0)
    is_sure = any(one["finding"] == "worse" for one in change["metrics"])
    is_open = any(one["withheld"] for one in change["metrics"])
    return f"{MOVED_TITLES['worse']} {worse:,}개부터 확인하세요." if is_sure and not is_open and worse > better else ""


def _group_name(group: Mapping[str, Any]) -> str:
    return f"{group['kind']} '{safe_text(group['name'], _GROUP_CHARACTERS)}'"


def group_tables(groups: Mapping[str, Any], base: str = "지난 실행", candidate: str = "이번 실행") -> list[PageTable]:
    """A table per kind of group with the change of a metric, largest losses first, from `group_figures`."""
    of_kind: dict[str, list[Mapping[str, Any]]] = {}
    for row in groups.get("rows", ()):
        of_kind.setdefault(row["kind"], []).append(row)
    return [
        PageTable(
            f"{kind}별 {groups['title']}{_MOST_LOST if len(rows) > _GROUPS_SHOWN else ''}",
            [kind, "질의", base, candidate, "차이", "95% 구간"],
            [_group_row(row) for row in rows[:_GROUPS_SHOWN]],
        )
        for kind, rows in of_kind.items()
    ]


def _group_row(row: Mapping[str, Any]) -> list[str]:
    return [
        safe_text(row["name"], _GROUP_CHARACTERS) or "(없음)",
        f"{row['n']:,}",
        score_text(row["base"]),
        score_text(row["candidate"]),
        signed(row["candidate"] - row["base"]),
        interval_text(row["interval"]["low"], row["interval"]["high"]) if row["interval"] else "–",
    ]


def alone_text(summary: Mapping[str, Any]) -> str:
    """Why a run belongs to no other one's set (Korean), from its `summary.json`; '' if there is no similar run."""
    nearest = summary.get("nearest")
    if not nearest:
        return ""
    return (
        f"가장 비슷한 실행 {nearest['name']}({nearest['when'][:10]})도 두 실행의 질의 {nearest['queries']:,}개 중 "
        f"{nearest['shared']:,}개만 같아(절반 미만) 다른 테스트 세트로 봄"
    )


def standing(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Whether the run of a `summary.json` is better than the previous one, in a word, and why (Korean)."""
    change = summary.get("change")
    if change is None:
        return _FIRST_RUN, alone_text(summary) or "같은 테스트 세트의 지난 실행이 없음"
    rates = {one["finding"] for of_metric in telling_rates(change).values() for one in of_metric}
    if change["worse"] - change.get("slower", 0) > change["better"] - change.get("faster", 0):
        rates -= {"better"}  # one target that rose is no better run while the answers of more queries got worse
    told = ({one["finding"] for one in change["metrics"]} | rates) & {"worse", "better"}
    if change["obstacle"]:
        told = set()
    if (change.get("more_failed") or {}).get("run") == "base":
        told -= {"better"}  # no longer failing is no better answer
    text = change_text(change)
    if not told:
        why = "" if rates_text(change) else text.partition(f"{_UNKNOWN}: ")[2]
        return (_SAME if change.get("same") else _UNKNOWN), outage_text(change) or why or text
    return ("엇갈림" if len(told) > 1 else FINDING_TITLES[told.pop()]), text


def worse_metrics(change: Mapping[str, Any]) -> tuple[str, ...]:
    """The titles of metrics that got worse; none if there is an obstacle to a conclusion."""
    found = (one["title"] for one in change["metrics"] if one["finding"] == "worse")
    return () if change["obstacle"] else tuple(found)


EACH_BY_ITSELF = (
    "구간은 지표마다 따로 본 95% 구간이라, 달라진 것이 없어도 지표 스무 개 가운데 하나쯤은 달라졌다고 나옵니다."
)
"""A note on the error rate of verdicts on several metrics (Korean)."""
_CHANGE_READING = (
    "차이는 이번 실행 − 지난 실행입니다. 두 실행에서 모두 채점한 질의의 점수를 평균하므로, 종합 점수와 평균 시간으로 "
    "매기는 지표는 세트 평균과 조금 다를 수 있고, 회차마다 질의 수가 다르면 회차를 평균하는 세트 평균과 모든 지표가 "
    "다를 수 있습니다. 구간에 0이 들어 있으면 우연과 구별되지 않습니다. "
    f"{EACH_BY_ITSELF}"
)
CHANGE_HEADER = ("지표", "지난 실행", "이번 실행", "차이", "95% 구간", "질의", "판단")
RATES_READING = (
    "목표별 비율은 질의마다 통과한 실행의 비율을 평균한 값이라, 보고서의 목표에 있는 비율과 조금 다를 수 있습니다. "
    "나빠진 질의와 좋아진 질의는 지표의 점수로만 셉니다."
)
"""A note below tables of changes with rates (Korean)."""


def change_rows(change: Mapping[str, Any]) -> list[list[str]]:
    """A row per metric in the columns of `CHANGE_HEADER`, from the JSON of `change_figures`."""
    return [_change_row(change, metric, score_text, signed) for metric in change["metrics"]]


def change_parts(change: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parts of a run's report and page about its change, by their names in the templates: tables, texts."""
    if not change:
        return {"changes": None, "change_tables": (), "change_reading": "", "outage": "", "passed_over": ""}
    return {
        "changes": PageTable("", CHANGE_HEADER, change_rows(change)),
        "change_tables": (*rate_tables(change), *group_tables(change.get("groups", {}))),
        "change_reading": f"{_CHANGE_READING} {RATES_READING}" if change.get("rates") else _CHANGE_READING,
        "outage": outage_text(change),
        "passed_over": passed_over_text(change),
    }


def rate_tables(change: Mapping[str, Any], base: str = "지난 실행", candidate: str = "이번 실행") -> list[PageTable]:
    """The table of the rates, from `change_figures` or `decided_figures`; none in summaries of earlier versions."""
    rows = [_change_row(change, rate, percent, signed_percent) for rate in change.get("rates", ())]
    header = ["목표", base, candidate, *CHANGE_HEADER[3:]]
    return [PageTable("목표별 비율", header, rows)] if rows else []


def _change_row(
    change: Mapping[str, Any],
    one: Mapping[str, Any],
    text: Callable[[float | None], str],
    difference: Callable[[float], str],
) -> list[str]:
    return [
        one["title"],
        text(one["before"]),
        text(one["now"]),
        "–" if one["difference"] is None else difference(one["difference"]),
        interval_text(one["low"], one["high"], difference),
        f"{one['n']:,}",
        finding_of(change, one),
    ]
