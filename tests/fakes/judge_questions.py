"""Questions for tests of the judge, and a judge with short times."""

from typing import Any

from scoring.errors import AqbError
from scoring.judging.prompts import JudgePrompt
from scoring.judging.requests import JudgeRequest, QuestionKind, VerdictStatus
from tasks.config.judge import JudgeSettings, Price, endpoint_of
from tasks.judge.client import Judge, Judged
from tasks.judge.dialect import Dialect
from tasks.judge.questions import Question
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import VerdictStore

API_KEY = "sk-test-5up3r53cr3t"
_DEADLINES = ("shortest_deadline_s", "longest_deadline_s")
FAST = Timing(**{name: value if name in _DEADLINES else value / 20 for name, value in vars(Timing()).items()})
"""Waits a twentieth of the usual time, but for answers: a busy machine is late, and what is late is paid for twice."""
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": [0, 1, 2, 3, 4, 5]}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
PROMPT = JudgePrompt(QuestionKind.SEMANTIC, "1", "답변이 질문의 의도에 맞는지 0점부터 5점까지 매긴다.", SCHEMA)


def questions(count: int, settings: JudgeSettings, first: int = 0) -> list[Question]:
    """Different questions, numbered from `first`."""
    return [
        Question(
            JudgeRequest("aqb-1.2", PROMPT.kind, {"질의": f"{number}번 지원자는?", "답변": "가 " * 20}),
            PROMPT,
            "1",
            settings,
        )
        for number in range(first, first + count)
    ]


def ask(
    count: int, settings: JudgeSettings, store: VerdictStore, *, first: int = 0, is_new: bool = False, **options: Any
) -> Judged:
    """The verdicts on as many different questions, by an endpoint that has answered before unless it is new."""
    endpoint = endpoint_of(settings)
    if endpoint and not is_new and not store.dialect(name := endpoint.of_model(settings.model)):
        store.remember_dialect(name, Dialect())
    progress = options.pop("progress", None)
    return Judge(settings, store, **{"timing": FAST, **options}).ask(questions(count, settings, first), progress)


def failure_of(count: int, settings: JudgeSettings, store: VerdictStore) -> AqbError:
    """Why the judge stopped; every question that has no verdict has failed."""
    judged = ask(count, settings, store)
    assert judged.failure
    assert len(judged.judgements) == count
    assert {one.status for one in judged.judgements} <= {VerdictStatus.OK, VerdictStatus.FAILED}
    return judged.failure


def settings_for(url: str, **changes: Any) -> JudgeSettings:
    """Settings for the server at `url` and a model that does not reason, without limits unless they are given."""
    price = Price(model="judge-1", input_usd=1.0, cached_usd=0.5, output_usd=4.0)
    base: dict[str, Any] = {"base_url": url, "api_key": API_KEY, "model": "judge-1", "rpm": 0, "tpm": 0}
    base["max_reasoning_tokens"] = 0
    return JudgeSettings(**{**base, "prices": (price,), **changes})
