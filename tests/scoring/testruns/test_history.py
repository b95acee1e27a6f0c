"""Runs of one test set, and what their comparison says."""

from typing import Any

import pytest

from scoring.stats.comparison import compare_testruns
from scoring.stats.run_scores import QueryScores, TestRunScores
from scoring.testruns.change_wording import change_rows, change_text, moved_ids, moved_queries, rates_text, standing
from scoring.testruns.history import (
    KnownRun,
    base_among,
    change_figures,
    orders_of_scoring,
    query_keys,
    runs_before,
    set_of_run,
)

TITLES = {"accuracy": "정확성", "speed": "응답 속도"}


def known(sha256: str, when: str, queries: str, test_set: str = "") -> KnownRun:
    return KnownRun(sha256, when, test_set or f"set of {sha256}", frozenset(queries))


def change(before: list[float], now: list[float], obstacle: str = "") -> dict[str, Any]:
    base, candidate = [
        TestRunScores(name, "toy", "1", {str(n): QueryScores("질의", {"accuracy": s}) for n, s in enumerate(scores)})
        for name, scores in (("a.csv", before), ("b.csv", now))
    ]
    return change_figures(compare_testruns(base, candidate, TITLES), known("a", "2026-02-10T09:00:00", ""), obstacle)


def test_query_is_known_by_its_text_and_by_its_id_without_one() -> None:
    assert query_keys([("1", "평가 기간"), ("2", "평가기간 "), ("3", "")]) == {
        "1": "평가기간",
        "2": "평가기간 #2",
        "3": "3",
    }


def test_renamed_file_with_one_more_query_stays_in_its_set() -> None:
    others = [known("a", "2026-02-10", "abcd", "first"), known("b", "2026-02-11", "xyz", "second")]
    assert set_of_run(known("c", "2026-02-12", "abcde"), others) == "first"


def test_run_that_shares_less_than_half_begins_a_set() -> None:
    assert set_of_run(known("c", "2026-02-12", "abxy"), [known("a", "2026-02-10", "abcd")]) == "set of c"
    assert set_of_run(known("c", "2026-02-12", "ab"), [known("a", "2026-02-10", "abcd")]) == "set of a"


def test_run_before_is_the_last_that_ran_earlier_in_the_set() -> None:
    others = [
        known("a", "2026-02-10", "q", "s"),
        known("b", "2026-02-11T09:00:00", "q", "s"),
        known("c", "2026-02-13", "q", "s"),
        known("d", "2026-02-11T10:00:00", "q", "another"),
    ]
    run, earliest = known("e", "2026-02-12", "q"), known("e", "2026-02-09", "q")
    before = base_among(run, runs_before(run, others, "s"))
    assert before is not None
    assert before.sha256 == "b"
    assert base_among(earliest, runs_before(earliest, others, "s")) is None


class _CountedReads(dict[str, str]):
    reads = 0

    def get(self, *key: Any) -> Any:
        self.reads += 1
        return super().get(*key)


def test_order_of_thousands_of_runs_of_a_set_reads_each_a_few_times() -> None:
    befores = _CountedReads({str(n): str(n - 1) if n else "" for n in range(2_000)})
    assert orders_of_scoring(befores) == {str(n): n for n in range(2_000)}
    assert befores.reads <= 3 * len(befores)


def test_order_of_runs_that_precede_one_another_ends() -> None:
    orders = orders_of_scoring({"a": "b", "b": "a", "c": "b", "d": "gone", "e": "d"})
    assert orders["a"] == orders["b"] < orders["c"]
    assert orders["d"] < orders["e"]


def test_change_says_what_got_worse_with_its_interval() -> None:
    found = change([5.0] * 40, [4.0] * 20 + [3.0] * 20)
    told = "지난 실행(a.csv, 2026-02-10)보다 답변이 나빠진 질의 40개, 좋아진 질의 0개; 정확성 나빠짐(−1.50)"
    assert change_text(found) == told
    (row,) = change_rows(found)
    assert row[:4] == ["정확성", "5.00", "3.50", "−1.50"]
    assert row[5:] == ["40", "나빠짐"]
    assert (found["worse"], found["better"], len(found["worst"])) == (40, 0, 5)


@pytest.mark.parametrize(
    ("before", "now", "obstacle", "moved", "why"),
    [
        ([5.0] * 10, [0.0] * 10, "", (10, 0), "질의가 30개 미만(가장 크게 움직인 지표는 정확성 −5.00)"),
        ([5.0, 0.0] * 20, [0.0, 5.0] * 20, "", (20, 20), "차이가 우연과 구별되지 않음"),
        ([5.0] * 40, [0.0] * 40, "채점 기준의 버전이나 옵션이 다름", None, "채점 기준의 버전이나 옵션이 다름"),
        ([], [], "", None, "함께 있는 질의가 없음"),
    ],
)
def test_change_that_cannot_be_told_says_why(
    before: list[float], now: list[float], obstacle: str, moved: tuple[int, int] | None, why: str
) -> None:
    counts = f"답변이 나빠진 질의 {moved[0]}개, 좋아진 질의 {moved[1]}개; " if moved else ""
    assert change_text(change(before, now, obstacle)) == (
        f"지난 실행(a.csv, 2026-02-10)보다 {counts}나아졌는지 판단 보류: {why}"
    )


def test_queries_that_only_got_slower_are_counted_apart_from_those_that_answer_worse() -> None:
    base, candidate = [
        TestRunScores(
            name,
            "toy",
            "1",
            {str(n): QueryScores(f"질의 {n}", {"accuracy": a, "speed": s}) for n, (a, s) in enumerate(scores)},
        )
        for name, scores in (("a.csv", [(5, 5)] * 40), ("b.csv", [(0, 4), (5, 2), (5, 2), *[(5, 5)] * 37]))
    ]
    compared = compare_testruns(base, candidate, TITLES, {"speed": 1})
    assert [(one.query_id, one.by_time) for one in compared.worse] == [("0", False), ("1", True), ("2", True)]
    found = change_figures(compared, known("a", "2026-02-10", ""))
    assert change_text(found).startswith(
        "지난 실행(a.csv, 2026-02-10)보다 답변이 나빠진 질의 1개, 좋아진 질의 0개, 속도만 느려진 질의 2개; "
    )
    assert moved_ids(found) == {"worse": ["0"], "better": [], "slower": ["1", "2"], "faster": []}
    assert [one["text"] for one in found["worst"]] == ["질의 0"]


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        (
            {"worse": 38, "slower": 10, "worse_but_faster": 5},
            "답변이 나빠진 질의 28개(그중 5개는 빨라짐), 좋아진 질의 0개, 속도만 느려진 질의 10개",
        ),
        (
            {"better": 3, "faster": 1, "better_but_slower": 1},
            "답변이 나빠진 질의 0개, 좋아진 질의 2개(그중 1개는 느려짐), 속도만 빨라진 질의 1개",
        ),
        ({"worse": 10, "slower": 10}, "속도만 느려진 질의 10개"),
        ({}, ""),
    ],
)
def test_counts_of_moved_queries_say_which_moved_against_their_times(counts: dict[str, int], told: str) -> None:
    assert ", ".join(moved_queries({"worse": 0, "better": 0} | counts).values()) == told


def test_runs_with_the_same_scores_are_said_to_be_the_same() -> None:
    found = change([5.0, 0.0] * 20, [5.0, 0.0] * 20)
    said = "지난 실행(a.csv, 2026-02-10)과 질의 40개의 점수가 모두 같음"
    assert (change_text(found), standing({"change": found})) == (said, ("같음", said))


def test_first_run_of_a_set_has_no_verdict_to_withhold() -> None:
    assert standing({"change": None}) == ("첫 실행", "같은 테스트 세트의 지난 실행이 없음")


def test_obstacle_withholds_the_verdict_of_every_metric() -> None:
    (row,) = change_rows(change([5.0] * 40, [0.0] * 40, "판정한 모델이나 조건이 다름"))
    assert row[-1] == "판단 보류(판정한 모델이나 조건이 다름)"


def test_what_another_judge_judged_has_no_verdict_and_is_named() -> None:
    base, candidate = [
        TestRunScores(
            name,
            "toy",
            "1",
            {str(n): QueryScores("질의", {"accuracy": accuracy, "speed": 5}) for n in range(40)},
            epochs={"accuracy": name},
        )
        for name, accuracy in (("a.csv", 5), ("b.csv", 0))
    ]
    found = change_figures(compare_testruns(base, candidate, TITLES), known("a", "2026-02-10", ""))
    judged, by_rule = change_rows(found)
    assert judged[3:] == ["–", "–", "0", "판단 보류(판정한 모델이나 조건이 다름)"]
    assert by_rule[3] == "0.00"
    assert change_text(found).endswith(", 판정한 모델이나 조건이 달라 비교하지 않은 지표: 정확성")


@pytest.mark.parametrize(
    ("metric", "tools", "numbers", "said"),
    [
        ("worse", "worse", "unclear", ""),  # the metric says it
        ("unclear", "unclear", "too_few", ""),
        ("unclear", "unclear", "worse", "정확성 점수는 판단 보류지만 목표별로는 수치 나빠짐(질의 40개, 50.0% → 40.0%)"),
        (
            "worse",
            "better",
            "worse",
            "정확성 점수는 나빠졌지만 목표별로는 수치 나빠짐(질의 40개, 50.0% → 40.0%), "
            "도구 좋아짐(질의 40개, 50.0% → 60.0%)",
        ),
        (
            "better",
            "worse",
            "better",
            "정확성 점수는 좋아졌지만 목표별로는 도구 나빠짐(질의 40개, 50.0% → 40.0%), "
            "수치 좋아짐(질의 40개, 50.0% → 60.0%)",
        ),
    ],
)
def test_rates_are_said_where_their_metric_does_not_tell_what_they_do(
    metric: str, tools: str, numbers: str, said: str
) -> None:
    now = {"worse": 0.4, "unclear": 0.5, "too_few": 0.5, "better": 0.6}
    rates = [
        {"title": title, "finding": finding, "part_of": "accuracy", "before": 0.5, "now": now[finding], "n": 40}
        for title, finding in (("도구", tools), ("수치", numbers))
    ]
    metrics = [{"metric": "accuracy", "title": "정확성", "finding": metric}]
    assert rates_text({"metrics": metrics, "rates": rates}) == said


@pytest.mark.parametrize(("worse", "better", "word"), [(8, 4, "판단 보류"), (4, 8, "좋아짐")])
def test_standing_of_a_run_with_a_better_target_is_not_better_where_more_answers_got_worse(
    worse: int, better: int, word: str
) -> None:
    """Tools may be right more often because fewer executions timed out, while the numbers went wrong."""
    moved = [3 - 1 / worse] * worse + [3 + 1 / better] * better
    found = change([3.0] * 40, [*moved, *[3.0] * (40 - len(moved))])
    rate = {"title": "도구", "finding": "better", "part_of": "accuracy", "before": 0.631, "now": 0.672, "n": 40}
    found["rates"] = [rate]
    said, why = standing({"change": found})
    assert (said, "목표별로는 도구 좋아짐(질의 40개, 63.1% → 67.2%)" in why) == (word, True)
    assert why.startswith(f"지난 실행(a.csv, 2026-02-10)보다 답변이 나빠진 질의 {worse}개, 좋아진 질의 {better}개; ")


def test_chance_is_told_though_some_metrics_are_not_compared() -> None:
    found = change([3.0, 3.0] * 20, [3.5, 2.5] * 20)
    found["metrics"].append({"metric": "c", "title": "일관성", "finding": None, "withheld": True, "difference": None})
    assert change_text(found).endswith(
        "판단 보류: 비교한 지표는 차이가 우연과 구별되지 않음, 미판정 질의가 많아 비교하지 않은 지표: 일관성"
    )
