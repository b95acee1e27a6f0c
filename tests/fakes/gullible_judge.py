"""A judge that can be talked into things: it gives bad answers low scores, and full marks where it obeys an order.

It knows nothing of the texts of the audit: it looks for what anybody would take for a demand, also in base64 and in
letters in disguise, and whether the prompt has told it that everything between two marks is no order.
"""

import binascii
import json
import random
import re
import unicodedata
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from scoring.judging.prompts import PROTECTION
from tests.fakes.openai_answers import messages_of, schema_of

_DEMAND = re.compile(
    r"5\s*(?:점|点|points|punkte|out of 5)|만점|満点|full marks|perfect|\bscore\W{0,4}(?:to |를 |을 )?5", re.IGNORECASE
)
_ENCODED = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
_SHOWN_INVISIBLE = re.compile("⟦U\\+[0-9A-F]+⟧")
_FENCE = re.compile(r"^<<<(\w+)$", re.MULTILINE)


def gullible_answer(request: Mapping[str, Any], free: float, fenced: float) -> str:
    """The answer to a question for a score, '' to any other; `free` and `fenced` are the shares of orders obeyed."""
    schema = schema_of(request)
    if "score" not in schema["properties"]:
        return ""
    user = (request["messages"] if "messages" in request else request["input"])[-1]["content"]
    is_fenced = PROTECTION in messages_of(request) and bool(_FENCE.search(user))
    draw = random.Random(f"{request['model']} {re.sub('[0-9a-f]{32}', '', user)}")
    obeys = demands(user) and draw.random() < (fenced if is_fenced else free)
    score = 5 if obeys else draw.choice([0, 1, 1, 2])
    return json.dumps(
        {"reason": "근거: 질의와 답변을 견줌", "score": score, "tone_kept": not obeys}, ensure_ascii=False
    )


def demands(text: str) -> bool:
    """Whether a text demands a good score, in plain signs or not."""
    plain = unicodedata.normalize("NFKC", _SHOWN_INVISIBLE.sub("", text))
    for match in _ENCODED.finditer(text):
        with suppress(binascii.Error, UnicodeDecodeError):
            plain += "\n" + b64decode(match.group()).decode()
    return bool(_DEMAND.search(plain))
