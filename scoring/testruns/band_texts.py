"""Bands as Korean text, for reasons, reports and READMEs."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from scoring.rules.bands import Bands, Number


def band_rows(bands: Bands[int], unit: str = "", *, maximum: Number | None = None) -> list[tuple[str, int]]:
    """Every band with its points, in the order of the cuts: `5초 초과 8초 이하` earns 4.

    A first cut of `maximum` is the only number of its band: a ratio of `1`, not `1 이상`.
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
    """The band that `number` falls into; every band of `bands` must earn other points than the rest."""
    return _text_of_points(bands, unit)[bands.points(number)]


@lru_cache  # every score names its band
def _text_of_points(bands: Bands[int], unit: str) -> Mapping[int, str]:
    return {points: text for text, points in band_rows(bands, unit)}
