"""Two test runs side by side, as Korean markdown, as a page and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from scoring.catalog import rubric_title
from scoring.markdown import examples, one_line, score_text, shortened, signed
from scoring.stats.comparison import Comparison, MetricChange, QueryChange, most_moved
from scoring.stats.intervals import MIN_N_FOR_VERDICT
from scoring.testruns.change_wording import (
    CHANGE_HEADER,
    EACH_BY_ITSELF,
    MOVED_TITLES,
    OUTAGE_ACTION,
    RATES_READING,
    cause_name,
    change_rows,
    failures_text,
    group_tables,
    more_failed_text,
    moved_queries,
    rate_tables,
    rates_text,
    undecided_text,
)
from scoring.testruns.check_results import without_followers
from scoring.testruns.history import decided_figures, group_figures, metric_figures
from tasks.files.atomic import json_text
from tasks.reports.site.pages import Table, page
from tasks.reports.templates import markdown
from tasks.reports.wording import rules_text

_SHOWN_QUERIES = 10
_QUERY_CHARACTERS = 60
_REASON_CHARACTERS = 240
Answers = Mapping[str, tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]]
"""Query id -> the answers of the base and of the candidate, each with its round."""

_READING = (
    "차이는 후보 − 기준이며, 두 실행에서 모두 채점한 질의만 셉니다. 구간에 0이 들어 있으면 우연과 구별되지 않습니다. "
    "질의별 점수를 평균하므로, 종합 점수와 평균 시간으로 매기는 지표는 보고서의 값과 조금 다를 수 있고, 회차마다 질의 "
    "수가 다르면 회차를 평균하는 보고서와 모든 지표가 다를 수 있습니다. "
    f"{EACH_BY_ITSELF}"
)
_CHANGE_READING = (
    "변화는 종합 점수의 차이입니다. 종합 점수가 없으면 두 실행에서 모두 채점한 지표의 차이를 평균한 값이고, 회차끼리 "
    "비교하는 지표는 다른 지표가 그대로일 때만 셉니다(매번 똑같이 실패해도 오릅니다). "
    "나빠졌는지는 답변의 점수로 정합니다. 빨라져서 종합 점수가 올랐어도 답변이 나빠졌으면 나빠진 질의입니다. "
    "시간으로 매기는 지표는 실행 하나가 한 구간 움직인 만큼(실행이 2번이면 0.5점)까지 측정의 흔들림으로 보아 세지 "
    "않습니다. 까닭은 점수가 낮은 쪽(괄호 안)의 것이고, 앞의 숫자는 회차입니다."
)
_OUTAGE_ACTIONS = {"base": "오류 없이 실행한 결과를 기준으로 다시 비교하세요.", "candidate": f"{OUTAGE_ACTION}하세요."}
"""What to do about a run that failed, by its side."""
_METRIC_HEADER = ("지표", "기준", "후보", *CHANGE_HEADER[3:])


def comparison_markdown(comparison: Comparison, failures: Sequence[str]) -> str:
    """The whole comparison; `failures` are the conditions of `--fail-if` that hold."""
    return markdown("comparison.md", **comparison_values(comparison, failures))


def comparison_page(comparison: Comparison, failures: Sequence[str], answers: Answers) -> str:
    """The same as one self-contained page, with the answers of both runs to a changed query side by side."""
    title = f"{comparison.base.name} → {comparison.candidate.name}"
    return page("comparison.html", title=title, answers=answers, **comparison_values(comparison, failures))


def comparison_headline(comparison: Comparison) -> list[str]:
    """The headline: how many queries got worse, in which metrics, and which to look at first (Korean)."""
    if nothing := _not_compared(comparison):
        return nothing
    if comparison.across_expectations and (changed := len(comparison.expected_otherwise)):
        of_answers = comparison_headline(replace(comparison, across_expectations=False, expected_otherwise=()))
        why = f"기대 결과가 바뀐 질의 {changed:,}개의 차이는 답변이 아니라 기대 결과에서 온 것입니다."
        return [why, *of_answers]
    rates = [f"{text}입니다."] if (text := rates_text(decided_figures(comparison))) else []
    if comparison.is_same:
        why = " 같은 결과 파일을 두 번 채점한 것입니다." if comparison.is_same_file else ""
        return [*rates, f"두 실행에서 질의 {comparison.paired:,}개의 점수가 모두 같습니다.{why}"]
    verdict = _verdict(comparison, of="점수가 " if rates else "")
    if comparison.more_failed:
        return [_more_failed(comparison), *rates, verdict, _OUTAGE_ACTIONS[comparison.more_failed]]
    return [*rates, _counts_text(comparison), verdict, *_look_first(comparison)]


def _not_compared(comparison: Comparison) -> list[str]:
    """Why the answers are not compared, and what to do; '' if they are."""
    if not comparison.paired and comparison.expected_otherwise:
        return [
            "기대 결과나 정답 수치의 유무가 모두 바뀌어 비교하지 못했습니다.",
            "지난 결과 파일을 새 기대 결과로 다시 채점하세요.",
        ]
    if not comparison.paired:
        return ["두 실행에 함께 있는 질의가 없어 비교하지 못했습니다.", "질의 문장이 같은지 확인하세요."]
    if comparison.outage:
        side = {"base": "기준", "candidate": "후보"}[comparison.outage]
        why = f"{side}의 {failures_text(comparison.outage_failures)}이어서 품질을 비교하지 않습니다."
        return [why, _OUTAGE_ACTIONS[comparison.outage]]
    return []


def _verdict(comparison: Comparison, of: str) -> str:
    """The metrics that got worse or better with confidence; else why that is undecided. `of` is the subject."""
    found: dict[str, list[str]] = {"worse": [], "better": []}
    for one in comparison.metrics:
        if one.difference and one.finding in found:
            found[one.finding].append(f"{one.title} {signed(one.difference.mean)}")
    named = {"나빠진": found["worse"], "좋아진": found["better"]}
    if said := [f"{how} 지표는 {', '.join(metrics)}입니다." for how, metrics in named.items() if metrics]:
        return " ".join(said)
    why = undecided_text(
        few=comparison.paired < MIN_N_FOR_VERDICT,
        compared=any(one.finding for one in comparison.metrics),
        withheld=[one.title for one in comparison.metrics if one.withheld],
        of_two_judges=[one.title for one in comparison.metrics if one.of_two_judges],
    )
    return f"{of}나빠졌는지 좋아졌는지 판단 보류: {why}{_largest_text(comparison)}."


def _more_failed(comparison: Comparison) -> str:
    """The sentence that one run failed more often than the other."""
    sides = [(comparison.base.failures, "기준"), (comparison.candidate.failures, "후보")]
    (failures, side), (others, other) = sides if comparison.more_failed == "base" else reversed(sides)
    return f"{side}의 {more_failed_text(failures, others, other)} 있습니다."


def _look_first(comparison: Comparison) -> list[str]:
    """What to look at first if answers got worse."""
    if where := cause_name(group_figures(comparison)):
        return [f"주로 나빠진 {where}의 질의부터 확인하세요."]
    if not comparison.worse or comparison.worse[0].by_time:
        return []
    first = comparison.worse[0]
    name = _query_name(first.query_id, first.text)
    return [f"가장 많이 나빠진 '{name}'({_moved_text(first)})부터 확인하세요."]


def _counts_text(comparison: Comparison) -> str:
    """`짝지은 질의 40개 가운데 답변이 나빠진 질의 11개, 좋아진 질의 5개, 속도만 느려진 질의 12개입니다.`"""
    within = f"측정의 흔들림 안에서만 움직인 질의 {comparison.within_noise:,}개" if comparison.within_noise else ""
    moved = ", ".join(filter(None, (*moved_queries(comparison.counts).values(), within)))
    left_out = {"문장이 바뀐": len(comparison.reworded), "기대 결과가 바뀐": len(comparison.expected_otherwise)}
    named = ", ".join(f"{what} {count:,}개" for what, count in left_out.items() if count)
    reworded = f"({named}는 비교에서 뺐습니다)" if named else ""
    return f"짝지은 질의 {comparison.paired:,}개 가운데 {moved or '움직인 질의 0개'}입니다{reworded}."


def _largest_text(comparison: Comparison) -> str:
    """The metric that moved most; '' if none did."""
    most = most_moved(comparison.metrics)
    return (
        f". 가장 크게 움직인 지표는 {most.title} {score_text(most.base)} → {score_text(most.candidate)}" if most else ""
    )


def comparison_values(comparison: Comparison, failures: Sequence[str]) -> dict[str, Any]:
    """The values of the templates."""
    rates = rate_tables(decided_figures(comparison), "기준", "후보")
    metrics = [] if comparison.outage else [metric_figures(change) for change in comparison.metrics]
    return {
        "comparison": comparison,
        "headline": comparison_headline(comparison),
        "facts": _facts(comparison),
        "warnings": _warnings(comparison),
        "failures": failures,
        "metrics": Table(_METRIC_HEADER, change_rows({"metrics": metrics})),
        "change_tables": [*rates, *group_tables(group_figures(comparison), "기준", "후보")],
        "reading": f"{_READING} {RATES_READING}" if rates else _READING,
        "change_reading": _CHANGE_READING,
        "lists": [] if comparison.outage else _lists(comparison),
    }


def _lists(comparison: Comparison) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """The lists of queries that moved, with those that moved only in time if there are any: id, title, queries."""
    worse, better = comparison.worse, comparison.better
    of_kind = {
        "worse": [one for one in worse if not one.by_time],
        "better": [one for one in better if not one.by_time],
        "slower": [one for one in worse if one.by_time],
        "faster": [one for one in better if one.by_time],
    }
    queries = comparison.candidate.queries
    return [
        (kind, MOVED_TITLES[kind], [_change_values(one, queries[one.query_id].groups) for one in changes])
        for kind, changes in of_kind.items()
        if changes or kind in ("worse", "better")
    ]


def comparison_json(comparison: Comparison, failures: Sequence[str]) -> str:
    """The same for programs: every changed query, unrounded numbers."""
    document = {
        "rubric": comparison.base.rubric,
        "base": {"name": comparison.base.name, "rubric_version": comparison.base.rubric_version},
        "candidate": {"name": comparison.candidate.name, "rubric_version": comparison.candidate.rubric_version},
        "headline": comparison_headline(comparison),
        "paired": comparison.paired,
        "within_noise": comparison.within_noise,
        "outage": comparison.outage and {"run": comparison.outage, **asdict(comparison.outage_failures)},
        "metrics": {change.metric: _metric_dict(change) for change in comparison.metrics},
        "rates": {change.metric: _metric_dict(change) for change in comparison.rates},
        "groups": group_figures(comparison),
        "worse": [asdict(change) for change in comparison.worse],
        "better": [asdict(change) for change in comparison.better],
        "only_base": comparison.only_base,
        "only_candidate": comparison.only_candidate,
        "reworded": comparison.reworded,
        "other_rounds": comparison.other_rounds,
        "expected_otherwise": comparison.expected_otherwise,
        "warnings": _warnings(comparison),
        "failures": list(failures),
    }
    return json_text(document)


def _facts(comparison: Comparison) -> list[str]:
    """The facts about what was compared."""
    sides = (("기준", comparison.base), ("후보", comparison.candidate))
    return [f"{side}: {run.name} ({rubric_title(run.rubric)}, {rules_text(run.rubric_version)})" for side, run in sides]


def _warnings(comparison: Comparison) -> list[str]:
    """Caveats that a reader must know before trusting a difference."""
    found = []
    if comparison.versions_differ:
        found.append("채점 기준이나 옵션이 다릅니다. 차이가 에이전트가 아니라 채점 기준에서 왔을 수 있습니다.")
    if judged := [change.title for change in comparison.metrics if change.of_two_judges]:
        found.append(
            f"두 실행을 판정한 모델이나 조건이 달라 비교하지 않은 지표: {', '.join(judged)}. "
            "같은 판정 모델로 두 파일을 다시 채점하면 비교할 수 있습니다."
        )
    if other := comparison.other_rounds:
        found.append(
            f"짝지은 질의 {other:,}개는 두 실행의 회차가 다릅니다. 그 질의는 두 실행에 다 있는 회차의 답변만 "
            "비교했고, 일관성과 종합 점수처럼 모든 회차로 매기는 점수와 목표별 비율은 비교하지 않았습니다."
        )
    for title, run, ids in (
        ("ID는 같지만 문장이 바뀌어 비교하지 않은 질의", comparison.candidate, comparison.reworded),
        (
            "기대 결과가 바뀐 질의"
            if comparison.across_expectations
            else "기대 결과나 정답 수치의 유무가 바뀌어 비교하지 않은 질의",
            comparison.candidate,
            comparison.expected_otherwise,
        ),
        ("기준에만 있어 비교하지 않은 질의", comparison.base, comparison.only_base),
        ("후보에만 있어 비교하지 않은 질의", comparison.candidate, comparison.only_candidate),
    ):
        if ids:
            names = [_query_name(query_id, run.queries[query_id].text) for query_id in ids]
            found.append(f"{title} {len(ids):,}개: {examples(names, _SHOWN_QUERIES)}")
    return found


def _query_name(query_id: str, text: str) -> str:
    """The name of a query: its text, or its id if it has none."""
    return shortened(one_line(text), _QUERY_CHARACTERS) or query_id


def _change_values(change: QueryChange, groups: Mapping[str, str]) -> dict[str, Any]:
    """A changed query for both templates; equal reasons of several metrics are merged, with their run."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in change.moved:
        if reason := without_followers(one.reason):
            reasons.setdefault((reason, "후보" if one.candidate < one.base else "기준"), []).append(one.title)
    return {
        "id": change.query_id,
        "groups": " · ".join(groups.values()),
        "text": shortened(one_line(change.text), _QUERY_CHARACTERS),
        "change": signed(change.change),
        "moved": _moved_text(change),
        "reasons": [
            f"{'·'.join(titles)}({side}): {shortened(one_line(reason), _REASON_CHARACTERS)}"
            for (reason, side), titles in reasons.items()
        ],
    }


def _moved_text(change: QueryChange) -> str:
    """`정확성 5.00 → 0.00, 안정성 5.00 → 2.50`."""
    return ", ".join(f"{one.title} {score_text(one.base)} → {score_text(one.candidate)}" for one in change.moved)


def _metric_dict(change: MetricChange) -> dict[str, Any]:
    difference = change.difference
    return {
        "title": change.title,
        "base": change.base,
        "candidate": change.candidate,
        "difference": difference and difference.mean,
        "interval": difference and difference.interval and asdict(difference.interval),
        "n": difference.n if difference else 0,
        "finding": change.finding,
        "withheld": change.withheld,
        "of_two_judges": change.of_two_judges,
    }
