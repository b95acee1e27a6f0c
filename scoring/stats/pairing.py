"""Pairs the queries of two test runs by their question."""

import re
from collections import defaultdict
from collections.abc import Mapping

# Blanks, quotes and punctuation; a dot or a comma before a digit is part of a number.
_NO_WORDS = re.compile(r"[\s!?…。、·~\"'“”‘’]|[.,](?![0-9])")


def question_key(text: str) -> str:
    """The question without blanks, case and punctuation: wordings of one question differ in nothing else."""
    return _NO_WORDS.sub("", text).casefold() or text.strip()


def same_queries(base: Mapping[str, str], candidate: Mapping[str, str]) -> dict[str, str]:
    """Id in `base` -> id in `candidate` of queries with the same question, from their texts by id.

    If several queries have the same question, those with equal ids are paired first, the others in the order of their
    ids. Queries without a text are paired by id.
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
