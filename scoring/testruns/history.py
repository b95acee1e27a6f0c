"""Which test runs are runs of one test set, and how a run compares with the one before it.

A test set is known by its queries, not by the name of its file: teams rename files, and add a query now and then. A run
belongs to the set of the run with which it shares most queries (by text, by id where a file gives no text), at least
half of all that the two have. The set keeps the name that its first run gave it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from scoring.markdown import percent, score_text, signed
from scoring.stats.comparison import FINDING_TITLES, Comparison, MetricChange
from scoring.stats.intervals import MIN_N_FOR_VERDICT
from scoring.stats.outages import NO_EXECUTIONS, Failures
from scoring.stats.pairing import question_key

LEAST_SHARED = Fraction(1, 2)
_NAME_DIGITS = 16
_WORST = 5
_UNKNOWN = "판단 보류"
_SAME = "같음"
_OTHER_JUDGE = "판정한 모델이나 조건이 다름"
MEND = "오류를 고치고 다시 실행"
"""What there is to do about a run with an outage."""
FIRST_RUN = "첫 실행"
"""What is said of a run that has none before it, in place of a verdict."""


@dataclass(frozen=True)
class KnownRun:
    """A run as its history knows it: when it ran or was scored, its set, the keys of its queries, the run of its set
    that was the last when it was scored (its hash, '' for none), and how many of its executions failed."""

    sha256: str
    when: str
    test_set: str
    keys: frozenset[str]
    before: str = ""
    name: str = ""
    failures: Failures = NO_EXECUTIONS


@dataclass(frozen=True)
class RunPlace:
    """The test set of a run, and how it compares with the run before it (`change_figures`), None for the first.

    `nearest` (`nearest_figures`) is then the earlier run with most of the same queries, which were too few for one set.
    """

    test_set: str
    change: Mapping[str, Any] | None = None
    nearest: Mapping[str, Any] | None = None


def query_keys(queries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Query id -> what tells the query in any file: its text but for blanks, case and marks, else its id.

    Of several queries with one text each has its number.
    """
    seen: dict[str, int] = {}
    keys = {}
    for query_id, text in queries:
        key = question_key(text) or query_id
        seen[key] = seen.get(key, 0) + 1
        keys[query_id] = key if seen[key] == 1 else f"{key} #{seen[key]}"
    return keys


def new_set(sha256: str) -> str:
    """The name of the set whose first run is that of a file."""
    return sha256[:_NAME_DIGITS]


def set_of_run(run: KnownRun, others: Sequence[KnownRun]) -> str:
    """The set of the run among others of its rubric and agent: that of the run it shares most with, else its own."""

    def shared(other: KnownRun) -> Fraction:
        return Fraction(len(run.keys & other.keys), len(run.keys | other.keys) or 1)

    alike = [other for other in others if shared(other) >= LEAST_SHARED]
    closest = max(alike, key=lambda other: (shared(other), other.when, other.sha256), default=None)
    return closest.test_set if closest else run.test_set


def nearest_figures(run: KnownRun, others: Iterable[KnownRun], test_set: str) -> dict[str, Any] | None:
    """The earlier run of another set that shares most queries, as JSON: how many of all that both have; else None."""
    earlier = [one for one in others if one.test_set != test_set and one.when <= run.when and run.keys & one.keys]
    closest = max(earlier, key=lambda one: (len(run.keys & one.keys), one.when, one.sha256), default=None)
    if closest is None:
        return None
    shared, both = len(run.keys & closest.keys), len(run.keys | closest.keys)
    return {"name": closest.name, "when": closest.when, "shared": shared, "queries": both}


def runs_before(run: KnownRun, others: Iterable[KnownRun], test_set: str) -> list[KnownRun]:
    """The runs of the set before this one, in the order in which they ran.

    Of those of the same moment all are, for they were scored before; but those that came after it, when it is scored
    again.
    """
    of_set = [one for one in others if one.test_set == test_set]
    befores = {one.sha256: one.before for one in of_set}
    later = {one.sha256 for one in of_set if one.when == run.when and run.sha256 in _runs_before(one.sha256, befores)}
    earlier = [one for one in of_set if one.when <= run.when and one.sha256 not in later]
    return sorted(earlier, key=lambda one: (one.when, order_of_scoring(one.sha256, befores), one.sha256))


def base_among(earlier: Sequence[KnownRun]) -> KnownRun | None:
    """The run to compare with, of those before: the last one without an outage, the last one where each had one."""
    fit = [one for one in earlier if not one.failures.is_outage] or earlier
    return fit[-1] if fit else None


def compared_with(summary: Mapping[str, Any]) -> str:
    """The hash of the run that the run of a `summary.json` was compared with, '' for none."""
    sha256: str = (summary.get("change") or {}).get("sha256", "")
    return sha256


def before_of(summary: Mapping[str, Any]) -> str:
    """The hash of the run that came before the run of a `summary.json`, whether or not it was fit to compare with."""
    passed_over = (summary.get("change") or {}).get("passed_over")
    return passed_over[-1]["sha256"] if passed_over else compared_with(summary)


def order_of_scoring(sha256: str, befores: Mapping[str, str]) -> int:
    """How many runs lead up to a run, by the hash of the run that came before each: files that do not say when they ran
    stand on a day in the order in which they were scored."""
    return len(_runs_before(sha256, befores))


def _runs_before(sha256: str, befores: Mapping[str, str]) -> set[str]:
    """The runs that lead up to a run. A file that was scored again on another day may lead back to itself."""
    found: set[str] = set()
    while (sha256 := befores.get(sha256, "")) and sha256 not in found:
        found.add(sha256)
    return found


def change_figures(
    comparison: Comparison, before: KnownRun, obstacle: str = "", passed_over: Sequence[KnownRun] = ()
) -> dict[str, Any]:
    """The comparison with the run before as JSON, for report, message and page.

    `obstacle` (Korean) is why nothing can be told although there are differences, such as another version of the rules.
    `passed_over` are the runs since then, which had an outage.
    """
    told = [one for one in comparison.metrics if one.difference or one.withheld or one.of_two_judges]
    return {
        "name": comparison.base.name,
        "sha256": before.sha256,
        "when": before.when,
        "paired": comparison.paired,
        "reworded": len(comparison.reworded),
        "only_before": len(comparison.only_base),
        "only_now": len(comparison.only_candidate),
        "obstacle": obstacle,
        "outage": {"run": comparison.outage, **asdict(comparison.outage_failures)} if comparison.outage else None,
        "passed_over": [
            {"name": one.name, "sha256": one.sha256, "when": one.when, **asdict(one.failures)} for one in passed_over
        ],
        "metrics": [] if comparison.outage else [_metric_figures(one) for one in told],
        "same": comparison.is_same,
        "worse": len(comparison.worse),
        "better": len(comparison.better),
        "slower": sum(one.by_time for one in comparison.worse),
        "faster": sum(one.by_time for one in comparison.better),
        "worse_ids": [one.query_id for one in comparison.worse],
        "better_ids": [one.query_id for one in comparison.better],
        "worst": [{"text": one.text, "change": one.change} for one in comparison.worse[:_WORST]],
    }


def _metric_figures(change: MetricChange) -> dict[str, Any]:
    difference = change.difference
    interval = difference.interval if difference else None
    return {
        "metric": change.metric,
        "title": change.title,
        "before": change.base,
        "now": change.candidate,
        "difference": difference.mean if difference else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "n": difference.n if difference else 0,
        "finding": difference.finding if difference else None,
        "withheld": change.withheld,
        "of_two_judges": change.of_two_judges,
    }


def finding_of(change: Mapping[str, Any], metric: Mapping[str, Any]) -> str:
    """What may be said of a metric, and why nothing may be where that is so (Korean)."""
    if change["obstacle"]:
        return f"판단 보류({change['obstacle']})"
    if metric.get("of_two_judges"):
        return f"판단 보류({_OTHER_JUDGE})"
    if metric["withheld"]:
        return "판단 보류(미판정 질의가 많음)"
    return FINDING_TITLES[metric["finding"]] if metric["finding"] else "판단 보류(채점한 짝이 없음)"


def failures_text(failures: Failures) -> str:
    """`실행 267건 중 137건(51%)이 실패`."""
    share = percent(failures.failed / failures.executions, 0)
    return f"실행 {failures.executions:,}건 중 {failures.failed:,}건({share})이 실패"


def outage_text(change: Mapping[str, Any]) -> str:
    """That one of the two runs failed to run, so that nothing is said of quality (Korean); '' where none did."""
    outage = change.get("outage")
    if not outage:
        return ""
    of = "" if has_outage(change) else f"지난 실행({change['when'][:10]})의 "
    return f"{of}{failures_text(Failures(outage['failed'], outage['executions']))}해 품질을 비교하지 않습니다"


def has_outage(change: Mapping[str, Any] | None) -> bool:
    """Whether it is the run itself, and not the one before, that failed to run."""
    return bool(change and change.get("outage") and change["outage"]["run"] == "candidate")


def passed_over_text(change: Mapping[str, Any]) -> str:
    """Which runs since the one before were not fit to compare with, and why (Korean); '' where each was."""
    runs = [
        f"{one['name']}({one['when'][:10]}, {failures_text(Failures(one['failed'], one['executions']))})"
        for one in change.get("passed_over", ())
    ]
    return f"비교 기준에서 뺀 실행: {', '.join(runs)}" if runs else ""


def change_text(change: Mapping[str, Any]) -> str:
    """The comparison in one clause (Korean): what got worse and better, else why that cannot be told."""
    if said := outage_text(change):
        return said
    of = f"지난 실행({change['when'][:10]})보다"
    if change["obstacle"]:
        return f"{of} 나아졌는지 판단 보류: {change['obstacle']}"
    if change.get("same"):
        return f"지난 실행({change['when'][:10]})과 질의 {change['paired']:,}개의 점수가 모두 같음"
    counts = moved_text(change)
    told = [
        f"{one['title']} {FINDING_TITLES[one['finding']]}({signed(one['difference'])})"
        for finding in ("worse", "better")
        for one in change["metrics"]
        if one["finding"] == finding
    ]
    if told:
        return f"{of} {counts}{', '.join(told)}"
    if not change["paired"]:
        return f"{of} 나아졌는지 판단 보류: 함께 있는 질의가 없음"
    few = all(one["finding"] in (None, "too_few") for one in change["metrics"])
    why = f"질의가 {MIN_N_FOR_VERDICT}개 미만" if few else "차이가 우연과 구별되지 않음"
    if judged := [one["title"] for one in change["metrics"] if one.get("of_two_judges")]:
        why = f"판정한 모델이나 조건이 달라 비교하지 않은 지표: {', '.join(judged)}"
    moved = [one for one in change["metrics"] if one["difference"]]
    most = max(moved, key=lambda one: abs(one["difference"]), default=None)
    shown = f", 가장 크게 움직인 지표 {most['title']} {signed(most['difference'])}" if most else ""
    return f"{of} {counts}나아졌는지 판단 보류: {why}{shown}"


def moved_text(change: Mapping[str, Any]) -> str:
    """`답변이 나빠진 질의 11개, 좋아진 질의 5개, 속도만 느려진 질의 12개; `, '' where no query moved."""
    slower, faster = change.get("slower", 0), change.get("faster", 0)
    answers = {"답변이 나빠진 질의": change["worse"] - slower, "좋아진 질의": change["better"] - faster}
    times = {"속도만 느려진 질의": slower, "속도만 빨라진 질의": faster}
    shown = [*(answers.items() if any(answers.values()) else ()), *(each for each in times.items() if each[1])]
    return "".join([", ".join(f"{title} {count:,}개" for title, count in shown), "; " if shown else ""])


def alone_text(summary: Mapping[str, Any]) -> str:
    """Why a run is compared with none (Korean), out of its `summary.json`."""
    nearest = summary.get("nearest")
    if not nearest:
        return "같은 테스트 세트의 지난 실행이 없음"
    return (
        f"가장 비슷한 실행 {nearest['name']}({nearest['when'][:10]})도 두 실행의 질의 {nearest['queries']:,}개 중 "
        f"{nearest['shared']:,}개만 같아(절반 미만) 다른 테스트 세트로 봄"
    )


def standing(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Whether the run of a `summary.json` is better than the one before it, in a word, and why (Korean)."""
    change = summary.get("change")
    if change is None:
        return FIRST_RUN, alone_text(summary)
    told = {one["finding"] for one in change["metrics"]} & {"worse", "better"} if not change["obstacle"] else set()
    text = change_text(change)
    if not told:
        return (_SAME if change.get("same") else _UNKNOWN), outage_text(change) or text.partition(": ")[2] or text
    return ("엇갈림" if len(told) > 1 else FINDING_TITLES[told.pop()]), text


def worse_metrics(change: Mapping[str, Any]) -> tuple[str, ...]:
    """What got worse, by title; nothing where an obstacle keeps that from being told."""
    found = (one["title"] for one in change["metrics"] if one["finding"] == "worse")
    return () if change["obstacle"] else tuple(found)


CHANGE_READING = (
    "차이는 이번 실행 − 지난 실행입니다. 두 실행에서 모두 채점한 질의의 점수를 평균하므로, 종합 점수와 평균 시간으로 "
    "매기는 지표(응답 속도)는 세트 평균과 조금 다를 수 있습니다. 구간에 0이 들어 있으면 우연과 구별되지 않습니다."
)
CHANGE_HEADER = ("지표", "지난 실행", "이번 실행", "차이", "95% 구간", "질의", "판단")


def change_rows(change: Mapping[str, Any]) -> list[list[str]]:
    """A row per metric in the columns of `CHANGE_HEADER`, from the JSON of `change_figures`."""
    return [
        [
            metric["title"],
            score_text(metric["before"]),
            score_text(metric["now"]),
            "–" if metric["difference"] is None else signed(metric["difference"]),
            "–" if metric["low"] is None else f"{signed(metric['low'])} … {signed(metric['high'])}",
            f"{metric['n']:,}",
            finding_of(change, metric),
        ]
        for metric in change["metrics"]
    ]
