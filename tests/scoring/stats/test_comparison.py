"""Two runs side by side: what is paired, what changed, and what fails a build."""

from collections.abc import Mapping

import pytest

from scoring.errors import UsageError
from scoring.stats.comparison import Comparison, compare_testruns, most_moved
from scoring.stats.fail_conditions import conditions
from scoring.stats.rates import Rate
from scoring.stats.run_scores import QueryScores, ScoreOfRound, TestRunScores

TITLES = {"accuracy": "정확성", "speed": "속도"}


def run(
    scores: Mapping[str, Mapping[str, float | None]], version: str = "1", rubric: str = "plan-agent"
) -> TestRunScores:
    """A run whose queries ask what their ids say."""
    queries = {
        query_id: QueryScores(f"질의 {query_id}", {"accuracy": None, "speed": None, **of})
        for query_id, of in scores.items()
    }
    return TestRunScores("run", rubric, version, queries)


def accuracies(*values: float) -> TestRunScores:
    return run({f"Q{place}": {"accuracy": value} for place, value in enumerate(values)})


def compared(base: TestRunScores, candidate: TestRunScores) -> Comparison:
    return compare_testruns(base, candidate, TITLES)


def test_only_queries_scored_on_both_sides_count() -> None:
    found = compared(
        run({"A": {"accuracy": 5}, "B": {"accuracy": 0}, "C": {"accuracy": None}, "D": {"accuracy": 1}}),
        run({"A": {"accuracy": 4}, "B": {"accuracy": None}, "C": {"accuracy": 5}, "E": {"accuracy": 0}}),
    )
    accuracy, speed = found.metrics
    assert (accuracy.base, accuracy.candidate) == (5, 4)
    assert accuracy.difference is not None
    assert (accuracy.difference.n, accuracy.difference.mean) == (1, -1)
    assert speed.difference is None
    assert (found.paired, found.only_base, found.only_candidate) == (3, ("D",), ("E",))


def test_worst_query_stands_first() -> None:
    found = compared(accuracies(5, 5, 5, 0), accuracies(4, 0, 5, 3))
    assert [(one.query_id, one.change) for one in found.worse] == [("Q1", -5), ("Q0", -1)]
    assert [(one.query_id, one.change) for one in found.better] == [("Q3", 3)]
    assert (found.same, found.within_noise) == (1, 0)


def test_change_of_a_query_is_that_of_its_total_where_there_is_one() -> None:
    before = TestRunScores("a", "r", "1", {"Q": QueryScores("", {"accuracy": 0, "weighted_total": 3})})
    after = TestRunScores("b", "r", "1", {"Q": QueryScores("", {"accuracy": 5, "weighted_total": 4})})
    found = compare_testruns(before, after, {"accuracy": "정확성", "weighted_total": "종합"})
    assert [one.change for one in found.better] == [1]
    assert found.worse == ()


def test_total_decides_where_some_answers_got_better_and_some_worse() -> None:
    before, after = [
        TestRunScores("a", "r", "1", {"Q": QueryScores("", {"accuracy": 5 - of, "intent": of, "weighted_total": of})})
        for of in (1, 3)
    ]
    titles = {"accuracy": "정확성", "intent": "의도 충족", "weighted_total": "종합"}
    assert [one.change for one in compare_testruns(before, after, titles).better] == [2]
    assert [one.change for one in compare_testruns(after, before, titles).worse] == [-2]


def test_metric_that_two_judges_judged_is_not_compared_nor_the_total_of_it() -> None:
    scores: dict[str, float | None] = {"accuracy": 5, "semantic": 2, "weighted_total": 3}
    titles = {"accuracy": "정확성", "semantic": "의도 충족", "weighted_total": "종합"}
    old, new = ({"semantic": epoch, "weighted_total": epoch} for epoch in ("0ld", "new"))
    before = TestRunScores("a", "r", "1", {"Q": QueryScores("", scores)}, epochs=old)
    other = {"Q": QueryScores("", {**scores, "semantic": 5, "weighted_total": 5})}
    found = compare_testruns(before, TestRunScores("b", "r", "1", other, epochs=new), titles)
    assert [one.metric for one in found.metrics if one.of_two_judges] == ["semantic", "weighted_total"]
    assert found.better == ()
    (condition,) = conditions(["semantic < 0"], list(titles))
    assert condition.failure(found) == "semantic < 0: the runs were judged by different models or prompts"
    same = compare_testruns(before, TestRunScores("b", "r", "1", other, epochs=old), titles)
    assert not any(one.of_two_judges for one in same.metrics)
    assert [one.change for one in same.better] == [2]


def test_total_is_not_compared_where_one_run_alone_has_no_verdicts_of_a_metric() -> None:
    """A judge whose budget is used up leaves a low metric out: the total is higher, and nothing got better."""
    titles = {"accuracy": "정확성", "semantic": "의도 충족", "weighted_total": "종합"}
    judged: dict[str, float | None] = {"accuracy": 5, "semantic": 1, "weighted_total": 3.4}
    unjudged: dict[str, float | None] = {"accuracy": 5, "semantic": None, "weighted_total": 5}

    def run(name: str, scores: dict[str, float | None], withheld: frozenset[str] = frozenset()) -> TestRunScores:
        queries = {str(place): QueryScores(f"질의 {place}", scores) for place in range(40)}
        return TestRunScores(name, "r", "1", queries, withheld)

    undecided = frozenset({"semantic"})
    found = compare_testruns(run("a", judged), run("b", unjudged, undecided), titles)
    assert (found.better, [one.withheld for one in found.metrics]) == ((), [False, True, True])
    (condition,) = conditions(["weighted_total < 0"], list(titles))
    assert condition.failure(found) == "weighted_total < 0: too many queries are undecided"


def test_query_that_failed_lowers_the_total_of_runs_without_a_judge() -> None:
    """Nobody has to judge an answer that is not there: it has scores that the others lack."""
    titles = {"accuracy": "정확성", "semantic": "의도 충족", "weighted_total": "종합"}
    answered: dict[str, float | None] = {"accuracy": 5, "semantic": None, "weighted_total": 5}
    failed: dict[str, float | None] = {"accuracy": 0, "semantic": 1, "weighted_total": 0.4}
    queries = {str(place): QueryScores(f"질의 {place}", answered) for place in range(40)}
    others = queries | {str(place): QueryScores(f"질의 {place}", failed) for place in range(6)}
    undecided = frozenset({"semantic"})
    before, after = (TestRunScores(name, "r", "1", of, undecided) for name, of in (("a", queries), ("b", others)))
    total = compare_testruns(before, after, titles).metrics[-1]
    assert total.difference
    assert (total.difference.n, total.difference.finding) == (40, "worse")


def timed(speed: float, executions: int, accuracy: float = 5) -> TestRunScores:
    scores = {"accuracy": accuracy, "speed": speed}
    reasons = {"accuracy": f"정확성이 {accuracy}점인 까닭", "speed": f"속도가 {speed}점인 까닭"}
    return TestRunScores("run", "plan-agent", "1", {"Q": QueryScores("질의", scores, executions, reasons)})


@pytest.mark.parametrize(
    ("before", "after", "executions", "worse"),
    [(3, 2.5, 2, 0), (3, 2, 2, 1), (3, 2, 1, 0), (3, 1, 1, 1), (4, 3.75, 4, 0), (4, 3.5, 4, 1)],
)
def test_time_at_the_edge_of_a_band_makes_no_query_worse(
    before: float, after: float, executions: int, worse: int
) -> None:
    found = compare_testruns(timed(before, executions), timed(after, executions), TITLES, {"speed": 1})
    assert (len(found.worse), found.within_noise) == (worse, 1 - worse)


@pytest.mark.parametrize(
    ("accuracy", "speed", "total", "counted"),
    [
        ((5, 4), (1.5, 3.5), +0.14, {"worse": 1, "worse_but_faster": 1}),
        ((4, 5), (3.5, 1.5), -0.14, {"better": 1, "better_but_slower": 1}),
        ((5, 4), (3.5, 1.5), -0.86, {"worse": 1}),
        ((4, 5), (1.5, 3.5), +0.86, {"better": 1}),
        ((5, 5), (3.5, 1.5), -0.57, {"worse": 1, "slower": 1}),
        ((5, 5), (1.5, 3.5), +0.57, {"better": 1, "faster": 1}),
        ((5, 4), (1.5, 2.0), -0.28, {"worse": 1}),
        ((5, 4), (1.5, 2.5), -0.14, {"worse": 1, "worse_but_faster": 1}),
    ],
)
def test_answers_of_a_query_decide_whether_it_is_better_or_worse_and_its_time_where_they_are_the_same(
    accuracy: tuple[float, float], speed: tuple[float, float], total: float, counted: Mapping[str, int]
) -> None:
    before, after = [
        TestRunScores(
            "run",
            "plan-agent",
            "1",
            {
                "Q": QueryScores(
                    "", {"accuracy": accuracy[side], "speed": speed[side], "weighted_total": total * side}, 2
                )
            },
        )
        for side in (0, 1)
    ]
    found = compare_testruns(before, after, TITLES | {"weighted_total": "종합 점수"}, {"speed": 1})
    assert {name: count for name, count in found.counts.items() if count} == counted
    assert [one.change for one in (*found.worse, *found.better)] == [total]


def test_fewer_executions_on_one_side_are_noisier() -> None:
    found = compare_testruns(timed(3, 2), timed(2, 1), TITLES, {"speed": 1})
    assert (found.worse, found.within_noise) == ((), 1)


def test_change_counts_what_moved_beyond_its_noise_over_all_metrics_of_both_runs() -> None:
    found = compare_testruns(timed(3, 2), timed(2.5, 2, accuracy=0), TITLES, {"speed": 1})
    assert [(one.change, [moved.metric for moved in one.moved]) for one in found.worse] == [(-2.5, ["accuracy"])]
    assert found.within_noise == 0


@pytest.mark.parametrize(
    ("accuracy", "consistency", "change"),
    [((4, 2), (0, 5), -2), ((2, 4), (5, 0), 2), ((3, 3), (5, 0), -5)],
)
def test_query_that_fails_every_time_is_no_better_for_its_consistency(
    accuracy: tuple[float, float], consistency: tuple[float, float], change: float
) -> None:
    before, after = [run({"Q": {"accuracy": accuracy[side], "consistency": consistency[side]}}) for side in (0, 1)]
    titles = {"accuracy": "정확성", "consistency": "일관성"}
    found = compare_testruns(before, after, titles, of_repeats={"consistency"})
    assert [one.change for one in (*found.worse, *found.better)] == [change]


def test_reason_of_a_change_is_that_of_the_lower_side() -> None:
    good, bad = timed(5, 2), timed(5, 2, accuracy=0)
    for found in (compare_testruns(good, bad, TITLES).worse, compare_testruns(bad, good, TITLES).better):
        assert [moved.reason for moved in found[0].moved] == ["정확성이 0점인 까닭"]


def by_round(unknown: str = "", **accuracies: float) -> TestRunScores:
    """A run of one query in these rounds, and in one whose accuracy is unknown; its reasons name them."""
    rounds = {name: {"accuracy": ScoreOfRound(points, f"{points}점인 까닭")} for name, points in accuracies.items()}
    if unknown:
        rounds[unknown] = {"accuracy": ScoreOfRound(None, "판정 없음")}
    mean, worst = sum(accuracies.values()) / len(accuracies), min(accuracies, key=lambda name: accuracies[name])
    scores = {"accuracy": mean, "consistency": 5.0, "weighted_total": mean}
    reasons = {"accuracy": f"{worst} {accuracies[worst]}점인 까닭"}
    return TestRunScores("run", "r", "1", {"Q": QueryScores("질의", scores, len(rounds), reasons, rounds)})


def test_reason_is_that_of_the_round_that_changed() -> None:
    before, after = by_round(first=5, second=0), by_round(first=4, second=0)
    (worse,) = compare_testruns(before, after, TITLES).worse
    assert [one.reason for one in worse.moved] == ["first 4점인 까닭"]
    (better,) = compare_testruns(after, before, TITLES).better
    assert [one.reason for one in better.moved] == ["first 4점인 까닭"]


def test_of_other_rounds_only_those_of_both_are_compared_and_nothing_that_all_of_them_make() -> None:
    titles = {"accuracy": "정확성", "consistency": "일관성", "weighted_total": "종합"}
    found = compare_testruns(by_round(a=2, b=5), by_round(a=2), titles, of_repeats={"consistency"})
    assert (found.worse, found.better, found.other_rounds) == ((), (), 1)
    accuracy, consistency, total = found.metrics
    assert (accuracy.base, accuracy.candidate) == (2, 2)
    assert (consistency.difference, total.difference) == (None, None)
    apart = compare_testruns(by_round(a=2), by_round(b=5), titles, of_repeats={"consistency"})
    assert [one.difference for one in apart.metrics] == [None] * 3
    assert compare_testruns(by_round(a=2, b=5), by_round(a=1, b=5), titles).other_rounds == 0
    undecided, *_ = compare_testruns(by_round(a=2, b=5, c=5), by_round(a=2, unknown="b"), titles).metrics
    assert (undecided.base, undecided.candidate) == (None, None)


def test_query_of_which_the_runs_expect_different_things_is_not_compared() -> None:
    def expecting(accuracy: float, *expected: str) -> TestRunScores:
        queries = {
            f"Q{place}": QueryScores(f"질의 {place}", {"accuracy": accuracy}, expected=one)
            for place, one in enumerate(expected)
        }
        return TestRunScores("run", "r", "1", queries)

    found = compare_testruns(expecting(5, "a", "b", "c"), expecting(0, "a", "x", ""), TITLES)
    assert [one.query_id for one in found.worse] == ["Q0", "Q2"]  # of Q2 one run does not know
    assert (found.paired, found.expected_otherwise, found.only_base, found.only_candidate) == (2, ("Q1",), (), ())
    assert compare_testruns(expecting(5, "a1", "b1"), expecting(0, "a0", "b"), TITLES).expected_otherwise == ("Q0",)
    versions = compare_testruns(expecting(5, "a", "b"), expecting(0, "a", "x"), TITLES, across_expectations=True)
    assert (versions.paired, versions.expected_otherwise, len(versions.worse)) == (2, ("Q1",), 2)


def test_repeats_that_fail_alike_are_nothing_that_got_better() -> None:
    def failing(count: int) -> TestRunScores:
        return run(
            {
                f"Q{number}": {"accuracy": 0, "consistency": 5} if number < count else {"accuracy": 5, "consistency": 3}
                for number in range(40)
            }
        )

    titles = {"accuracy": "정확성", "consistency": "일관성"}
    accuracy, consistency = (
        found := compare_testruns(failing(0), failing(20), titles, of_repeats=["consistency"])
    ).metrics
    assert (accuracy.finding, consistency.finding) == ("worse", "hollow")
    assert consistency.difference is not None
    assert consistency.difference.finding == "better"
    assert most_moved(found.metrics) == accuracy
    steadier = compare_testruns(
        run({f"Q{n}": {"accuracy": 5, "consistency": 3} for n in range(40)}),
        run({f"Q{n}": {"accuracy": 5, "consistency": 5 - n % 2} for n in range(40)}),
        titles,
        of_repeats=["consistency"],
    )
    assert [one.finding for one in steadier.metrics] == ["unclear", "better"]
    assert most_moved(steadier.metrics) == steadier.metrics[1]  # nothing else moved


def test_run_compared_with_itself_has_no_difference() -> None:
    same = accuracies(*[5.0, 3.0, 0.0] * 20)
    found = compared(same, same)
    assert (found.worse, found.better) == ((), ())
    difference = found.metrics[0].difference
    assert difference is not None
    assert (difference.mean, difference.finding) == (0, "unclear")


def test_swapping_the_runs_turns_the_difference_round() -> None:
    one, other = accuracies(*[5.0, 3.0, 0.0] * 20), accuracies(*[4.0, 3.0, 1.0] * 10, *[2.0, 2.0, 2.0] * 10)
    there, back = compared(one, other).metrics[0].difference, compared(other, one).metrics[0].difference
    assert there is not None
    assert back is not None
    assert there.mean == -back.mean
    assert there.interval is not None
    assert back.interval is not None
    assert there.interval.low == pytest.approx(-back.interval.high)


def test_runs_of_different_rubrics_are_not_compared() -> None:
    with pytest.raises(UsageError, match="plan-agent and recruit-agent"):
        compared(run({}), run({}, rubric="recruit-agent"))


def test_another_version_and_another_wording_are_noticed() -> None:
    base = run({"A": {}, "B": {}})
    reworded = TestRunScores(
        "b", "plan-agent", "2", {**base.queries, "B": QueryScores("다른 질의", base.queries["B"].scores)}
    )
    found = compared(base, reworded)
    assert found.versions_differ
    assert (found.reworded, found.paired, found.only_base, found.only_candidate) == (("B",), 1, (), ())
    assert not compared(base, base).versions_differ


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("accuracy < -0.1", True),
        ("accuracy<=-1", True),
        ("accuracy < -1", False),
        ("accuracy > 0", False),
        ("accuracy.low < -0.9", True),
        ("accuracy.high >= 0", False),
        ("  accuracy.high < -0.5 ", True),
    ],
)
def test_condition_fails_where_it_holds(condition: str, fails: bool) -> None:
    found = compared(accuracies(*[5.0, 4.0] * 20), accuracies(*[4.0, 3.0] * 20))
    [read] = conditions([condition], list(TITLES))
    assert (read.failure(found) is not None) is fails


def test_condition_says_over_how_few_queries_it_holds() -> None:
    [read] = conditions(["accuracy.high < 0"], list(TITLES))
    failure = read.failure(compared(accuracies(*[5.0] * 5), accuracies(*[4.0] * 5)))
    assert failure == "accuracy.high < 0: it is -1.0000 over 5 queries"


@pytest.mark.parametrize("condition", ["speed < -0.1", "speed.low < -0.1"])
def test_what_was_not_compared_fails(condition: str) -> None:
    [read] = conditions([condition], list(TITLES))
    assert "no query" in (read.failure(compared(accuracies(5), accuracies(5))) or "")


def test_one_query_has_no_interval_to_pass_by() -> None:
    [read] = conditions(["accuracy.low < -0.1"], list(TITLES))
    assert "too few" in (read.failure(compared(accuracies(5), accuracies(5))) or "")


@pytest.mark.parametrize(
    "condition",
    ["", "accuracy", "accuracy == 1", "accuracy < x", "accuracy < 1 or 1", "accuracy.mid < 1", "__import__('os') < 1"],
)
def test_what_is_no_condition_is_refused(condition: str) -> None:
    with pytest.raises(UsageError, match="is no condition"):
        conditions([condition], list(TITLES))


def test_unknown_metric_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="accuracy, speed"):
        conditions(["acuracy < 1"], list(TITLES))


TOOLS = Rate("tools", "도구", "accuracy", "grade", {"plan": ("PASS",)})


@pytest.mark.parametrize(
    ("grades", "share"),
    [(["PASS", "FAIL"], 0.5), (["PASS", None], 1.0), ([None], None), ([], None)],
)
def test_share_is_of_the_executions_that_have_a_grade(grades: list[str | None], share: float | None) -> None:
    assert TOOLS.share([{"agent_type": "plan", "grade": grade} for grade in grades]) == share
    assert TOOLS.share([{"agent_type": "plan"} for _ in grades]) is None  # a table of an earlier version


@pytest.mark.parametrize(
    ("withheld", "epochs", "told"),
    [
        (frozenset[str](), {}, (-1.0, False, False)),
        (frozenset({"accuracy"}), {}, (None, True, False)),
        (frozenset[str](), {"accuracy": "other"}, (None, False, True)),
    ],
)
def test_rate_is_compared_where_its_metric_may_be_and_moves_no_query(
    withheld: frozenset[str], epochs: dict[str, str], told: tuple[float | None, bool, bool]
) -> None:
    before, after = (
        TestRunScores(
            "run",
            "r",
            "1",
            {str(n): QueryScores(f"질의 {n}", {"accuracy": 4}, rates={"tools": share}) for n in range(40)},
            withheld if share else frozenset(),
            {} if share else epochs,
        )
        for share in (1.0, 0.0)
    )
    found = compare_testruns(before, after, {"accuracy": "정확성"}, rates=[TOOLS])
    (rate,) = found.rates
    assert (rate.difference and rate.difference.mean, rate.withheld, rate.of_two_judges) == told
    assert (found.worse, found.better, found.same) == ((), (), 40)
