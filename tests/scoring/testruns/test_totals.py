"""The weighted total of a query."""

import pytest

from scoring.testruns.totals import MIN_COVERAGE, Weights


@pytest.mark.parametrize("least", ["0", "70"])
def test_query_without_any_known_metric_has_no_total_whatever_coverage_is_enough(least: str) -> None:
    total = Weights({"speed": 60, "tone": 40}, needed="").total({"speed": None}, {MIN_COVERAGE.name: least})
    assert (total.points, total.coverage_percent) == (None, 0)
    assert total.missing == "알 수 있는 지표가 없어 종합 점수를 내지 않음"
