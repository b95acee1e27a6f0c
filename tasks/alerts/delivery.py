"""Sends what waits in the outbox, at Slack's pace; what Slack does not take stays there for the next run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tasks.alerts.outbox import Outbox, OutboxMessage
from tasks.alerts.slack.posting import Answer, Post, PostStatus

_PACE_S = 1.0
"""Between two messages to one place. Slack takes one a second for each webhook."""


@dataclass(frozen=True)
class Clock:
    """The time, and how to let it pass; tests bring their own."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Delivered:
    """What one delivery did: letters given up, sent, refused by Slack for good; and why routes have stopped early."""

    given_up: list[OutboxMessage]
    sent: list[OutboxMessage] = field(default_factory=list)
    refused: list[OutboxMessage] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)


def deliver(
    outbox: Outbox, posts: Mapping[str, Post], held: Callable[[OutboxMessage], bool], clock: Clock
) -> Delivered:
    """Sends the waiting letters of the routes in `posts` that are not held, oldest first.

    A route whose letter was not taken, or whose answer nobody heard, stops: its other letters would fare no better.

    Raises:
        StorageError: the state database cannot be used; never because of Slack.
    """
    delivered = Delivered(outbox.expire_old(clock.now()))
    last_post: dict[str, float] = {}
    while letter := outbox.next(
        clock.now(), lambda one: one.route in posts and one.route not in delivered.stopped and not held(one)
    ):
        post = posts[letter.route]
        thread_ts = outbox.thread_ts(letter)
        _keep_pace(clock, last_post, post.address)
        # Nothing stands between the note and the request, nor between the answer and its note.
        if not outbox.claim(letter, clock.now()):
            continue
        answer = post.post(letter, thread_ts)
        _settle(outbox, letter, answer, clock.now())
        if answer.status is PostStatus.SENT:
            delivered.sent.append(letter)
        elif answer.status is PostStatus.REFUSED:
            delivered.refused.append(letter)
        else:
            delivered.stopped[letter.route] = answer.error
    return delivered


def _settle(outbox: Outbox, letter: OutboxMessage, answer: Answer, now: datetime) -> None:
    match answer.status:
        case PostStatus.SENT:
            outbox.sent(letter, now, answer.ts)
        case PostStatus.NOT_NOW:
            outbox.mark_deferred(letter, answer.error)
        case PostStatus.REFUSED:
            outbox.refused(letter, now, answer.error)
        case PostStatus.UNCONFIRMED:
            outbox.mark_unconfirmed(letter, answer.error)


def _keep_pace(clock: Clock, last_post: dict[str, float], address: str) -> None:
    """Waits until a second has passed since the last message to the same place."""
    if address in last_post and (wait_s := last_post[address] + _PACE_S - clock.monotonic()) > 0:
        clock.sleep(wait_s)
    last_post[address] = clock.monotonic()
