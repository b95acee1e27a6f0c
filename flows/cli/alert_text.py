"""Messages and routes as the terminal shows them."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from flows.steps.alerts import DeliveryReport, Preview
from scoring.alerting.readable import readable
from tasks.alerts.channel import OutboxMessage


def message_dict(message: OutboxMessage, payload: dict[str, Any]) -> dict[str, Any]:
    """A message with the payload that its channel would send."""
    return {"route": message.route, "kind": message.kind, "level": message.level, "payload": payload}


def message_text(message: OutboxMessage, payload: dict[str, Any]) -> str:
    """What its reader would see, then the payload."""
    return f"{digest_text(message)}\npayload: {json.dumps(payload, ensure_ascii=False)}"


def digest_text(message: OutboxMessage) -> str:
    """What its reader would see."""
    return f"route {message.route}: {message.kind}, {message.level}\n{_indented(readable(message.blocks))}"


def report_text(report: DeliveryReport) -> str:
    """What was sent, and what waits."""
    lines = [f"sent: {text}" for text in report.sent]
    lines.append(f"{len(report.sent)} messages sent, {report.waiting} waiting")
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


def undelivered_text(waiting: Sequence[OutboxMessage], given_up: Sequence[OutboxMessage], time_zone: str) -> str:
    """What waits, and what was given up."""
    lines = [f"{len(waiting)} messages wait, {len(given_up)} were given up"]
    for state, messages in (("waiting", waiting), ("given up", given_up)):
        for one in messages:
            written = one.created_at.astimezone(ZoneInfo(time_zone))
            error = f" ({one.last_error})" if one.last_error else ""
            lines.append(f"{state:<8}  {written:%Y-%m-%d %H:%M}  {one.route}: {one.text}{error}")
    return "\n".join(lines)


def undelivered_dict(message: OutboxMessage) -> dict[str, Any]:
    """A message that waits or was given up for programs, without its content."""
    return {name: value for name, value in vars(message).items() if name not in ("blocks", "keys", "thread_ts")}


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
