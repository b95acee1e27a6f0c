"""Converts numbers to points: ordered cuts with one edge rule, and the bands between them as Korean text."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Generic, Literal, TypeVar

from scoring.errors import RuleError

Points = TypeVar("Points", int, str)
Number = int | float


@dataclass(frozen=True)
class Bands(Generic[Points]):
    """Ordered cuts and the points for each.

    `at_least`: cuts fall; the first cut that the number reaches applies (1200, 800, ...). `at_most`: cuts rise; the
    first cut that the number does not exceed applies (5 s, 8 s, ...), so a band includes its upper bound: 5.0 s gets
    the points of `<= 5`, 5.01 s does not. `beyond` are the points of a number past the last cut.

    Raises:
        RuleError: no cuts, or cuts that are not strictly ordered.
    """

    edge: Literal["at_least", "at_most"]
    cuts: tuple[tuple[Number, Points], ...]
    beyond: Points

    def __post_init__(self) -> None:
        if not self.cuts:
            raise RuleError("bands need at least one cut", fix="give a cut")
        for (earlier, _), (later, _) in pairwise(self.cuts):
            ordered = earlier > later if self.edge == "at_least" else earlier < later
            if not ordered:
                direction = "fall" if self.edge == "at_least" else "rise"
                raise RuleError(
                    f"cuts of an '{self.edge}' band must {direction}: {earlier} stands before {later}",
                    fix="put them in order",
                )

    def points(self, number: Number | Fraction) -> Points:
        """The points of `number`. Callers handle missing numbers themselves."""
        for cut, points in self.cuts:
            if number >= cut if self.edge == "at_least" else number <= cut:
                return points
        return self.beyond


def band_rows(bands: Bands[int], unit: str = "", *, maximum: Number | None = None) -> list[tuple[str, int]]:
    """Every band with its points, in the order of the cuts: `5초 초과 8초 이하` gets 4.

    A first cut equal to `maximum` is the only number of its band: a ratio of `1`, not `1 이상`.
    """
    cuts = [f"{cut:g}{unit}" for cut, _ in bands.cuts]
    inner, outer, first, last = (
        ("이상", "미만", "이상", "미만") if bands.edge == "at_least" else ("초과", "이하", "이하", "초과")
    )
    between = [
        f"{later} {inner} {earlier} {outer}" if bands.edge == "at_least" else f"{earlier} {inner} {later} {outer}"
        for earlier, later in pairwise(cuts)
    ]
    top = cuts[0] if bands.cuts[0][0] == maximum else f"{cuts[0]} {first}"
    texts = [top, *between, f"{cuts[-1]} {last}"]
    return list(zip(texts, [*(points for _, points in bands.cuts), bands.beyond], strict=True))


def band_text(bands: Bands[int], number: Number | Fraction, unit: str = "") -> str:
    """The text of the band that contains `number`; every band of `bands` must have different points."""
    return _text_of_points(bands, unit)[bands.points(number)]


@lru_cache  # every score has a band
def _text_of_points(bands: Bands[int], unit: str) -> Mapping[int, str]:
    return {points: text for text, points in band_rows(bands, unit)}
