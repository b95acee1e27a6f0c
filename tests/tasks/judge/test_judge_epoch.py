"""The epoch of a verdict: the same where verdicts may be compared and averaged, another one where they may not."""

from dataclasses import replace
from typing import Any

import pytest

from tasks.judge.dialect import AnswerForm, Dialect
from tasks.judge.questions import Question
from tasks.judge.replies import Reply
from tasks.judge.verdict_store import VerdictStore
from tests.fakes.judge_questions import PROMPT, ask, questions, settings_for
from tests.fakes.openai_server import Behaviour, FakeOpenAI

REPLY = Reply(model="judge-1-2026-01-01")


def question(**settings: Any) -> Question:
    return questions(1, settings_for("", **settings))[0]


@pytest.mark.parametrize("settings", [{"max_output_tokens": 9}, {"max_reasoning_tokens": 9}, {"model": "judge"}])
def test_epoch_is_the_same_for_what_changes_no_verdict(settings: dict[str, Any]) -> None:
    assert question(**settings).epoch(REPLY) == question().epoch(REPLY)
    assert questions(1, settings_for(""), first=7)[0].epoch(REPLY) == question().epoch(REPLY)


@pytest.mark.parametrize("settings", [{"temperature": 0.5}, {"seed": 2}, {"api": "responses"}])
@pytest.mark.parametrize("effort", ["", "low"])
def test_epoch_is_another_for_other_parameters(settings: dict[str, Any], effort: str) -> None:
    other = question(**settings, reasoning_effort=effort)
    assert other.epoch(REPLY) != question(reasoning_effort=effort).epoch(REPLY)


@pytest.mark.parametrize(
    "reply",
    [
        replace(REPLY, model="judge-1-2026-06-01"),
        replace(REPLY, dialect=Dialect(frozenset({"temperature"}))),
        replace(REPLY, dialect=Dialect(form=AnswerForm.TEXT)),
    ],
    ids=["model", "parameter left out", "form"],
)
def test_epoch_is_another_for_another_model_and_wording(reply: Reply) -> None:
    assert question().epoch(reply) != question().epoch(REPLY)


@pytest.mark.parametrize(
    "change", [{"version": "2"}, {"instructions": "달리 채점한다."}, {"schema": {"type": "object"}}]
)
def test_epoch_is_another_for_another_prompt(change: dict[str, Any]) -> None:
    other = replace(question(), prompt=replace(PROMPT, **change))
    assert other.epoch(REPLY) != question().epoch(REPLY)


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_epoch_is_stored_with_the_verdict(sqlite_store: VerdictStore, mode: str) -> None:
    with FakeOpenAI(Behaviour(refuses="seed")) as server:
        first = ask(10, settings_for(server.url, mode=mode), sqlite_store, is_new=True)
        again = ask(10, settings_for(server.url, mode=mode), sqlite_store)
    (epoch,) = {one.epoch for one in first.judgements}
    assert epoch == question().epoch(replace(REPLY, dialect=Dialect(frozenset({"seed"}))))
    assert {one.epoch for one in again.judgements} == {epoch}
    assert again.summary()["epochs"] == {"semantic": [epoch]}
    assert again.summary()["models"] == ["judge-1-2026-01-01"]
