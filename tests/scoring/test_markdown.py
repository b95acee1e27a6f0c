"""Figures as people read them in reports, messages and pages."""

import pytest

from scoring.markdown import interval_text, kpi_text, percent


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (None, "–"),
        (0.0, "0.0%"),
        (0.0005, "0.1%"),
        (0.00049, "0.05%"),
        (1 / 12_777, "0.01%"),
        (1 / 1_000_000, "0.0001%"),
        (1e-18, "0.0%"),
        (0.06125, "6.1%"),
        (1.0, "100.0%"),
    ],
)
def test_small_rate_is_told_from_none(rate: float | None, shown: str) -> None:
    assert percent(rate) == kpi_text(rate, is_rate=True) == shown


def test_small_rate_is_told_from_none_also_without_decimals() -> None:
    assert [percent(rate, 0) for rate in (0, 0.004, 0.005, 0.03)] == ["0%", "0.4%", "1%", "3%"]


def test_rate_of_all_but_one_is_told_from_all() -> None:
    assert [percent(1 - 1 / n) for n in (100, 3_000, 1_000_000)] == ["99.0%", "99.97%", "99.9999%"]
    assert [percent(rate, 0) for rate in (1, 1 - 1e-18, 0.996, 0.99)] == ["100%", "100%", "99.6%", "99%"]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-0.67, -0.0024, "−0.67~−0.00"),
        (0.0024, 0.5, "+0.00~+0.50"),
        (-0.2, 0.0, "−0.20~0.00"),
        (None, None, "–"),
    ],
)
def test_end_of_an_interval_beside_zero_keeps_its_sign(low: float | None, high: float | None, shown: str) -> None:
    assert interval_text(low, high) == shown
