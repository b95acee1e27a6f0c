"""What people ask the stock chatbot: invented companies and the questions about them."""

import random
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.samples.draws import pick

PHRASES: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("chat_phrases.toml").read_text(encoding="utf-8")
)


class Company(NamedTuple):
    """An invented listed company."""

    name: str
    code: str
    market: str


class Question(NamedTuple):
    """A question and what it is about: one block of an answer, or `report` for all of them."""

    text: str
    topic: str


_FULL_NAMES: Final = [name + trade for trade in PHRASES["company_trades"] for name in PHRASES["company_names"]]
# Real ordinary shares end in 0 and preferred ones in 5, 7, 9 or a letter: a final 3 belongs to nobody.
COMPANIES: Final = tuple(
    Company(name, f"{(number * 3931 + 427) % 100_000:05d}3", "KOSDAQ" if number % 5 < 3 else "KOSPI")
    for number, name in enumerate(_FULL_NAMES)
)

_TEMPLATE: Final[str] = PHRASES["questions"]["template"]
_TEMPLATE_SHARE: Final = 0.93
_WITH_CODE: Final[Sequence[Mapping[str, str]]] = PHRASES["questions"]["with_code"]
_WITHOUT_CODE: Final = [group for group in PHRASES["questions"]["without_code"] for _ in range(group["weight"])]
_REFUSED: Final[Mapping[str, Sequence[str]]] = PHRASES["questions"]["refused"]


def question(rng: random.Random, kind: str, company: Company, code_share: float) -> Question:
    """A question that leads to an answer of `kind`; `code_share` of them name the company by its six digits.

    Source: seed 002, 2.1 (M1, M8).
    """
    if rng.random() < code_share:
        asked = Question(_TEMPLATE, "report")
        if rng.random() >= _TEMPLATE_SHARE:
            asked = Question(**pick(rng, _WITH_CODE))
    elif kind in _REFUSED:
        asked = Question(pick(rng, _REFUSED[kind]), "report")
    else:
        group = pick(rng, _WITHOUT_CODE)
        asked = Question(pick(rng, group["texts"]), group["topic"])
    other = pick(rng, COMPANIES)
    return Question(asked.text.format(n=company.name, c=company.code, m=other.name), asked.topic)
