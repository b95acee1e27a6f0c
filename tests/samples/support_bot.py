"""Turns of a made-up English support bot, as its log has them: what the how-to and the notebook score.

`python -m tests.samples.support_bot` rewrites `docs/examples/support_bot.jsonl`: one day, on which a new version of the
bot refuses too much. The rows of a day are always the same.
"""

import json
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from tasks.config.bigquery import SourceColumn
from tests.samples.draws import pick, stream

EXAMPLE: Final = Path(__file__).parents[2] / "docs" / "examples" / "support_bot.jsonl"
LAST_DAY: Final = date(2026, 2, 13)
_USUAL_REFUSALS, _REFUSALS_ON_LAST_DAY = 0.05, 0.24
COLUMNS: Final[dict[SourceColumn, str]] = {
    "user_input": "question",
    "llm_response": "answer",
    "timestamp": "asked_at",
    "session_id": "session",
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
}
"""What the log calls the columns of chat rows."""
_ROWS: Final = 80
_OPEN: Final = time(8)
_MINUTES_OPEN: Final = 12 * 60

_TOPICS: Final = (
    (
        ("How do I reset my password?", "I forgot my password. What now?", "Reset password link does not arrive"),
        "1. Open Settings. 2. Choose Security and click Reset password. 3. Follow the link that we send you by mail.",
    ),
    (
        ("Where is my parcel?", "My order has not come yet", "How long does shipping take?"),
        "It takes three days. Open https://shop.example/track and enter the number of your order to see where it is.",
    ),
    (
        ("I want my money back for the kettle.", "How do I return shoes?", "Can I get a refund?"),
        "Yes, within 30 days. 1. Print the label at https://shop.example/returns. 2. Post it. Then we pay back.",
    ),
    (
        ("Why was I charged twice?", "There is a payment that I do not know", "My invoice looks wrong"),
        "Open Settings, choose Billing and click Report a charge. We look at it within a day and pay back errors.",
    ),
    (
        ("Cancel my subscription", "How do I end my plan?", "Stop renewing my plan"),
        "Open Settings, choose Plan and click Do not renew. It stays yours until the last day that you have paid for.",
    ),
    (
        ("Can I change my address?", "I moved. How do I tell you?", "Send order A-48213 to another address"),
        "Open Settings and choose Addresses. Until an order has left us, click Change beside it to send it elsewhere.",
    ),
)
_OPENINGS: Final = ("Happy to help! ", "Thank you for asking. ", "Sorry about that! ", "", "")
_SHORT: Final = ("Most people find this in their account.", "It depends on your plan and on where you live.")
_REFUSALS: Final = (
    "I cannot do that.",
    "I'm sorry, but I can't help with that.",
    "I am not able to look at orders or payments.",
)
_SHORT_SHARE: Final = 0.09


def write_day(path: Path, day: date) -> None:
    """Writes the turns of a day in UTC as JSON Lines, in their order."""
    draw, refusals = stream(f"support bot {day}"), _REFUSALS_ON_LAST_DAY if day == LAST_DAY else _USUAL_REFUSALS
    opening = datetime.combine(day, _OPEN, UTC)
    turns = (
        _turn(draw, opening + timedelta(minutes=_MINUTES_OPEN * number // _ROWS), f"s-{day:%m%d}-{number}", refusals)
        for number in range(_ROWS)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")


def _turn(draw: Random, asked_at: datetime, session: str, refusals: float) -> dict[str, Any]:
    questions, help_text = pick(draw, _TOPICS)
    question, kind = pick(draw, questions), draw.random()
    if kind < refusals:
        answer = pick(draw, _REFUSALS)
    elif kind < refusals + _SHORT_SHARE:
        answer = pick(draw, _SHORT)
    else:
        answer = pick(draw, _OPENINGS) + help_text
    return {
        "asked_at": asked_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "session": session,
        "question": question,
        "answer": answer,
        "prompt_tokens": 260 + len(question),
        "completion_tokens": len(answer) // 4,
    }


if __name__ == "__main__":
    write_day(EXAMPLE, LAST_DAY)
