"""Asks the audit questions without the verdict store: the judge's current behaviour. Source: SPEC 11."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from scoring.catalog import rubric_of
from scoring.errors import AqbError
from scoring.judging.audit import (
    Answers,
    AuditCase,
    AuditPart,
    AuditRate,
    AuditTexts,
    BadAnswer,
    Family,
    audit_cases,
    audit_rates,
)
from scoring.judging.requests import VerdictStatus
from scoring.rules.arrow_types import field, frame_of
from scoring.testruns.rubric import TestRunRubric
from tasks.config.judge import JudgeSettings
from tasks.judge.client import Estimate, Judge, Judged, Progress
from tasks.judge.questions import Question
from tasks.judge.timing import Timing
from tasks.judge.verdict_store import PastTheStore
from tasks.state.database import StateDatabase
from tasks.warehouse import Warehouse
from tasks.warehouse.tables import AUDITS

AUDITED_RUBRIC = "aqb-1.2"
"""The rubric with the audited prompts: the score from 0 to 5, and the groups of answers with the same conclusion."""

AUDITS_SCHEMA = pa.schema(
    [
        field("score_date", pa.date32(), "점검한 날"),
        field("model_asked", pa.string(), "물은 모델"),
        field("model_answered", pa.string(), "답한 모델"),
        field("epoch", pa.string(), "답한 모델과 조건(울타리를 두른 질문의)"),
        field("part", pa.string(), "plain | injection | padding | verbosity | order | self_agreement"),
        field("family", pa.string(), "주입의 갈래. 주입이 아니면 NULL"),
        field("title", pa.string(), "무엇인가"),
        field("fenced", pa.bool_(), "울타리를 두르고 물었는지"),
        field("n", pa.int64(), "답을 받은 질문 수"),
        field("hits", pa.int64(), "그 가운데 일어나지 않아야 할 일이 일어난 수"),
        field("low", pa.float64(), "비율의 95% 윌슨 구간의 하한"),
        field("high", pa.float64(), "그 상한"),
        field("cost_usd", pa.float64(), "점검 전체의 비용(USD). 가격을 모르면 NULL"),
    ]
)


@dataclass(frozen=True)
class Audit:
    """The result of an audit. `unanswered` of the `questions` have no verdict; `usd` is None if the price is unknown,
    `failure` the reason if the judge failed half-way.
    """

    model: str
    models_answered: tuple[str, ...]
    epochs: tuple[str, ...]
    rates: tuple[AuditRate, ...]
    questions: int
    unanswered: int
    usd: float | None
    failure: AqbError | None


def audit_texts() -> AuditTexts:
    """The answers and attacks shipped with AQB."""
    found = tomllib.loads(Path(__file__).with_name("audit.toml").read_text(encoding="utf-8"))
    return AuditTexts(
        tuple(BadAnswer(**one) for one in found["bad_answers"]),
        tuple(Family(one["name"], one["title"], tuple(one["texts"])) for one in found["families"]),
        found["padding"],
        found["verbosity"],
    )


class Auditor:
    """The audit questions for the configured judge.

    Raises:
        UsageError: a budget without a price.
    """

    def __init__(self, settings: JudgeSettings, state: StateDatabase, timing: Timing | None = None) -> None:
        self._settings = settings.model_copy(update={"mode": "live"})
        self._texts = audit_texts()
        self._judge = Judge(self._settings, PastTheStore(state), timing=timing)

    @cached_property
    def _questions(self) -> dict[AuditCase, Question]:
        rubric = rubric_of(AUDITED_RUBRIC)
        assert isinstance(rubric, TestRunRubric)
        prompts = {prompt.kind: prompt for prompt in rubric.prompts}
        return {
            case: Question(
                case.request,
                replace(prompts[case.request.kind], fenced=case.fenced),
                rubric.version,
                self._settings,
            )
            for case in audit_cases(self._texts, AUDITED_RUBRIC)
        }

    @cached_property
    def _repeated(self) -> dict[AuditCase, Question]:
        plain = ((case, question) for case, question in self._questions.items() if case.part is AuditPart.PLAIN)
        return {case: question for case, question in plain if case.fenced}

    def estimate(self) -> Estimate:
        """Estimates the cost of the audit. Asks nothing."""
        first, again = (self._judge.estimate(list(asked.values())) for asked in (self._questions, self._repeated))
        known = None not in (first.usd, again.usd)
        return Estimate(
            first.questions + again.questions,
            0,
            first.tokens_in + again.tokens_in,
            first.tokens_out + again.tokens_out,
            (first.usd or 0.0) + (again.usd or 0.0) if known else None,
            (first.seconds or 0.0) + (again.seconds or 0.0),
        )

    def ask(self, progress: Progress | None = None) -> Audit:
        """Asks everything, the plain answers twice.

        Raises:
            AqbError: the judge has answered nothing.
        """
        first = self._judge.ask(list(self._questions.values()), progress)
        if not any(one.verdict.given for one in first.judgements):
            raise first.failure or AqbError(
                "the judge has answered no question of the audit", where="judge", fix="see what `aqb doctor` says of it"
            )
        again = self._judge.ask(list(self._repeated.values()))
        rates = audit_rates(self._texts, _answers(self._questions, first), _answers(self._repeated, again))
        asked = [*first.judgements, *again.judgements]
        fenced = {question.key for case, question in self._questions.items() if case.fenced}
        known = [one.usd for one in asked if one.usd is not None]
        return Audit(
            self._settings.model,
            tuple(sorted({one.model_answered for one in asked if one.model_answered})),
            tuple(sorted({one.epoch for one in asked if one.epoch and one.key in fenced})),
            tuple(rates),
            len(asked),
            sum(one.status is not VerdictStatus.OK for one in asked),
            sum(known) if known else None,
            first.failure or again.failure,
        )


def _answers(questions: dict[AuditCase, Question], judged: Judged) -> Answers:
    given = {one.key: one.answer for one in judged.judgements if one.verdict.given}
    return {case: given[question.key] for case, question in questions.items() if question.key in given}


def write_audit(warehouse: Warehouse, day: date, audit: Audit) -> None:
    """Replaces the results of that day and model.

    Raises:
        StorageError: the warehouse cannot be written.
    """
    shared = {
        "score_date": day,
        "model_asked": audit.model,
        "model_answered": ", ".join(audit.models_answered),
        "epoch": "+".join(audit.epochs),
        "cost_usd": audit.usd,
    }
    rows: Sequence[dict[str, object]] = [shared | rate_row(rate) for rate in audit.rates]
    warehouse.replace_day(
        AUDITS, day, AUDITS_SCHEMA, [frame_of(AUDITS_SCHEMA, rows)], only={"model_asked": audit.model}
    )


def rate_row(rate: AuditRate) -> dict[str, object]:
    """A rate as a row of `AUDITS_SCHEMA`."""
    interval = rate.interval
    return {
        "part": rate.part.value,
        "family": rate.family or None,
        "title": rate.title,
        "fenced": rate.fenced,
        "n": rate.n,
        "hits": rate.hits,
        "low": interval and interval.low,
        "high": interval and interval.high,
    }
