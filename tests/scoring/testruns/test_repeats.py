"""What repeats of a query come to: passes, pass^k, the commonest outcome."""

from fractions import Fraction

from scoring.testruns.executions import Execution, LatencyClass, Round
from scoring.testruns.rubric import Score, ScoredExecution
from scoring.testruns.summaries import Repeats, repeat_figures, repeat_line, repeats_of


def execution(points: int | None, room: int = 1) -> ScoredExecution:
    """An execution with these points for accuracy."""
    outline = Execution(query_id="Q1", round=Round(room, 1))
    return ScoredExecution(outline, False, False, 1.0, LatencyClass.SINGLE, {"accuracy": Score(points, "")})


def test_three_points_pass_and_two_do_not() -> None:
    assert repeats_of([execution(3), execution(2), execution(5)], 3) == Repeats(2, 3, None)


def test_execution_without_accuracy_neither_passes_nor_fails() -> None:
    assert repeats_of([execution(5), execution(None)], 3, [5, 5, 0]) == Repeats(1, 1, Fraction(2, 3))


def test_pass_hat_k_is_over_the_queries_with_k_executions() -> None:
    figures = repeat_figures([Repeats(2, 2, Fraction(1)), Repeats(2, 3, Fraction(2, 3)), Repeats(0, 1, None)], 3)
    assert figures["pass_hat_k"] == {
        "1": {"mean": 5 / 9, "n": 3},
        "2": {"mean": 2 / 3, "n": 2},
        "3": {"mean": 0.0, "n": 1},
    }
    assert figures["mode_ratio"] == {"mean": 5 / 6, "n": 2}


def test_passing_more_often_in_a_row_is_never_likelier() -> None:
    figures = repeat_figures([Repeats(passed, 5, None) for passed in range(6)], 3)["pass_hat_k"]
    means = [figures[str(k)]["mean"] for k in range(1, 6)]
    assert means == sorted(means, reverse=True)


def test_report_tells_of_repeats_only_where_there_are_some() -> None:
    assert repeat_line(repeat_figures([Repeats(1, 1, None)], 3)) == ""
    line = repeat_line(
        repeat_figures([Repeats(2, 2, Fraction(1)), Repeats(1, 2, Fraction(1, 2))], 3), "같은 숫자의 비율"
    )
    assert "1회 75.0%(질의 2개), 2회 모두 50.0%(질의 2개)" in line
    assert "같은 숫자의 비율은 평균 75.0%" in line
    assert "통과는 정확성 3점 이상" in line
