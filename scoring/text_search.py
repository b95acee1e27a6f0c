"""Finds which strings contain one of many texts: a session can have two hundred thousand row ids."""

from collections import defaultdict
from collections.abc import Iterable

_FEW = 50
"""So many texts of one length are faster looked for one after the other."""


class TextSearch:
    """The search for any of these texts. Its time grows with the string and the different lengths of the texts, not
    with their number.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_length: dict[int, set[str]] = defaultdict(set)
        for text in texts:
            self._by_length[len(text)].add(text)

    def is_in(self, content: str) -> bool:
        """Whether a string contains one of the texts."""
        return any(_is_in(content, length, texts) for length, texts in self._by_length.items())


def _is_in(content: str, length: int, texts: set[str]) -> bool:
    if len(texts) <= _FEW:
        return any(text in content for text in texts)
    return not texts.isdisjoint(content[start : start + length] for start in range(len(content) - length + 1))
