"""Which judged questions become anchors: all kinds and score levels, many queries, the same ones every time."""

from collections import Counter
from typing import Any

from scoring.judging.anchors import ANCHOR_QUERIES, ANCHORS, Anchor, chosen_anchors, decision


def anchor(key: str, kind: str, query: int, answer: dict[str, Any]) -> Anchor:
    return Anchor(key, "aqb-1.2", "2", kind, {"query": f"질의 {query}"}, answer, "judge-1", "e1")


def answered(number: int, score: int, query: int) -> Anchor:
    answer = {"reason": f"근거 {number}", "score": score, "tone_kept": True}
    return anchor(f"{number * 7919 % 10_007:05d}", "semantic", query, answer)


RUN = [answered(number, 5 if number % 20 else number // 20 % 5, number // 8) for number in range(400)]


def test_anchors_are_a_hundred_of_all_score_levels_and_of_many_queries() -> None:
    anchors = chosen_anchors(RUN)
    assert len(anchors) == len({one.key for one in anchors}) == ANCHORS
    assert len({one.query for one in anchors}) >= ANCHOR_QUERIES
    assert Counter(one.answer["score"] for one in anchors) == {0: 4, 1: 4, 2: 4, 3: 4, 4: 4, 5: 80}


def test_anchors_do_not_depend_on_the_order_in_which_answers_are_found() -> None:
    assert chosen_anchors(reversed(RUN)) == chosen_anchors(RUN)


def test_anchors_have_every_kind_of_question() -> None:
    groups = [anchor(f"g{number}", "conclusions", number, {"reason": "", "groups": [1, 1, 2]}) for number in range(60)]
    kinds = Counter(one.kind for one in chosen_anchors([*RUN, *groups]))
    assert kinds == {"semantic": 60, "conclusions": 40}


def test_anchors_are_fewer_where_fewer_were_judged() -> None:
    assert len(chosen_anchors(RUN[:7])) == 7
    assert chosen_anchors([]) == []


def test_answers_decide_the_same_whatever_their_reasons() -> None:
    assert decision({"reason": "갑", "score": 3}) == decision({"score": 3, "reason": "을"})
    assert decision({"reason": "갑", "score": 3}) != decision({"reason": "갑", "score": 4})
