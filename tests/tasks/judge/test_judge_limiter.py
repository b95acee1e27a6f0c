import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judge.limiter import Feedback, Limiter, Limits, Ticket
from tasks.judge.verdict_store import VerdictStore
from tests.builders.cases import portion
from tests.fakes.judge_questions import ask, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI

ROOT = Path(__file__).parents[3]


def limits(rpm: int = 600, tpm: int = 0, now: float = 1000.0) -> Limits:
    return Limits.of({}, rpm, tpm, now)


def taken(limits: Limits, seconds: float, tokens: float = 100.0, step_s: float = 0.01) -> list[Ticket]:
    """What an impatient client gets within `seconds`."""
    tickets = []
    for _ in range(round(seconds / step_s)):
        limits.advance(limits.at + step_s)
        while isinstance(ticket := limits.take(tokens), Ticket):
            tickets.append(ticket)
    return tickets


def test_minute_gives_as_many_requests_as_the_limit() -> None:
    assert 595 <= len(taken(limits(rpm=600), 60)) <= 600


def test_minute_gives_as_many_tokens_as_the_limit() -> None:
    assert 98_000 <= 500 * len(taken(limits(rpm=0, tpm=100_000), 60, tokens=500)) <= 100_000


def test_unused_limit_is_not_spent_in_one_burst() -> None:
    bucket = limits(rpm=600)
    bucket.advance(bucket.at + 3600)
    assert len(taken(bucket, 0.5)) <= 13  # twice the rate for a moment, never the whole hour
    assert len(taken(bucket, 1.0)) <= 20


def test_without_limits_everything_goes_at_once() -> None:
    free = limits(rpm=0, tpm=0)
    assert all(isinstance(free.take(1000), Ticket) for _ in range(1000))


def test_what_is_larger_than_a_second_of_tokens_waits_for_a_full_bucket_and_goes() -> None:
    assert len(taken(limits(rpm=0, tpm=6000), 60, tokens=3000)) == 2


def test_bad_news_is_believed_at_once_and_good_news_slowly() -> None:
    bucket = limits(rpm=600)
    bucket.advance(bucket.at + 1)
    ticket = bucket.take(0)
    assert isinstance(ticket, Ticket)
    level = bucket.requests.level
    bucket.apply_feedback(Feedback(ticket, {"requests": level + 10}))
    assert bucket.requests.level == pytest.approx(level + 1)
    bucket.apply_feedback(Feedback(ticket, {"requests": level - 5}))
    assert bucket.requests.level == pytest.approx(level - 5)


def test_same_bad_news_from_many_calls_in_flight_counts_once() -> None:
    bucket = limits(rpm=6000)
    bucket.advance(bucket.at + 1)
    tickets = taken(bucket, 0.2)
    assert len(tickets) > 5
    before = bucket.requests.level
    for ticket in tickets:  # somebody else took 20 before the first of them
        bucket.apply_feedback(Feedback(ticket, {"requests": ticket.taken["requests"].level - 20}))
    assert bucket.requests.level == pytest.approx(before - 20)


def test_refusal_empties_the_bucket_that_it_names_and_stops_all_for_its_time() -> None:
    bucket = limits(rpm=600, tpm=60_000)
    bucket.advance(bucket.at + 1)
    ticket = bucket.take(10)
    assert isinstance(ticket, Ticket)
    requests = bucket.requests.level
    bucket.apply_feedback(Feedback(ticket, refused="tokens", retry_after_s=2.5))
    assert (bucket.tokens.level, bucket.requests.level) == (0, requests)
    assert bucket.take(10) == 2.5
    bucket.advance(bucket.at + 2.51)
    assert isinstance(bucket.take(10), Ticket)


def test_tokens_are_settled_by_usage_where_no_header_tells() -> None:
    bucket = limits(rpm=0, tpm=60_000)
    bucket.advance(bucket.at + 1)
    ticket = bucket.take(500)
    assert isinstance(ticket, Ticket)
    level = bucket.tokens.level
    bucket.apply_feedback(Feedback(ticket, tokens_used=800))
    assert bucket.tokens.level == level - 300


def test_clock_that_is_behind_refills_nothing() -> None:
    bucket = limits(rpm=600, now=1000.0)
    bucket.advance(1001.0)
    level = bucket.requests.level
    bucket.advance(990.0)
    assert (bucket.at, bucket.requests.level) == (1001.0, level)


@pytest.mark.parametrize("ahead_s", [20.0, 3600.0, 1e9])
def test_clock_that_was_once_ahead_stops_no_run(sqlite_store: VerdictStore, ahead_s: float) -> None:
    with FakeOpenAI() as server:
        settings = settings_for(server.url, rpm=6000)
        ask(3, settings, sqlite_store)

        def put_ahead(state: Mapping[str, Any], _: float) -> tuple[Mapping[str, Any], None]:
            moments = {name: state[name] + ahead_s for name in ("at", "paced_at")}
            return {**state, **moments, "blocked_until": state["at"] + ahead_s}, None

        sqlite_store.exchange(f"{server.url} judge-1", put_ahead)
        started = time.monotonic()
        again = ask(30, settings, sqlite_store)
    assert time.monotonic() - started < 10
    assert again.summary()["by_status"] == {"ok": 30}


def test_limit_that_is_used_up_for_a_day_is_asked_again_after_the_patience(sqlite_store: VerdictStore) -> None:
    async def refused_and_asked_again() -> Ticket:
        with ThreadPoolExecutor(1) as worker:
            limiter = Limiter(sqlite_store, worker, "judge", 600, 0, patience_s=0.2)
            ticket = await limiter.take(1, in_front=False)
            limiter.report(Feedback(ticket, refused="requests", retry_after_s=86_400))
            async with asyncio.timeout(10):
                return await limiter.take(1, in_front=False)

    assert asyncio.run(refused_and_asked_again()).tokens == 1


def test_state_survives_the_database_and_a_change_of_the_limit() -> None:
    bucket = limits(rpm=600, tpm=1000)
    taken(bucket, 1.0, tokens=1)
    stored = json.loads(json.dumps(asdict(bucket)))
    assert Limits.of(stored, 600, 1000, 0) == bucket
    assert Limits.of(stored, 60, 1000, 0).requests.rate == 1


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(-50, 200), st.booleans()), max_size=40))
def test_whatever_an_endpoint_says_no_more_than_twice_the_rate_goes_out(
    news: list[tuple[float, float, bool]],
) -> None:
    bucket = limits(rpm=600)
    sent, started = 0, bucket.at
    for pause_s, remaining, refused in news:
        bucket.advance(bucket.at + pause_s)
        while isinstance(ticket := bucket.take(1), Ticket):
            sent += 1
            told = Feedback(ticket, refused="requests") if refused else Feedback(ticket, {"requests": remaining})
            bucket.apply_feedback(told)
    assert sent <= 20 * (bucket.at - started + 0.1) + 1


TWO_ASK = """
import os
import sys
import time
from tasks.judge.verdict_store import VerdictStore
from tasks.state.database import StateDatabase
from tests.fakes.judge_questions import ask, settings_for
url, state_url, ahead_s = sys.argv[1:]
other, clock = os.fork(), time.time
if other:
    time.time = lambda: clock() + float(ahead_s)
settings = settings_for(url, rpm=1800, max_in_flight=8)
judged = ask(45, settings, VerdictStore(StateDatabase(state_url)), first=45 if other else 0)
print(judged.summary()["by_status"], flush=True)
if other:
    os.waitpid(other, 0)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows forks no process")
@pytest.mark.parametrize("state_url", portion(["sqlite", "postgresql"]), indirect=True)
@pytest.mark.parametrize("ahead_s", [0, 60])
def test_two_processes_stay_inside_one_limit(state_url: str, ahead_s: int) -> None:
    """Also on two hosts, one with a clock that is ahead."""
    with FakeOpenAI(Behaviour(rpm=1800, latency_s=0.02)) as server:
        command = [sys.executable, "-c", TWO_ASK, server.url, state_url, str(ahead_s)]
        done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, timeout=120, check=True)
    assert done.stdout.splitlines() == ["{'ok': 45}"] * 2
    assert server.statuses["429"] <= 1
    assert server.paid_twice <= 2
