"""Figures in the words of reports and pages."""

import pytest

from scoring.stats.intervals import Coefficient, Interval
from tasks.reports.wording import coefficient_text, kappa_text


@pytest.mark.parametrize(
    ("value", "ends", "shown"),
    [
        (0.625, (0.405, 0.8), "0.63 (0.41~0.80)"),  # half away from zero
        (-0.125, (-0.4, 0.2), "−0.13 (−0.40~0.20)"),
        (-0.004, None, "0.00"),
        (None, None, "–"),
    ],
)
def test_kappa_is_written_as_every_other_figure(
    value: float | None, ends: tuple[float, float] | None, shown: str
) -> None:
    kappa = Coefficient(value, Interval(*ends) if ends else None)
    assert coefficient_text(kappa) == shown
    assert kappa_text(kappa.columns("linear")) == shown
