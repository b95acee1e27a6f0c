"""A number becomes points: ordered cuts with one edge rule."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Generic, Literal, TypeVar

from scoring.errors import RuleError

Points = TypeVar("Points", int, str)
Number = int | float


@dataclass(frozen=True)
class Bands(Generic[Points]):
    """Ordered cuts and the points each earns.

    `at_least`: cuts fall, the first cut that the number reaches counts (1200, 800, ...).
    `at_most`: cuts rise, the first cut that the number does not exceed counts (5 s, 8 s, ...), so a band
    includes its upper bound: 5.0 s earns what `<= 5` says and 5.01 s does not.
    `beyond` is what a number past the last cut earns.

    Raises:
        RuleError: no cuts, or cuts that are not strictly ordered.
    """

    edge: Literal["at_least", "at_most"]
    cuts: tuple[tuple[Number, Points], ...]
    beyond: Points

    def __post_init__(self) -> None:
        if not self.cuts:
            raise RuleError("bands need at least one cut")
        for (earlier, _), (later, _) in pairwise(self.cuts):
            ordered = earlier > later if self.edge == "at_least" else earlier < later
            if not ordered:
                direction = "fall" if self.edge == "at_least" else "rise"
                raise RuleError(f"cuts of an '{self.edge}' band must {direction}: {earlier} stands before {later}")

    def points(self, number: Number | Fraction) -> Points:
        """What `number` earns. A missing number is no number: callers decide before they ask."""
        for cut, points in self.cuts:
            if number >= cut if self.edge == "at_least" else number <= cut:
                return points
        return self.beyond
