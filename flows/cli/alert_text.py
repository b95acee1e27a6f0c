"""Messages and routes as the terminal shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from flows.steps.alerts import DeliveryReport, Preview
from scoring.alerting.messages import Message
from scoring.alerting.readable import readable
from tasks.alerts.outbox import OutboxMessage


def message_dict(route: str, message: Message) -> dict[str, Any]:
    """A message with the payload that Slack would get."""
    payload = {"text": message.text, "blocks": message.blocks}
    return {"route": route, "kind": message.kind, "level": message.level, "payload": payload}


def message_text(route: str, message: Message) -> str:
    """What its reader would see, then the payload."""
    payload = json.dumps(message_dict(route, message)["payload"], ensure_ascii=False)
    return f"{digest_text(route, message)}\npayload: {payload}"


def digest_text(route: str, message: Message) -> str:
    """What its reader would see."""
    return f"route {route}: {message.kind}, {message.level}\n{_indented(readable(message.blocks))}"


def told_text(told: DeliveryReport) -> str:
    """What was sent, and what waits."""
    lines = [f"sent: {text}" for text in told.sent]
    lines.append(f"{len(told.sent)} messages sent, {told.waiting} waiting")
    return "\n".join(lines)


def preview_text(preview: Preview) -> str:
    """How many messages each route would have had, and every one with its reasons."""
    lines = [f"{preview.first} to {preview.last}, as if each day had been told in its own night"]
    for route, messages in preview.messages.items():
        kinds = Counter(message.kind for message in messages)
        busiest = max(Counter(message.day for message in messages).values(), default=0)
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        lines.append(f"route {route}: {len(messages)} messages ({counted or 'none'}), at most {busiest} a day")
        lines += [f"  {one.day}  {one.kind:<7} {'; '.join(one.reasons)}" for one in messages]
    return "\n".join(lines)


def preview_dict(preview: Preview) -> dict[str, Any]:
    """The same for programs."""
    return {route: [vars(message) for message in messages] for route, messages in preview.messages.items()}


def letters_text(waiting: Sequence[OutboxMessage], dead: Sequence[OutboxMessage], time_zone: str) -> str:
    """What waits, and what was given up."""
    lines = [f"{len(waiting)} messages wait, {len(dead)} were given up"]
    for state, letters in (("waiting", waiting), ("given up", dead)):
        for one in letters:
            written = one.created_at.astimezone(ZoneInfo(time_zone))
            error = f" ({one.last_error})" if one.last_error else ""
            lines.append(f"{state:<8}  {written:%Y-%m-%d %H:%M}  {one.route}: {one.text}{error}")
    return "\n".join(lines)


def letter_dict(letter: OutboxMessage) -> dict[str, Any]:
    """A waiting or dead message for programs, without its blocks."""
    return {name: value for name, value in vars(letter).items() if name != "blocks"}


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
