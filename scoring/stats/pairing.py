"""Pairs the queries of two test runs by their question."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from scoring.stats.run_scores import QueryScores, expect_otherwise

# Blanks, quotes and punctuation; a dot or a comma before a digit is part of a number.
_NO_WORDS = re.compile(r"[\s!?…。、·~\"'“”‘’]|[.,](?![0-9])")


@dataclass(frozen=True)
class PairedQueries:
    """The queries of two runs by id. `pairs` (id in the base, in the candidate) are in the order of their questions.

    `expect_otherwise` are those of the pairs with different expectations. `only_*` have no query in the other run;
    `reworded` have one with the same id and another question.
    """

    pairs: tuple[tuple[str, str], ...]
    expect_otherwise: tuple[tuple[str, str], ...]
    only_base: tuple[str, ...]
    only_candidate: tuple[str, ...]
    reworded: tuple[str, ...]


def paired_queries(base: Mapping[str, QueryScores], candidate: Mapping[str, QueryScores]) -> PairedQueries:
    """Pairs the queries of two runs, each by id."""
    base_texts, candidate_texts = ({id_: one.text for id_, one in queries.items()} for queries in (base, candidate))
    paired = same_queries(base_texts, candidate_texts)
    # Intervals resample by position: the order must not depend on a file or table.
    pairs = sorted(paired.items(), key=lambda ids: (question_key(base_texts[ids[0]]), ids))
    answered = set(paired.values())
    of_base = [query_id for query_id in base if query_id not in paired]
    of_candidate = [query_id for query_id in candidate if query_id not in answered]
    reworded = [query_id for query_id in of_base if query_id in candidate and query_id not in answered]
    return PairedQueries(
        pairs=tuple(pairs),
        expect_otherwise=tuple(
            ids for ids in pairs if expect_otherwise(base[ids[0]].expected, candidate[ids[1]].expected)
        ),
        only_base=tuple(query_id for query_id in of_base if query_id not in reworded),
        only_candidate=tuple(query_id for query_id in of_candidate if query_id not in reworded),
        reworded=tuple(reworded),
    )


@lru_cache(maxsize=10_000)  # the runs of a history ask the same questions
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
