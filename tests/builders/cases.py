"""How many of the cases that show one fact are worth their time."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")


def portion(cases: Sequence[T]) -> Sequence[T]:
    """All cases where Hypothesis takes a hundred examples, as `.ci/run` has it; every tenth where it takes ten."""
    return cases[:: max(1, 100 // settings().max_examples)]
