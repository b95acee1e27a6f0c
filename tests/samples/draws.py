"""Random draws that are the same in every Python version.

Of `random.Random` only seeding and `random()` keep their sequence across versions, so nothing else is called.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def stream(key: str) -> random.Random:
    """A stream of draws that depends on `key` alone."""
    return random.Random(key)


def pick(rng: random.Random, values: Sequence[T]) -> T:
    """One of `values`, each as likely as the others."""
    return values[int(rng.random() * len(values))]


def rotated(rng: random.Random, values: tuple[T, ...]) -> tuple[T, ...]:
    """All of `values`, from any one of them on: different answers for less than a shuffle costs."""
    start = int(rng.random() * len(values))
    return values[start:] + values[:start]


def between(rng: random.Random, low: int, high: int) -> int:
    """A whole number of `low` to `high`, both included."""
    return low + int(rng.random() * (high - low + 1))


def near_middle(rng: random.Random, low: int, high: int) -> int:
    """A whole number of `low` to `high`, most often halfway between them."""
    return low + int((rng.random() + rng.random()) / 2 * (high - low + 1))
