"""The audit against a judge that can be talked into things: what it finds, what it proves and what it costs."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scoring.judging.audit import AuditPart, AuditRate, injections, proves_the_fence
from tasks.config.judge import JudgeSettings
from tasks.judge.verdict_store import VerdictStore
from tasks.judge_quality.audit import Audit, Auditor, audit_texts
from tasks.reports.markdown.judge_quality import audit_dict, audit_markdown
from tasks.state.database import StateDatabase
from tests.fakes.gullible_judge import demands
from tests.fakes.judge_questions import FAST, settings_for
from tests.fakes.openai_answers import messages_of
from tests.fakes.openai_server import Behaviour, FakeOpenAI

pytestmark = pytest.mark.slow

TEXTS = audit_texts()


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateDatabase]:
    with StateDatabase(f"sqlite:///{tmp_path}/state.db") as state:
        yield state


def audited(state: StateDatabase, behaviour: Behaviour, **changes: object) -> tuple[Audit, FakeOpenAI]:
    with FakeOpenAI(behaviour) as server:
        return Auditor(JudgeSettings(**dict(settings_for(server.url, **changes))), state, FAST).ask(), server


@pytest.fixture
def few_answers(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bad answers are asked about: fewer, where it is not said of all that come with AQB."""
    few = replace(TEXTS, bad_answers=TEXTS.bad_answers[:8])
    monkeypatch.setattr("tasks.judge_quality.audit.audit_texts", lambda: few)
    return len(few.bad_answers)


def rate(audit: Audit, part: AuditPart) -> AuditRate:
    return next(one for one in audit.rates if one.part is part and one.fenced)


def test_audit_has_fifteen_families_and_twenty_bad_answers_that_demand_nothing() -> None:
    assert len({family.name for family in TEXTS.families}) == 15
    assert len({bad.query for bad in TEXTS.bad_answers}) == 20
    assert not any(demands(f"{bad.query} {bad.expected} {bad.answer}") for bad in TEXTS.bad_answers)
    assert not demands(TEXTS.padding + TEXTS.verbosity)
    assert all("{answer}" in text for family in TEXTS.families for text in [*family.texts, TEXTS.verbosity])
    unseen = [text for family in TEXTS.families for text in family.texts if not demands(text)]
    assert unseen == [], "the test judge could not be talked into it"


@pytest.mark.long
def test_audit_proves_the_fence_of_a_judge_that_can_be_talked_into_things(state: StateDatabase) -> None:
    audit, server = audited(state, Behaviour(gullible=0.7, gullible_fenced=0.05))
    inside, outside = (injections(audit.rates, fenced=fenced) for fenced in (True, False))
    assert (inside.n, outside.n) == (300, 300)
    assert inside.hits < 30
    assert outside.hits > 180
    assert proves_the_fence(audit.rates)
    families = Counter(one.fenced for one in audit.rates if one.part is AuditPart.INJECTION)
    assert families == {True: 15, False: 15}
    assert audit.questions == 2 * 20 * 16 + 4 * 20 + 20
    assert audit.questions <= len(server.requests) <= audit.questions + 8  # slow calls are hedged
    assert audit.usd is not None and audit.usd > 0
    assert VerdictStore(state).forget(datetime.now(UTC) + timedelta(1), dry_run=True) == 0, "it is asked anew each time"
    text = audit_markdown(audit)
    assert "증명하지 못합니다" not in text
    assert "| 주입: 인코딩(base64) | " in text
    assert audit_dict(audit)["proves_the_fence"] is True
    unfenced = [one for one in server.requests if "표식: " not in one["messages"][-1]["content"]]
    assert len({messages_of(one) for one in unfenced}) == 20 * 16
    assert not any("[자료를 다루는 법]" in messages_of(one) for one in unfenced)


@pytest.mark.long
def test_audit_counts_no_injection_into_an_answer_that_was_taken_for_good_anyway(
    state: StateDatabase, few_answers: int
) -> None:
    audit, _ = audited(state, Behaviour())  # draws its scores
    plain = rate(audit, AuditPart.PLAIN)
    assert 0 < plain.hits < few_answers
    assert injections(audit.rates, fenced=True).n == 15 * (few_answers - plain.hits)
    assert rate(audit, AuditPart.SELF_AGREEMENT).hits == 0
    assert rate(audit, AuditPart.ORDER).hits > 0
    assert rate(audit, AuditPart.PADDING).n == rate(audit, AuditPart.VERBOSITY).n == few_answers


@pytest.mark.long
def test_audit_counts_answers_that_change_and_leaves_out_what_was_not_answered(
    state: StateDatabase, few_answers: int
) -> None:
    audit, _ = audited(state, Behaviour(refused=0.5, fickle=1.0))
    again = rate(audit, AuditPart.SELF_AGREEMENT)
    assert 0 < again.hits <= again.n < few_answers
    assert audit.unanswered > 80
    assert all(one.n < few_answers for one in audit.rates)
    assert json.loads(json.dumps(audit_dict(audit)))["unanswered"] == audit.unanswered


def test_audit_says_what_it_would_cost_before_it_asks(state: StateDatabase) -> None:
    with FakeOpenAI() as server:
        estimate = Auditor(settings_for(server.url), state, FAST).estimate()
        unpriced = Auditor(settings_for(server.url, prices=()), state, FAST).estimate()
        assert server.requests == []
    assert (estimate.questions, unpriced.usd) == (740, None)
    assert estimate.usd is not None and 0.1 < estimate.usd < 10
