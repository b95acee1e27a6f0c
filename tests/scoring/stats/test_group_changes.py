"""Which group of queries changed, and which one explains a loss."""

from collections.abc import Mapping, Sequence

import pytest

from scoring.stats.comparison import compare_testruns
from scoring.stats.group_changes import GroupChange, MeasuredQuery, changes_by_group, explanation
from scoring.stats.run_scores import TOTAL, QueryScores, TestRunScores

SAME, MIXED, LOST = [(5, 5)] * 20, [(5, 4), (4, 5)] * 10, [(5, 3), (5, 4)] * 10


def groups(of: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[GroupChange, ...]:
    """Category -> the scores of its queries before and now."""
    return changes_by_group(
        [
            MeasuredQuery({"카테고리": name} if name else {}, base, candidate)
            for name, scores in of.items()
            for base, candidate in scores
        ]
    )


def test_groups_that_lost_most_points_stand_first_and_queries_without_one_are_a_group() -> None:
    found = groups({"기본": [(3, 4)], "경력": [(5, 4), (5, 4)], "": [(5, 3.5)]})
    assert [(one.name, one.n, one.base, one.candidate) for one in found] == [
        ("경력", 2, 5, 4),
        ("", 1, 5, 3.5),
        ("기본", 1, 3, 4),
    ]


@pytest.mark.parametrize(("queries", "known"), [(9, False), (10, True)])
def test_group_has_an_interval_from_ten_queries_on(queries: int, known: bool) -> None:
    found = groups({"경력": [(5, 4)] * queries, "기본": SAME})
    assert (found[0].interval is not None) == known


@pytest.mark.parametrize("of", [{}, {"경력": LOST}, {"": LOST}])
def test_file_with_one_group_has_nothing_to_tell_apart(of: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    assert groups(of) == ()


@pytest.mark.parametrize(
    ("of", "name"),
    [
        ({"경력": LOST, "기본": MIXED, "전형": SAME}, "경력"),
        ({"경력": LOST, "기본": LOST, "전형": MIXED}, None),
        ({"경력": LOST, "기본": LOST[:9], "전형": LOST[:9]}, None),
        ({"경력": MIXED, "기본": SAME}, None),
        ({"경력": LOST[:9], "기본": SAME}, None),
        ({"경력": LOST, "기본": SAME[:9]}, None),
        ({"": LOST, "기본": SAME}, None),
        # Sure of one and unsure of the other, but hardly apart.
        ({"경력": [(5, 4)] * 6 + [(5, 5)] * 16, "기본": [(5, 4)] * 5 + [(4, 5)] * 3 + [(5, 5)] * 14}, None),
    ],
)
def test_group_explains_a_loss_where_it_surely_lost_and_more_than_the_others(
    of: Mapping[str, Sequence[tuple[float, float]]], name: str | None
) -> None:
    found = explanation(groups(of))
    assert (found and found.name) == name


SURELY = {"worse": (5, 4), "better": (1, 5), "same": (3, 3)}


@pytest.mark.parametrize(
    ("accuracy", "speed", "total", "told"),
    [
        (SURELY["worse"], SURELY["better"], None, "accuracy"),
        (SURELY["worse"], SURELY["same"], (5, 1), "accuracy"),
        (SURELY["better"], SURELY["worse"], SURELY["better"], "speed"),
        (SURELY["same"], SURELY["better"], SURELY["better"], "speed"),
        (SURELY["same"], SURELY["same"], SURELY["worse"], TOTAL),
        (SURELY["same"], SURELY["same"], SURELY["same"], TOTAL),
        (SURELY["same"], SURELY["same"], None, None),
    ],
)
def test_groups_show_the_metric_that_surely_got_worse_else_better_else_the_total(
    accuracy: tuple[int, int], speed: tuple[int, int], total: tuple[int, int] | None, told: str | None
) -> None:
    def run(side: int) -> TestRunScores:
        scores = {"accuracy": accuracy[side], "speed": speed[side]} | ({TOTAL: total[side]} if total else {})
        return TestRunScores(f"run {side}", "r", "1", {f"Q{n}": QueryScores("", scores) for n in range(40)})

    found = compare_testruns(run(0), run(1), {"accuracy": "정확성", "speed": "속도", TOTAL: "종합"}).grouped_by
    assert (found and found.metric) == told
