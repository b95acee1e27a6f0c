"""The verdict of a figure, and its texts."""

from dataclasses import replace

import pytest

from scoring.figures import VERDICT_TITLES, Figure, Target, goal_figure
from scoring.stats.intervals import Interval, rate_of_moments, wilson_interval
from tests.builders.aqb_runs import agent, execution

AT_LEAST_90, AT_MOST_3, AT_LEAST_65 = Target(">=", 0.9), Target("<=", 0.03), Target(">=", 65)


@pytest.mark.parametrize(
    ("target", "value", "interval", "n", "verdict"),
    [
        (AT_MOST_3, 0.01, Interval(0.005, 0.02), 900, "met"),
        (AT_MOST_3, 0.03, Interval(0.02, 0.03), 900, "met"),
        (AT_MOST_3, 0.02, Interval(0.01, 0.04), 900, "undecided"),
        (AT_MOST_3, 0.04, Interval(0.02, 0.06), 900, "undecided"),
        (AT_MOST_3, 0.04, Interval(0.03, 0.06), 900, "undecided"),
        (AT_MOST_3, 0.09, Interval(0.07, 0.12), 900, "missed"),
        (AT_LEAST_90, 0.93, Interval(0.91, 0.95), 900, "met"),
        (AT_LEAST_90, 0.80, Interval(0.7, 0.89), 900, "missed"),
        (AT_LEAST_65, 66.0, Interval(64.0, 68.0), 900, "undecided"),
        (AT_LEAST_65, 66.0, Interval(65.0, 67.0), 900, "met"),
        (AT_LEAST_65, 66.0, None, 900, "undecided"),
        (AT_MOST_3, 0.5, Interval(0.2, 0.8), 29, "undecided"),
        (AT_MOST_3, 0.5, Interval(0.2, 0.8), 30, "missed"),
        (AT_MOST_3, None, None, 0, "undecided"),
    ],
)
def test_verdict_is_as_strong_as_n_and_the_interval(
    target: Target, value: float | None, interval: Interval | None, n: int, verdict: str
) -> None:
    figure = Figure("", value, n, target, interval)
    assert figure.verdict == verdict
    assert figure.verdict_text == ("미측정" if value is None else VERDICT_TITLES[figure.verdict])


@pytest.mark.parametrize(("target", "least"), [(Target(">=", 0.98), 189), (AT_LEAST_90, 35), (AT_MOST_3, 125)])
def test_figure_says_from_how_many_on_its_target_can_be_met(target: Target, least: int) -> None:
    for n in (least - 1, least):
        best = n if target.operator == ">=" else 0
        figure = Figure("", best / n, n, target, wilson_interval(best, n))
        assert (figure.verdict, figure.judged_text) == (
            ("met", "달성") if n == least else ("undecided", f"판단 보류(n {least} 이상이어야 달성 가능)")
        )
    assert Figure("", 0.5, least, target, wilson_interval(least // 2, least)).judged_text == "미달"
    but_one = least - 1 if target.operator == ">=" else 1
    assert Figure("", but_one / least, least, target, wilson_interval(but_one, least)).judged_text == "판단 보류"


def test_figure_texts_of_a_rate() -> None:
    rate = Figure("실패율", 0.1125, 1080, AT_MOST_3, Interval(0.0951, 0.1325))
    assert rate.text == "11.3% (95% 구간 9.5~13.3%) · 목표 3% 이하 · 미달 · n=1,080"


def test_figure_texts_of_a_mean_round_half_away_from_zero() -> None:
    mean = Figure("평균", 62.25, 40, AT_LEAST_65, Interval(60.05, 64.0), is_rate=False)
    assert mean.text == "62.3점 (95% 구간 60.1~64.0점) · 목표 65점 이상 · 미달 · n=40"


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        (Figure("", 0.9796, 9000, Target(">=", 0.98), Interval(0.97697, 0.97998)), "97.96% (95% 구간 97.7~97.998%)"),
        (Figure("", 0.985, 900, Target(">=", 0.98), Interval(0.9796, 0.99)), "98.5% (95% 구간 97.96~99.0%)"),
        (Figure("", 0.0304, 9000, AT_MOST_3, Interval(0.0301, 0.0307)), "3.04% (95% 구간 3.01~3.1%)"),
        (Figure("", 64.96, 900, AT_LEAST_65, Interval(64.9, 64.98), is_rate=False), "64.96점 (95% 구간 64.9~64.98점)"),
        (Figure("", 0.98, 900, Target(">=", 0.98), Interval(0.98, 0.99)), "98.0% (95% 구간 98.0~99.0%)"),
        (
            Figure("", 64.99999999999999, 900, AT_LEAST_65, Interval(64.9, 65.1), is_rate=False),
            "65.0점 (95% 구간 64.9~65.1점)",
        ),
        (Figure("", 2999 / 3000, 3000, Target(">=", 1), Interval(0.998, 0.9999)), "99.97% (95% 구간 99.8~99.99%)"),
    ],
)
def test_figure_is_shown_on_its_side_of_the_target(figure: Figure, shown: str) -> None:
    assert figure.text.startswith(f"{shown} · 목표 {figure.target_text} · ")


@pytest.mark.parametrize(
    ("target", "is_rate", "shown"),
    [
        (Target(">=", 0.985), True, "98.5% 이상"),
        (Target("<=", 0.0005), True, "0.05% 이하"),
        (Target("<=", 0.3), True, "30% 이하"),
        (Target(">=", 1), True, "100% 이상"),
        (Target(">=", 2.5), False, "2.5점 이상"),
        (Target(">=", 65.0), False, "65점 이상"),
        (Target("<=", 0), False, "0점 이하"),
    ],
)
def test_figure_shows_its_target_as_it_was_written(target: Target, is_rate: bool, shown: str) -> None:
    assert Figure("", 0.5, 40, target, is_rate=is_rate).target_text == shown


def test_figure_without_rows_has_a_dash_and_no_verdict() -> None:
    assert Figure("실패율", None, 0, AT_MOST_3).text == "– · 목표 3% 이하 · 미측정 · n=0"


@pytest.mark.parametrize(("value", "target"), [(1.0, Target(">=", 1)), (0.0, Target("<=", 0))])
def test_target_without_exceptions_says_that_no_number_of_rows_shows_it(value: float, target: Target) -> None:
    figure = Figure("", value, 9_000, target, wilson_interval(round(value * 9_000), 9_000))
    assert figure.judged_text == "판단 보류(예외가 없다는 것은 몇 건으로도 확정할 수 없음)"
    assert replace(figure, value=0.5, interval=Interval(0.4, 0.6)).judged_text == "미달"


@pytest.mark.parametrize(("sessions", "judged"), [(380, "판단 보류(세션 381개 이상이어야 달성 가능)"), (381, "달성")])
def test_turns_of_sessions_are_no_further_sessions(sessions: int, judged: str) -> None:
    of_day = rate_of_moments(sessions, 2 * sessions, total=0, of_sums=0, mixed=0, of_sizes=4 * sessions)
    figure = Figure("", 0.0, 2 * sessions, Target("<=", 0.01), of_day)
    assert figure.judged_text == judged
    of_best_day = rate_of_moments(sessions, 2 * sessions, 2 * sessions, 4 * sessions, 4 * sessions, 4 * sessions)
    assert Figure("", 1.0, 2 * sessions, Target(">=", 0.99), of_best_day).judged_text == judged
    assert replace(figure, value=0.005, interval=Interval(0.001, 0.02)).judged_text == "판단 보류"


@pytest.mark.parametrize(("queries", "judged"), [(188, "판단 보류(질의 189개 이상이어야 달성 가능)"), (189, "달성")])
def test_repeats_of_queries_are_no_further_queries(queries: int, judged: str) -> None:
    executions = (execution(f"Q-{query}", room, ground_truth="5") for query in range(queries) for room in (1, 2, 3))
    figure = goal_figure(agent(*executions)["targets"]["result_accuracy_rate"])
    assert (figure.n, figure.judged_text, figure.n_text) == (3 * queries, judged, f"{3 * queries}(질의 {queries}개)")


def test_failed_repeat_makes_no_target_easier_to_meet() -> None:
    executions = [execution(f"Q-{query}", room, ground_truth="5") for query in range(150) for room in (1, 2, 3)]
    for failed in (0, 1, 2):
        wrong = [execution("Q-0", room, ground_truth="7" if room <= failed else "5") for room in (1, 2, 3)]
        figure = goal_figure(agent(*wrong, *executions[3:])["targets"]["result_accuracy_rate"])
        assert figure.verdict == "undecided"


def test_target_of_a_run_that_an_earlier_version_scored_has_the_interval_of_its_executions() -> None:
    figure = goal_figure({"title": "TTFT", "passed": 297, "n": 300, "target": 0.9})
    assert (figure.interval, figure.text) == (
        wilson_interval(297, 300),
        "99.0% (95% 구간 97.1~99.7%) · 목표 90% 이상 · 달성 · n=300",
    )
