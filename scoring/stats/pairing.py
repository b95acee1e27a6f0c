"""Which query of one test run is which of another: the one that asks the same."""

import re
from collections import defaultdict
from collections.abc import Mapping

# Blanks, quotes and the marks of sentences; a dot or a comma before a digit is part of a number.
_NO_WORDS = re.compile(r"[\s!?…。、·~\"'“”‘’]|[.,](?![0-9])")


def question_key(text: str) -> str:
    """What two wordings of one question have in common: they may differ in blanks, case and marks, and in no word."""
    return _NO_WORDS.sub("", text).casefold() or text.strip()


def same_queries(base: Mapping[str, str], candidate: Mapping[str, str]) -> dict[str, str]:
    """Id in `base` -> id in `candidate` of the queries that ask the same, out of their texts by id.

    Of several that do, those of one id belong together, the others in the order of their ids. Without a text the id
    tells.
    """
    pairs = {
        query_id: query_id
        for query_id, text in base.items()
        if query_id in candidate and _same(text, candidate[query_id])
    }
    left: dict[str, list[str]] = defaultdict(list)
    for query_id in sorted(candidate.keys() - pairs.keys(), reverse=True):
        left[question_key(candidate[query_id])].append(query_id)
    left.pop("", None)
    for query_id in sorted(base.keys() - pairs.keys()):
        if found := left.get(question_key(base[query_id])):
            pairs[query_id] = found.pop()
    return pairs


def _same(text: str, other: str) -> bool:
    return not text or not other or question_key(text) == question_key(other)
